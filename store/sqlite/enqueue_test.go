package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/sqlite"
)

// Batches of every size come out whole, each item with its own row.
func TestEnqueueSizes(t *testing.T) {
	for _, n := range []int{0, 1, 2, 7, 8, 9, 63, 65, 511, 513, 1300} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			k := newKit(t)
			batch := items(n)
			slices.Reverse(batch) // results are in the caller's order, rows in that of keys
			for i := range batch {
				batch[i].Lane = fmt.Sprintf("host-%d", i%11)
				batch[i].Trace = fmt.Sprintf("trace-%d", i)
			}
			res := k.enqueue(batch...)
			if len(res) != n {
				t.Fatalf("%d results", len(res))
			}
			byID := map[lastlook.ID]lastlook.Record{}
			for _, r := range list(k, lastlook.Query{Limit: n + 1}) {
				byID[r.ID] = r
			}
			if len(byID) != n {
				t.Fatalf("%d rows", len(byID))
			}
			for i, r := range res {
				rec := byID[r.ID]
				if r.Status != lastlook.Inserted || rec.Key != batch[i].Key || rec.Trace != batch[i].Trace || rec.Lane != batch[i].Lane {
					t.Fatalf("item %d: %+v, row %+v", i, r, rec)
				}
			}
		})
	}
}

// All changes of one kind are one batch, whatever the number of rows; a batch
// of no size is a statement per row.
func TestChunkSizes(t *testing.T) {
	for n, want := range map[int][]int{
		1: {1}, 2: {8}, 8: {8}, 9: {8, 1}, 15: {8, 8}, 16: {64}, 64: {64}, 65: {64, 1}, 128: {512}, 512: {512}, 513: {512, 1}, 1000: {512, 512},
	} {
		if got := sqlite.ChunkSizes(n); !slices.Equal(got, want) {
			t.Errorf("%d rows in statements of %v, want %v", n, got, want)
		}
	}
	for n := range 3000 {
		got := sqlite.ChunkSizes(n)
		room := 0
		for _, s := range got {
			room += s
		}
		if len(got) > 9+n/512 || room > 4*n {
			t.Fatalf("%d rows in statements of %v", n, got)
		}
	}
}

// beginOn begins a transaction of the application's own.
func beginOn(t *testing.T, db *sql.DB) *sql.Tx {
	t.Helper()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

func newEnqueuer(t *testing.T, opts ...sqlite.Option) *sqlite.Enqueuer {
	t.Helper()
	e, err := sqlite.NewEnqueuer(opts...)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// An application with a handle of its own enqueues in its own transaction: the
// rows are there if it commits, and nothing of them if it does not.
func TestEnqueueTx(t *testing.T) {
	k := newKit(t)
	app := otherHandle(t, k.path, "_txlock=immediate&_busy_timeout=5000")
	if err := sqlite.Migrate(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	if _, err := app.Exec("CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT)"); err != nil {
		t.Fatal(err)
	}
	enq := newEnqueuer(t)
	place := func(n int) (*sql.Tx, []lastlook.EnqueueResult) {
		tx := beginOn(t, app)
		if _, err := tx.Exec("INSERT INTO orders (note) VALUES (?)", n); err != nil {
			t.Fatal(err)
		}
		res, err := enq.EnqueueTx(t.Context(), tx, k.now, item(key(n)), item(key(n)))
		if err != nil {
			t.Fatal(err)
		}
		if res[0].Status != lastlook.Inserted || res[1] != (lastlook.EnqueueResult{Status: lastlook.Duplicate, ID: res[0].ID, State: lastlook.StatePending}) {
			t.Fatalf("results %+v", res)
		}
		return tx, res
	}
	tx, lost := place(1)
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	tx, kept := place(2)
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if n := column(t, app, "SELECT count(*) FROM orders"); n[0] != "1" {
		t.Errorf("%s orders, want 1", n[0])
	}
	if recs := list(k, lastlook.Query{}); len(recs) != 1 || recs[0].ID != kept[0].ID || recs[0].Key != key(2) {
		t.Errorf("rows %+v", recs)
	}
	if keys := column(t, app, "SELECT subject FROM lastlook_keys"); len(keys) != 1 {
		t.Errorf("keys left of the rollback: %v", keys)
	}
	// Nobody has ever seen the number that was rolled back.
	if lost[0].ID != kept[0].ID {
		t.Errorf("ids %d and %d", lost[0].ID, kept[0].ID)
	}
	k.now = k.now.Add(time.Second)
	if r := k.claimOne(); r.ID != kept[0].ID {
		t.Errorf("claimed %d", r.ID)
	}
}

// A caller that commits although the enqueue failed half way gets nothing of it.
func TestEnqueueTxFailsWhole(t *testing.T) {
	k := newKit(t)
	app := otherHandle(t, k.path, "_txlock=immediate&_busy_timeout=5000")
	for _, stmt := range []string{"CREATE TABLE orders (id INTEGER PRIMARY KEY)",
		"CREATE TRIGGER fault BEFORE INSERT ON lastlook_live BEGIN SELECT RAISE(FAIL, 'planted'); END"} {
		if _, err := app.Exec(stmt); err != nil {
			t.Fatal(err)
		}
	}
	tx := beginOn(t, app)
	if _, err := tx.Exec("INSERT INTO orders DEFAULT VALUES"); err != nil {
		t.Fatal(err)
	}
	if _, err := newEnqueuer(t).EnqueueTx(t.Context(), tx, k.now, item(key(1))); err == nil {
		t.Fatal("the fault was not noticed")
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"lastlook_notifications", "lastlook_keys", "lastlook_lanes", "lastlook_live"} {
		if n := column(t, app, "SELECT count(*) FROM "+table); n[0] != "0" {
			t.Errorf("%s rows in %s", n[0], table)
		}
	}
	if n := column(t, app, "SELECT count(*) FROM orders"); n[0] != "1" {
		t.Errorf("%s orders: the caller's own row is gone", n[0])
	}
}

func TestEnqueueTxInvalid(t *testing.T) {
	k := newKit(t)
	app := otherHandle(t, k.path, "_txlock=immediate")
	tx := beginOn(t, app)
	_, err := k.s.EnqueueTx(t.Context(), tx, k.now, lastlook.Item{})
	wantErr(t, err, lastlook.ErrInvalid)
	if res, err := k.s.EnqueueTx(t.Context(), tx, k.now); res != nil || err != nil {
		t.Errorf("no items: %v, %v", res, err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	_, err = k.s.EnqueueTx(t.Context(), tx, k.now, item(key(1)))
	wantErr(t, err, sql.ErrTxDone, "enqueue")

	empty := otherHandle(t, t.TempDir()+"/other.db", "")
	tx = beginOn(t, empty)
	_, err = k.s.EnqueueTx(t.Context(), tx, k.now, item(key(1)))
	wantErr(t, err, nil, "lastlook_lanes", "Migrate")
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
}

// A transaction that began deferred and has read before somebody else wrote
// cannot write any more, however long it waits: the error says what to do. One
// that enqueues first can.
func TestEnqueueTxDeferred(t *testing.T) {
	k := newKit(t)
	app := otherHandle(t, k.path, "_busy_timeout=5000")
	tx := beginOn(t, app)
	var n int
	if err := tx.QueryRow("SELECT count(*) FROM lastlook_keys").Scan(&n); err != nil {
		t.Fatal(err)
	}
	k.enqueue(item(key(1)))
	_, err := k.s.EnqueueTx(t.Context(), tx, k.now, item(key(2)))
	wantErr(t, err, lastlook.ErrBusy, "_txlock=immediate")
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}

	tx = beginOn(t, app)
	k.enqueue(item(key(3)))
	if _, err := k.s.EnqueueTx(t.Context(), tx, k.now, item(key(2))); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

// Those who enqueue the same key wait for each other's transaction: the second
// learns of the first one's row if that commits, and inserts its own if not.
func TestEnqueueTxSameKey(t *testing.T) {
	for _, commit := range []bool{true, false} {
		k := newKit(t)
		first := beginOn(t, otherHandle(t, k.path, "_txlock=immediate"))
		res, err := k.s.EnqueueTx(t.Context(), first, k.now, item(key(1)))
		if err != nil {
			t.Fatal(err)
		}
		second := make(chan lastlook.EnqueueResult)
		go func() {
			defer close(second)
			res, err := k.s.Enqueue(context.WithoutCancel(t.Context()), k.now, []lastlook.Item{item(key(1))})
			if err != nil {
				t.Error(err)
				return
			}
			second <- res[0]
		}()
		select {
		case r := <-second:
			t.Fatalf("the second did not wait: %+v", r)
		default:
		}
		want := lastlook.EnqueueResult{Status: lastlook.Inserted, ID: res[0].ID, State: lastlook.StatePending}
		if commit {
			err, want.Status = first.Commit(), lastlook.Duplicate
		} else {
			err = first.Rollback()
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := <-second; got != want {
			t.Errorf("commit %v: the second got %+v, want %+v", commit, got, want)
		}
	}
}

// The write lock is somebody else's for longer than allowed.
func TestEnqueueTxTimeout(t *testing.T) {
	k := newKit(t)
	holder := beginOn(t, otherHandle(t, k.path, "_txlock=immediate"))
	tx := beginOn(t, otherHandle(t, k.path, "_busy_timeout=60000"))
	enq := newEnqueuer(t, sqlite.WithTimeout(30*time.Millisecond))
	_, err := enq.EnqueueTx(t.Context(), tx, k.now, item(key(1)))
	wantErr(t, err, lastlook.ErrBusy, "WithTimeout")
	if err := errors.Join(tx.Rollback(), holder.Rollback()); err != nil {
		t.Fatal(err)
	}
}

// People with a shell see one table, in words.
func TestView(t *testing.T) {
	k := newKit(t)
	k.deliver(item(key(1)), `{"price":470}`)
	k.enqueue(item(key(2)))
	got := column(t, otherHandle(t, k.path, ""), `SELECT id || ' ' || state || ' ' || topic || ' ' || subject || ' ' || coalesce(due, '-') || ' ' || coalesce(ended_at, '-') || ' ' || coalesce(asserted, '-')
		FROM lastlook_outbox ORDER BY id`)
	want := []string{
		`1 sent watch s0001 - 2026-12-01T09:00:00.000Z {"price":470}`,
		`2 pending watch s0002 2026-12-01T09:00:00.000Z - -`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("the view shows\n%s", strings.Join(got, "\n"))
	}
}
