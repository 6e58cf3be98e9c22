package peersbench

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/postgres"
)

// dispatchers measures the drain by one, two and four of them, each with
// connections of its own.
func (b *Bench) dispatchers(ctx context.Context) error {
	n := b.pick(40_000, 3_000)
	got := map[int][]float64{}
	for range b.pick(3, 1) {
		for _, k := range []int{1, 2, 4} {
			err := b.rig.withStore(ctx, func(db *database, s *postgres.Store) (err error) {
				if err := fill(ctx, s, 0, warmUp+n); err != nil {
					return err
				}
				stores := []lastlook.Store{s}
				for range k - 1 {
					more, closeStore, err := db.store(ctx, postgres.Config{})
					if err != nil {
						return err
					}
					defer func() { err = errors.Join(err, closeStore()) }()
					stores = append(stores, more)
				}
				u, err := drainStore(ctx, b.rig, n, stores...)
				got[k] = append(got[k], u.rate)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	for _, k := range []int{1, 2, 4} {
		b.add(fmt.Sprintf("drain, %d dispatchers", k), unitRate, "each with its own connections; server and dispatchers share the processors", got[k]...)
	}
	b.ratio("dispatchers_2_vs_1", "drain: two dispatchers ÷ one", "", ratios(got[2], got[1]))
	b.ratio("dispatchers_4_vs_1", "drain: four dispatchers ÷ one", "", ratios(got[4], got[1]))
	return nil
}

// watchers measures how one listing's watchers are told, and how often the listing
// is fetched for it.
func (b *Bench) watchers(ctx context.Context) error {
	n := b.pick(100_000, 5_000)
	return b.rig.withStore(ctx, func(_ *database, s *postgres.Store) error {
		for at := 0; at < n; at += fillBatch {
			list := items(at, min(fillBatch, n-at))
			for i := range list {
				list[i].Subject, list[i].Recipient = subject(0), fmt.Sprintf("device-%06d", at+i)
			}
			if _, err := s.Enqueue(ctx, time.Now(), list); err != nil {
				return err
			}
		}
		var fetches atomic.Int64
		t := topic()
		t.Look, t.LookOne = nil, func(context.Context, string) (offer, error) {
			fetches.Add(1)
			return offer{Price: "479.00", Currency: "EUR", Available: true}, nil
		}
		c := newCounter(0, n)
		start := time.Now()
		run, err := dispatchWith(ctx, lastlook.Config{Topics: []lastlook.Registration{t},
			Channels: map[string]lastlook.Channel{channelName: noChannel{}}, Observer: c}, s)
		if err != nil {
			return err
		}
		select {
		case <-c.done:
		case err = <-run.failed:
		case <-ctx.Done():
			err = ctx.Err()
		}
		took := time.Since(start)
		if err := errors.Join(err, run.end()); err != nil {
			return err
		}
		b.Summary["watchers_fetches"] = b.add(fmt.Sprintf("fetches for %d watchers of one listing", n), "", "one per batch of up to 1000, so that no value is older than 10 s when it is told", float64(fetches.Load()))
		b.Summary["watchers_seconds"] = b.add("until all of them were told", "s", "", took.Seconds())
		return nil
	})
}
