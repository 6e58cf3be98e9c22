// Package lanes is the gate of a server's dispatcher: it holds back, before
// anybody looks, what could not be told now anyway. By lane: a breaker, a rate,
// a bound on what is in flight, and the wait that the other side asked for. By
// recipient: quiet hours and a cap per day.
//
//	gate, err := lanes.New(lanes.Config{Alert: …, People: …})
//	dispatcher, err := lastlook.NewDispatcher(outbox, lastlook.Config{Gate: gate, …})
//
// # Lanes
//
// A lane is a channel and a destination; its topics and priorities share what
// is known of it. Its breaker opens after some failures in a row that are the
// lane's (not delivered, or nobody knows), for a time that doubles; then one row
// tries whether it works again. An answer of any other kind closes it: a
// receiver that refuses one message, or one recipient ([OfRecipient]), is alive. If the other side names a time
// (Retry-After), the whole lane waits for it. Settings or credentials that are
// refused park the lane: that wait is the dispatcher's own; here it raises an
// alert, once, and shows in [Gate.States].
//
// Holding back costs no attempt. Nothing here is kept over a restart: what is
// broken shows itself again within a few calls.
//
// # People
//
// See [People]. A row that waits is given back before it is looked at, so that
// its message, when it comes, is about the world as it is then.
//
// A [Gate] is safe for concurrent use, and takes now as an argument.
package lanes

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/lastlook/lastlook"
)

// ErrInvalid says that a limit cannot be as given.
var ErrInvalid = errors.New("lanes: invalid")

// errRecipient marks what [OfRecipient] makes.
var errRecipient = errors.New("lanes: of the recipient alone")

// ofRecipient is an error as it was, and errRecipient too.
type ofRecipient struct{ error }

func (e ofRecipient) Unwrap() error        { return e.error }
func (e ofRecipient) Is(target error) bool { return target == errRecipient }

// OfRecipient says of a channel's error that it comes from the recipient's own
// settings, on a lane that answers: whatever its class, it neither opens the
// lane's breaker nor is it an alert. Otherwise a stranger who gives an address
// that is refused could hold up all who share the lane.
func OfRecipient(err error) error { return ofRecipient{err} }

// Limits bound one lane. Zero fields mean no bound.
type Limits struct {
	// Rate is how many messages a second, on average; Burst how many at once
	// after a pause (at least 1).
	Rate  float64
	Burst int
	// InFlight bounds the rows claimed and not yet settled.
	InFlight int
}

func (l Limits) validate() error {
	if l.Rate < 0 || math.IsNaN(l.Rate) || math.IsInf(l.Rate, 0) || l.Burst < 0 || l.InFlight < 0 {
		return fmt.Errorf("%w: a lane's limits cannot be negative: use 0 for none", ErrInvalid)
	}
	return nil
}

// Config says what a gate holds back. Zero fields mean the defaults given.
type Config struct {
	// Limits are those of channels by name; Default is that of all others.
	Limits  map[string]Limits
	Default Limits
	// Failures is after how many failures in a row a lane's breaker opens (5).
	Failures int
	// Pause is for how long it opens first; it doubles up to MaxPause (30 s, 10 min).
	Pause, MaxPause time.Duration
	// HintCap bounds the wait that the other side may ask for (6 h).
	HintCap time.Duration
	// Alert is told when a lane opens, is parked, or works again. It is called
	// without a lock, and must not block.
	Alert func(State)
	// People say who is not to be told now.
	People People
}

// Status is how a lane does.
type Status string

// How a lane does.
const (
	Working Status = "working"
	// Asked: the other side asked to wait.
	Asked Status = "asked to wait"
	// Broken: it failed several times in a row.
	Broken Status = "broken"
	// Parked: our settings or credentials are refused.
	Parked Status = "parked"
)

// State is how a lane does, for people.
type State struct {
	Channel string    `json:"channel"`
	Lane    string    `json:"lane"`
	Status  Status    `json:"status"`
	Since   time.Time `json:"since,omitzero"`
	Until   time.Time `json:"until,omitzero"`
	// Why is the last error; it holds no secrets.
	Why string `json:"why,omitzero"`
}

// Gate is a [lastlook.Gate].
type Gate struct {
	cfg    Config
	people *people

	mu    sync.Mutex
	lanes map[key]*lane
}

var (
	_ lastlook.Gate     = (*Gate)(nil)
	_ lastlook.Counter  = (*Gate)(nil)
	_ lastlook.Holder   = (*Gate)(nil)
	_ lastlook.Observer = (*Gate)(nil)
)

type key struct{ channel, name string }

// New returns a gate.
func New(c Config) (*Gate, error) {
	c.Failures = cmp.Or(c.Failures, 5)
	c.Pause = cmp.Or(c.Pause, 30*time.Second)
	c.MaxPause = max(cmp.Or(c.MaxPause, 10*time.Minute), c.Pause)
	c.HintCap = cmp.Or(c.HintCap, 6*time.Hour)
	if c.Failures < 0 || min(c.Pause, c.MaxPause, c.HintCap) < 0 {
		return nil, fmt.Errorf("%w: a breaker's numbers cannot be negative: use 0 for the defaults", ErrInvalid)
	}
	if err := c.Default.validate(); err != nil {
		return nil, err
	}
	for name, l := range c.Limits {
		if err := l.validate(); err != nil {
			return nil, fmt.Errorf("channel %q: %w", name, err)
		}
	}
	if c.Alert == nil {
		c.Alert = func(State) {}
	}
	return &Gate{cfg: c, people: newPeople(c.People), lanes: map[key]*lane{}}, nil
}

// of returns a lane, made new if it is not known. The lock is held.
func (g *Gate) of(l lastlook.Lane, now time.Time) *lane {
	k := key{l.Channel, l.Name}
	out := g.lanes[k]
	if out == nil {
		limits, ok := g.cfg.Limits[l.Channel]
		if !ok {
			limits = g.cfg.Default
		}
		out = newLane(limits)
		g.lanes[k] = out
		g.forget(now)
	}
	return out
}

// manyLanes is from how many lanes on those are forgotten of which nothing is
// to be remembered.
const manyLanes = 1000

func (g *Gate) forget(now time.Time) {
	if len(g.lanes) < manyLanes {
		return
	}
	for k, l := range g.lanes {
		if l.idle(now) {
			delete(g.lanes, k)
		}
	}
}

// Admit implements [lastlook.Gate].
func (g *Gate) Admit(l lastlook.Lane, now time.Time) (n int, wait time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	ln := g.of(l, now)
	return ln.admit(now, max(g.cfg.HintCap, g.cfg.MaxPause))
}

// Claimed implements [lastlook.Counter].
func (g *Gate) Claimed(l lastlook.Lane, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	ln := g.of(l, time.Time{})
	ln.inFlight += n
	ln.tokens -= float64(n)
}

// Released implements [lastlook.Counter].
func (g *Gate) Released(l lastlook.Lane, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	ln := g.of(l, time.Time{})
	ln.inFlight = max(ln.inFlight-n, 0)
}

// Observe implements [lastlook.Observer].
func (g *Gate) Observe(t lastlook.Transition) {
	g.people.observe(t)
	if t.Event == lastlook.EventSending {
		return
	}
	if alert, ok := g.observe(t); ok {
		g.cfg.Alert(alert)
	}
}

func (g *Gate) observe(t lastlook.Transition) (State, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	ln := g.of(t.Lane, t.At)
	if t.Called.IsZero() {
		ln.refund()
		return State{}, false
	}
	if !ln.answered(&g.cfg, t) {
		return State{}, false
	}
	return ln.state(t.Lane.Channel, t.Lane.Name), true
}

// States returns the lanes that do not work, by channel and lane.
func (g *Gate) States() []State {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []State
	for k, l := range g.lanes {
		if l.status != Working {
			out = append(out, l.state(k.channel, k.name))
		}
	}
	slices.SortFunc(out, func(a, b State) int {
		return cmp.Or(cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.Lane, b.Lane))
	})
	return out
}
