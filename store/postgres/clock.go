package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

const (
	// clockEvery is how often a clock is compared with the database's.
	clockEvery = 30 * time.Second
	// clockSamples are taken at each comparison; the quickest counts.
	clockSamples = 3
	// clockHold bounds what a correction holds still: a clock that turns out to
	// be ahead by less waits until the database's has caught up.
	clockHold = time.Second
)

// Clock shows the database's time, so that the dispatchers of a database agree on
// what is due and whose lease has passed, however wrong the clocks of their
// machines are:
//
//	clock, err := store.NewClock(ctx)
//	wg.Go(func() { clock.Run(ctx) })
//	dispatcher, err := lastlook.NewDispatcher(outbox, lastlook.Config{Clock: clock.Now, …})
//
// Between two comparisons it goes on by the machine's monotonic clock: setting the
// machine's date does not move it. It does not go back by less than a second; if
// the database's clock does by more (a standby with another clock was promoted),
// it follows.
type Clock struct {
	store *Store
	log   *slog.Logger
	// local is the machine's clock, with its monotonic reading.
	local func() time.Time

	mu sync.Mutex
	// base is the database's time when the local clock showed since.
	base, since time.Time
	shown       time.Time
}

// NewClock compares the clocks for the first time, and fails if it cannot.
func (s *Store) NewClock(ctx context.Context) (*Clock, error) {
	c := &Clock{store: s, log: slog.New(slog.DiscardHandler), local: time.Now}
	if err := c.Compare(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// Log sets where [Clock.Run] reports comparisons that failed. Call it before Run.
func (c *Clock) Log(l *slog.Logger) { c.log = l }

// Now returns the database's time, as far as it is known.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.base.Add(c.local().Sub(c.since))
	if d := c.shown.Sub(now); d > 0 && d < clockHold {
		return c.shown
	}
	c.shown = now
	return now
}

// Run compares the clocks every half minute until ctx ends.
func (c *Clock) Run(ctx context.Context) {
	t := time.NewTicker(clockEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if err := c.Compare(ctx); err != nil && ctx.Err() == nil {
			c.log.Warn("cannot ask the database for the time; going on by the machine's clock", "error", err)
		}
	}
}

// Compare asks the database for the time at once. [Clock.Run] does it by itself.
func (c *Clock) Compare(ctx context.Context) error {
	var base, since time.Time
	best := time.Duration(-1)
	for range clockSamples {
		var micros int64
		before := c.local()
		err := c.store.transact(ctx, "clock", reading, func(ctx context.Context, t *transaction) error {
			// The begin has its own round trip, so that the time asked for
			// is that of one statement.
			if err := t.run(ctx); err != nil {
				return err
			}
			before = c.local()
			if err := t.run(ctx, step{name: "clock", each: func(r scanner) error { return r.Scan(&micros) }}); err != nil {
				return err
			}
			if took := c.local().Sub(before); best < 0 || took < best {
				// Halfway between asking and hearing.
				best, base, since = took, time.UnixMicro(micros).UTC(), before.Add(took/2)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("postgres: compare clocks: %w", err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.base, c.since = base, since
	return nil
}
