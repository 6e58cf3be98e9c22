package watchsqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

//go:embed queries/*.sql
var queryFiles embed.FS

// queries are the statements in queries/*.sql, by name.
type queries map[string]string

var fragmentUse = regexp.MustCompile(`\{(\w+)\}`)

// loadQueries reads the embedded files.
func loadQueries() (queries, error) {
	files, err := queryFiles.ReadDir("queries")
	if err != nil {
		return nil, fmt.Errorf("embedded queries: %w", err)
	}
	statements, fragments := queries{}, queries{}
	for _, f := range files {
		b, err := queryFiles.ReadFile("queries/" + f.Name())
		if err != nil {
			return nil, fmt.Errorf("embedded queries: %w", err)
		}
		parseQueries(string(b), statements, fragments)
	}
	for name, text := range statements {
		statements[name] = fragmentUse.ReplaceAllStringFunc(text, func(use string) string {
			return strings.TrimSpace(fragments[strings.Trim(use, "{}")])
		})
	}
	return statements, nil
}

// parseQueries adds the statements and fragments of one file.
func parseQueries(text string, statements, fragments queries) {
	var into queries
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

// session runs named statements in one transaction.
type session struct {
	tx      *sql.Tx
	queries queries
	ran     func(name string) // for tests
}

// text returns a statement's text. Every name stands in the code, so one that
// is missing is a defect that any test of its method finds.
func (s *session) text(name string) string {
	text := s.queries[name]
	if text == "" {
		panic("watchsqlite: there is no statement " + name)
	}
	if s.ran != nil {
		s.ran(name)
	}
	return text
}

// query runs a statement and calls f for each row that comes back. f must not
// use the session: a statement within an open cursor would wait for ever.
func (s *session) query(ctx context.Context, name string, f func(scan func(...any) error) error, args ...any) error {
	rows, err := s.tx.QueryContext(ctx, s.text(name), args...)
	if err != nil {
		return inStatement(name, err)
	}
	for rows.Next() {
		if err = f(rows.Scan); err != nil {
			break
		}
	}
	return inStatement(name, errors.Join(err, rows.Err(), rows.Close()))
}

// number runs a statement that gives one integer.
func (s *session) number(ctx context.Context, name string, args ...any) (n int64, err error) {
	err = s.query(ctx, name, func(scan func(...any) error) error { return scan(&n) }, args...)
	return n, err
}

// exec runs a statement and returns the number of rows changed.
func (s *session) exec(ctx context.Context, name string, args ...any) (int64, error) {
	res, err := s.tx.ExecContext(ctx, s.text(name), args...)
	if err != nil {
		return 0, inStatement(name, err)
	}
	n, err := res.RowsAffected()
	return n, inStatement(name, err)
}

// inStatement says which statement failed, for whoever reads the error with
// queries/*.sql at hand.
func inStatement(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}
