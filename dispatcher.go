package lastlook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Config says what a [Dispatcher] dispatches, and how much at once. Zero
// fields mean the defaults given.
type Config struct {
	// Topics are the kinds of alert that this dispatcher can look at, judge
	// and word; it leaves rows of other topics alone.
	Topics []Registration
	// Channels are what it can deliver through, by name; it leaves rows of
	// other channels alone.
	Channels map[string]Channel
	// Gate may hold lanes back; without one, LaneConcurrency is the limit.
	Gate Gate
	// Observer is told of every transition.
	Observer Observer
	// Logger gets what an operator must know; the default discards it.
	Logger *slog.Logger

	// BatchSize bounds the rows of one claim (default 1000).
	BatchSize int
	// MaxInFlight bounds the rows claimed and not yet settled (default 4000).
	MaxInFlight int
	// LaneConcurrency bounds the calls of one lane at once (default 16).
	LaneConcurrency int
	// Poll is how often the store is asked when nothing else wakes the loop
	// (default 1 s).
	Poll time.Duration
	// SweepEvery is how often dead leases and expired rows are looked for
	// (default 5 s).
	SweepEvery time.Duration
	// DrainTimeout bounds how long a stop waits for what is in flight (default
	// 30 s; never less than a call may take).
	DrainTimeout time.Duration

	// Clock is the source of now; the default is the outbox's ([WithClock]).
	Clock func() time.Time
	// Rand gives numbers in [0, 1) for jitter; the default is [rand.Float64].
	Rand func() float64
}

func (c Config) withDefaults() (Config, error) {
	c.BatchSize = orDefault(c.BatchSize, 1000)
	c.MaxInFlight = orDefault(c.MaxInFlight, 4000)
	c.LaneConcurrency = orDefault(c.LaneConcurrency, 16)
	c.Poll = orDefault(c.Poll, time.Second)
	c.SweepEvery = orDefault(c.SweepEvery, 5*time.Second)
	c.DrainTimeout = orDefault(c.DrainTimeout, 30*time.Second)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	if c.Rand == nil {
		c.Rand = rand.Float64
	}
	if min(c.BatchSize, c.MaxInFlight, c.LaneConcurrency) < 0 || min(c.Poll, c.SweepEvery, c.DrainTimeout) < 0 {
		return c, fmt.Errorf("%w: a dispatcher's limits cannot be negative", ErrInvalid)
	}
	for name, ch := range c.Channels {
		if ch == nil || name == "" {
			return c, fmt.Errorf("%w: channel %q is nil or has no name", ErrInvalid, name)
		}
	}
	return c, nil
}

// Dispatcher looks at the world again for each due row, and sends what still
// holds. [Dispatcher.Run] is the loop for a service, [Dispatcher.Tick] one
// bounded pass for cron and serverless. One of them runs at a time.
type Dispatcher struct {
	outbox    *Outbox
	store     Store
	cfg       Config
	log       *slog.Logger
	topics    map[string]*topic
	names     []string // of the topics
	channels  []string
	observers []Observer
	holder    Holder  // the gate, if it is one
	counter   Counter // the same

	running sync.Mutex
	wake    chan struct{} // a row may have become due
	freed   chan struct{} // room was made in a lane
	lanes   *lanes
	ends    *ends
	batches sync.WaitGroup                 // looks and shipments
	calls   atomic.Pointer[sync.WaitGroup] // calls of topics and channels, of this run

	mu     sync.Mutex
	held   map[Token]int // claims of this dispatcher: rows not yet settled
	counts TickResult
}

// NewDispatcher returns a dispatcher on the outbox.
func NewDispatcher(o *Outbox, c Config) (*Dispatcher, error) {
	if c.Clock == nil {
		c.Clock = o.now
	}
	cfg, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &Dispatcher{
		outbox: o, store: o.store, cfg: cfg, log: cfg.Logger, topics: map[string]*topic{},
		channels: slices.Sorted(maps.Keys(cfg.Channels)),
		wake:     make(chan struct{}, 1), freed: make(chan struct{}, 1),
		lanes: newLanes(cfg.LaneConcurrency), ends: newEnds(), held: map[Token]int{},
	}
	for _, reg := range cfg.Topics {
		t, err := reg.register()
		if err != nil {
			return nil, err
		}
		if d.topics[t.name] != nil {
			return nil, fmt.Errorf("%w: two topics are named %q", ErrInvalid, t.name)
		}
		d.topics[t.name] = t
	}
	for _, t := range d.topics {
		// A stop must leave calls under way the time that they have.
		d.cfg.DrainTimeout = max(d.cfg.DrainTimeout, t.policy.CallTimeout+2*callGrace)
	}
	d.names = slices.Sorted(maps.Keys(d.topics))
	if len(d.names) == 0 || len(d.channels) == 0 {
		return nil, fmt.Errorf("%w: a dispatcher needs at least one topic and one channel", ErrInvalid)
	}
	if cfg.Observer != nil {
		d.observers = append(d.observers, cfg.Observer)
	}
	if o, ok := cfg.Gate.(Observer); ok {
		d.observers = append(d.observers, o)
	}
	d.holder, _ = cfg.Gate.(Holder)
	d.counter, _ = cfg.Gate.(Counter)
	return d, nil
}

func (d *Dispatcher) now() time.Time { return d.cfg.Clock() }

// Wake makes a running loop look for due rows at once. Call it after the
// commit of a transaction in which you enqueued. It never blocks.
func (d *Dispatcher) Wake() { signal(d.wake) }

// Run dispatches until ctx ends. Then it gives unstarted rows back, lets calls
// in flight finish, writes what they came to, and returns nil, or an error if
// that did not succeed within [Config.DrainTimeout]. Trouble with the store is
// logged and tried again. Run returns [ErrDispatcherRunning] at once if the
// store allows one loop only and another has it.
func (d *Dispatcher) Run(ctx context.Context) (err error) {
	stop, err := d.start(ctx)
	if err != nil {
		return err
	}
	defer d.outbox.subscribe(d)()
	defer func() { err = errors.Join(err, stop()) }() // also if a Gate panics
	d.loop(ctx)
	return nil
}

func (d *Dispatcher) loop(ctx context.Context) {
	var swept time.Time
	failures := 0
	for ctx.Err() == nil {
		if now := d.now(); now.Sub(swept) >= d.cfg.SweepEvery || now.Before(swept) {
			swept = now
			d.sweep(ctx)
			d.lanes.forget(now)
		}
		n, p, err := d.pass(ctx, d.cfg.BatchSize)
		wait := d.cfg.Poll
		switch {
		case err != nil && ctx.Err() == nil:
			failures++
			wait = backoff(failures, Policy{BackoffBase: 50 * time.Millisecond, BackoffCap: max(d.cfg.Poll, time.Second)})
			d.log.Error("cannot claim; trying again", "error", err, "wait", wait)
		case err == nil:
			failures = 0
			if n > 0 && n == p.asked() {
				continue // there may be more
			}
			if !p.wakeAt.IsZero() {
				wait = min(wait, max(p.wakeAt.Sub(d.now()), time.Millisecond))
			}
			wait = min(wait, max(swept.Add(d.cfg.SweepEvery).Sub(d.now()), time.Millisecond))
		}
		d.wait(ctx, wait, p.held)
	}
}

func (d *Dispatcher) wait(ctx context.Context, dur time.Duration, held bool) {
	timer := time.NewTimer(dur)
	defer timer.Stop()
	freed := d.freed
	if !held {
		freed = nil
	}
	select {
	case <-ctx.Done():
	case <-d.wake:
	case <-freed:
	case <-timer.C:
	}
}

// TickResult counts what one [Dispatcher.Tick] did.
type TickResult struct {
	Claimed int `json:"claimed"`
	Sent    int `json:"sent"`
	Dropped int `json:"dropped"`
	Retried int `json:"retried"`
	// Postponed rows were given back without an attempt.
	Postponed int `json:"postponed"`
	Failed    int `json:"failed"`
	// Lost transitions were overtaken by another claim or an operator.
	Lost int `json:"lost"`
}

// Tick makes one bounded pass: it sweeps, claims up to [Config.BatchSize] due
// rows, and returns when each of them is settled.
func (d *Dispatcher) Tick(ctx context.Context) (res TickResult, err error) {
	stop, err := d.start(ctx)
	if err != nil {
		return TickResult{}, err
	}
	d.mu.Lock()
	d.counts = TickResult{}
	d.mu.Unlock()
	defer func() { // also if a Gate panics
		err = errors.Join(err, stop())
		d.mu.Lock()
		defer d.mu.Unlock()
		claimed := res.Claimed
		res = d.counts
		res.Claimed = claimed
	}()
	d.sweep(ctx)
	res.Claimed, err = d.tick(ctx)
	return res, err
}

func (d *Dispatcher) tick(ctx context.Context) (claimed int, err error) {
	again := false
	for claimed < d.cfg.BatchSize && ctx.Err() == nil {
		n, p, err := d.pass(ctx, d.cfg.BatchSize-claimed)
		if err != nil {
			return claimed, err
		}
		claimed += n
		again = again && n == 0
		if n == 0 && !p.held {
			break
		}
		if p.held || n < p.asked() {
			// Rows in flight hold a lane's room, or nothing more is due.
			if d.lanes.inFlight() > 0 {
				d.wait(ctx, d.cfg.Poll, true)
				continue
			}
			if !p.held || again {
				break
			}
			again = true // what held the room has ended since it was asked for
		}
	}
	return claimed, ctx.Err()
}

func (d *Dispatcher) count(c *Change, applied bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case !applied:
		d.counts.Lost++
	case c.To == StateSent:
		d.counts.Sent++
	case c.To == StateDropped:
		d.counts.Dropped++
	case c.To == StateFailed:
		d.counts.Failed++
	case c.Event == EventPostponed || c.Event == EventNotCalled || c.Event == EventMisconfigured:
		d.counts.Postponed++
	case c.To == StateRetry:
		d.counts.Retried++
	}
}

// never is longer than any tick.
const never = 1 << 62 * time.Nanosecond

// start takes the locks and starts the writer. The returned function waits
// for everything that was started, and undoes it.
func (d *Dispatcher) start(ctx context.Context) (stop func() error, err error) {
	if !d.running.TryLock() {
		return nil, fmt.Errorf("%w: in this process, by this dispatcher", ErrDispatcherRunning)
	}
	unlock := func() error { return nil }
	if l, ok := d.store.(DispatchLocker); ok {
		if unlock, err = l.LockDispatch(ctx); err != nil {
			d.running.Unlock()
			return nil, err
		}
	}
	calls := new(sync.WaitGroup)
	d.calls.Store(calls)
	// What was decided is written also while stopping.
	writing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	noMore, written := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(written)
		d.writeEnds(writing, noMore)
	}()
	return func() error {
		defer d.running.Unlock()
		defer cancel()
		// From the moment at which it is to stop, or at which nothing is left
		// but to write, only so much time is given.
		patience := time.AfterFunc(never, cancel)
		defer patience.Stop()
		defer context.AfterFunc(ctx, func() { patience.Reset(d.cfg.DrainTimeout) })()
		d.batches.Wait()
		patience.Reset(d.cfg.DrainTimeout)
		close(noMore)
		<-written
		return errors.Join(waitForCalls(writing, calls), unlock())
	}, nil
}

// waitForCalls waits for calls that outlived their deadline.
func waitForCalls(ctx context.Context, calls *sync.WaitGroup) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		calls.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return errors.New("lastlook: stopped with looks or deliveries still running: they must return when their context ends")
	}
}
