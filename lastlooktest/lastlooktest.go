// Package lastlooktest helps to test programs that use lastlook: a channel
// that records what it is told, a world to look at, a clock to move, and
// assertions on what was enqueued. Nothing here sleeps: with a [Clock], days
// pass between two calls of [lastlook.Dispatcher.Tick]; in a testing/synctest
// bubble, [lastlook.Dispatcher.Run] works as well.
//
//	world := lastlooktest.NewWorld[int]()
//	channel := lastlooktest.NewChannel()
//	clock := lastlooktest.NewClock(time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC))
//	outbox := lastlook.NewOutbox(memstore.New(), lastlook.WithClock(clock.Now))
package lastlooktest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
)

// Clock is a clock that stands still until it is moved. It is safe for
// concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that shows t.
func NewClock(t time.Time) *Clock { return &Clock{now: t} }

// Now returns the time that the clock shows; pass it as [lastlook.Config.Clock].
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock by d, which may be negative.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Channel is a [lastlook.Channel] that accepts and records every delivery. It
// is safe for concurrent use.
type Channel struct {
	mu      sync.Mutex
	seen    []lastlook.Delivery
	respond func(context.Context, lastlook.Delivery) (lastlook.Receipt, error)
}

// NewChannel returns a channel that accepts everything.
func NewChannel() *Channel { return &Channel{} }

// Respond makes the channel answer as f does from now on; nil accepts
// everything again. Deliveries are recorded before f is called.
func (c *Channel) Respond(f func(context.Context, lastlook.Delivery) (lastlook.Receipt, error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.respond = f
}

// Deliver implements [lastlook.Channel].
func (c *Channel) Deliver(ctx context.Context, d lastlook.Delivery) (lastlook.Receipt, error) {
	c.mu.Lock()
	c.seen = append(c.seen, d)
	f := c.respond
	c.mu.Unlock()
	if f == nil {
		return lastlook.Receipt{Answer: "recorded"}, nil
	}
	return f(ctx, d)
}

// Deliveries returns every delivery so far, in order.
func (c *Channel) Deliveries() []lastlook.Delivery {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.seen)
}

// World is something to look at: a value, or an error, per subject. It is safe
// for concurrent use.
type World[V any] struct {
	mu     sync.Mutex
	values map[string]lastlook.Looked[V]
	looks  int
	looked int
}

// ErrNoSubject is what looking at a subject gives that was never set.
var ErrNoSubject = errors.New("lastlooktest: the world has no such subject")

// NewWorld returns an empty world.
func NewWorld[V any]() *World[V] { return &World[V]{values: map[string]lastlook.Looked[V]{}} }

// Set gives the subject a value.
func (w *World[V]) Set(subject string, v V) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.values[subject] = lastlook.Looked[V]{Value: v}
}

// Fail makes looks at the subject fail with err; wrap it in [lastlook.Gone]
// for the definite answer that the subject does not exist.
func (w *World[V]) Fail(subject string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.values[subject] = lastlook.Looked[V]{Err: err}
}

// Look is a [lastlook.Topic]'s Look.
func (w *World[V]) Look(_ context.Context, subjects []string) []lastlook.Looked[V] {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks++
	w.looked += len(subjects)
	out := make([]lastlook.Looked[V], len(subjects))
	for i, s := range subjects {
		l, ok := w.values[s]
		if !ok {
			l.Err = ErrNoSubject
		}
		out[i] = l
	}
	return out
}

// Looks returns how often Look was called, and at how many subjects in all.
func (w *World[V]) Looks() (calls, subjects int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.looks, w.looked
}

// Topic returns a topic that looks at the world, sends while holds says so of
// the value now, drops as condition_lost otherwise, and words with word. Its
// other fields, the window for one ([lastlook.Always] here), may be changed.
func Topic[V any](name string, w *World[V], holds func(V) bool, word func(V) string) lastlook.Topic[V] {
	return lastlook.Topic[V]{
		Name: name,
		Look: w.Look,
		Judge: func(c lastlook.Case[V]) lastlook.Verdict {
			if holds(c.Value) {
				return lastlook.Send()
			}
			return lastlook.Drop(lastlook.ReasonConditionLost)
		},
		Word:    func(c lastlook.Case[V]) lastlook.Message { return lastlook.Message{Title: word(c.Value)} },
		Windows: lastlook.Always(),
	}
}

// Lister is a [lastlook.Store] or a [lastlook.Outbox].
type Lister interface {
	List(ctx context.Context, q lastlook.Query) ([]lastlook.Record, error)
}

// RequireEnqueued fails the test unless exactly one notification matches the
// query, and returns it. It sees what is committed; enqueue within a
// transaction, commit, then ask.
func RequireEnqueued(tb testing.TB, l Lister, q lastlook.Query) lastlook.Record {
	tb.Helper()
	recs := list(tb, l, q)
	if len(recs) != 1 {
		tb.Fatalf("lastlooktest: %d notifications match %+v, want exactly one", len(recs), q)
	}
	return recs[0]
}

// RequireNotEnqueued fails the test if a notification matches the query.
func RequireNotEnqueued(tb testing.TB, l Lister, q lastlook.Query) {
	tb.Helper()
	if recs := list(tb, l, q); len(recs) > 0 {
		tb.Fatalf("lastlooktest: %s was enqueued (notification %d, %s), want nothing that matches %+v", recs[0].Key, recs[0].ID, recs[0].State, q)
	}
}

func list(tb testing.TB, l Lister, q lastlook.Query) []lastlook.Record {
	tb.Helper()
	recs, err := l.List(tb.Context(), q)
	if err != nil {
		tb.Fatalf("lastlooktest: list: %v", err)
	}
	return recs
}
