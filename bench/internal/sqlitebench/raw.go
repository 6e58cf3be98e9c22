package sqlitebench

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/sqlite"
)

// statements are the store's own, read from its .sql files, so that the bound is
// that of what the engine really runs. (Their form is told in enqueue.sql.)
type statements map[string]string

var (
	fragmentUse = regexp.MustCompile(`\{(\w+)\}`)
	repeated    = regexp.MustCompile(`(\([?, ]+\))\.\.\.`)
)

// loadQueries reads the files beside the store's source.
func loadQueries() (statements, error) {
	_, self, _, ok := runtime.Caller(0)
	if !ok {
		return nil, errors.New("bench: where is the source?")
	}
	dir := filepath.Join(filepath.Dir(self), "..", "..", "..", "store", "sqlite", "queries")
	files, err := filepath.Glob(filepath.Join(dir, "*.sql"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, errors.New("bench: the store's .sql files are not there: run it in the source tree, without -trimpath"))
	}
	out, fragments := statements{}, statements{}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("bench: %w", err)
		}
		var into statements
		var current string
		for line := range strings.Lines(string(b)) {
			if n, ok := strings.CutPrefix(line, "-- name: "); ok {
				into, current = out, strings.TrimSpace(n)
			} else if n, ok := strings.CutPrefix(line, "-- fragment: "); ok {
				into, current = fragments, strings.TrimSpace(n)
			} else if into != nil && !strings.HasPrefix(line, "--") {
				into[current] += line
			}
		}
	}
	for name, text := range out {
		for range 2 { // fragments nest once
			text = fragmentUse.ReplaceAllStringFunc(text, func(use string) string {
				return strings.TrimSpace(fragments[strings.Trim(use, "{}")])
			})
		}
		out[name] = strings.TrimSuffix(strings.TrimSpace(text), ";")
	}
	return out, nil
}

// text is a statement for a batch of size rows.
func (q statements) text(name string, size int) string {
	return repeated.ReplaceAllStringFunc(q[name], func(tuple string) string {
		tuple = strings.TrimSuffix(tuple, "...")
		return strings.Repeat(tuple+",", size-1) + tuple
	})
}

// rawConn is one connection with prepared statements.
type rawConn struct {
	conn  *sql.Conn
	q     statements
	stmts map[string]*sql.Stmt
}

func (c *rawConn) stmt(ctx context.Context, name string, size int) (*sql.Stmt, error) {
	key := fmt.Sprint(name, " ", size)
	if st := c.stmts[key]; st != nil {
		return st, nil
	}
	text := c.q.text(name, size)
	if text == "" {
		return nil, fmt.Errorf("bench: the store has no statement %q: follow it in raw.go", name)
	}
	st, err := c.conn.PrepareContext(ctx, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	c.stmts[key] = st
	return st, nil
}

// batch runs a statement on rows of arguments, padded as the store pads them.
// Rows that come back are read and thrown away, except that each is given to f.
func (c *rawConn) batch(ctx context.Context, name string, width int, rows [][]any, tail ...any) error {
	const size = 512
	for lo := 0; lo < len(rows); lo += size {
		args := make([]any, 0, size*width+len(tail))
		for _, r := range rows[lo:min(lo+size, len(rows))] {
			args = append(args, r...)
		}
		for len(args) < size*width {
			args = append(args, nil)
		}
		st, err := c.stmt(ctx, name, size)
		if err != nil {
			return err
		}
		args = append(args, tail...)
		if !strings.Contains(c.q[name], "RETURNING") {
			if _, err := st.ExecContext(ctx, args...); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			continue
		}
		if _, err := read(ctx, st, args, 0); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// read runs a query, scans each row whole, and returns the integers of one column.
func read(ctx context.Context, st *sql.Stmt, args []any, column int) ([]int64, error) {
	rows, err := st.QueryContext(ctx, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values, pointers := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		pointers[i] = &values[i]
	}
	var out []int64
	for rows.Next() {
		if err := rows.Scan(pointers...); err != nil {
			return nil, err
		}
		n, _ := values[column].(int64)
		out = append(out, n)
	}
	return out, rows.Err()
}

// transaction runs f as the store's writer runs its transactions.
func (c *rawConn) transaction(ctx context.Context, f func() error) error {
	if _, err := c.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := f(); err != nil {
		_, e := c.conn.ExecContext(ctx, "ROLLBACK")
		return errors.Join(err, e)
	}
	_, err := c.conn.ExecContext(ctx, "COMMIT")
	return err
}

// drain makes rows sent with the store's statements alone: some, and then n
// against the clock.
func (q statements) drain(ctx context.Context, s *sqlite.Store, warm, n int) (took time.Duration, err error) {
	db, err := openSQL("sqlite", s.Path())
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	c := &rawConn{conn: conn, q: q, stmts: map[string]*sql.Stmt{}}
	start := time.Now()
	for left := warm + n; left > 0; {
		if left == n {
			start = time.Now()
		}
		done, err := c.cycle(ctx, min(drainBatch, left))
		if err != nil || done == 0 {
			return 0, errors.Join(err, fmt.Errorf("the raw loop sent %d, %d are left", done, left))
		}
		left -= done
	}
	return time.Since(start), nil
}

// story is a row's story as the engine would write it.
const story = `[{"at":"2026-12-01T09:00:00.123456Z","event":"sending","state":"sending","attempt":1,"looked_at":"2026-12-01T09:00:00.12Z",` +
	`"value":{"available":true,"currency":"EUR","price":"479.00"}},{"at":"2026-12-01T09:00:00.234567Z","event":"accepted","state":"sent","attempt":1,"answer":"201 Created"}]`

// cycle takes one batch through the three transactions of a telling.
func (c *rawConn) cycle(ctx context.Context, n int) (int, error) {
	now := time.Now().UnixMicro()
	lease, token := now+60_000_000, lastlook.NewToken()
	var ids []int64
	err := c.transaction(ctx, func() (err error) {
		lanes, err := c.query(ctx, "lanes", now)
		if err != nil || len(lanes) != 1 {
			return errors.Join(err, fmt.Errorf("%d lanes", len(lanes)))
		}
		if ids, err = c.query(ctx, "claim_lane", lanes[0], now, now, 10, n); err != nil {
			return err
		}
		claims := make([][]any, len(ids))
		packed := []byte{}
		for i, id := range ids {
			claims[i] = []any{id, lease}
			packed = binary.AppendUvarint(packed, uint64(id))
		}
		if err := c.batch(ctx, "claim_rows", 2, claims, token[:]); err != nil {
			return err
		}
		if _, err := c.query(ctx, "marks_any"); err != nil {
			return err
		}
		_, err = c.query(ctx, "claim_record", lease, token[:], packed)
		return err
	})
	if err != nil {
		return 0, err
	}
	fence := func(id int64, from lastlook.State, after int64) []any {
		return []any{id, int64(from), token[:], after, int64(math.MaxInt64)}
	}
	const window = "day UTC"
	day := time.Now().UTC().Truncate(24 * time.Hour).UnixMicro()
	rows := make([][]any, len(ids))
	err = c.transaction(ctx, func() error {
		for i, id := range ids {
			rows[i] = append(fence(id, lastlook.StatePending, now), 1, lease, now, window, day, 1, 0, asserted, nil)
		}
		return c.batch(ctx, "apply_sending", 14, rows)
	})
	if err != nil {
		return 0, err
	}
	return len(ids), c.transaction(ctx, func() error {
		keys, removed := make([][]any, len(ids)), make([][]any, len(ids))
		for i, id := range ids {
			rows[i] = append(fence(id, lastlook.StateSending, math.MinInt64), int64(lastlook.StateSent), now, 1, "", now, window, day, 1, asserted, nil, story)
			keys[i], removed[i] = []any{id, int64(lastlook.KeyDelivered), false}, []any{id}
		}
		if err := c.batch(ctx, "apply_end", 16, rows); err != nil {
			return err
		}
		if err := c.batch(ctx, "apply_end_keys", 3, keys); err != nil {
			return err
		}
		if _, err := c.query(ctx, "marks_any"); err != nil {
			return err
		}
		return c.batch(ctx, "apply_remove", 1, removed)
	})
}

// query runs a statement that is no batch.
func (c *rawConn) query(ctx context.Context, name string, args ...any) ([]int64, error) {
	st, err := c.stmt(ctx, name, 1)
	if err != nil {
		return nil, err
	}
	out, err := read(ctx, st, args, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}
