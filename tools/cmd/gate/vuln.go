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
		if open := openVulns(string(report), accepted, time.Now()); len(open) > 0 {
			bad = true
			fmt.Fprintf(out, "%s\nIn %s: %s. Take a fixed version (a newer Go, for the standard library); if there is none yet, accept it in %s with a date and the reason.\n",
				report, dir, strings.Join(open, ", "), *acceptedFile)
		}
	}
	if bad {
		return errFailed
	}
	return nil
}

var foundVuln = regexp.MustCompile(`(?m)^Vulnerability #\d+: (GO-\d+-\d+)`)

// openVulns lists the vulnerabilities of a report that are not accepted today.
func openVulns(report string, accepted map[string]time.Time, now time.Time) []string {
	found := foundVuln.FindAllStringSubmatch(report, -1)
	if len(found) == 0 {
		return []string{"a finding that this program cannot read"}
	}
	var open []string
	for _, m := range found {
		if until, ok := accepted[m[1]]; !ok || now.After(until) {
			open = append(open, m[1])
		}
	}
	return open
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
