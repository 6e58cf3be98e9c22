package crash

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lastlook/lastlook"
)

// Child says what one run of the child is to do. It travels as JSON.
type Child struct {
	// Dir holds the database and the journals.
	Dir  string `json:"dir"`
	Seed uint64 `json:"seed"`
	// Run counts the runs, from 1.
	Run int `json:"run"`
	// Member is the child's name among several that share the database; empty
	// if it is alone. Quiet ones enqueue nothing: only one may move the world.
	Member string `json:"member,omitzero"`
	Quiet  bool   `json:"quiet,omitzero"`
	// Dispatchers is how many loops there are; only the first takes the
	// store's lock.
	Dispatchers int           `json:"dispatchers,omitzero"`
	TTL         time.Duration `json:"ttl"`
	Fail        Failpoint     `json:"fail,omitzero"`
	Plant       Plant         `json:"plant,omitzero"`
	// Poison enqueues a row whose every look kills the process.
	Poison bool `json:"poison,omitzero"`
	// Drain enqueues nothing, and ends when nothing is live any more.
	Drain bool `json:"drain,omitzero"`
}

// ErrNotDrained says that rows were left when the time to drain was over.
var ErrNotDrained = errors.New("crash: rows are left that do not end")

// Process is what a run needs of the process it is.
type Process struct {
	Backend Backend
	// Kill ends the process as kill -9 does.
	Kill func()
	// Ready is called when everything runs.
	Ready func()
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
	// Logger gets what the dispatchers have to say; nil discards it.
	Logger *slog.Logger
	// For tests that end a run without killing: born is told of its life,
	// patience is how long it may then take to find out.
	born     func(*life)
	patience time.Duration
}

// Live is one run of the child: it returns when ctx ends or, draining, when
// nothing is left.
func Live(ctx context.Context, c Child, p Process) (err error) {
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Logger == nil {
		p.Logger = slog.New(slog.DiscardHandler)
	}
	r := &run{child: c, process: p, life: newLife(c.Fail, p.Kill)}
	if p.born != nil {
		p.born(r.life)
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.open(ctx); err != nil {
		return fmt.Errorf("run %d: %w", c.Run, err)
	}
	if err := r.work(ctx); err != nil {
		return fmt.Errorf("run %d: %w", c.Run, err)
	}
	return nil
}

type run struct {
	child    Child
	process  Process
	life     *life
	db       Database
	world    *world
	journals []*journal
	outbox   *lastlook.Outbox
	loops    []*lastlook.Dispatcher
	enqueuer *enqueuer
}

func (r *run) open(ctx context.Context) (err error) {
	c := r.child
	var enq, top, chn *journal
	for _, j := range []struct {
		to   **journal
		name string
	}{{&enq, enqueuerJournal}, {&top, topicJournal}, {&chn, channelJournal}} {
		if *j.to, err = openJournal(c.Dir, journalFile(j.name, c.Member), c.Run, r.process.Now, r.life); err != nil {
			return err
		}
		r.journals = append(r.journals, *j.to)
	}
	w := &world{seed: c.Seed}
	r.world = w
	if c.Member != "" {
		err = w.share(c.Dir)
	}
	if err == nil && !c.Quiet {
		err = w.resume(c.Dir, c.Member)
	}
	if err != nil {
		return err
	}
	if r.db, err = r.process.Backend.Open(ctx, c.Dir, c.Fail, r.life.end); err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	s := newStore(r.db.Store(), r.life, enq, c.Plant)
	if s.now = r.process.Now; c.Member != "" {
		s.claims = map[lastlook.Token]time.Time{}
	}
	topics := r.topics(w, top)
	if err := r.dispatchers(s, topics, chn); err != nil {
		return err
	}
	r.enqueuer = &enqueuer{
		world: w, db: r.db, outbox: r.outbox, topics: topics, journal: enq, life: r.life, now: r.process.Now,
		rng: rand.New(rand.NewPCG(c.Seed, uint64(c.Run))), next: int64(c.Run) * callsPerRun, plant: c.Plant,
		wake: r.loops[0].Wake, patient: c.Member != "",
	}
	return nil
}

// resume finds the step at which the world was left.
func (w *world) resume(dir, member string) error {
	e, err := lastEntry(dir, journalFile(enqueuerJournal, member), KindStep)
	if err != nil {
		return err
	}
	w.move(max(e.N, w.now()))
	return nil
}

func (r *run) topics(w *world, j *journal) map[string]lastlook.Topic[Value] {
	m := &topicMaker{world: w, journal: j, life: r.life, now: r.process.Now, ttl: r.child.TTL, plant: r.child.Plant}
	topics := map[string]lastlook.Topic[Value]{}
	for _, k := range kinds {
		topics[k.name] = m.topic(k)
	}
	return topics
}

func (r *run) dispatchers(s *store, topics map[string]lastlook.Topic[Value], j *journal) error {
	c := r.child
	cfg := lastlook.Config{
		Channels:  map[string]lastlook.Channel{},
		BatchSize: 50, MaxInFlight: 400, LaneConcurrency: 8,
		Poll: 50 * time.Millisecond, SweepEvery: 200 * time.Millisecond, DrainTimeout: cmp.Or(r.process.patience, 10*time.Second),
		Clock: r.process.Now, Rand: rand.New(rand.NewPCG(c.Seed, uint64(c.Run))).Float64, Logger: r.process.Logger,
	}
	cfg.Rand = locked(cfg.Rand)
	for _, t := range topics {
		cfg.Topics = append(cfg.Topics, t)
	}
	calls := new(atomic.Int64)
	for _, name := range channelNames {
		cfg.Channels[name] = &channel{seed: c.Seed, run: c.Run, journal: j, life: r.life, now: r.process.Now, calls: calls, mint: c.Plant == PlantMint}
	}
	for i := range max(c.Dispatchers, 1) {
		outbox := lastlook.NewOutbox(s, lastlook.WithClock(r.process.Now))
		if i == 0 {
			outbox = lastlook.NewOutbox(exclusive{s}, lastlook.WithClock(r.process.Now))
			r.outbox = outbox
		}
		d, err := lastlook.NewDispatcher(outbox, cfg)
		if err != nil {
			return err
		}
		r.loops = append(r.loops, d)
	}
	return nil
}

// locked makes a source of numbers safe for concurrent use.
func locked(f func() float64) func() float64 {
	var mu sync.Mutex
	return func() float64 {
		mu.Lock()
		defer mu.Unlock()
		return f()
	}
}

func (r *run) work(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	errs := make([]error, len(r.loops)+1)
	var wg sync.WaitGroup
	start := func(i int, f func(context.Context) error) {
		wg.Go(func() {
			// Whatever ends first ends all.
			defer stop()
			errs[i] = f(ctx)
		})
	}
	for i, d := range r.loops {
		start(i, d.Run)
	}
	if r.child.Poison {
		it, err := r.enqueuer.topics["poison"].Item(lastlook.Target{Subject: "poison", Recipient: "ann", Channel: channelNames[0]}, Value{Price: 1})
		if err == nil {
			_, err = r.outbox.Enqueue(ctx, it)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case r.child.Drain:
		start(len(r.loops), r.drained)
	case r.child.Quiet:
		start(len(r.loops), func(ctx context.Context) error { <-ctx.Done(); return nil })
	default:
		start(len(r.loops), r.enqueuer.run)
	}
	r.process.Ready()
	wg.Wait()
	return errors.Join(errs...)
}

// drained returns when nothing is live any more.
func (r *run) drained(ctx context.Context) error {
	for {
		st, err := r.outbox.Stats(ctx, r.process.Now())
		if err != nil && ctx.Err() == nil {
			return err
		}
		if err == nil && len(st.Live) == 0 && st.Marks == 0 {
			return nil
		}
		if !pause(ctx, 50*time.Millisecond) {
			return fmt.Errorf("%w: %v live, %d marks", ErrNotDrained, st.Live, st.Marks)
		}
	}
}

func (r *run) close() error {
	var errs []error
	if r.db != nil {
		errs = append(errs, r.db.Close())
	}
	for _, j := range r.journals {
		errs = append(errs, j.close())
	}
	errs = append(errs, r.world.close())
	return errors.Join(errs...)
}
