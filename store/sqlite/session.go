package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/csqlite"
)

// session runs named statements in one transaction.
type session interface {
	// largest is the place in sizes of the largest statement worth its parsing.
	largest() int
	query(ctx context.Context, name string, size int, args []any) (results, error)
	exec(ctx context.Context, name string, size int, args []any) (int64, error)
}

// results are the rows of a statement.
type results interface {
	// next makes r the next row, and reports whether there is one.
	next(r *row) (bool, error)
	close() error
}

// txSession runs statements in a transaction of database/sql, of whatever
// driver, without preparing them.
type txSession struct {
	tx      *sql.Tx
	queries queries
}

// largest: a statement for hundreds of rows takes longer to parse than several
// smaller ones take to run.
func (s txSession) largest() int { return len(sizes) - 2 }

func (s txSession) query(ctx context.Context, name string, size int, args []any) (results, error) {
	rows, err := s.tx.QueryContext(ctx, s.queries[name].text(size), args...)
	if err != nil {
		return nil, err
	}
	return newSQLRows(rows)
}

func (s txSession) exec(ctx context.Context, name string, size int, args []any) (int64, error) {
	res, err := s.tx.ExecContext(ctx, s.queries[name].text(size), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// selectRows runs a statement and hands each row to f. f must not use the
// session: on one connection, a statement within an open cursor would wait for
// ever.
func selectRows(ctx context.Context, s session, name string, args []any, f func(*row) error) error {
	return selectSized(ctx, s, name, 1, args, f)
}

func selectSized(ctx context.Context, s session, name string, size int, args []any, f func(*row) error) (err error) {
	c, err := s.query(ctx, name, size, args)
	if err != nil {
		return inStatement(name, err)
	}
	return inStatement(name, readAll(c, f))
}

// readRows hands each row of database/sql to f, and closes them.
func readRows(rows *sql.Rows, f func(*row) error) error {
	c, err := newSQLRows(rows)
	if err != nil {
		return err
	}
	return readAll(c, f)
}

func readAll(c results, f func(*row) error) (err error) {
	defer func() { err = errors.Join(err, c.close()) }() // if f panics, too
	r := &row{}
	for {
		more, err := c.next(r)
		if err != nil || !more {
			return err
		}
		if err := f(r); err != nil {
			return err
		}
	}
}

// run executes a statement that is no batch.
func run(ctx context.Context, s session, name string, args ...any) (int64, error) {
	n, err := s.exec(ctx, name, 1, args)
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

// batch is a set of rows for one statement.
type batch struct {
	name string
	n    int
	// width is the number of parameters per row.
	width int
	// add appends the i-th row's parameters.
	add func(args []any, i int) []any
	// head and tail are the parameters before and behind the rows.
	head, tail []any
}

// chunks calls f with the parameters of each piece of the batch.
func (b *batch) chunks(s session, f func(size int, args []any) error) error {
	var args []any
	for lo := 0; lo < b.n; {
		size := chunkSize(b.n-lo, sizes[:s.largest()+1])
		hi := min(lo+size, b.n)
		if args == nil {
			args = make([]any, 0, len(b.head)+size*b.width+len(b.tail))
		}
		args = append(args[:0], b.head...)
		for i := lo; i < hi; i++ {
			args = b.add(args, i)
		}
		for len(args) < len(b.head)+size*b.width {
			args = append(args, nil)
		}
		args = append(args, b.tail...)
		if err := f(size, args); err != nil {
			return err
		}
		lo = hi
	}
	return nil
}

// exec runs the batch and returns the number of rows changed.
func (b batch) exec(ctx context.Context, s session) (int64, error) {
	var total int64
	err := b.chunks(s, func(size int, args []any) error {
		n, err := s.exec(ctx, b.name, size, args)
		total += n
		return inStatement(b.name, err)
	})
	return total, err
}

// each runs the batch and hands each row that comes back to f.
func (b batch) each(ctx context.Context, s session, f func(*row) error) error {
	return b.chunks(s, func(size int, args []any) error {
		return selectSized(ctx, s, b.name, size, args, f)
	})
}

// sqlRows are rows of database/sql.
type sqlRows struct {
	rows             *sql.Rows
	values, pointers []any
}

func newSQLRows(rows *sql.Rows) (*sqlRows, error) {
	columns, err := rows.Columns()
	if err != nil {
		return nil, errors.Join(err, rows.Close())
	}
	c := &sqlRows{rows: rows, values: make([]any, len(columns)), pointers: make([]any, len(columns))}
	for i := range c.values {
		c.pointers[i] = &c.values[i]
	}
	return c, nil
}

func (c *sqlRows) next(r *row) (bool, error) {
	if !c.rows.Next() {
		return false, c.rows.Err()
	}
	r.values = c.values
	return true, c.rows.Scan(c.pointers...)
}

func (c *sqlRows) close() error { return c.rows.Close() }

// row is one result row, of the writer's own connection (at) or of
// database/sql (values). Columns are read by position, NULL as zero: it spares
// database/sql's conversions by reflection, the largest part of a wide scan.
type row struct {
	at     *csqlite.Stmt
	values []any
}

func (r *row) columns() int {
	if r.at != nil {
		return r.at.Columns()
	}
	return len(r.values)
}

func (r *row) null(i int) bool {
	if r.at != nil {
		return r.at.IsNull(i)
	}
	return r.values[i] == nil
}

func (r *row) int(i int) int64 {
	if r.at != nil {
		return r.at.IntAt(i)
	}
	n, _ := r.values[i].(int64)
	return n
}

func (r *row) bool(i int) bool {
	if r.at != nil {
		return r.at.IntAt(i) != 0
	}
	switch v := r.values[i].(type) {
	case int64:
		return v != 0
	case bool:
		return v
	}
	return false
}

func (r *row) text(i int) string {
	if r.at != nil {
		return r.at.TextAt(i)
	}
	switch v := r.values[i].(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

func (r *row) bytes(i int) []byte {
	if r.at != nil {
		return r.at.BytesAt(i)
	}
	switch v := r.values[i].(type) {
	case string:
		return []byte(v)
	case []byte:
		return v
	}
	return nil
}

func (r *row) json(i int) json.RawMessage { return r.bytes(i) }

func (r *row) time(i int) time.Time {
	if r.null(i) {
		return time.Time{}
	}
	return time.UnixMicro(r.int(i)).UTC()
}

func (r *row) window(policy, start int) lastlook.Window {
	return lastlook.Window{Policy: r.text(policy), Start: r.int(start)}
}

func (r *row) token(i int) (t lastlook.Token) {
	copy(t[:], r.bytes(i))
	return t
}
