package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/postgres"
)

// told counts tellings by subject, and who told.
type told struct {
	mu      sync.Mutex
	subject map[string]int
	by      map[int]int
	total   int
	reached chan struct{} // closed when total has reached want
	want    int
}

func newTold(want int) *told {
	return &told{subject: map[string]int{}, by: map[int]int{}, reached: make(chan struct{}), want: want}
}

// channel is that of one dispatcher.
func (r *told) channel(by int) lastlook.Channel { return tellBy{r, by} }

type tellBy struct {
	r  *told
	by int
}

func (c tellBy) Deliver(_ context.Context, d lastlook.Delivery) (lastlook.Receipt, error) {
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	c.r.subject[d.Key.Subject]++
	c.r.by[c.by]++
	if c.r.total++; c.r.total == c.r.want {
		close(c.r.reached)
	}
	return lastlook.Receipt{Answer: "ok"}, nil
}

type price struct {
	Price int `json:"price"`
}

func topic() lastlook.Topic[price] {
	return lastlook.Topic[price]{
		Name:    "watch",
		LookOne: func(context.Context, string) (price, error) { return price{470}, nil },
		Judge:   func(lastlook.Case[price]) lastlook.Verdict { return lastlook.Send() },
		Word:    func(lastlook.Case[price]) lastlook.Message { return lastlook.Message{Title: "told"} },
		Windows: lastlook.Once(),
	}
}

// dispatch runs a dispatcher until stop is called.
func dispatch(t *testing.T, store lastlook.Store, c lastlook.Config) (stop func()) {
	t.Helper()
	c.Topics = []lastlook.Registration{topic()}
	d, err := lastlook.NewDispatcher(lastlook.NewOutbox(store), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop) // if the test failed
	return stop
}

// Four dispatchers, each a process of its own as far as the database can see,
// share a backlog without a leader; one leaves in between, another comes. Each
// row is told once, and nobody goes without.
func TestManyDispatchers(t *testing.T) {
	const rows, dispatchers = 2000, 4
	k := newKit(t)
	for lo := 0; lo < rows; lo += 500 {
		batch := items(lo, lo+500)
		for i := range batch {
			batch[i].Lane = fmt.Sprintf("host%d", i%5)
		}
		k.now = time.Now()
		k.enqueue(batch...)
	}
	r := newTold(rows)
	run := func(by int) (stop func()) {
		store := openStore(t, newPool(t, cluster.DSN(t), 0), postgres.Config{Schema: k.s.Schema()})
		return dispatch(t, store, lastlook.Config{
			Channels: map[string]lastlook.Channel{"push": r.channel(by)}, BatchSize: 40, LaneConcurrency: 4, Poll: 20 * time.Millisecond,
		})
	}
	var stops []func()
	for by := range dispatchers {
		stops = append(stops, run(by))
	}
	k.waitFor("half of the rows to be told", func() bool { r.mu.Lock(); defer r.mu.Unlock(); return r.total >= rows/2 })
	stops[0]()
	stops[0] = run(dispatchers)
	select {
	case <-r.reached:
	case <-time.After(time.Minute):
		t.Error("not all rows were told within a minute")
	}
	for _, stop := range stops {
		stop()
	}
	for subject, n := range r.subject {
		if n != 1 {
			t.Errorf("%s was told %d times", subject, n)
		}
	}
	if len(r.subject) != rows {
		t.Errorf("%d subjects were told, want %d", len(r.subject), rows)
	}
	for by := range dispatchers {
		if r.by[by] < rows/dispatchers/10 {
			t.Errorf("dispatcher %d told %d of %d rows: %v", by, r.by[by], rows, r.by)
		}
	}
	if n := k.column("SELECT count(*) FROM " + k.table("live"))[0]; n != "0" {
		t.Errorf("%s live rows are left", n)
	}
}

// waitFor polls until ok, for a minute at most.
func (k *kit) waitFor(what string, ok func() bool) {
	k.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(time.Minute)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			k.Fatalf("waited for a minute for %s", what)
		}
	}
}

// counting tells of sweeps.
type counting struct {
	*postgres.Store
	swept chan struct{}
}

func (c counting) Sweep(ctx context.Context, r lastlook.SweepRequest) (lastlook.Swept, error) {
	s, err := c.Store.Sweep(ctx, r)
	select {
	case c.swept <- struct{}{}:
	case <-ctx.Done():
	}
	return s, err
}

// slow is a channel that is told to go on.
type slow struct{ called, goOn chan struct{} }

func (c slow) Deliver(ctx context.Context, _ lastlook.Delivery) (lastlook.Receipt, error) {
	c.called <- struct{}{}
	select {
	case <-c.goOn:
		return lastlook.Receipt{}, nil
	case <-ctx.Done():
		return lastlook.Receipt{}, lastlook.Unknown(ctx.Err())
	}
}

// Two machines' clocks are ten minutes apart. By the database's time they agree:
// nobody reaps what the other is delivering. By their own, the one that is ahead
// takes the other for dead.
func TestClocksWrongByMinutes(t *testing.T) {
	for name, corrected := range map[string]bool{"the database's time": true, "their own": false} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			k.now = time.Now().Add(-10 * time.Minute)
			id := k.inserted(item(key(1)))
			clock := func(wrong time.Duration) func() time.Time {
				local := func() time.Time { return time.Now().Add(wrong) }
				if !corrected {
					return local
				}
				c, err := k.s.NewClockBy(t.Context(), local)
				if err != nil {
					t.Fatal(err)
				}
				return c.Now
			}
			behind := slow{make(chan struct{}, 1), make(chan struct{})}
			stopBehind := dispatch(t, k.s, lastlook.Config{Clock: clock(-5 * time.Minute),
				Channels: map[string]lastlook.Channel{"push": behind}, Poll: 10 * time.Millisecond})
			<-behind.called
			ahead := newTold(1)
			store := counting{k.s, make(chan struct{})}
			stopAhead := dispatch(t, store, lastlook.Config{Clock: clock(5 * time.Minute), SweepEvery: time.Millisecond,
				Channels: map[string]lastlook.Channel{"push": ahead.channel(1)}, Poll: 10 * time.Millisecond})
			for range 5 {
				<-store.swept
			}
			want := lastlook.StateSending
			if !corrected {
				want = lastlook.StateRetry
			}
			if rec := k.get(id); rec.State != want || rec.Attempt != 1 {
				t.Errorf("while it is delivered the row is %s, attempt %d, want %s, attempt 1", rec.State, rec.Attempt, want)
			}
			close(behind.goOn)
			if corrected {
				k.waitFor("the row to be sent", func() bool { return k.get(id).State == lastlook.StateSent })
			}
			go func() {
				for range store.swept {
				}
			}()
			stopBehind()
			stopAhead()
			close(store.swept)
			if ahead.total != 0 {
				t.Errorf("the other told it as well, %d times", ahead.total)
			}
		})
	}
}

// Between comparisons the machine's date does not matter; small corrections
// never turn the clock back.
func TestClockGoesOn(t *testing.T) {
	k := newKit(t)
	var mu sync.Mutex
	offset := time.Hour
	local := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return time.Now().Add(offset)
	}
	c, err := k.s.NewClockBy(t.Context(), local)
	if err != nil {
		t.Fatal(err)
	}
	if d := time.Until(c.Now()).Abs(); d > 5*time.Second {
		t.Errorf("the clock is %v off", d)
	}
	before := c.Now()
	for _, step := range []time.Duration{-300 * time.Millisecond, 200 * time.Millisecond, -time.Minute} {
		mu.Lock()
		offset += step
		mu.Unlock()
		now := c.Now()
		if back := before.Sub(now); back > 0 && back < time.Second {
			t.Errorf("the clock went back by %v", back)
		}
		if err := c.Compare(t.Context()); err != nil {
			t.Fatal(err)
		}
		before = c.Now()
		if d := time.Until(before).Abs(); d > 5*time.Second {
			t.Errorf("after a step of %v the clock is %v off", step, d)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); c.Run(ctx) }()
	cancel()
	<-done
}
