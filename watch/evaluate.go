package watch

import (
	"encoding/json"
	"time"

	"github.com/lastlook/lastlook/watch/price"
)

// State is where a trigger stands with its listing. It belongs to the watch,
// whatever has been told. It is comparable.
type State struct {
	// Known is whether the condition was ever seen to hold or not to hold.
	Known bool `json:"known,omitzero"`
	// Holding is whether it held when that was last certain. What is compared
	// with what was told (see [Trigger.Since]) has no episodes: it is news
	// whenever it holds.
	Holding bool `json:"holding,omitzero"`
	// Episode counts the times that it began to hold, from 1. An episode ends
	// when the condition is seen false; what is unknown ends nothing.
	Episode int64 `json:"episode,omitzero"`
	// Since is when Holding last changed.
	Since time.Time `json:"since,omitzero"`
	// Memory is what the trigger has seen.
	Memory Memory `json:"memory,omitzero"`
}

// Memory is what a trigger has seen, as far as its question is about that. Each
// kind keeps what it needs.
type Memory struct {
	// First and Last are the first and the last certain price, Ref what the last
	// one was compared with, and True whether it passed that, stock aside.
	First price.Money `json:"first,omitzero"`
	Last  price.Money `json:"last,omitzero"`
	Ref   price.Money `json:"ref,omitzero"`
	True  bool        `json:"true,omitzero"`
	// Covered is how many days were known when it began to be the lowest price.
	Covered int `json:"covered,omitzero"`
	// Availability is the first one that was known.
	Availability Availability `json:"availability,omitzero"`
	// The values, as canonical JSON.
	FirstValue    string `json:"first_value,omitzero"`
	LastValue     string `json:"last_value,omitzero"`
	PreviousValue string `json:"previous_value,omitzero"`
	LowValue      string `json:"low_value,omitzero"`
	HighValue     string `json:"high_value,omitzero"`
}

// Told is what was last told of a trigger. It is part of the baseline.
type Told struct {
	Episode int64       `json:"episode"`
	Price   price.Money `json:"price,omitzero"`
	// Figure is what was compared, where that is not the price.
	Figure price.Money `json:"figure,omitzero"`
	At     time.Time   `json:"at"`
	// Count is how often it was told on the day of At.
	Count int `json:"count,omitzero"`
}

// Telling is what was told through one channel, as the triggers ask it. The zero
// value says that nothing was.
type Telling struct {
	// Channel is which; without it, other watches of the group do not count.
	Channel  string
	Triggers map[string]Told
	// Price, Availability and Value are the last of each that was told, by any
	// trigger, At when.
	Price        price.Money
	Availability Availability
	Value        json.RawMessage
	At           time.Time
}

// Answer is whether a trigger's condition holds.
type Answer uint8

// The answers.
const (
	CannotTell Answer = iota
	Holds
	DoesNotHold
)

// Finding is what an evaluation says of one trigger.
type Finding struct {
	Trigger Trigger `json:"trigger"`
	Answer  Answer  `json:"-"`
	// Episode is the current one.
	Episode int64 `json:"episode,omitzero"`
	// News says that it is to be told.
	News bool `json:"news,omitzero"`
	// Why explains an answer other than news, for people.
	Why string `json:"why,omitzero"`
	// OutOfStock says that it does not hold for want of stock.
	OutOfStock bool `json:"out_of_stock,omitzero"`
	// InDoubt says that nobody can tell until a second reading, Expected that it
	// would be news if that says the same.
	InDoubt  bool `json:"in_doubt,omitzero"`
	Expected bool `json:"expected,omitzero"`
	// Figure is what was compared, if that is not the price, and Ref with what:
	// the price last told, before, at first, the lowest of the days before.
	Figure price.Money `json:"figure,omitzero"`
	Ref    price.Money `json:"ref,omitzero"`
	// Covered is how many days the lowest price is known of.
	Covered int `json:"covered,omitzero"`
	// Group says how it compares with the other shops of the watch's group.
	Group *Cheapest `json:"group,omitzero"`

	memory Memory
	// relative: compared with what was told, so that there are no episodes.
	relative bool
	// soft: not true any more, but not by the margin that ends an episode.
	soft bool
	// again: a new episode, although the last one has not ended.
	again bool
	// same: told before of the very value.
	same bool
	// beaten: it holds, but another shop of the group is or was told of.
	beaten bool
	// was and is: what AnyChange compared.
	was, is known
}

// Evaluation is what an observation means for a watch.
type Evaluation struct {
	Findings []Finding
	// States are the trigger states after the observation.
	States map[string]State
	// Weighed says what the look is worth, Seen what of it may be told: without
	// a price that is in doubt.
	Weighed Weighed
	Seen    Observation
}

// News returns the findings that are to be told.
func (e *Evaluation) News() []Finding {
	var out []Finding
	for _, f := range e.Findings {
		if f.News {
			out = append(out, f)
		}
	}
	return out
}

// Before is what was known before a look.
type Before struct {
	States   map[string]State
	Standing Standing
	History  History
	// Told is what was told through the channel that is asked for; the states
	// after the look do not depend on it.
	Told Telling
	// Group are the other watches of the watch's group.
	Group []Sibling
}

// Evaluate asks every trigger of the watch about the observation, given what was
// known before it. It is pure, and it is asked twice: when something is noticed,
// and again, with the last look's observation, when it is about to be told.
// Evaluating an observation again with the states and the standing that it led
// to gives the same answer, whatever the history.
func Evaluate(w *Watch, o *Observation, b Before, now time.Time) Evaluation {
	e := Evaluation{States: make(map[string]State, len(w.Triggers)), Weighed: b.Standing.Weigh(o), Seen: *o}
	e.Seen.Price = certainPrice(o)
	whole := e.Seen
	if !e.Weighed.Trusted() {
		e.Seen = withoutPrice(&e.Seen)
	}
	for i := range w.Triggers {
		q := question{w: w, t: &w.Triggers[i], o: &e.Seen, b: &b, s: b.States[w.Triggers[i].ID], now: now}
		q.s.Memory = q.s.Memory.in(e.Weighed.After.Price.Currency())
		f, s := q.answer()
		if e.Weighed.Other {
			f, s = q.unknown("the page describes another product now: "+e.Weighed.After.NewSKU+", not "+e.Weighed.After.SKU), b.States[q.t.ID]
		} else if e.Weighed.Doubt != "" {
			f, s = q.inDoubt(&whole, &e.Weighed, f, s)
		}
		f.Episode = s.Episode
		e.States[q.t.ID] = s
		e.Findings = append(e.Findings, f)
	}
	return e
}

// withoutPrice returns what a look says beside the price.
func withoutPrice(o *Observation) Observation {
	c := *o
	c.Price, c.High, c.List, c.Unit, c.Quantity = price.Money{}, price.Money{}, price.Money{}, UnitPrice{}, Quantity{}
	return c
}

// question is one trigger's, about one look.
type question struct {
	w   *Watch
	t   *Trigger
	o   *Observation
	b   *Before
	s   State
	now time.Time
}

// answer answers it.
func (q *question) answer() (Finding, State) {
	f := q.ask()
	f.Trigger = *q.t
	if f.Answer == CannotTell {
		return f, q.b.States[q.t.ID]
	}
	s := q.s.advance(&f, q.o.At)
	if f.Answer == Holds {
		f.News, f.Why = q.news(&f, s)
		q.amongGroup(&f)
	}
	return f, s
}

func (q *question) unknown(why string) Finding {
	return Finding{Trigger: *q.t, Why: why}
}

// inDoubt says what a look in doubt means: what it says beside the price counts,
// and for the rest, what it would mean if a second reading says the same.
func (q *question) inDoubt(whole *Observation, weighed *Weighed, f Finding, s State) (Finding, State) {
	if weighed.Doubt != DoubtIdentity && f.Answer != CannotTell {
		return f, s
	}
	doubted := q.unknown("not certain before a second reading: " + weighed.Doubt.String())
	doubted.InDoubt = true
	if weighed.Doubt != DoubtIdentity {
		supposed := *q
		supposed.o = whole
		f, _ := supposed.answer()
		doubted.Expected = f.News
		if f.Answer == CannotTell { // whatever a second reading says
			return f, q.b.States[q.t.ID]
		}
	}
	return doubted, q.b.States[q.t.ID]
}

// advance returns the state after a certain answer.
func (s State) advance(f *Finding, at time.Time) State {
	if f.Answer == Holds || !f.OutOfStock {
		s.Memory = f.memory
	}
	holds := f.Answer == Holds
	first := !s.Known
	switch {
	case f.relative:
		if first {
			s.Known, s.Since = true, at
		}
		return s
	case !first && s.Holding == holds:
		if f.again {
			s.Episode++
			s.Since = at
		}
		return s
	case f.soft:
		return s
	}
	s.Known, s.Holding, s.Since = true, holds, at
	// What is in stock at the first look has not come back; a price that is
	// under the target at the first look is told once.
	if holds && !(first && f.Trigger.Kind == BackInStock) {
		s.Episode++
	}
	return s
}

// news says whether a condition that holds is to be told now.
func (q *question) news(f *Finding, s State) (yes bool, why string) {
	told := q.b.Told.Triggers[q.t.ID]
	switch {
	case q.w.SnoozedUntil.After(q.now):
		return false, "snoozed until " + q.w.SnoozedUntil.UTC().Format(time.RFC3339)
	case f.relative && f.same:
		return false, "already told of this value"
	case !f.relative && s.Episode == 0:
		return false, "it was in stock from the start"
	case !f.relative && told.Episode >= s.Episode && !q.againLower(f, &told) && !q.rearmed(&told):
		return false, "already told in this episode"
	}
	if limit := q.perDay(); limit > 0 && told.Count >= limit && sameDay(q.w, told.At, q.now) {
		return false, "already told today"
	}
	if c := q.cooldown(); c > 0 && !told.At.IsZero() && q.now.Before(told.At.Add(c)) {
		return false, "told less than " + c.String() + " ago"
	}
	return true, ""
}

// againLower reports whether what is compared is so much lower than when it was
// told that the trigger asks to tell it again.
func (q *question) againLower(f *Finding, told *Told) bool {
	if q.t.Again.IsZero() {
		return false
	}
	was, is := told.Price, q.o.Price
	if !f.Figure.IsZero() {
		was, is = told.Figure, f.Figure
	}
	ok, known := moved(Drop, q.t.Again, price.Money{}, was, is)
	return ok && known
}

// rearmed reports whether what still holds is to be told again.
func (q *question) rearmed(told *Told) bool {
	return q.w.Rearm > 0 && !told.At.IsZero() && !q.now.Before(told.At.Add(q.w.Rearm))
}

// perDay returns how often the trigger may tell in a day, 0 for any number of
// times: once, unless something else is said.
func (q *question) perDay() int {
	switch {
	case q.t.PerDay != 0:
		return max(q.t.PerDay, 0)
	case q.t.Cooldown != 0 || q.w.Cooldown != 0 || q.w.Rearm > 0:
		return 0
	}
	return 1
}

func (q *question) cooldown() time.Duration {
	if q.t.Cooldown != 0 {
		return q.t.Cooldown
	}
	return q.w.Cooldown
}

func sameDay(w *Watch, a, b time.Time) bool {
	loc, err := time.LoadLocation(w.Zone)
	if err != nil {
		loc = time.UTC // a zone that this machine does not know any more
	}
	ay, am, ad := a.In(loc).Date()
	by, bm, bd := b.In(loc).Date()
	return ay == by && am == bm && ad == bd
}

// tell returns what will have been told once a message with these findings is
// delivered.
func tell(w *Watch, before map[string]Told, news []Finding, seen *Observation, now time.Time) map[string]Told {
	after := make(map[string]Told, len(w.Triggers))
	for _, t := range w.Triggers { // a removed one never comes back under its id
		if told, ok := before[t.ID]; ok {
			after[t.ID] = told
		}
	}
	for _, f := range news {
		t := Told{Episode: f.Episode, Price: seen.Price, Figure: f.Figure, At: now, Count: 1}
		if old := before[f.Trigger.ID]; sameDay(w, old.At, now) {
			t.Count += old.Count
		}
		after[f.Trigger.ID] = t
	}
	return after
}
