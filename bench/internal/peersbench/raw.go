package peersbench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/postgres"
)

// statements are the store's own, read from its .sql files, so that the bound is
// that of what the engine really runs. (Their form is told in fragments.sql.)
type statements map[string]string

var fragmentUse = regexp.MustCompile(`\{(\w+)\}`)

// loadStatements reads the files beside the store's source.
func loadStatements() (statements, error) {
	_, self, _, ok := runtime.Caller(0)
	if !ok {
		return nil, errors.New("bench: where is the source?")
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(self), "..", "..", "..", "store", "postgres", "queries", "*.sql"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, errors.New("bench: the store's .sql files are not there: run it in the source tree, without -trimpath"))
	}
	out, fragments := statements{}, statements{"s": "public."}
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
		for range 4 { // fragments nest, but not deeper
			text = fragmentUse.ReplaceAllStringFunc(text, func(use string) string {
				return strings.TrimSpace(fragments[strings.Trim(use, "{}")])
			})
		}
		out[name] = strings.TrimSuffix(strings.TrimSpace(text), ";")
	}
	return out, nil
}

const (
	// rawBatch is the dispatcher's default.
	rawBatch = 1000
	// rawLoops is how many loops there are at once: the engine claims, moves to
	// sending and writes ends side by side.
	rawLoops = 4
	rawLease = int64(time.Minute / time.Microsecond)
)

// rawLoop is one connection that takes batches through the three transactions of
// a telling.
type rawLoop struct {
	conn *pgxpool.Conn
	q    statements
	lane int64
	head *rawHead
	sink int // so that what is read is really read
}

// rawHead is where the last claim found its first row: the next one starts there,
// as the store's do while a backlog is drained.
type rawHead struct {
	mu      sync.Mutex
	due, id int64
}

func (h *rawHead) get() (due, id int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.due, h.id
}

func (h *rawHead) set(due, id int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.due, h.id = due, id
}

// call is a statement and its arguments.
type call struct {
	name string
	args []any
	each func(rows pgx.Rows) error
}

// run sends statements together, and reads each row.
func (l *rawLoop) run(ctx context.Context, calls ...call) error {
	var b pgx.Batch
	for _, c := range calls {
		text := l.q[c.name]
		if text == "" {
			return fmt.Errorf("bench: the store has no statement %q: follow it in raw.go", c.name)
		}
		b.Queue(text, c.args...)
	}
	res := l.conn.SendBatch(ctx, &b)
	for _, c := range calls {
		rows, err := res.Query()
		if err == nil {
			for rows.Next() && err == nil {
				if c.each != nil {
					err = c.each(rows)
					continue
				}
				for _, v := range rows.RawValues() {
					l.sink += len(v)
				}
			}
			rows.Close()
			err = errors.Join(err, rows.Err())
		}
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", c.name, err), res.Close())
		}
	}
	return res.Close()
}

// begin are the statements at the head of each transaction.
func begin(behind string, calls ...call) []call {
	return append([]call{{name: "begin"}, {name: "settings", args: []any{"30000", "30000", behind, "off", "30000"}}}, calls...)
}

// fill makes an array of one value.
func filled[T any](n int, v T) []T { return slices.Repeat([]T{v}, n) }

// cycle takes one batch through, and returns its size.
func (l *rawLoop) cycle(ctx context.Context) (int, error) {
	now := time.Now().UnixMicro()
	token := pgtype.UUID{Bytes: lastlook.NewToken(), Valid: true}
	var ids, keys []int64
	due, id := l.head.get()
	first := [2]int64{math.MaxInt64, math.MaxInt64}
	claim := call{name: "claim_rows",
		args: []any{now, token, []int64{l.lane}, []int64{rawBatch}, []int64{10}, []int64{now + rawLease}, []int64{due}, []int64{id}},
		each: func(rows pgx.Rows) error {
			var id, key, lane, due, attempt, lease int64
			var story []byte
			err := rows.Scan(&id, &key, &lane, &due, &attempt, &lease, &story)
			ids, keys = append(ids, id), append(keys, key)
			if due < first[0] || due == first[0] && id < first[1] {
				first = [2]int64{due, id}
			}
			return err
		}}
	if err := l.run(ctx, begin("on", claim)...); err != nil {
		return 0, err
	}
	if len(ids) == 0 {
		l.head.set(0, 0)
		return 0, l.run(ctx, call{name: "commit"})
	}
	l.head.set(first[0], first[1])
	err := l.run(ctx, call{name: "claim_marks", args: []any{token, keys}}, call{name: "claim_read", args: []any{ids, keys}},
		call{name: "claim_record", args: []any{now + rawLease, token, ids}}, call{name: "commit"})
	if err != nil {
		return 0, err
	}
	slices.Sort(ids)
	return len(ids), l.tell(ctx, ids, token, now)
}

// story is a row's story as the engine would write it.
const story = `[{"at":"2026-12-01T09:00:00.123456Z","event":"sending","state":"sending","attempt":1,"looked_at":"2026-12-01T09:00:00.12Z",` +
	`"value":{"available":true,"currency":"EUR","price":"479.00"}},{"at":"2026-12-01T09:00:00.234567Z","event":"accepted","state":"sent","attempt":1,"answer":"201 Created"}]`

// tell moves rows to sending, and ends them.
func (l *rawLoop) tell(ctx context.Context, ids []int64, token pgtype.UUID, now int64) error {
	n := len(ids)
	fence := func(from lastlook.State, after int64) []any {
		return []any{ids, filled(n, int64(from)), filled(n, token), filled(n, after), filled(n, int64(math.MaxInt64))}
	}
	const window = "always"
	sending := append(fence(lastlook.StatePending, now), filled(n, int64(1)), filled(n, now+rawLease),
		filled(n, now), filled(n, window), filled(n, now), filled(n, int64(1)), filled(n, int64(0)), filled(n, asserted), filled(n, ""))
	if err := l.run(ctx, append(begin("off", call{name: "apply_sending", args: sending}), call{name: "commit"})...); err != nil {
		return err
	}
	ends := append(fence(lastlook.StateSending, math.MinInt64), filled(n, int64(lastlook.StateSent)), filled(n, now), filled(n, int64(1)), filled(n, ""),
		filled(n, now), filled(n, window), filled(n, now), filled(n, int64(1)), filled(n, asserted), filled(n, ""), filled(n, story),
		filled(n, int64(lastlook.KeyDelivered)), filled(n, int64(0)))
	ended := 0
	end := call{name: "apply_end", args: ends, each: func(rows pgx.Rows) error {
		ended++
		for _, v := range rows.RawValues() {
			l.sink += len(v)
		}
		return nil
	}}
	if err := l.run(ctx, begin("off", end, call{name: "marks_any"})...); err != nil {
		return err
	}
	if ended != n+1 { // rows, and the number of keys
		return fmt.Errorf("the raw loop ended %d of %d rows", ended-1, n)
	}
	return l.run(ctx, call{name: "commit"})
}

// drainRaw makes rows sent with the store's statements alone.
func (b *Bench) drainRaw(ctx context.Context, db *database, n int) (u use, err error) {
	q, err := loadStatements()
	if err != nil {
		return u, err
	}
	s, closeStore, err := db.store(ctx, postgres.Config{})
	if err != nil {
		return u, err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	if err := fill(ctx, s, 0, warmUp+n); err != nil {
		return u, err
	}
	var lane int64
	if err := s.Pool().QueryRow(ctx, "SELECT id FROM lastlook_lanes").Scan(&lane); err != nil {
		return u, err
	}
	c, head, failed := newCounter(warmUp, n), &rawHead{}, make(chan error, rawLoops)
	var wg sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(warmUp + n))
	for range rawLoops {
		conn, err := s.Pool().Acquire(ctx)
		if err != nil {
			return u, err
		}
		wg.Go(func() {
			defer conn.Release()
			l := &rawLoop{conn: conn, q: q, lane: lane, head: head}
			for left.Load() > 0 {
				done, err := l.cycle(ctx)
				if err != nil {
					failed <- err
					return
				}
				left.Add(-int64(done))
				for range done {
					c.one()
				}
			}
		})
	}
	u, err = c.measure(ctx, b.rig, failed)
	left.Store(0)
	wg.Wait()
	return u, err
}
