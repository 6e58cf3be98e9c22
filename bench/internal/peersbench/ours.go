package peersbench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/postgres"
)

// offer is what is looked at.
type offer struct {
	Price     string `json:"price"`
	Currency  string `json:"currency"`
	Available bool   `json:"available"`
}

const (
	topicName   = "price"
	channelName = "push"
	laneName    = "push.example.com"
	asserted    = `{"price":"479.00","currency":"EUR","available":true}`
	// warmUp rows are through before the clock starts.
	warmUp = 2000
	// fillBatch is how many rows a call writes where that is not measured.
	fillBatch = 2000
)

// subject names the i-th thing that is watched, recipient who watches it.
func subject(i int) string   { return fmt.Sprintf("w%08d", i) }
func recipient(i int) string { return fmt.Sprintf("device-%05d", i%5000) }

// items are n things noticed, from the given number on.
func items(from, n int) []lastlook.Item {
	out := make([]lastlook.Item, n)
	for i := range out {
		detection, err := json.Marshal(offer{Price: fmt.Sprintf("%d.99", (from+i)%1000), Currency: "EUR", Available: true})
		if err != nil {
			panic(err) // text and a bool
		}
		out[i] = lastlook.Item{
			Key:       lastlook.Key{Topic: topicName, Subject: subject(from + i), Recipient: recipient(from + i), Channel: channelName},
			Detection: detection, Lane: laneName, Windows: lastlook.Always(),
		}
	}
	return out
}

// topic looks at nothing, and says that it still holds.
func topic() lastlook.Topic[offer] {
	return lastlook.Topic[offer]{
		Name: topicName,
		Look: func(_ context.Context, subjects []string) []lastlook.Looked[offer] {
			out := make([]lastlook.Looked[offer], len(subjects))
			for i := range out {
				out[i].Value = offer{Price: "479.00", Currency: "EUR", Available: true}
			}
			return out
		},
		Judge:   func(lastlook.Case[offer]) lastlook.Verdict { return lastlook.Send() },
		Word:    func(c lastlook.Case[offer]) lastlook.Message { return lastlook.Message{Title: "Now " + c.Value.Price} },
		Windows: lastlook.Always(),
	}
}

// noChannel accepts everything and does nothing.
type noChannel struct{}

func (noChannel) Deliver(context.Context, lastlook.Delivery) (lastlook.Receipt, error) {
	return lastlook.Receipt{Answer: "201 Created"}, nil
}

// counter closes warm and done when so many rows are through.
type counter struct {
	left       atomic.Int64
	n          int64 // left when warm
	warm, done chan struct{}
}

func newCounter(warm, n int) *counter {
	c := &counter{n: int64(n), warm: make(chan struct{}), done: make(chan struct{})}
	c.left.Store(int64(warm + n))
	return c
}

func (c *counter) one() {
	left := c.left.Add(-1)
	if left == c.n {
		close(c.warm)
	}
	if left == 0 {
		close(c.done)
	}
}

// Observe implements [lastlook.Observer].
func (c *counter) Observe(t lastlook.Transition) {
	if t.To == lastlook.StateSent && !t.Lost {
		c.one()
	}
}

// measure waits until it is warm, and says what the rest took. failed ends it.
func (c *counter) measure(ctx context.Context, r *rig, failed <-chan error) (u use, err error) {
	from, err := r.read(ctx)
	for warm := c.warm; err == nil; {
		select {
		case <-warm:
			warm = nil
			from, err = r.read(ctx)
		case <-c.done:
			return r.since(ctx, from, int(c.n))
		case err = <-failed:
			err = errors.Join(err, fmt.Errorf("it ended with %d rows left", c.left.Load()))
		case <-ctx.Done():
			err = fmt.Errorf("%w: %d rows left", ctx.Err(), c.left.Load())
		}
	}
	return u, err
}

// withStore runs f on a store in a fresh database.
func (r *rig) withStore(ctx context.Context, f func(db *database, s *postgres.Store) error) error {
	return r.fresh(ctx, func(db *database) (err error) {
		s, closeStore, err := db.store(ctx, postgres.Config{})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, closeStore()) }()
		return f(db, s)
	})
}

// store opens a store with a pool of its own.
func (db *database) store(ctx context.Context, c postgres.Config) (*postgres.Store, func() error, error) {
	pool, err := db.pool(ctx, connections)
	if err != nil {
		return nil, nil, err
	}
	s, err := postgres.New(pool, c)
	if err == nil {
		err = s.Migrate(ctx)
	}
	if err != nil {
		pool.Close()
		return nil, nil, err
	}
	return s, func() error { defer pool.Close(); return s.Close() }, nil
}

// fill enqueues n rows, from the given number on; all must be inserted.
func fill(ctx context.Context, s *postgres.Store, from, n int) error {
	for to := from + n; from < to; from += fillBatch {
		res, err := s.Enqueue(ctx, time.Now(), items(from, min(fillBatch, to-from)))
		if err != nil {
			return err
		}
		for _, r := range res {
			if r.Status != lastlook.Inserted {
				return fmt.Errorf("fill: a row was %s", r.Status)
			}
		}
	}
	return nil
}

// running are dispatchers under way.
type running struct {
	stop   context.CancelFunc
	wg     sync.WaitGroup
	failed chan error
}

// dispatch starts a dispatcher with every default on each of the stores.
func dispatch(ctx context.Context, o lastlook.Observer, stores ...lastlook.Store) (*running, error) {
	return dispatchWith(ctx, lastlook.Config{
		Topics:   []lastlook.Registration{topic()},
		Channels: map[string]lastlook.Channel{channelName: noChannel{}}, Observer: o,
	}, stores...)
}

func dispatchWith(ctx context.Context, c lastlook.Config, stores ...lastlook.Store) (*running, error) {
	r := &running{failed: make(chan error, len(stores))}
	ctx, r.stop = context.WithCancel(ctx)
	for _, s := range stores {
		d, err := lastlook.NewDispatcher(lastlook.NewOutbox(s), c)
		if err != nil {
			return nil, errors.Join(err, r.end())
		}
		r.wg.Go(func() {
			if err := d.Run(ctx); err != nil {
				r.failed <- err
			}
		})
	}
	return r, nil
}

// end stops the dispatchers and waits for them.
func (r *running) end() error {
	r.stop()
	r.wg.Wait()
	select {
	case err := <-r.failed:
		return err
	default:
		return nil
	}
}

// drainOurs fills a fresh store, and lets dispatchers drain it.
func (b *Bench) drainOurs(ctx context.Context, db *database, n int) (filled, drained use, err error) {
	s, closeStore, err := db.store(ctx, postgres.Config{})
	if err != nil {
		return filled, drained, err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	from, err := b.rig.read(ctx)
	if err != nil {
		return filled, drained, err
	}
	if err := fill(ctx, s, 0, warmUp+n); err != nil {
		return filled, drained, err
	}
	if filled, err = b.rig.since(ctx, from, warmUp+n); err != nil {
		return filled, drained, err
	}
	drained, err = drainStore(ctx, b.rig, n, s)
	return filled, drained, err
}

// drainStore lets dispatchers on the stores drain warm-up and n rows.
func drainStore(ctx context.Context, r *rig, n int, stores ...lastlook.Store) (use, error) {
	c := newCounter(warmUp, n)
	run, err := dispatch(ctx, c, stores...)
	if err != nil {
		return use{}, err
	}
	u, err := c.measure(ctx, r, run.failed)
	return u, errors.Join(err, run.end())
}
