package sqlitebench

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/sqlite"
)

const (
	// drainBatch is the dispatcher's default batch, and that of the loops beside
	// it.
	drainBatch = 1000
	// warmUp is how many rows are drained before the clock starts: whoever drains
	// prepares its statements once.
	warmUp = 2000
)

// topic looks at nothing, and always holds.
func topic() lastlook.Topic[offer] {
	value := offer{Price: "479.00", Currency: "EUR", Available: true}
	return lastlook.Topic[offer]{
		Name: topicName,
		Look: func(_ context.Context, subjects []string) []lastlook.Looked[offer] {
			out := make([]lastlook.Looked[offer], len(subjects))
			for i := range out {
				out[i].Value = value
			}
			return out
		},
		Judge:   func(lastlook.Case[offer]) lastlook.Verdict { return lastlook.Send() },
		Word:    func(c lastlook.Case[offer]) lastlook.Message { return lastlook.Message{Title: "Now " + c.Value.Price} },
		Windows: lastlook.Day(time.UTC),
	}
}

// noChannel accepts everything and does nothing.
type noChannel struct{}

func (noChannel) Deliver(context.Context, lastlook.Delivery) (lastlook.Receipt, error) {
	return lastlook.Receipt{Answer: "201 Created"}, nil
}

// counter closes warm and done when so many rows are sent.
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

func (c *counter) Observe(t lastlook.Transition) {
	if t.To != lastlook.StateSent || t.Lost {
		return
	}
	switch c.left.Add(-1) {
	case c.n:
		close(c.warm)
	case 0:
		close(c.done)
	}
}

// dispatcher is one with every default.
func dispatcher(s lastlook.Store, o lastlook.Observer) (*lastlook.Dispatcher, error) {
	return lastlook.NewDispatcher(lastlook.NewOutbox(s), lastlook.Config{
		Topics:   []lastlook.Registration{topic()},
		Channels: map[string]lastlook.Channel{channelName: noChannel{}},
		Observer: o,
	})
}

// drainEngine lets a dispatcher drain some rows, and then n against the clock.
func drainEngine(ctx context.Context, s *sqlite.Store, warm, n int) (time.Duration, error) {
	c := newCounter(warm, n)
	d, err := dispatcher(s, c)
	if err != nil {
		return 0, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	start := time.Now()
	go func() { ended <- d.Run(ctx) }()
	for {
		select {
		case <-c.warm:
			start, c.warm = time.Now(), nil
		case <-c.done:
			took := time.Since(start)
			stop()
			return took, <-ended
		case err := <-ended:
			return 0, errors.Join(err, fmt.Errorf("the dispatcher ended with %d rows left", c.left.Load()))
		}
	}
}

// drainStore calls the store's methods for n rows, with changes made by the core,
// and nothing else: no loop, no look, no delivery.
func drainStore(ctx context.Context, s *sqlite.Store, warm, n int) (time.Duration, error) {
	start := time.Now()
	for left := warm + n; left > 0; {
		if left == n {
			start = time.Now()
		}
		now := time.Now()
		lanes, err := s.Lanes(ctx, lastlook.LaneQuery{Now: now, Topics: []string{topicName}, Channels: []string{channelName}})
		if err != nil || len(lanes) != 1 {
			return 0, errors.Join(err, fmt.Errorf("%d lanes", len(lanes)))
		}
		rows, err := s.Claim(ctx, lastlook.ClaimRequest{Now: now, Token: lastlook.NewToken(),
			Lanes: []lastlook.LaneClaim{{Lane: lanes[0].Lane, N: min(drainBatch, left), MaxAttempts: 10, Lease: time.Minute}}})
		if err != nil || len(rows) == 0 {
			return 0, errors.Join(err, fmt.Errorf("claimed %d of %d", len(rows), left))
		}
		left -= len(rows)
		for _, make := range []func(*lastlook.Row) (lastlook.Change, error){
			func(r *lastlook.Row) (lastlook.Change, error) {
				return r.Sending(now, lastlook.Assertion{Value: []byte(asserted), LookedAt: now,
					Window: lastlook.Day(time.UTC).At(now, 0), Seq: r.KeyRow.Seq + 1}, now.Add(time.Minute))
			},
			func(r *lastlook.Row) (lastlook.Change, error) {
				return r.Accepted(now, lastlook.Outcome{Answer: "201 Created"})
			},
		} {
			if err := applyAll(ctx, s, now, rows, make); err != nil {
				return 0, err
			}
		}
	}
	return time.Since(start), nil
}

func applyAll(ctx context.Context, s *sqlite.Store, now time.Time, rows []lastlook.Row, make func(*lastlook.Row) (lastlook.Change, error)) error {
	var changes []lastlook.Change
	for i := range rows {
		c, err := make(&rows[i])
		if err != nil {
			return err
		}
		changes = append(changes, c)
	}
	done, err := s.Apply(ctx, now, changes)
	for i, ok := range done {
		if !ok {
			return fmt.Errorf("row %d was not changed", rows[i].ID)
		}
	}
	return err
}

// asserted is what a message asserts.
const asserted = `{"price":"479.00","currency":"EUR","available":true}`

// Drain measures how fast rows are told, beside the two bounds and the original.
func (b *Bench) Drain(ctx context.Context) error {
	n, few := b.pick(20_000, 5_000), b.pick(1_500, 400)
	q, err := loadQueries()
	if err != nil {
		return err
	}
	var engine, store, raw, original []float64
	for range b.pick(9, 3) {
		for _, m := range []struct {
			to  *[]float64
			n   int
			run func(ctx context.Context, s *sqlite.Store, warm, n int) (time.Duration, error)
		}{
			{&engine, n, drainEngine},
			{&raw, n, q.drain},
			{&store, n, drainStore},
		} {
			if err := b.withStore(ctx, func(s *sqlite.Store) error {
				if err := fill(ctx, s, 0, warmUp+m.n); err != nil {
					return err
				}
				took, err := m.run(ctx, s, warmUp, m.n)
				*m.to = append(*m.to, rate(m.n, took))
				return err
			}); err != nil {
				return fmt.Errorf("drain: %w", err)
			}
		}
		if err := b.inFolder(func(dir string) error {
			took, err := drainOriginal(ctx, dir, warmUp+n, few)
			original = append(original, rate(few, took))
			return err
		}); err != nil {
			return fmt.Errorf("the original's drain: %w", err)
		}
	}
	b.add("drain, engine", unitRate, "claim → look → sending → sent, no-op look and channel, every default", engine...)
	b.add("drain, raw bound", unitRate, "the same statements in a loop on one connection, no engine, no JSON, no structs", raw...)
	b.add("drain, store's methods", unitRate, "Lanes, Claim, Apply, Apply in a loop, without the dispatcher", store...)
	b.add("drain, the original post's design", unitRate, fmt.Sprintf("its queue query, one row at a time, three commits a row; the first %d of the same backlog", few), original...)
	b.Summary["drain_vs_raw"] = b.add("drain: engine ÷ raw bound", "×", "aim: ≥ 0.5", ratios(engine, raw)...)
	b.Summary["drain_vs_store"] = b.add("drain: engine ÷ store's methods", "×", "", ratios(engine, store)...)
	b.Summary["drain_vs_original"] = b.add("drain: engine ÷ original", "×", "aim: ≥ 18", ratios(engine, original)...)
	return nil
}

// Engine drains with the engine alone, for a profile that shows nothing else but
// the filling.
func (b *Bench) Engine(ctx context.Context) error {
	n := b.pick(100_000, 20_000)
	return b.withStore(ctx, func(s *sqlite.Store) error {
		if err := fill(ctx, s, 0, warmUp+n); err != nil {
			return err
		}
		took, err := drainEngine(ctx, s, warmUp, n)
		if err == nil {
			b.add("drain, engine", unitRate, "", rate(n, took))
		}
		return err
	})
}
