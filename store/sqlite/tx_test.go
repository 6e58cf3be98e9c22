package sqlite_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/sqlite"
)

const (
	makeNotes = "CREATE TABLE IF NOT EXISTS notes (text TEXT)"
	addNote   = "INSERT INTO notes (text) VALUES (?)"
	readNotes = "SELECT text FROM notes ORDER BY rowid"
)

func (k *kit) note(text string, then error) error {
	return k.s.WithTx(k.Context(), func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, makeNotes); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, addNote, text); err != nil {
			return err
		}
		if _, err := k.s.EnqueueTx(ctx, tx, k.now, item(lastlook.Key{Topic: "watch", Subject: text, Recipient: "ann", Channel: "push"})); err != nil {
			return err
		}
		return then
	})
}

func TestWithTxCommitsAllOrNothing(t *testing.T) {
	k := newKit(t)
	if err := k.note("a", nil); err != nil {
		t.Fatal(err)
	}
	mine := errors.New("mine")
	if err := k.note("b", mine); !errors.Is(err, mine) || err.Error() != "mine" {
		t.Errorf("got %v, want f's own error", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic did not come through")
			}
		}()
		_ = k.s.WithTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, addNote, "c"); err != nil {
				return err
			}
			panic("c")
		})
	}()
	ctx, cancel := context.WithCancel(t.Context())
	err := k.s.WithTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, addNote, "d")
		cancel()
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a context that ended in f: %v", err)
	}
	err = k.s.WithTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO nowhere VALUES (1)")
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "no such table") {
		t.Errorf("bad SQL: %v", err)
	}
	// The writer is usable after each of them, and nothing of them is there.
	if err := k.note("e", nil); err != nil {
		t.Fatal(err)
	}
	if got := column(t, otherHandle(t, k.path, ""), readNotes); !reflect.DeepEqual(got, []string{"a", "e"}) {
		t.Errorf("notes: %v", got)
	}
	recs, err := k.s.List(t.Context(), lastlook.Query{})
	if err != nil || len(recs) != 2 {
		t.Errorf("%d notifications, %v; want 2", len(recs), err)
	}
}

// impatient opens the file once more, with a short timeout.
func (k *kit) impatient() *sqlite.Store {
	k.Helper()
	s, err := sqlite.Open(k.Context(), k.path, sqlite.WithTimeout(300*time.Millisecond))
	if err != nil {
		k.Fatal(err)
	}
	k.Cleanup(func() {
		if err := s.Close(); err != nil {
			k.Error(err)
		}
	})
	return s
}

func TestWithTxHasTheWriteLockFromItsStart(t *testing.T) {
	k := newKit(t)
	other := k.impatient()
	err := k.s.WithTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		for name, write := range map[string]func() error{
			"enqueue": func() error {
				_, err := other.Enqueue(ctx, k.now, items(1))
				return err
			},
			"transaction": func() error {
				return other.WithTx(ctx, func(context.Context, *sql.Tx) error {
					t.Error("f ran beside another one")
					return nil
				})
			},
		} {
			if err := write(); !errors.Is(err, lastlook.ErrBusy) {
				t.Errorf("%s of another process: %v, want ErrBusy", name, err)
			}
		}
		var n int
		return tx.QueryRowContext(ctx, "SELECT count(*) FROM lastlook_keys").Scan(&n)
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Enqueue(t.Context(), k.now, items(1)); err != nil {
		t.Errorf("after it: %v", err)
	}
	// The other way round: it waits for the lock, and then sees what was written.
	db := otherHandle(t, k.path, "_txlock=immediate")
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("UPDATE lastlook_keys SET failures = 7"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		done <- k.s.WithTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			rows, err := k.s.KeyRowsTx(ctx, tx, []lastlook.Key{key(0)})
			if err == nil && rows[0].Failures != 7 {
				err = fmt.Errorf("read %d failures: what was there before the lock", rows[0].Failures)
			}
			return err
		})
	}()
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestWithTxIsBoundedAndEndsWithTheStore(t *testing.T) {
	k := newKit(t)
	k.s = k.impatient()
	release := k.s.HoldGate()
	err := k.s.WithTx(t.Context(), func(context.Context, *sql.Tx) error { return nil })
	if !errors.Is(err, lastlook.ErrBusy) {
		t.Errorf("while another call does not end: %v, want ErrBusy", err)
	}
	release()
	err = k.s.WithTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, lastlook.ErrBusy) {
		t.Errorf("f that does not end: %v, want ErrBusy", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := k.s.WithTx(cancelled, func(context.Context, *sql.Tx) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	if err := k.s.Close(); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func(context.Context, func(context.Context, *sql.Tx) error) error{"write": k.s.WithTx, "read": k.s.WithReadTx} {
		if err := f(t.Context(), func(context.Context, *sql.Tx) error { return nil }); !errors.Is(err, sqlite.ErrClosed) {
			t.Errorf("%s on a closed store: %v, want ErrClosed", name, err)
		}
	}
}

func TestKeyRowsTxReadsAllThatIsKnown(t *testing.T) {
	k := newKit(t)
	told := k.deliver(item(key(1)), `{"price":480}`)
	k.now = k.now.Add(48 * time.Hour)
	id := k.inserted(item(key(1)))
	r := k.claimOne()
	k.sending(r, `{"price":"<470>"}`)
	k.apply(k.must(r.OutcomeUnknown(k.now, lastlook.Next{Due: k.now, Last: true}, lastlook.Outcome{Err: "timed out"})))
	odd := lastlook.Key{Topic: `t"<&>`, Subject: "s'\\", Recipient: "räkkä\u2028", Channel: "🚀"}
	k.inserted(item(odd))
	want := k.get(id).KeyRow
	if want.Baseline == nil || want.Maybe == nil || want.Failures != 1 || want.ToldBy != id || want.Last.ID != id || told == id {
		t.Fatalf("the test's key row says too little: %+v", want)
	}
	err := k.s.WithTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		rows, err := k.s.KeyRowsTx(ctx, tx, []lastlook.Key{key(7), key(1), odd, key(1)})
		if err != nil {
			return err
		}
		if rows[0].ID != 0 || !reflect.DeepEqual(rows[1], *want) || rows[2].ID == 0 || !reflect.DeepEqual(rows[3], rows[1]) {
			b, err := json.MarshalIndent(rows, "", " ")
			t.Errorf("got %s, %v", b, err)
		}
		if rows, err := k.s.KeyRowsTx(ctx, tx, nil); len(rows) != 0 || err != nil {
			t.Errorf("no keys: %v, %v", rows, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := k.s.WithReadTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		rows, err := k.s.KeyRowsTx(ctx, tx, []lastlook.Key{key(1)})
		if err == nil && !reflect.DeepEqual(rows[0], *want) {
			t.Errorf("read only: %+v", rows[0])
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM lastlook_keys"); err == nil {
			t.Error("a reader could write")
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

func TestKeyRowsTxUsesTheIndex(t *testing.T) {
	k := newKit(t)
	const n = 600
	k.enqueue(items(n)...)
	keys := make([]lastlook.Key, n)
	for i := range keys {
		keys[i] = key(n - 1 - i)
	}
	err := k.s.WithTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		rows, err := k.s.KeyRowsTx(ctx, tx, keys)
		for i := range rows {
			if rows[i].ID == 0 {
				return fmt.Errorf("no key row for %s", keys[i])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	db := otherHandle(t, k.path, "")
	plan := strings.Join(planOf(t, db, sqlite.KeyRowsQuery, "[]"), "; ")
	if !strings.Contains(plan, "SEARCH k USING INDEX") {
		t.Errorf("plan: %s", plan)
	}
}

// planOf returns the lines of EXPLAIN QUERY PLAN.
func planOf(t *testing.T, db *sql.DB, query string, args ...any) (out []string) {
	t.Helper()
	rows, err := db.Query("EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		out = append(out, detail)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		t.Fatal(err)
	}
	return out
}
