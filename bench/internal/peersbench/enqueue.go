package peersbench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/postgres"
	"github.com/riverqueue/river"
)

const (
	// enqueueBatch is how much a call enqueues, for everybody, and callers how
	// many call at once.
	enqueueBatch = 1000
	callers      = 4
	// singles is how many call at once who enqueue one row each.
	singles = 32
)

// share lets goroutines call f for each of n numbers in steps.
func share(n, step, goroutines int, f func(from int) error) (time.Duration, error) {
	var wg sync.WaitGroup
	var next atomic.Int64
	errs := make([]error, goroutines)
	start := time.Now()
	for i := range goroutines {
		wg.Go(func() {
			for errs[i] == nil {
				from := int(next.Add(int64(step))) - step
				if from >= n {
					return
				}
				errs[i] = f(from)
			}
		})
	}
	wg.Wait()
	return time.Since(start), errors.Join(errs...)
}

// enqueueAll enqueues n rows by several callers; each must be as wanted.
func enqueueAll(ctx context.Context, s lastlook.Store, n, step, goroutines int, want lastlook.EnqueueStatus) (float64, error) {
	o := lastlook.NewOutbox(s)
	took, err := share(n, step, goroutines, func(from int) error {
		res, err := o.Enqueue(ctx, items(from, step)...)
		for _, r := range res {
			if r.Status != want {
				return fmt.Errorf("row %d was %s, not %s", from, r.Status, want)
			}
		}
		return err
	})
	return rate(n, took), err
}

// rates are the rounds of each way to enqueue, by name.
type rates map[string][]float64

func (r rates) add(name string, v float64) { r[name] = append(r[name], v) }

// enqueueOurs enqueues new keys, the same again while they are alive, and the
// same again once all have been told; then single ones.
func (b *Bench) enqueueOurs(ctx context.Context, got rates, n, few int) error {
	return b.rig.withStore(ctx, func(_ *database, s *postgres.Store) error {
		if err := fill(ctx, s, 0, warmUp); err != nil { // lanes and plans are known
			return err
		}
		if _, err := drainStore(ctx, b.rig, 0, s); err != nil {
			return err
		}
		batch := func(name string, want lastlook.EnqueueStatus) error {
			v, err := enqueueAll(ctx, s, n, enqueueBatch, callers, want)
			got.add(name, v)
			return err
		}
		// Those of the warm-up have keys already.
		if _, err := s.Pool().Exec(ctx, "DELETE FROM lastlook_keys"); err != nil {
			return err
		}
		if err := batch("new", lastlook.Inserted); err != nil {
			return err
		}
		if err := batch("duplicates", lastlook.Duplicate); err != nil {
			return err
		}
		if _, err := drainStore(ctx, b.rig, n-warmUp, s); err != nil {
			return err
		}
		if err := batch("existing", lastlook.Inserted); err != nil {
			return err
		}
		if _, err := drainStore(ctx, b.rig, n-warmUp, s); err != nil {
			return err
		}
		for name, g := range map[string]int{"single": singles, "alone": 1} {
			v, err := enqueueAll(ctx, s, few, 1, g, lastlook.Inserted)
			got.add(name, v)
			if err != nil {
				return err
			}
			if err := emptied(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
}

// emptied lets everything that is live end, unmeasured.
func emptied(ctx context.Context, s *postgres.Store) error {
	_, err := s.Pool().Exec(ctx, "DELETE FROM lastlook_live")
	return err
}

// enqueueRiver does the same with River: unique jobs, the same again, plain jobs
// by its fastest way; then single unique ones, each by a call of its own.
func (b *Bench) enqueueRiver(ctx context.Context, got rates, n, few int) error {
	return b.rig.fresh(ctx, func(db *database) error {
		pool, err := db.river(ctx)
		if err != nil {
			return err
		}
		defer pool.Close()
		client, err := riverOn(pool, nil)
		if err != nil {
			return err
		}
		many := func(name string, step, goroutines, n, first int, insert func(batch []river.InsertManyParams) (int, error), want int) error {
			took, err := share(n, step, goroutines, func(from int) error {
				done, err := insert(jobs(first+from, step, name != "fast"))
				if err == nil && done != want*step {
					return fmt.Errorf("%d of %d jobs were inserted", done, step)
				}
				return err
			})
			got.add(name, rate(n, took))
			return err
		}
		unique := func(batch []river.InsertManyParams) (int, error) {
			res, err := client.InsertMany(ctx, batch)
			n := 0
			for _, r := range res {
				if !r.UniqueSkippedAsDuplicate {
					n++
				}
			}
			return n, err
		}
		fast := func(batch []river.InsertManyParams) (int, error) { return client.InsertManyFast(ctx, batch) }
		one := func(batch []river.InsertManyParams) (int, error) {
			_, err := client.Insert(ctx, batch[0].Args, batch[0].InsertOpts)
			return 1, err
		}
		return errors.Join(
			many("unique", enqueueBatch, callers, n, 0, unique, 1),
			many("unique duplicates", enqueueBatch, callers, n, 0, unique, 0),
			many("fast", enqueueBatch, callers, n, n, fast, 1),
			many("unique single", 1, singles, few, 2*n, one, 1),
			many("unique alone", 1, 1, few, 3*n, one, 1))
	})
}

// enqueue measures how fast rows go in.
func (b *Bench) enqueue(ctx context.Context) error {
	n, few := b.pick(40_000, 4_000), b.pick(3_000, 200)
	got := rates{}
	for round := range b.pick(5, 1) {
		both := []func(context.Context, rates, int, int) error{b.enqueueOurs, b.enqueueRiver}
		for i := range both {
			if err := both[(i+round)%2](ctx, got, n, few); err != nil {
				return err
			}
		}
	}
	batches := fmt.Sprintf("%d per call, %d callers", enqueueBatch, callers)
	for _, row := range [][3]string{
		{"new", "enqueue, keys never seen", batches}, {"existing", "enqueue, keys told before", batches},
		{"duplicates", "enqueue, all duplicates of live rows", batches},
		{"single", "enqueue, one row per call", fmt.Sprintf("%d callers", singles)}, {"alone", "enqueue, one row per call, one caller", ""},
		{"unique", "River, unique jobs", batches}, {"fast", "River, InsertManyFast, not unique", batches},
		{"unique duplicates", "River, unique jobs, all duplicates", batches},
		{"unique single", "River, one unique job per call", fmt.Sprintf("%d callers", singles)}, {"unique alone", "River, one unique job per call, one caller", ""},
	} {
		b.add(row[1], unitRate, row[2], got[row[0]]...)
	}
	b.ratio("enqueue_batch_vs_river", "enqueue, keys told before ÷ River, unique", "aim: ≥ 2.5", ratios(got["existing"], got["unique"]))
	b.ratio("enqueue_batch_vs_river_fast", "enqueue, keys told before ÷ River, InsertManyFast", "aim: ≥ 1.6", ratios(got["existing"], got["fast"]))
	b.ratio("enqueue_new_vs_river", "enqueue, keys never seen ÷ River, unique", "aim: ≥ 1.8", ratios(got["new"], got["unique"]))
	b.ratio("enqueue_dup_vs_river", "enqueue, all duplicates ÷ River, unique, all duplicates", "aim: ≥ 4", ratios(got["duplicates"], got["unique duplicates"]))
	b.ratio("enqueue_single_vs_river", "enqueue, one row per call ÷ River, unique", "aim: ≥ 2", ratios(got["single"], got["unique single"]))
	b.ratio("enqueue_single_alone_vs_river", "enqueue, one row per call, one caller ÷ River, unique", "", ratios(got["alone"], got["unique alone"]))
	return nil
}
