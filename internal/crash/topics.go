package crash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lastlook/lastlook"
)

// kind is a topic of the child, and what the judge must know of it.
type kind struct {
	name      string
	windows   lastlook.Windows
	guarantee lastlook.Guarantee
	// attempts is the cap; 0 means the default.
	attempts int
	// news says that a value which was told is not told again.
	news bool
	// edges says that its detections are edges.
	edges bool
	// fresh says that its subjects change with time: its windows hardly end.
	fresh bool
	// episodes says that values have an episode.
	episodes bool
	// one says that its subjects are looked at one by one.
	one bool
	// poison says that looking at it kills.
	poison bool
}

// window is short enough for several of them in a run.
const window = 2 * time.Second

var kinds = []*kind{
	{name: "once", windows: lastlook.Once(), fresh: true},
	{name: "always", windows: lastlook.Always(), news: true, edges: true},
	{name: "every", windows: lastlook.Every(window), edges: true, one: true},
	{name: "day", windows: lastlook.Day(time.UTC), fresh: true},
	{name: "episode", windows: lastlook.Episodes(), episodes: true},
	{name: "at_most_once", windows: lastlook.Every(window), guarantee: lastlook.AtMostOnce, fresh: true},
	{name: "capped", windows: lastlook.Always(), news: true, attempts: 3, fresh: true},
	{name: "poison", windows: lastlook.Once(), attempts: 3, poison: true},
}

func kindOf(topic string) *kind {
	for _, k := range kinds {
		if k.name == topic {
			return k
		}
	}
	return nil
}

// lease is how long a claim holds: short, so that a run sees many of them pass.
const lease = 1500 * time.Millisecond

func (k *kind) policy() lastlook.Policy {
	return lastlook.Policy{
		MaxAttempts: k.attempts, Guarantee: k.guarantee, Lease: lease,
		LookTimeout: 300 * time.Millisecond, CallTimeout: 700 * time.Millisecond, MaxAge: 600 * time.Millisecond,
		BackoffBase: 30 * time.Millisecond, BackoffCap: 200 * time.Millisecond,
	}
}

// topicMaker makes the topics of one run.
type topicMaker struct {
	world   *world
	journal *journal
	life    *life
	now     func() time.Time
	ttl     time.Duration
	plant   Plant
}

func (m *topicMaker) topic(k *kind) lastlook.Topic[Value] {
	t := lastlook.Topic[Value]{
		Name: k.name, Windows: k.windows, Policy: k.policy(), TTL: m.ttl,
		Judge: func(c lastlook.Case[Value]) lastlook.Verdict { return m.judge(k, c) },
		Word:  word,
	}
	if k.episodes {
		t.Episode = func(v Value) int64 { return v.Episode }
	}
	if k.one {
		t.LookOne = func(ctx context.Context, subject string) (Value, error) {
			if err := m.begin(ctx, k, subject); err != nil {
				return Value{}, err
			}
			l := m.look(k, subject)
			return l.Value, errors.Join(l.Err, m.life.pass("look:after"))
		}
		return t
	}
	t.Look = func(ctx context.Context, subjects []string) []lastlook.Looked[Value] {
		out := make([]lastlook.Looked[Value], len(subjects))
		err := m.begin(ctx, k, subjects[0])
		for i, s := range subjects {
			if out[i] = m.look(k, s); err != nil {
				out[i].Err = err
			}
		}
		if err := m.life.pass("look:after"); err != nil {
			out[0].Err = err
		}
		return out
	}
	return t
}

// begin is the time that a look takes. Once in a while that is longer than the
// lease, whatever ctx says.
func (m *topicMaker) begin(ctx context.Context, k *kind, subject string) error {
	if k.poison {
		m.life.end()
	}
	if err := m.life.pass("look:before"); err != nil {
		return err
	}
	switch draw := hash(m.world.seed, subject, m.now().UnixNano()) % 1000; {
	case draw < 2:
		pause(context.WithoutCancel(ctx), lease+lease/4)
	case draw < 500:
		pause(ctx, time.Duration(draw)*10*time.Microsecond)
	}
	return nil
}

func (m *topicMaker) look(k *kind, subject string) (l lastlook.Looked[Value]) {
	step := m.world.now()
	if m.plant == PlantStale {
		step = max(step-3*stretch, 0)
	}
	s := sightAt(m.world.seed, k, subject, step)
	switch {
	case s.blocked:
		l.Err = errors.New("blocked")
	case s.gone:
		l.Err = lastlook.Gone(errors.New("no such item"))
	default:
		l.Value = s.value
	}
	return l
}

// judge records what it was asked and what it said: the one side effect that a
// Judge must not have, and that the outbox cannot notice.
func (m *topicMaker) judge(k *kind, c lastlook.Case[Value]) lastlook.Verdict {
	_ = m.life.pass("judge") // the writes that follow see that it is over
	v, text := lastlook.Send(), "send"
	switch {
	case c.Value.Trouble == unclear:
		v, text = lastlook.CannotTell("unclear"), "cannot tell"
	case c.Value.Trouble == deferred:
		v, text = lastlook.Defer(c.Now.Add(100*time.Millisecond)), "defer"
	case !c.Value.holds():
		v, text = lastlook.Drop(lastlook.ReasonConditionLost), "drop"
	case k.news && c.Baseline != nil && *c.Baseline == c.Value:
		v, text = lastlook.Drop(lastlook.ReasonConditionLost).Because("told already"), "drop"
	}
	m.journal.add(Entry{Kind: KindJudged, Key: c.Key, Window: c.Window, LookedAt: c.LookedAt.UnixMicro(), Attempt: c.Attempt, Text: text})
	return v
}

// word puts the window into the message, so that the channel can record it.
func word(c lastlook.Case[Value]) lastlook.Message {
	data, err := json.Marshal(c.Window)
	if err != nil {
		panic(err) // a window is text and a number
	}
	return lastlook.Message{Title: fmt.Sprintf("%s is at %d", c.Key.Subject, c.Value.Price), Data: data}
}
