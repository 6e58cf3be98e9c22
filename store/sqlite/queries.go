package sqlite

import (
	"embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

//go:embed queries/*.sql
var queryFiles embed.FS

// rewriter changes a statement's text when a store is opened. Tests plant
// mistakes with it.
type rewriter func(name, text string) string

// queries are the statements in queries/*.sql, by name.
type queries map[string]query

// query is one statement. If it takes a batch of rows, before and after are
// what stands around the repeated tuple.
type query struct {
	before, tuple, after string
}

var (
	fragmentUse = regexp.MustCompile(`\{(\w+)\}`)
	repeated    = regexp.MustCompile(`(\([?, ]+\))\.\.\.`)
)

// loadQueries reads the embedded files.
func loadQueries(rewrite rewriter) (queries, error) {
	statements, fragments := map[string]string{}, map[string]string{}
	files, err := queryFiles.ReadDir("queries")
	if err != nil {
		return nil, fmt.Errorf("sqlite: embedded queries: %w", err)
	}
	for _, f := range files {
		b, err := queryFiles.ReadFile("queries/" + f.Name())
		if err != nil {
			return nil, fmt.Errorf("sqlite: embedded queries: %w", err)
		}
		parseQueries(string(b), statements, fragments)
	}
	qs := queries{}
	for _, name := range slices.Sorted(maps.Keys(statements)) {
		text := expand(expand(statements[name], fragments), fragments) // fragments nest once
		if rewrite != nil {
			text = rewrite(name, text)
		}
		if qs[name], err = newQuery(text); err != nil {
			return nil, fmt.Errorf("sqlite: query %s: %w", name, err)
		}
	}
	return qs, nil
}

// parseQueries adds the statements and fragments of one file.
func parseQueries(text string, statements, fragments map[string]string) {
	var into map[string]string
	var name string
	for line := range strings.Lines(text) {
		if n, ok := strings.CutPrefix(line, "-- name: "); ok {
			into, name = statements, strings.TrimSpace(n)
		} else if n, ok := strings.CutPrefix(line, "-- fragment: "); ok {
			into, name = fragments, strings.TrimSpace(n)
		} else if into != nil && !strings.HasPrefix(line, "--") && strings.TrimSpace(line) != "" {
			into[name] += line
		}
	}
}

func expand(text string, fragments map[string]string) string {
	return fragmentUse.ReplaceAllStringFunc(text, func(use string) string {
		return strings.TrimSpace(fragments[strings.Trim(use, "{}")])
	})
}

func newQuery(text string) (query, error) {
	text = strings.TrimSuffix(strings.TrimSpace(text), ";")
	at := repeated.FindAllStringSubmatchIndex(text, -1)
	switch len(at) {
	case 0:
		return query{before: text}, nil
	case 1:
		m := at[0]
		return query{before: text[:m[0]], tuple: text[m[2]:m[3]], after: text[m[1]:]}, nil
	}
	return query{}, fmt.Errorf("%d repeated tuples, want one at most", len(at))
}

// text returns the statement for size rows.
func (q query) text(size int) string {
	if q.tuple == "" {
		return q.before
	}
	return q.before + strings.Repeat(q.tuple+",", size-1) + q.tuple + q.after
}

// The numbers of rows that batch statements are made for. A few sizes only, so
// that each is prepared once.
var sizes = [...]int{1, 8, 64, 512}

// chunkSize returns the statement size for the next rows of n: the smallest
// that holds them all, unless most of it would be padding; else the largest
// that they fill.
func chunkSize(n int, sizes []int) int {
	i, _ := slices.BinarySearch(sizes, n)
	if i == len(sizes) || i > 0 && sizes[i] > 4*n {
		i--
	}
	return sizes[i]
}
