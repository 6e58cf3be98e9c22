package sqlitebench

import (
	"context"
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
	"github.com/lastlook/lastlook/internal/csqlite"
	"github.com/lastlook/lastlook/store/sqlite"
)

// statements are the store's own, read from its .sql files, so that the bound is
// that of what the engine really runs. (Their form is told in enqueue.sql.)
type statements map[string]string

var fragmentUse = regexp.MustCompile(`\{(\w+)\}`)

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

// rawConn is one connection with prepared statements, through the interface that
// the store's writer uses.
type rawConn struct {
	conn  *csqlite.Conn
	q     statements
	stmts map[string]*csqlite.Stmt
	sink  int // so that what is read is really read
}

func (c *rawConn) stmt(name string) (*csqlite.Stmt, error) {
	if st := c.stmts[name]; st != nil {
		return st, nil
	}
	text := c.q[name]
	if text == "" {
		return nil, fmt.Errorf("bench: the store has no statement %q: follow it in raw.go", name)
	}
	st, err := c.conn.Prepare(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	c.stmts[name] = st
	return st, nil
}

// each runs a statement once for each id. A run that changes no row is an error.
func (c *rawConn) each(name string, ids []int64, bind func(st *csqlite.Stmt, id int64)) error {
	st, err := c.stmt(name)
	if err != nil {
		return err
	}
	for _, id := range ids {
		bind(st, id)
		if n, err := st.Run(); err != nil || n != 1 {
			return fmt.Errorf("%s: row %d: %d changed: %w", name, id, n, err)
		}
	}
	return nil
}

// query runs a statement, reads each row whole, and returns the integers of the
// first column.
func (c *rawConn) query(name string, args ...any) (out []int64, err error) {
	st, err := c.stmt(name)
	if err != nil {
		return nil, err
	}
	for i, arg := range args {
		switch v := arg.(type) {
		case int64:
			st.Int(i+1, v)
		case []byte:
			st.Blob(i+1, v)
		default:
			return nil, fmt.Errorf("%s: a parameter of type %T", name, arg)
		}
	}
	for {
		row, err := st.Step()
		if err != nil || !row {
			return out, err
		}
		out = append(out, st.IntAt(0))
		for i := 1; i < st.Columns(); i++ {
			c.sink += len(st.BytesAt(i))
		}
	}
}

// transaction runs f as the store's writer runs its transactions.
func (c *rawConn) transaction(f func() error) error {
	if err := c.conn.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := f(); err != nil {
		return errors.Join(err, c.conn.Exec("ROLLBACK"))
	}
	return c.conn.Exec("COMMIT")
}

// pragmas are those of the store.
var pragmas = [...]string{
	"synchronous = FULL", "wal_autocheckpoint = 4000", "temp_store = MEMORY", "cache_size = -16000", "journal_size_limit = 67108864",
}

// drain makes rows sent with the store's statements alone: some, and then n
// against the clock.
func (q statements) drain(_ context.Context, s *sqlite.Store, warm, n int) (took time.Duration, err error) {
	conn, err := csqlite.Open("file:" + s.Path())
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	for _, p := range pragmas {
		if err := conn.Exec("PRAGMA " + p); err != nil {
			return 0, err
		}
	}
	c := &rawConn{conn: conn, q: q, stmts: map[string]*csqlite.Stmt{}}
	start := time.Now()
	for left := warm + n; left > 0; {
		if left == n {
			start = time.Now()
		}
		done, err := c.cycle(min(drainBatch, left))
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
func (c *rawConn) cycle(n int) (int, error) {
	now := time.Now().UnixMicro()
	lease, token := now+60_000_000, lastlook.NewToken()
	var ids []int64
	err := c.transaction(func() (err error) {
		lanes, err := c.query("lanes", now)
		if err != nil || len(lanes) != 1 {
			return errors.Join(err, fmt.Errorf("%d lanes", len(lanes)))
		}
		if ids, err = c.query("claim_lane", lanes[0], now, now, int64(10), int64(n)); err != nil {
			return err
		}
		packed := []byte{}
		for _, id := range ids {
			packed = binary.AppendUvarint(packed, uint64(id))
		}
		if err := c.each("claim_row", ids, func(st *csqlite.Stmt, id int64) {
			st.Int(1, id)
			st.Blob(2, token[:])
			st.Int(3, lease)
		}); err != nil {
			return err
		}
		if _, err := c.query("marks_any"); err != nil {
			return err
		}
		_, err = c.query("claim_record", lease, token[:], packed)
		return err
	})
	if err != nil {
		return 0, err
	}
	fence := func(st *csqlite.Stmt, id int64, from lastlook.State, after int64) {
		st.Int(1, id)
		st.Int(2, int64(from))
		st.Blob(3, token[:])
		st.Int(4, after)
		st.Int(5, math.MaxInt64)
	}
	const window = "day UTC"
	day := time.Now().UTC().Truncate(24 * time.Hour).UnixMicro()
	err = c.transaction(func() error {
		return c.each("apply_sending", ids, func(st *csqlite.Stmt, id int64) {
			fence(st, id, lastlook.StatePending, now)
			st.Int(6, 1)
			st.Int(7, lease)
			st.Int(8, now)
			st.Text(9, window)
			st.Int(10, day)
			st.Int(11, 1)
			st.Int(12, 0)
			st.Text(13, asserted)
			st.Null(14)
		})
	})
	if err != nil {
		return 0, err
	}
	return len(ids), c.transaction(func() error { return c.end(ids, fence, now, window, day) })
}

// end ends rows that were told.
func (c *rawConn) end(ids []int64, fence func(*csqlite.Stmt, int64, lastlook.State, int64), now int64, window string, day int64) error {
	if err := c.each("apply_end", ids, func(st *csqlite.Stmt, id int64) {
		fence(st, id, lastlook.StateSending, math.MinInt64)
		st.Int(6, int64(lastlook.StateSent))
		st.Int(7, now)
		st.Int(8, 1)
		st.Text(9, "")
		st.Int(10, now)
		st.Text(11, window)
		st.Int(12, day)
		st.Int(13, 1)
		st.Text(14, asserted)
		st.Null(15)
		st.Text(16, story)
	}); err != nil {
		return err
	}
	if err := c.each("apply_end_key", ids, func(st *csqlite.Stmt, id int64) {
		st.Int(1, id)
		st.Int(2, int64(lastlook.KeyDelivered))
		st.Int(3, 0)
		st.Int(4, int64(lastlook.StateSent))
		st.Text(5, "")
		st.Int(6, now)
		st.Text(7, window)
		st.Int(8, day)
		st.Int(9, 1)
		st.Text(10, asserted)
	}); err != nil {
		return err
	}
	if _, err := c.query("marks_any"); err != nil {
		return err
	}
	return c.each("apply_remove", ids, func(st *csqlite.Stmt, id int64) { st.Int(1, id) })
}
