package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

const modulePath = "github.com/lastlook/lastlook"

// floors are the coverages, in percent, under which a package may not fall. They
// are those where a mistake tells people something false; elsewhere coverage is
// shown only.
var floors = map[string]float64{
	modulePath:                   85,
	modulePath + "/store/sqlite": 85,
}

func runCover(args []string, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("gate cover: name the profile")
	}
	f, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	covered, err := readProfile(f)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return judgeCoverage(covered, floors, out)
}

// coverage counts a package's statements.
type coverage struct{ covered, all int }

func (c coverage) percent() float64 {
	if c.all == 0 {
		return 0
	}
	return 100 * float64(c.covered) / float64(c.all)
}

// readProfile adds up a profile by package. With -coverpkg each test binary
// writes every block again: a block counts as covered if any of them reached it.
func readProfile(r io.Reader) (map[string]coverage, error) {
	type block struct {
		pkg        string
		statements int
		reached    bool
	}
	blocks := map[string]block{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if strings.HasPrefix(line, "mode:") {
			continue
		}
		// file.go:1.2,3.4 statements count
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return nil, fmt.Errorf("line %d: %q is not a coverage block", n, line)
		}
		statements, err1 := strconv.Atoi(fields[1])
		count, err2 := strconv.ParseUint(fields[2], 10, 64)
		file, _, found := strings.Cut(fields[0], ":")
		if err := errors.Join(err1, err2); err != nil || !found {
			return nil, fmt.Errorf("line %d: %q is not a coverage block", n, line)
		}
		b := blocks[fields[0]]
		blocks[fields[0]] = block{pkg: path.Dir(file), statements: statements, reached: b.reached || count > 0}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	out := map[string]coverage{}
	for _, b := range blocks {
		c := out[b.pkg]
		c.all += b.statements
		if b.reached {
			c.covered += b.statements
		}
		out[b.pkg] = c
	}
	return out, nil
}

func judgeCoverage(covered map[string]coverage, floors map[string]float64, out io.Writer) error {
	all := maps.Clone(covered)
	for p := range floors {
		all[p] = covered[p] // also what was not seen at all
	}
	low := false
	for _, p := range slices.Sorted(maps.Keys(all)) {
		c, floor := all[p], floors[p]
		note := ""
		switch {
		case floor == 0:
		case c.percent() < floor:
			low = true
			note = fmt.Sprintf("  BELOW its floor of %.0f %%", floor)
		default:
			note = fmt.Sprintf("  (floor %.0f %%)", floor)
		}
		fmt.Fprintf(out, "%5.1f %%  %d of %d  %s%s\n", c.percent(), c.covered, c.all, p, note)
	}
	if low {
		return errFailed
	}
	return nil
}
