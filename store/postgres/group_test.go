package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
)

// Calls that come while others are being committed share transactions: as many
// calls as there are do not make as many. Each gets its own answer, in its order.
func TestConcurrentEnqueuesShareTransactions(t *testing.T) {
	const goroutines, calls = 40, 25
	k := newKit(t)
	k.inserted(item(key(0))) // the lane is known
	before := k.transactions()
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for c := range calls {
				n := 1 + g*calls + c
				its := []lastlook.Item{item(key(0)), item(key(n)), item(key(n))}
				its[1].Trace = fmt.Sprint(n)
				its[2].Edge = true
				res, err := k.s.Enqueue(t.Context(), k.now, its)
				if err != nil {
					t.Error(err)
					return
				}
				if res[0].Status != lastlook.Duplicate || res[1].Status != lastlook.Inserted || res[2].Status != lastlook.Marked || res[2].ID != res[1].ID {
					t.Errorf("call %d: %+v", n, res)
				}
				if rec := k.get(res[1].ID); rec.Trace != fmt.Sprint(n) || rec.Key != key(n) {
					t.Errorf("call %d got the answer of another one: row %d is of %s, trace %s", n, rec.ID, rec.Key, rec.Trace)
				}
			}
		})
	}
	wg.Wait()
	k.count("live", 1+goroutines*calls)
	if made := k.transactions() - before; made > goroutines*calls*3/4 {
		t.Errorf("%d calls made %d transactions", goroutines*calls, made)
	}
}

// transactions counts those that have written live rows, by their numbers.
func (k *kit) transactions() (n int) {
	k.Helper()
	if _, err := fmt.Sscan(k.column("SELECT count(DISTINCT xmin::text) FROM " + k.table("live"))[0], &n); err != nil {
		k.Fatal(err)
	}
	return n
}

// One call's fault is its own: the others of its group are written.
func TestGroupIsTakenApart(t *testing.T) {
	k := newKit(t)
	told := item(key(1))
	told.Windows, told.Episode = lastlook.Episodes(), 5
	k.inserted(told)
	r := k.claimOne()
	k.apply(k.must(r.Sending(k.now, lastlook.Assertion{Value: []byte(`1`), LookedAt: k.now, Window: lastlook.Episodes().At(k.now, 5), Seq: 1}, k.now.Add(lease))))
	k.apply(k.must(r.Accepted(k.now, lastlook.Outcome{})))
	back := told
	back.Episode = 4
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			if i%10 == 0 {
				if _, err := k.s.Enqueue(t.Context(), k.now, []lastlook.Item{back}); !errors.Is(err, lastlook.ErrWindowBackwards) {
					t.Errorf("error %v, want %v", err, lastlook.ErrWindowBackwards)
				}
				return
			}
			if res, err := k.s.Enqueue(t.Context(), k.now, items(100+i, 101+i)); err != nil || res[0].Status != lastlook.Inserted {
				t.Errorf("row %d: %+v, %v", i, res, err)
			}
		})
	}
	wg.Wait()
	k.count("live", 54)
}

// Whoever waits for another's transaction waits alone, and for as long as its own
// context says.
func TestGroupWaitsForNobody(t *testing.T) {
	k := newKit(t)
	k.inserted(item(key(0)))
	tx, err := k.pool.Begin(t.Context())
	k.ok(err)
	_, err = k.s.EnqueueTx(t.Context(), tx, k.now, item(key(1)))
	k.ok(err)
	ctx, cancel := context.WithCancel(t.Context())
	var stuck, free sync.WaitGroup
	for range 3 {
		stuck.Go(func() {
			if _, err := k.s.Enqueue(ctx, k.now, items(1, 2)); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want %v", err, context.Canceled)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 30 {
			free.Go(func() {
				if _, err := k.s.Enqueue(t.Context(), k.now, items(10+i, 11+i)); err != nil {
					t.Error(err)
				}
			})
		}
		free.Wait()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Error("others wait for a key that is none of theirs")
	}
	cancel()
	stuck.Wait()
	k.ok(tx.Rollback(t.Context()))
	// A statement that waits goes with its connection, sooner or later.
	if n := k.column("SELECT count(*) FROM " + k.table("live"))[0]; n != "31" && n != "32" {
		t.Errorf("%s rows, want 31, or 32 if one of those who waited was not stopped in time", n)
	}
}
