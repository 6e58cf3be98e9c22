package peersbench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/postgres"
	"github.com/riverqueue/river"
)

// waits collects how long each of n took from just before its enqueue until its
// work began.
type waits struct {
	mu    sync.Mutex
	sent  []time.Time
	took  []time.Duration
	left  int
	ready chan struct{} // closed when all have come
}

func newWaits(n int) *waits {
	return &waits{sent: make([]time.Time, n), took: make([]time.Duration, n), left: n, ready: make(chan struct{})}
}

func (w *waits) sending(i int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent[i] = time.Now()
}

func (w *waits) came(i int) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.took[i] != 0 {
		return
	}
	w.took[i] = now.Sub(w.sent[i])
	if w.left--; w.left == 0 {
		close(w.ready)
	}
}

// pace enqueues n, one at a time, some milliseconds apart, and waits for all.
func (w *waits) pace(ctx context.Context, enqueue func(i int) error) error {
	tick := time.NewTicker(latencyEvery)
	defer tick.Stop()
	for i := range w.sent {
		<-tick.C
		w.sending(i)
		if err := enqueue(i); err != nil {
			return err
		}
	}
	select {
	case <-w.ready:
		return nil
	case <-time.After(30 * time.Second):
		return fmt.Errorf("%d of %d did not come", w.left, len(w.sent))
	case <-ctx.Done():
		return ctx.Err()
	}
}

// of returns a quantile in milliseconds.
func (w *waits) of(q float64) float64 {
	all := slices.Sorted(slices.Values(w.took))
	return float64(all[min(int(q*float64(len(all))), len(all)-1)].Microseconds()) / 1000
}

// latencyEvery is how far apart rows are enqueued, so that none waits for another.
const latencyEvery = 7 * time.Millisecond

// timed is the channel that notes when a row came. Its number stands in the trace.
type timed struct{ w *waits }

func (c timed) Deliver(_ context.Context, d lastlook.Delivery) (lastlook.Receipt, error) {
	var i int
	if _, err := fmt.Sscanf(d.Trace, "n%d", &i); err != nil {
		return lastlook.Receipt{}, lastlook.Permanent(err)
	}
	c.w.came(i)
	return lastlook.Receipt{}, nil
}

// latencyOurs lets one store enqueue, and a dispatcher on another one tell, woken
// by a listener: two processes, as far as the database can see.
func (b *Bench) latencyOurs(ctx context.Context, n int) (w *waits, err error) {
	w = newWaits(n)
	return w, b.rig.withStore(ctx, func(db *database, s *postgres.Store) (err error) {
		from, closeFrom, err := db.store(ctx, postgres.Config{Notify: true})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, closeFrom()) }()
		l, err := postgres.NewListener(db.dsn, postgres.ListenerConfig{})
		if err != nil {
			return err
		}
		d, err := lastlook.NewDispatcher(lastlook.NewOutbox(s), lastlook.Config{
			Topics: []lastlook.Registration{topic()}, Channels: map[string]lastlook.Channel{channelName: timed{w}}})
		if err != nil {
			return err
		}
		ctx, stop := context.WithCancel(ctx)
		var wg sync.WaitGroup
		errs := make([]error, 2)
		listening := make(chan struct{})
		once := sync.OnceFunc(func() { close(listening) })
		wg.Go(func() { errs[0] = d.Run(ctx) })
		wg.Go(func() { errs[1] = l.Run(ctx, func() { once(); d.Wake() }) })
		<-listening // it wakes when it has connected
		err = w.pace(ctx, func(i int) error {
			it := items(i, 1)
			it[0].Trace = fmt.Sprintf("n%d", i)
			_, err := from.Enqueue(ctx, time.Now(), it)
			return err
		})
		stop()
		wg.Wait()
		return errors.Join(err, errs[0], errs[1])
	})
}

// latencyRiver does the same with two of River's clients.
func (b *Bench) latencyRiver(ctx context.Context, n int) (*waits, error) {
	w := newWaits(n)
	return w, b.rig.fresh(ctx, func(db *database) error {
		pool, err := db.river(ctx)
		if err != nil {
			return err
		}
		defer pool.Close()
		from, err := db.pool(ctx, connections)
		if err != nil {
			return err
		}
		defer from.Close()
		works, err := riverOn(pool, &worker{f: func(j *river.Job[job]) { w.came(j.Args.Number) }})
		if err != nil {
			return err
		}
		inserts, err := riverOn(from, nil)
		if err != nil {
			return err
		}
		if err := works.Start(ctx); err != nil {
			return err
		}
		err = w.pace(ctx, func(i int) error {
			_, err := inserts.Insert(ctx, job{Subject: subject(i), Recipient: recipient(i), Number: i}, nil)
			return err
		})
		return errors.Join(err, works.Stop(ctx))
	})
}

// latency measures the time from enqueue to work, where nothing else is to do.
func (b *Bench) latency(ctx context.Context) error {
	n := b.pick(800, 100)
	var ours, rivers [2][]float64
	for round := range b.pick(5, 1) {
		for i := range 2 {
			run, to := b.latencyOurs, &ours
			if (i+round)%2 == 1 {
				run, to = b.latencyRiver, &rivers
			}
			w, err := run(ctx, n)
			if err != nil {
				return err
			}
			to[0], to[1] = append(to[0], w.of(0.5)), append(to[1], w.of(0.99))
		}
	}
	note := fmt.Sprintf("from just before the enqueue until the work begins, one every %s, two clients, LISTEN", latencyEvery)
	for i, q := range []string{"p50", "p99"} {
		b.add("latency "+q+", lastlook", "ms", note, ours[i]...)
		b.add("latency "+q+", River", "ms", "both clients' FetchCooldown is 1 ms", rivers[i]...)
		b.ratio("latency_"+q+"_vs_river", "latency "+q+": lastlook ÷ River", "aim: ≤ 1.2", ratios(ours[i], rivers[i]))
	}
	return nil
}
