package postgres

import (
	"embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed queries/*.sql
var queryFiles embed.FS

// rewriter changes a statement's text when a store is opened. Tests plant
// mistakes with it.
type rewriter func(name, text string) string

// queries are the statements in queries/*.sql, by name, for one schema.
type queries map[string]string

var fragmentUse = regexp.MustCompile(`\{(\w+)\}`)

// loadQueries reads the embedded files.
func loadQueries(schema string, rewrite rewriter) (queries, error) {
	statements, fragments := queries{}, map[string]string{}
	files, err := queryFiles.ReadDir("queries")
	if err != nil {
		return nil, fmt.Errorf("postgres: embedded queries: %w", err)
	}
	for _, f := range files {
		b, err := queryFiles.ReadFile("queries/" + f.Name())
		if err != nil {
			return nil, fmt.Errorf("postgres: embedded queries: %w", err)
		}
		parseQueries(string(b), statements, fragments)
	}
	maps.Copy(fragments, names(schema))
	for _, name := range slices.Sorted(maps.Keys(statements)) {
		text := statements[name]
		for range 4 { // fragments nest, but not deeper
			text = expand(text, fragments)
		}
		if fragmentUse.MatchString(text) {
			return nil, fmt.Errorf("postgres: query %s: an unknown fragment is left in it", name)
		}
		text = strings.TrimSuffix(strings.TrimSpace(text), ";")
		if rewrite != nil {
			text = rewrite(name, text)
		}
		statements[name] = text
	}
	return statements, nil
}

// names are the fragments that say where the tables are.
func names(schema string) map[string]string {
	s := pgx.Identifier{schema}.Sanitize() + "."
	return map[string]string{
		"s":       s,
		"ids":     literal(s + "lastlook_ids"),
		"key_ids": literal(s + "lastlook_key_ids"),
	}
}

// literal quotes a text as SQL does, whatever standard_conforming_strings says.
func literal(text string) string {
	quoted := "'" + strings.ReplaceAll(text, "'", "''") + "'"
	if strings.Contains(text, `\`) {
		quoted = "E" + strings.ReplaceAll(quoted, `\`, `\\`)
	}
	return quoted
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
		if f, ok := fragments[strings.Trim(use, "{}")]; ok {
			return strings.TrimSpace(f)
		}
		return use
	})
}
