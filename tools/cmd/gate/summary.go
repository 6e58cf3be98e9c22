package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// event is a line of go test -json; see go doc test2json.
type event struct {
	Action, Package, ImportPath, Test, Output, FailedBuild string
	Elapsed                                                float64
}

// summary turns the events of test runs into what a person reads: a line per
// package, failures in full, and at the end what was skipped and why. It counts
// leaves: a test with subtests is not one more.
type summary struct {
	out      io.Writer
	tests    map[testID]*test
	packages map[string]*pkg
	builds   map[string]string // build output by import path
	skips    map[string][]testID
	goFailed bool
	// elsewhere are the targets of make that run what is skipped for them.
	elsewhere []string

	passed, failed, skipped int
}

type testID struct{ pkg, name string }

type test struct {
	output    []string
	hasSub    bool
	subFailed bool
}

type pkg struct {
	output                  []string
	passed, failed, skipped int
}

func newSummary(out io.Writer) *summary {
	return &summary{
		out: out, tests: map[testID]*test{}, packages: map[string]*pkg{},
		builds: map[string]string{}, skips: map[string][]testID{},
	}
}

func (s *summary) read(r io.Reader) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		var e event
		switch {
		case strings.TrimSpace(line) == "":
		case json.Unmarshal([]byte(line), &e) != nil:
			fmt.Fprint(s.out, line) // the go command's own words
		default:
			s.add(e)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (s *summary) add(e event) {
	switch {
	case e.Action == "build-output":
		s.builds[e.ImportPath] += e.Output
	case e.Package == "":
	case e.Test != "":
		s.addTest(testID{e.Package, e.Test}, e)
	default:
		s.addPackage(e)
	}
}

func (s *summary) addTest(id testID, e event) {
	t := s.tests[id]
	if t == nil {
		t = &test{}
		s.tests[id] = t
	}
	p := s.pkg(id.pkg)
	parent := s.parent(id)
	switch e.Action {
	case "run":
		if parent != nil {
			parent.hasSub = true
		}
		return
	case "output":
		t.output = append(t.output, e.Output)
		return
	case "pass":
		if !t.hasSub {
			s.passed++
			p.passed++
		}
	case "skip":
		s.skipped++
		p.skipped++
		why := cmp.Or(reason(t.output), "no reason given")
		s.skips[why] = append(s.skips[why], id)
	case "fail":
		if parent != nil {
			parent.subFailed = true
		}
		if !t.subFailed {
			s.failed++
			p.failed++
		}
		if !t.subFailed || reason(t.output) != "" { // else its subtests have told all
			fmt.Fprintf(s.out, "\nFAIL %s %s\n%s", id.pkg, id.name, strings.Join(t.output, ""))
		}
	default: // pause, cont, start, bench
		return
	}
	delete(s.tests, id)
}

func (s *summary) addPackage(e event) {
	p := s.pkg(e.Package)
	took := fmt.Sprintf("%6.1fs", e.Elapsed)
	switch e.Action {
	case "output":
		p.output = append(p.output, e.Output)
	case "pass":
		if p.passed+p.skipped == 0 {
			return // no tests; it was only built for its coverage
		}
		note := ""
		if strings.Contains(strings.Join(p.output, ""), "(cached)") {
			note = " (cached)"
		}
		if p.skipped > 0 {
			note += fmt.Sprintf(", %d skipped", p.skipped)
		}
		fmt.Fprintf(s.out, "ok   %s  %s  %d passed%s\n", took, e.Package, p.passed, note)
	case "fail":
		// Of no test, or not of one that had started: it did not build, it
		// crashed, or its TestMain failed.
		if p.failed == 0 {
			s.failed++
			fmt.Fprintf(s.out, "\n%s%s", s.builds[e.FailedBuild], strings.Join(p.output, ""))
		}
		fmt.Fprintf(s.out, "FAIL %s  %s  %d failed\n", took, e.Package, max(p.failed, 1))
	}
}

func (s *summary) pkg(path string) *pkg {
	p := s.packages[path]
	if p == nil {
		p = &pkg{}
		s.packages[path] = p
	}
	return p
}

// parent is the test that id is a subtest of, nil if none. A subtest's own name
// may hold slashes.
func (s *summary) parent(id testID) *test {
	name := id.name
	for {
		i := strings.LastIndexByte(name, '/')
		if i < 0 {
			return nil
		}
		name = name[:i]
		if t := s.tests[testID{id.pkg, name}]; t != nil {
			return t
		}
	}
}

// reason is what a skipped test said, without the framing of go test.
func reason(output []string) string {
	var said []string
	for _, line := range output {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ") {
			continue
		}
		if at, rest, ok := strings.Cut(line, ": "); ok && strings.Contains(at, ".go:") {
			line = rest
		}
		said = append(said, line)
	}
	return strings.Join(said, " ")
}

// runsElsewhere reports whether a test was skipped because another target runs it:
// its reason begins with "make TARGET: ".
func (s *summary) runsElsewhere(why string) bool {
	rest, ok := strings.CutPrefix(why, "make ")
	target, _, named := strings.Cut(rest, ": ")
	return ok && named && slices.Contains(s.elsewhere, target)
}

// finish says how the run went; the last line is for machines too.
func (s *summary) finish(took time.Duration, noRace string, ci bool) error {
	ok := s.failed == 0 && !s.goFailed
	fmt.Fprintln(s.out)
	if s.skipped > 0 {
		fmt.Fprintln(s.out, "Skipped:")
		for _, why := range slices.Sorted(maps.Keys(s.skips)) {
			fmt.Fprintf(s.out, "  because: %s\n", why)
			for _, id := range s.skips[why] {
				fmt.Fprintf(s.out, "    %s %s\n", id.pkg, id.name)
			}
		}
		if ci && slices.ContainsFunc(slices.Collect(maps.Keys(s.skips)), func(why string) bool { return !s.runsElsewhere(why) }) {
			ok = false
			fmt.Fprintln(s.out, "CI=true: nothing may be skipped but what a later target runs.")
		}
	}
	if noRace != "" {
		fmt.Fprintf(s.out, "WITHOUT THE RACE DETECTOR: %s.\n", noRace)
		if ci {
			ok = false
			fmt.Fprintln(s.out, "CI=true: the race detector must run.")
		}
	}
	if s.passed+s.failed == 0 {
		ok = false
		fmt.Fprintln(s.out, "No test was run.")
	}
	if s.goFailed && s.failed == 0 {
		fmt.Fprintln(s.out, "go test failed outside of any test; what it said is above.")
	}
	fmt.Fprintf(s.out, "The tests took %.0f s.\n", took.Seconds())
	if took > tooLong {
		fmt.Fprintf(s.out, "That is more than %v, which is too long if the build cache was warm.\n", tooLong)
	}
	fmt.Fprintf(s.out, "%d passed, %d failed, %d skipped\n", s.passed, s.failed, s.skipped)
	if !ok {
		return errFailed
	}
	return nil
}
