package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

func runVuln(ctx context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("gate vuln", flag.ContinueOnError)
	tool := fs.String("tool", "", "govulncheck's `FILE`")
	db := fs.String("db", "", "`DIR` of the database: OSV files")
	acceptedFile := fs.String("accepted", "", "`FILE` of accepted vulnerabilities")
	if err := fs.Parse(args); err != nil {
		return err
	}
	entries, err := filepath.Glob(filepath.Join(*db, "GO-*.json"))
	if err != nil || len(entries) < 1000 {
		return fmt.Errorf("%s is no vulnerability database: %d entries", *db, len(entries))
	}
	source, err := filepath.Abs(*db)
	if err != nil {
		return err
	}
	program, err := filepath.Abs(*tool)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(*acceptedFile)
	if err != nil {
		return err
	}
	accepted, err := readAccepted(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("%s: %w", *acceptedFile, err)
	}
	bad := false
	for _, dir := range fs.Args() {
		cmd := exec.CommandContext(ctx, program, "-db", "file://"+filepath.ToSlash(source), "./...")
		cmd.Dir, cmd.Stderr = dir, os.Stderr
		report, err := cmd.Output()
		exit, exited := errors.AsType[*exec.ExitError](err)
		switch {
		case err == nil:
			continue
		case !exited || exit.ExitCode() != 3: // 3: vulnerabilities found
			return fmt.Errorf("%s in %s: %w\n%s", cmd, dir, err, report)
		}
		open, ofGo := openVulns(string(report), accepted, time.Now())
		if len(ofGo) > 0 {
			fmt.Fprintf(out, "In %s, of the Go that builds here (%s), not of the code: %s. Build releases with a newer Go.\n",
				dir, runtime.Version(), strings.Join(ofGo, ", "))
		}
		if len(open) > 0 {
			bad = true
			fmt.Fprintf(out, "%s\nIn %s: %s. Take a fixed version; if there is none yet, accept it in %s with a date and the reason.\n",
				report, dir, strings.Join(open, ", "), *acceptedFile)
		}
	}
	if bad {
		return errFailed
	}
	return nil
}

var foundVuln = regexp.MustCompile(`(?m)^Vulnerability #\d+: (GO-\d+-\d+)`)

// openVulns lists the vulnerabilities of a report that are not accepted today,
// and apart from them those of the standard library: they belong to the Go that
// builds, which the code does not choose.
func openVulns(report string, accepted map[string]time.Time, now time.Time) (open, ofGo []string) {
	found := foundVuln.FindAllStringSubmatchIndex(report, -1)
	if len(found) == 0 {
		return []string{"a finding that this program cannot read"}, nil
	}
	for i, m := range found {
		id, section := report[m[2]:m[3]], report[m[0]:]
		if i+1 < len(found) {
			section = report[m[0]:found[i+1][0]]
		}
		until, ok := accepted[id]
		switch {
		case ok && !now.After(until):
		case strings.Contains(section, "\n  Standard library\n") && !strings.Contains(section, "\n  Module: "):
			ofGo = append(ofGo, id)
		default:
			open = append(open, id)
		}
	}
	return open, ofGo
}

// readAccepted reads lines "GO-2026-0001 2026-12-31 reason"; # starts a comment.
func readAccepted(r io.Reader) (map[string]time.Time, error) {
	accepted := map[string]time.Time{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 3 {
			return nil, fmt.Errorf("%q: want the vulnerability, until when it is accepted, and why", line)
		}
		until, err := time.Parse(time.DateOnly, fields[1])
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		accepted[fields[0]] = until.AddDate(0, 0, 1)
	}
	return accepted, lines.Err()
}
