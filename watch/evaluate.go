package watch

import (
	"time"

	"github.com/lastlook/lastlook/watch/price"
)

// State is where a trigger stands with its listing. It belongs to the watch,
// whatever has been told.
type State struct {
	// Known is whether the condition was ever seen to hold or not to hold.
	Known bool `json:"known,omitzero"`
	// Holding is whether it held when that was last certain.
	Holding bool `json:"holding,omitzero"`
	// Episode counts the times that it began to hold, from 1. An episode ends
	// when the condition is seen false; what is unknown ends nothing.
	Episode int64 `json:"episode,omitzero"`
	// Since is when Holding last changed.
	Since time.Time `json:"since,omitzero"`
}

// Told is what was last told of a trigger. It is part of the baseline.
type Told struct {
	Episode int64       `json:"episode"`
	Price   price.Money `json:"price,omitzero"`
	At      time.Time   `json:"at"`
	// Count is how often it was told on the day of At.
	Count int `json:"count,omitzero"`
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
}

// Evaluation is what an observation means for a watch.
type Evaluation struct {
	Findings []Finding
	// States are the trigger states after the observation.
	States map[string]State
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

// Evaluate asks every trigger of the watch about the observation, given where
// the triggers stood before it and what was told. It is pure, and it is asked
// twice: when something is noticed, and again, with the last look's
// observation, when it is about to be told. Evaluating an observation again
// with the states that it led to gives the same answer.
func Evaluate(w *Watch, o *Observation, states map[string]State, told map[string]Told, now time.Time) Evaluation {
	e := Evaluation{States: make(map[string]State, len(w.Triggers))}
	for _, t := range w.Triggers {
		f := ask(w, t, o)
		s := advance(states[t.ID], t.Kind, f.Answer, o.At)
		e.States[t.ID] = s
		f.Episode = s.Episode
		if f.Answer == Holds {
			f.News, f.Why = news(w, t, s, told[t.ID], now)
		}
		e.Findings = append(e.Findings, f)
	}
	return e
}

// ask answers one trigger's question.
func ask(w *Watch, t Trigger, o *Observation) Finding {
	f := Finding{Trigger: t}
	switch t.Kind {
	case Below:
		return askBelow(w, f, o)
	case BackInStock:
		switch o.Availability {
		case InStock, Limited:
			f.Answer = Holds
		case OutOfStock, Discontinued, PreOrder, BackOrder:
			f.Answer, f.OutOfStock, f.Why = DoesNotHold, true, "it is "+people(o.Availability)
		case Unknown:
			f.Why = "the page does not say whether it is in stock"
		default:
			f.Why = "the page does not say whether it is in stock"
		}
	}
	return f
}

func askBelow(w *Watch, f Finding, o *Observation) Finding {
	if !w.IgnoreStock {
		yes, known := o.Availability.Orderable()
		switch {
		case !known:
			f.Why = "the page does not say whether it is in stock"
			return f
		case !yes:
			f.Answer, f.OutOfStock, f.Why = DoesNotHold, true, "it is "+people(o.Availability)
			return f
		}
	}
	target := f.Trigger.Target
	c, ok := o.Price.Cmp(target)
	switch {
	case o.Price.IsZero():
		f.Why = "the page states no certain price"
	case !o.Price.Positive():
		f.Why = "a price of " + o.Price.String() + " cannot be right"
	case !ok:
		f.Why = "the price is in " + o.Price.Currency() + ", the target in " + target.Currency()
	case c < 0:
		f.Answer = Holds
	default:
		f.Answer, f.Why = DoesNotHold, o.Price.String()+" is not below "+target.String()
	}
	return f
}

// advance moves a trigger's state by one answer.
func advance(s State, kind Kind, a Answer, at time.Time) State {
	if a == CannotTell {
		return s
	}
	holds := a == Holds
	first := !s.Known
	if !first && s.Holding == holds {
		return s
	}
	s.Known, s.Holding, s.Since = true, holds, at
	// What is in stock at the first look has not come back; a price that is
	// under the target at the first look is told once.
	if holds && !(first && kind == BackInStock) {
		s.Episode++
	}
	return s
}

// news says whether a condition that holds is to be told now.
func news(w *Watch, t Trigger, s State, told Told, now time.Time) (yes bool, why string) {
	switch {
	case w.SnoozedUntil.After(now):
		return false, "snoozed until " + w.SnoozedUntil.UTC().Format(time.RFC3339)
	case s.Episode == 0:
		return false, "it was in stock from the start"
	case told.Episode >= s.Episode:
		return false, "already told in this episode"
	case t.PerDay >= 0 && told.Count >= max(t.PerDay, 1) && sameDay(w, told.At, now):
		return false, "already told today"
	}
	return true, ""
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
func tell(w *Watch, before map[string]Told, news []Finding, o *Observation, now time.Time) map[string]Told {
	after := make(map[string]Told, len(w.Triggers))
	for _, t := range w.Triggers { // a removed one never comes back under its id
		if told, ok := before[t.ID]; ok {
			after[t.ID] = told
		}
	}
	for _, f := range news {
		t := Told{Episode: f.Episode, Price: o.Price, At: now, Count: 1}
		if old := before[f.Trigger.ID]; sameDay(w, old.At, now) {
			t.Count += old.Count
		}
		after[f.Trigger.ID] = t
	}
	return after
}

func people(a Availability) string {
	switch a {
	case InStock:
		return "in stock"
	case Limited:
		return "in stock, but few are left"
	case PreOrder:
		return "for pre-order only"
	case BackOrder:
		return "on back order"
	case OutOfStock:
		return "out of stock"
	case Discontinued:
		return "discontinued"
	case Unknown:
	}
	return "unknown"
}
