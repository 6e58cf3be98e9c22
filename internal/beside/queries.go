package beside

import (
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"strings"
)

// Queries are statements by their names.
type Queries map[string]string

var fragmentUse = regexp.MustCompile(`\{(\w+)\}`)

// LoadQueries reads the files queries/*.sql. In them "-- name: x" begins the
// statement x, "-- fragment: x" a piece that stands where {x} is. Further
// fragments are given.
func LoadQueries(files fs.FS, fragments map[string]string) (Queries, error) {
	names, err := fs.Glob(files, "queries/*.sql")
	if err != nil {
		return nil, fmt.Errorf("embedded queries: %w", err)
	}
	statements, pieces := Queries{}, Queries{}
	for _, name := range names {
		b, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("embedded queries: %w", err)
		}
		parse(string(b), statements, pieces)
	}
	maps.Copy(pieces, fragments)
	for name, text := range statements {
		for range 2 { // fragments nest once
			text = Expand(text, pieces)
		}
		if left := fragmentUse.FindString(text); left != "" {
			return nil, fmt.Errorf("embedded queries: %s: there is no fragment %s", name, left)
		}
		statements[name] = strings.TrimSuffix(strings.TrimSpace(text), ";")
	}
	return statements, nil
}

// Text returns a statement's text. Every name stands in the code, so one that is
// missing is a defect that any test of its caller finds.
func (q Queries) Text(name string) string {
	text := q[name]
	if text == "" {
		panic("beside: there is no statement " + name)
	}
	return text
}

// Expand puts fragments in their places; those that are unknown stay.
func Expand(text string, fragments map[string]string) string {
	return fragmentUse.ReplaceAllStringFunc(text, func(use string) string {
		if f, ok := fragments[strings.Trim(use, "{}")]; ok {
			return strings.TrimSpace(f)
		}
		return use
	})
}

// parse adds the statements and fragments of one file.
func parse(text string, statements, fragments Queries) {
	var into Queries
	var name string
	for line := range strings.Lines(text) {
		if n, ok := strings.CutPrefix(line, "-- name: "); ok {
			into, name = statements, strings.TrimSpace(n)
		} else if n, ok := strings.CutPrefix(line, "-- fragment: "); ok {
			into, name = fragments, strings.TrimSpace(n)
		} else if into != nil && !strings.HasPrefix(line, "--") {
			into[name] += line
		}
	}
}

// InStatement says which statement failed, for whoever reads the error with
// queries/*.sql at hand.
func InStatement(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}
