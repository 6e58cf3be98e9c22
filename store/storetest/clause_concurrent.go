package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lastlook/lastlook"
)

var concurrentClauses = []Clause{
	{Name: "concurrent/one live row per key", Promise: "G1", run: concurrentEnqueue},
	{Name: "concurrent/claimers share nothing", Promise: "G2", run: concurrentClaim},
	{Name: "concurrent/one end per row", Promise: "G2", run: concurrentEnd},
	{Name: "concurrent/no lost wake-up", Promise: "G8", run: concurrentEdges},
	{Name: "concurrent/all at once", Promise: "G1, G2", run: concurrentAll},
}

const workers = 4

// together runs f in several goroutines and fails on the first error.
func (f *fixture) together(work func(ctx context.Context, worker int) error) {
	f.Helper()
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() { errs[w] = work(f.Context(), w) })
	}
	wg.Wait()
	for _, err := range errs {
		f.ok(err)
	}
}

// concurrentEnqueue: many detectors notice the same at the same time, each in
// an order of its own.
func concurrentEnqueue(f *fixture) {
	const keys, rounds = 8, 6
	var mu sync.Mutex
	inserted := map[string][]lastlook.ID{}
	met := map[string]map[lastlook.ID]bool{}
	f.together(func(ctx context.Context, w int) error {
		for round := range rounds {
			var items []lastlook.Item
			for i := range keys {
				items = append(items, item(fmt.Sprintf("s%d", (i*(2*w+1)+round)%keys)))
			}
			res, err := f.store.Enqueue(ctx, f.now, items)
			if err != nil {
				return err
			}
			mu.Lock()
			for i, r := range res {
				s := items[i].Subject
				if r.Status == lastlook.Inserted {
					inserted[s] = append(inserted[s], r.ID)
				}
				if met[s] == nil {
					met[s] = map[lastlook.ID]bool{}
				}
				met[s][r.ID] = true
			}
			mu.Unlock()
		}
		return nil
	})
	f.equal("keys with a row", len(inserted), keys)
	for s, ids := range inserted {
		if len(ids) != 1 || len(met[s]) != 1 || !met[s][ids[0]] {
			f.Fatalf("subject %s: rows %v inserted, rows %v met", s, ids, met[s])
		}
	}
	f.equal("live rows", len(f.live()), keys)
}

// concurrentClaim: no row is under two living claims.
func concurrentClaim(f *fixture) {
	const rows = 60
	var items []lastlook.Item
	for i := range rows {
		it := item(fmt.Sprintf("s%02d", i))
		it.Lane = fmt.Sprintf("host%d", i%3)
		items = append(items, it)
	}
	f.insert(items...)
	tmpl := f.request(4)
	var mu sync.Mutex
	got := map[lastlook.ID]int{}
	f.together(func(ctx context.Context, w int) error {
		for n := range rows {
			req := tmpl
			req.Lanes = slices.Clone(tmpl.Lanes)
			req.Token = tokenOf(uint64(1000*(w+1) + n))
			claimed, err := f.store.Claim(ctx, req)
			if err != nil || len(claimed) == 0 {
				return err
			}
			mu.Lock()
			for _, r := range claimed {
				got[r.ID]++
				if r.Token != req.Token || r.Attempt != 1 {
					err = fmt.Errorf("row %d: token %s, attempt %d", r.ID, r.Token, r.Attempt)
				}
			}
			mu.Unlock()
			if err != nil {
				return err
			}
		}
		return nil
	})
	f.equal("rows claimed", len(got), rows)
	for id, n := range got {
		if n != 1 {
			f.Errorf("row %d was claimed %d times", id, n)
		}
	}
}

// concurrentEnd: of all who would end a row, exactly one is told that it did.
func concurrentEnd(f *fixture) {
	var items []lastlook.Item
	for i := range 12 {
		items = append(items, item(fmt.Sprintf("s%02d", i)))
	}
	f.insert(items...)
	rows := f.claim(100)
	for i := range rows {
		f.assert(&rows[i], lastlook.Always(), `1`)
	}
	at := f.now.Add(testLease) // the holder is late, the reaper comes
	ends := make([]atomic.Int32, len(rows))
	f.together(func(ctx context.Context, w int) error {
		var changes []lastlook.Change
		for _, r := range rows {
			c, err := endOf(&r, w, at)
			if err != nil {
				return err
			}
			changes = append(changes, c)
		}
		done, err := f.store.Apply(ctx, at, changes)
		for i := range done {
			if done[i] {
				ends[i].Add(1)
			}
		}
		return err
	})
	for i := range rows {
		if n := ends[i].Load(); n != 1 {
			f.Errorf("row %d was ended %d times", rows[i].ID, n)
		}
		rec := f.get(rows[i].ID)
		accepted := rec.State == lastlook.StateSent
		f.equal("baseline only if sent", string(rec.KeyRow.Baseline) == `1`, accepted)
	}
}

func endOf(r *lastlook.Row, w int, at time.Time) (lastlook.Change, error) {
	switch w {
	case 0:
		return r.Accepted(at, lastlook.Outcome{})
	case 1:
		return r.Reap(at, lastlook.Next{Last: true})
	case 2:
		return r.Rejected(at, lastlook.Outcome{})
	default:
		return r.Transient(at, lastlook.Next{Last: true}, lastlook.Outcome{})
	}
}

// concurrentEdges: edges come while rows are claimed and end. Whatever was
// noticed last is looked at by a claim that came after it.
func concurrentEdges(f *fixture) {
	const subjects, edges = 3, 25
	var world [subjects]atomic.Int64 // what is true now
	var seen [subjects]int64         // what the last finished look saw
	f.insert(item("s0"), item("s1"), item("s2"))
	req := f.request(10)
	var tokens atomic.Uint64
	var mu sync.Mutex
	look := func(ctx context.Context) (int, error) {
		r := req
		r.Token = tokenOf(1000 + tokens.Add(1))
		rows, err := f.store.Claim(ctx, r)
		if err != nil {
			return 0, err
		}
		for i := range rows {
			s, err := strconv.Atoi(rows[i].Key.Subject[1:])
			if err != nil {
				return 0, err
			}
			v := world[s].Load()
			c, err := rows[i].Drop(f.now, lastlook.ReasonConditionLost, lastlook.Outcome{Value: json.RawMessage(strconv.FormatInt(v, 10))})
			if err != nil {
				return 0, err
			}
			done, err := f.store.Apply(ctx, f.now, []lastlook.Change{c})
			if err != nil {
				return 0, err
			}
			if !done[0] {
				return 0, fmt.Errorf("row %d: a drop under a living claim was not made", rows[i].ID)
			}
			mu.Lock()
			seen[s] = max(seen[s], v)
			mu.Unlock()
		}
		return len(rows), nil
	}
	f.together(func(ctx context.Context, w int) error {
		for range edges {
			if w == 0 || w == 1 {
				if _, err := look(ctx); err != nil {
					return err
				}
				continue
			}
			for s := range subjects {
				n := world[s].Add(1)
				it := edge(item(fmt.Sprintf("s%d", s)), strconv.FormatInt(n, 10))
				if _, err := f.store.Enqueue(ctx, f.now, []lastlook.Item{it}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	for range 50 {
		_, err := sweepAll(f.Context(), f.store, f.now, 10, nil)
		f.ok(err)
		if n, err := look(f.Context()); n == 0 {
			f.ok(err)
			break
		}
	}
	for s := range subjects {
		f.equal("what was seen last", seen[s], world[s].Load())
	}
	f.equal("what is left", []int{len(f.live()), f.stats().Marks}, []int{0, 0})
}

// concurrentAll: every method at once; nothing but honest answers.
func concurrentAll(f *fixture) {
	f.insert(item("a"), item("b"), item("c"))
	req := f.request(2)
	var tokens atomic.Uint64
	f.together(func(ctx context.Context, w int) error {
		for n := range 15 {
			it := item(string('a' + rune((n+w)%5)))
			it.Edge = n%3 == 0
			_, err := f.store.Enqueue(ctx, f.now, []lastlook.Item{it, item(string('a' + rune(n%4)))})
			if err != nil {
				return err
			}
			r := req
			r.Token = tokenOf(5000 + tokens.Add(1))
			rows, err := f.store.Claim(ctx, r)
			if err != nil {
				return err
			}
			if err := f.handle(ctx, rows, n+w); err != nil {
				return err
			}
			if err := f.readAll(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	byKey := map[lastlook.Key]int{}
	for _, rec := range f.live() {
		byKey[rec.Key]++
		if byKey[rec.Key] > 1 {
			f.Errorf("key %s has %d live rows", rec.Key, byKey[rec.Key])
		}
	}
}

// handle does something with each claimed row: all of it must be made, since
// no lease passes.
func (f *fixture) handle(ctx context.Context, rows []lastlook.Row, n int) error {
	moves := append(pendingMoves()[1:3], pendingMoves()[4])
	for i := range rows {
		m := moves[(n+i)%len(moves)]
		c, err := m.make(&rows[i], f.now)
		if err != nil {
			return err
		}
		done, err := f.store.Apply(ctx, f.now, []lastlook.Change{c})
		if err != nil {
			return err
		}
		if !done[0] {
			return fmt.Errorf("row %d: %s under a living claim was not made", c.ID, c.Event)
		}
	}
	return nil
}

func (f *fixture) readAll(ctx context.Context) error {
	if _, err := f.store.Sweep(ctx, lastlook.SweepRequest{Now: f.now, Limit: 5}); err != nil {
		return err
	}
	recs, err := f.store.List(ctx, lastlook.Query{Limit: 5})
	if err != nil {
		return err
	}
	for _, rec := range recs {
		if _, err := f.store.Get(ctx, rec.ID); err != nil {
			return err
		}
	}
	if _, err := f.store.Stats(ctx, f.now, start); err != nil {
		return err
	}
	_, err = f.store.Lanes(ctx, lastlook.LaneQuery{Now: f.now, Topics: []string{"t"}, Channels: []string{"push"}})
	return err
}
