package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/lastlook/lastlook"
)

// caller is an application's transaction, of either kind.
type caller struct {
	enqueue          func(items ...lastlook.Item) ([]lastlook.EnqueueResult, error)
	exec             func(query string) error
	commit, rollback func() error
}

type begin func(k *kit) caller

// callers begin transactions of each kind that EnqueueTx is for.
func callers(t *testing.T) map[string]begin {
	t.Helper()
	return map[string]begin{
		"pgx": func(k *kit) caller {
			tx, err := k.pool.Begin(k.Context())
			if err != nil {
				k.Fatal(err)
			}
			k.Cleanup(func() { _ = tx.Rollback(context.Background()) }) // if the test failed
			return caller{
				enqueue: func(items ...lastlook.Item) ([]lastlook.EnqueueResult, error) {
					return k.s.EnqueueTx(k.Context(), tx, k.now, items...)
				},
				exec:     func(q string) error { _, err := tx.Exec(k.Context(), q); return err },
				commit:   func() error { return tx.Commit(k.Context()) },
				rollback: func() error { return tx.Rollback(k.Context()) },
			}
		},
		"database/sql": func(k *kit) caller {
			db := stdlib.OpenDBFromPool(k.pool)
			k.Cleanup(func() {
				if err := db.Close(); err != nil {
					k.Error(err)
				}
			})
			tx, err := db.BeginTx(k.Context(), &sql.TxOptions{})
			if err != nil {
				k.Fatal(err)
			}
			k.Cleanup(func() { _ = tx.Rollback() }) // if the test failed
			return caller{
				enqueue: func(items ...lastlook.Item) ([]lastlook.EnqueueResult, error) {
					return k.s.EnqueueSQLTx(k.Context(), tx, k.now, items...)
				},
				exec:     func(q string) error { _, err := tx.ExecContext(k.Context(), q); return err },
				commit:   tx.Commit,
				rollback: tx.Rollback,
			}
		},
	}
}

func eachCaller(t *testing.T, f func(k *kit, begin func() caller)) {
	t.Helper()
	for name, b := range callers(t) {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			f(k, func() caller { return b(k) })
		})
	}
}

func (k *kit) ok(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

func (k *kit) count(table string, want int) {
	k.Helper()
	if n := k.column("SELECT count(*) FROM " + k.table(table))[0]; n != fmt.Sprint(want) {
		k.Errorf("%s rows in %s, want %d", n, table, want)
	}
}

// What is enqueued is there with the caller's commit, and not before.
func TestEnqueueTxCommits(t *testing.T) {
	eachCaller(t, func(k *kit, begin func() caller) {
		odd := item(lastlook.Key{Topic: "watch", Subject: `a "b" \ {c,d} ' NULL é`, Recipient: "ann", Channel: "push"})
		odd.Detection, odd.Trace, odd.Lane = []byte(`{"a":"\\ \" , {} 'é'","b":null}`), `{"x\`, `"l"\`
		tx := begin()
		res, err := tx.enqueue(append(items(0, 3), odd)...)
		k.ok(err)
		k.count("live", 0)
		k.ok(tx.commit())
		k.count("live", 4)
		rec := k.get(res[3].ID)
		if rec.Key != odd.Key || string(rec.Detection) != string(odd.Detection) || rec.Trace != odd.Trace || rec.Lane != odd.Lane {
			t.Errorf("stored %+v, want %+v", rec, odd)
		}
		again := begin()
		edge := odd
		edge.Edge = true
		res, err = again.enqueue(items(0, 1)[0], edge)
		k.ok(err)
		if res[0].Status != lastlook.Duplicate || res[1].Status != lastlook.Marked {
			t.Errorf("enqueued again: %+v", res)
		}
		k.ok(again.commit())
		k.count("marks", 1)
	})
}

// A rollback leaves no row, nor a lane or a key.
func TestEnqueueTxRollsBack(t *testing.T) {
	eachCaller(t, func(k *kit, begin func() caller) {
		tx := begin()
		_, err := tx.enqueue(items(0, 3)...)
		k.ok(err)
		k.ok(tx.rollback())
		for _, table := range []string{"live", "notifications", "keys", "lanes"} {
			k.count(table, 0)
		}
		k.inserted(item(key(1))) // and the lane is not remembered
		if rows := k.claim(10); len(rows) != 1 {
			t.Errorf("claimed %d rows, want 1", len(rows))
		}
	})
}

// After an error nothing of the call is in the transaction, and the rest of it
// can be committed. The planner's settings are the caller's again, either way.
func TestEnqueueTxFailsWhole(t *testing.T) {
	eachCaller(t, func(k *kit, begin func() caller) {
		k.exec("CREATE TABLE " + k.table("app") + " (n int)")
		told := item(key(1))
		told.Windows, told.Episode = lastlook.Episodes(), 5
		k.inserted(told)
		r := k.claimOne()
		a := lastlook.Assertion{Value: []byte(`1`), LookedAt: k.now, Window: lastlook.Episodes().At(k.now, 5), Seq: 1}
		k.apply(k.must(r.Sending(k.now, a, k.now.Add(lease))))
		k.apply(k.must(r.Accepted(k.now, lastlook.Outcome{})))
		tx := begin()
		k.ok(tx.exec("SET LOCAL enable_hashjoin = on; SET LOCAL enable_seqscan = on"))
		k.ok(tx.exec("INSERT INTO " + k.table("app") + " VALUES (1)"))
		back := told
		back.Episode = 4
		if _, err := tx.enqueue(item(key(0)), back); !errors.Is(err, lastlook.ErrWindowBackwards) {
			t.Errorf("error %v, want %v", err, lastlook.ErrWindowBackwards)
		}
		_, err := tx.enqueue(item(key(2)))
		k.ok(err)
		k.ok(tx.exec("INSERT INTO " + k.table("app") + " SELECT 2 WHERE current_setting('enable_seqscan') = 'on' AND current_setting('enable_hashjoin') = 'on' AND current_setting('enable_mergejoin') = 'on'"))
		k.ok(tx.commit())
		k.count("app", 2)
		k.count("live", 1)
	})
}

// Enqueuers of the same key wait for each other's transaction: the second finds
// the first one's row if that commits, and none if it rolls back.
func TestSameKeyWaits(t *testing.T) {
	for _, commit := range []bool{true, false} {
		t.Run(fmt.Sprint("commit ", commit), func(t *testing.T) {
			eachCaller(t, func(k *kit, begin func() caller) {
				first := begin()
				res, err := first.enqueue(item(key(1)))
				k.ok(err)
				type answer struct {
					res []lastlook.EnqueueResult
					err error
				}
				second := make(chan answer, 1)
				go func() {
					res, err := k.s.Enqueue(k.Context(), k.now, items(0, 3))
					second <- answer{res, err}
				}()
				k.waitFor("the second to wait", func() bool {
					return k.column("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1", "%"+strings.ReplaceAll(k.s.Schema(), `"`, `""`)[:20]+"%")[0] != "0"
				})
				if commit {
					k.ok(first.commit())
				} else {
					k.ok(first.rollback())
				}
				got := <-second
				k.ok(got.err)
				want := lastlook.EnqueueResult{Status: lastlook.Duplicate, ID: res[0].ID, State: lastlook.StatePending}
				if commit && got.res[1] != want {
					t.Errorf("the second: %+v, want %+v", got.res[1], want)
				}
				if !commit && got.res[1].Status != lastlook.Inserted {
					t.Errorf("the second: %+v, want inserted", got.res[1])
				}
				k.count("live", 3)
			})
		})
	}
}

// A transaction of another isolation level, whose snapshot is too old, is told
// to be made again.
func TestEnqueueTxRepeatableRead(t *testing.T) {
	k := newKit(t)
	tx, err := k.pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	k.ok(err)
	var n int
	k.ok(tx.QueryRow(t.Context(), "SELECT 1").Scan(&n)) // the snapshot
	k.inserted(item(key(1)))
	if _, err := k.s.EnqueueTx(t.Context(), tx, k.now, item(key(1))); !errors.Is(err, lastlook.ErrBusy) {
		t.Errorf("error %v, want %v", err, lastlook.ErrBusy)
	}
	k.ok(tx.Rollback(t.Context()))
}

// No write moves a key's told window back, and one that would changes nothing.
func TestToldNeverMovesBack(t *testing.T) {
	k := newKit(t)
	tell := func(r *lastlook.Row, episode int64) change {
		a := lastlook.Assertion{Value: []byte(`1`), LookedAt: k.now, Window: lastlook.Episodes().At(k.now, episode), Seq: 1}
		return k.must(r.Sending(k.now, a, k.now.Add(lease)))
	}
	k.inserted(item(key(1)))
	r := k.claimOne()
	k.apply(tell(r, 5))
	k.apply(k.must(r.OutcomeUnknown(k.now, lastlook.Next{Due: k.now}, lastlook.Outcome{})))
	k.inserted(item(key(2)))
	rows := k.claim(10)
	k.apply(tell(&rows[0], 4), tell(&rows[1], 4))
	for name, end := range map[string]func(r lastlook.Row) (change, error){
		"accepted": func(r lastlook.Row) (change, error) { return r.Accepted(k.now, lastlook.Outcome{}) },
		"unknown": func(r lastlook.Row) (change, error) {
			return r.OutcomeUnknown(k.now, lastlook.Next{Due: k.now}, lastlook.Outcome{})
		},
	} {
		_, err := k.s.Apply(t.Context(), k.now, []change{k.must(end(rows[0])), k.must(end(rows[1]))})
		if !errors.Is(err, lastlook.ErrWindowBackwards) {
			t.Errorf("%s: %v, want %v", name, err, lastlook.ErrWindowBackwards)
		}
	}
	for _, row := range rows {
		if rec := k.get(row.ID); rec.State != lastlook.StateSending {
			t.Errorf("row %d is %s, want it untouched", row.ID, rec.State)
		}
	}
}

// WithTx commits what its function writes if that returns nil, and hands its
// errors back as they are.
func TestWithTx(t *testing.T) {
	k := newKit(t)
	mine := errors.New("mine")
	for _, want := range []error{nil, mine} {
		err := k.s.WithTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
			if _, err := k.s.EnqueueTx(ctx, tx, k.now, item(key(1))); err != nil {
				return err
			}
			rows, err := k.s.KeyRowsTx(ctx, tx, []lastlook.Key{key(2), key(1)})
			if err != nil {
				return err
			}
			if rows[0].ID != 0 || rows[1].ID == 0 {
				t.Errorf("key rows %+v", rows)
			}
			if _, err := tx.Exec(ctx, "UPDATE "+k.table("keys")+" SET failures = failures + 1"); err != nil {
				return err
			}
			return want
		})
		if !errors.Is(err, want) {
			t.Errorf("WithTx: %v, want %v", err, want)
		}
	}
	if got := k.column("SELECT failures FROM " + k.table("keys")); len(got) != 1 || got[0] != "1" {
		t.Errorf("failures %v, want 1", got)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is lost")
			}
		}()
		_ = k.s.WithTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "DELETE FROM "+k.table("keys"))
			k.ok(err)
			panic("planted")
		})
	}()
	k.count("keys", 1)
	err := k.s.WithReadTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM "+k.table("keys"))
		return err
	})
	if !errors.Is(err, lastlook.ErrReadOnly) {
		t.Errorf("a write in WithReadTx: %v, want %v", err, lastlook.ErrReadOnly)
	}
}

// Retention waits for nobody's enqueue, and no enqueue loses its key to it.
func TestPruneMeetsEnqueue(t *testing.T) {
	k := newKit(t)
	k.inserted(item(key(1)))
	k.apply(k.dropped(k.claimOne()))
	k.now = k.now.Add(time.Hour)
	tx, err := k.pool.Begin(t.Context())
	k.ok(err)
	_, err = k.s.EnqueueTx(t.Context(), tx, k.now, item(key(1)))
	k.ok(err)
	got, err := k.s.Prune(t.Context(), lastlook.PruneRequest{EndedBefore: k.now, KeysIdleBefore: k.now})
	k.ok(err)
	if got != (lastlook.Pruned{Notifications: 1}) {
		t.Errorf("pruned %+v while the key was being used, want its notification alone", got)
	}
	k.ok(tx.Commit(t.Context()))
	k.count("keys", 1)
	k.claimOne()
}
