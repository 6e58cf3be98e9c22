package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/lastlook/lastlook/bench/internal/result"
	"github.com/lastlook/lastlook/bench/internal/sqlitebench"
)

// The tables of the page, by name. make bench writes them.
const (
	sqliteTable  = "sqlite"
	pushTable    = "push"
	extractTable = "extract"
	detectTable  = "detect"
	lanesTable   = "lanes"
	peersTable   = "peers"
)

// marks are the lines between which a table stands.
func marks(name string) (begin, end string) {
	return "<!-- " + name + ": written by make bench -->", "<!-- /" + name + " -->"
}

// writeTable puts the figures into a page, between the table's two marks.
func writeTable(path, name string, f result.File, rows []sqlitebench.Row) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	page, err := replaceTable(string(b), name, table(f, rows))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(page), 0o644)
}

func replaceTable(page, name, table string) (string, error) {
	begin, end := marks(name)
	before, rest, found := strings.Cut(page, begin+"\n")
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", fmt.Errorf("it has no %s and %s, each on a line of its own", begin, end)
	}
	return before + begin + "\n" + table + end + after, nil
}

func table(f result.File, rows []sqlitebench.Row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nMeasured on %s.\n\n| what | median | rounds | lowest – highest | |\n| --- | ---: | ---: | ---: | --- |\n", f.Machine)
	for _, r := range rows {
		n, spread := 1, ""
		if len(r.Rounds) > 1 {
			n, spread = len(r.Rounds), figure(slices.Min(r.Rounds))+" – "+figure(slices.Max(r.Rounds))
		}
		fmt.Fprintf(&b, "| %s | %s %s | %d | %s | %s |\n", r.Name, figure(r.Value), r.Unit, n, spread, r.Note)
	}
	return b.String() + "\n"
}

// figure writes a number as people read it: three digits that count, and spaces
// between thousands.
func figure(v float64) string {
	switch {
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	case v < 100:
		return fmt.Sprintf("%.1f", v)
	}
	s := fmt.Sprintf("%.0f", v)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}
