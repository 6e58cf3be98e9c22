package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/watch"
)

// ours is lastlook itself: the real engine, watches and stores, with a source
// and a channel that live in the simulated world.
type ours struct {
	outbox   lastlook.Store
	watches  watch.Store
	products map[string]*product // by listing URL
	byWatch  map[string]*product
	channels []string
	told     map[lastlook.ID]lastlook.State // what was narrated of a row
}

const recipient = "you"

// newOurs adds the watches. What is in the stores survives a crash.
func newOurs(ctx context.Context, w *world, outbox lastlook.Store, watches watch.Store) (*ours, error) {
	o := &ours{outbox: outbox, watches: watches, products: map[string]*product{}, byWatch: map[string]*product{},
		channels: channels, told: map[lastlook.ID]lastlook.State{}}
	for _, p := range w.products {
		u, err := watch.ParseURL(p.address())
		if err != nil {
			return nil, err
		}
		o.products[u] = p
		trigger := watch.Trigger{ID: "t", Kind: watch.Below, Target: p.market.money(p.target), PerDay: -1}
		if p.stockWatch {
			trigger = watch.Trigger{ID: "t", Kind: watch.BackInStock, PerDay: -1}
		}
		e, err := watches.Add(ctx, begin, watch.Listing{Source: "shop", URL: u, Interval: sweepEvery, NextLook: begin},
			watch.Watch{Name: p.title, Recipient: recipient, Channels: channels, Triggers: []watch.Trigger{trigger}, CreatedAt: begin})
		if err != nil {
			return nil, fmt.Errorf("add a watch: %w", err)
		}
		o.byWatch[e.Watch.ID] = p
	}
	return o, nil
}

func (*ours) name() string { return "lastlook" }

// minute is one run of the program: detection, then a dispatch per channel,
// since a simulated process does one thing at a time.
func (o *ours) minute(p *process) error {
	ctx := context.Background()
	now := func() time.Time { return p.s.now }
	seen := &transitions{}
	defer func() { o.narrate(ctx, p, seen.take()) }()
	svc, err := watch.New(watch.Config{Store: mortalWatches{o.watches, p}, Sources: map[string]watch.Source{"shop": &source{o: o, p: p, sweep: true}},
		Clock: now, Workers: 1, Rand: func() float64 { return 0.5 }})
	if err != nil {
		return err
	}
	if _, err := svc.Sweep(ctx, products); err != nil {
		return err
	}
	// The dispatcher looks through a service of its own, so that the judge can
	// tell its looks from the sweep's.
	svc, err = watch.New(watch.Config{Store: mortalWatches{o.watches, p}, Sources: map[string]watch.Source{"shop": &source{o: o, p: p}},
		Clock: now, Workers: 1, Rand: func() float64 { return 0.5 }})
	if err != nil {
		return err
	}
	topic := svc.Topic()
	topic.Policy.BackoffCap = 2 * time.Minute
	for _, ch := range o.channels {
		d, err := lastlook.NewDispatcher(lastlook.NewOutbox(mortal{o.outbox, p}, lastlook.WithClock(now)), lastlook.Config{
			Topics:   []lastlook.Registration{topic},
			Channels: map[string]lastlook.Channel{ch: &receiver{o: o, p: p}},
			Observer: seen, Clock: now, Rand: func() float64 { return 0 },
			// One row at a time: nothing happens at once but what the seed says.
			BatchSize: 20, MaxInFlight: 1, LaneConcurrency: 1,
		})
		if err != nil {
			return err
		}
		res, err := d.Tick(ctx)
		if p.dead {
			return errCrashed
		}
		if err != nil {
			return err
		}
		p.withheld += res.Dropped
	}
	return nil
}

// source looks at the simulated shop, and reads its pages with the real extractor.
type source struct {
	o     *ours
	p     *process
	sweep bool
}

func (s *source) Look(ctx context.Context, l watch.Listing) (watch.Observation, error) {
	pr := s.o.products[l.URL]
	f, at, err := s.p.look(pr, s.sweep)
	if _, down := errors.AsType[errShop](err); down && s.sweep {
		s.p.tell("%s  %-14s %v: nobody knows, so nothing is concluded", clock(s.p.s.now), pr.title, err)
	}
	if err != nil {
		return watch.Observation{}, err
	}
	o, err := pr.read(ctx, f)
	o.At = at
	return o, err
}

// receiver delivers to the simulated receiver.
type receiver struct {
	o *ours
	p *process
}

func (r *receiver) Deliver(_ context.Context, d lastlook.Delivery) (lastlook.Receipt, error) {
	pr := r.o.byWatch[d.Key.Subject]
	m := accepted{product: pr, channel: d.Key.Channel, looked: d.LookedAt, cents: pr.at(d.LookedAt).cents, key: d.DeliveryKey}
	err := r.p.deliver(m)
	if errors.Is(err, errTimeout) {
		err = lastlook.Unknown(err)
	}
	return lastlook.Receipt{Answer: "accepted"}, err
}

// mortal is a store as a process sees it that may die: nothing reaches it
// after that.
type mortal struct {
	lastlook.Store
	p *process
}

func (m mortal) Enqueue(ctx context.Context, now time.Time, items []lastlook.Item) ([]lastlook.EnqueueResult, error) {
	if m.p.dead {
		return nil, errCrashed
	}
	return m.Store.Enqueue(ctx, now, items)
}

func (m mortal) Claim(ctx context.Context, r lastlook.ClaimRequest) ([]lastlook.Row, error) {
	if m.p.dead {
		return nil, errCrashed
	}
	return m.Store.Claim(ctx, r)
}

func (m mortal) Apply(ctx context.Context, now time.Time, cs []lastlook.Change) ([]bool, error) {
	if m.p.dead {
		return make([]bool, len(cs)), nil // its writes reach nobody
	}
	return m.Store.Apply(ctx, now, cs)
}

func (m mortal) Lanes(ctx context.Context, q lastlook.LaneQuery) ([]lastlook.LaneState, error) {
	if m.p.dead {
		return nil, errCrashed
	}
	return m.Store.Lanes(ctx, q)
}

func (m mortal) Sweep(ctx context.Context, r lastlook.SweepRequest) (lastlook.Swept, error) {
	if m.p.dead {
		return lastlook.Swept{}, errCrashed
	}
	return m.Store.Sweep(ctx, r)
}

// mortalWatches is the same for the watch store.
type mortalWatches struct {
	watch.Store
	p *process
}

func (m mortalWatches) Record(ctx context.Context, now time.Time, r watch.Recording) ([]watch.Entry, error) {
	if m.p.dead {
		return nil, errCrashed
	}
	return m.Store.Record(ctx, now, r)
}

func (m mortalWatches) RecordFailure(ctx context.Context, now time.Time, f watch.Failure) error {
	if m.p.dead {
		return errCrashed
	}
	return m.Store.RecordFailure(ctx, now, f)
}

// transitions collects what a dispatcher did, in order.
type transitions struct {
	mu   sync.Mutex
	list []lastlook.Transition
}

func (t *transitions) Observe(x lastlook.Transition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = append(t.list, x)
}

func (t *transitions) take() []lastlook.Transition {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.list
	t.list = nil
	return out
}
