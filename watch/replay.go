package watch

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/lastlook/lastlook"
)

// Replayed is what a watch would have said of the looks that were kept.
type Replayed struct {
	// Turns are the moments at which what is said of a trigger became another,
	// oldest first.
	Turns []Turn
	// Looks counts those that the triggers were asked about, from From to To.
	Looks    int
	From, To time.Time
	// Told counts the messages, Withheld what was noticed and was not true any
	// more at the last look.
	Told, Withheld int
}

// Turn is a moment at which what is said of a trigger became another, or at which
// it was told.
type Turn struct {
	Finding
	// Seen is the look, Before the one before it; nil if it was the first.
	Seen   Observation
	Before *Observation
	// Noticed is the look that was news; nil unless Told or Withheld. Told says
	// that a message would have been sent of Seen, Withheld that the last look
	// found the news gone.
	Noticed        *Observation
	Told, Withheld bool
}

// lastLookWithin is how soon after a look that was news another one is taken for
// the last look at it. If none was kept so soon, nobody knows what a last look
// would have seen, and the look that was news stands for it.
const lastLookWithin = time.Minute

// Replay asks the triggers of a watch about looks that were kept, as detection and
// the last look would have: by [Evaluate] and [Judge]. What would have been told
// is taken for delivered at once. Looks before since only say what the listing was
// like then. That the watch is paused or snoozed now says nothing of then. It is
// pure.
func Replay(w *Watch, looks []Observation, since time.Time) Replayed {
	r := replay{e: Entry{Watch: *w}, said: map[string]string{}}
	r.e.Watch.Paused, r.e.Watch.SnoozedUntil = false, time.Time{}
	looks = slices.Clone(looks)
	slices.SortStableFunc(looks, func(a, b Observation) int { return a.At.Compare(b.At) })
	days := HistoryDays(w)
	for i := range looks {
		o := &looks[i]
		weighed := r.e.Listing.Standing.Weigh(o)
		if !o.At.Before(since) {
			r.e.History = r.days.since(DayOf(o.At) - days)
			r.ask(looks, i)
		}
		r.e.Listing.Standing = weighed.After
		if low, ok := LowOf(o); ok && weighed.Trusted() {
			r.days.add(low)
		}
	}
	return r.out
}

// replay is where a replay stands.
type replay struct {
	e        Entry
	days     History
	baseline *Value
	noticed  *Observation // news that wait for their last look
	awaited  []string     // the triggers that they are of
	said     map[string]string
	out      Replayed
}

// ask asks about one look, and sends what is to be told.
func (r *replay) ask(looks []Observation, i int) {
	o := &looks[i]
	if r.out.Looks++; r.out.From.IsZero() {
		r.out.From = o.At
	}
	r.out.To = o.At
	ev := r.e.Evaluate(o, tellingOf(r.baseline), o.At)
	r.e.States = ev.States
	noticed, awaited := r.noticed, r.awaited
	r.noticed, r.awaited = nil, nil
	told := false
	if news := ev.News(); len(news) > 0 {
		if noticed == nil {
			noticed = o
		}
		next := i + 1
		if noticed == o && next < len(looks) && looks[next].At.Sub(o.At) <= lastLookWithin {
			r.noticed = o // the next look is the last one
			for _, f := range news {
				r.awaited = append(r.awaited, f.Trigger.ID)
			}
		} else {
			told = r.tell(o, ev.Weighed.After)
		}
	}
	for j := range ev.Findings {
		t := Turn{Finding: ev.Findings[j], Seen: *o}
		if i > 0 {
			t.Before = &looks[i-1]
		}
		switch {
		case t.News && told:
			t.Noticed, t.Told = noticed, true
		case t.News && r.noticed != nil:
			continue // what it comes to is not known yet
		case !t.News && slices.Contains(awaited, t.Trigger.ID):
			t.Noticed, t.Withheld = noticed, true
			r.out.Withheld++
		}
		r.say(t)
	}
}

// tell sends a message, if the last look's own question is answered so.
func (r *replay) tell(o *Observation, after Standing) bool {
	e := r.e
	e.Listing.Standing = after
	c := lastlook.Case[Value]{Key: Key(&e.Watch, e.Watch.Channels[0]), Value: Value{Observation: *o, entry: &e}, LookedAt: o.At, Baseline: r.baseline, Now: o.At}
	if Judge(c) != lastlook.Send() {
		return false
	}
	asserted := assert(c)
	r.baseline = &asserted
	r.out.Told++
	return true
}

// say keeps a turn if it says something else than the one before of its trigger.
func (r *replay) say(t Turn) {
	const told = "told"
	key := string(rune('0'+t.Answer)) + words(t.Why)
	was := r.said[t.Trigger.ID]
	switch {
	case t.Told:
		key = told
	case t.Answer == Holds && was == told && !t.relative:
		return // that it holds, and was told, has been said
	case key == was && !t.Withheld:
		return
	}
	r.said[t.Trigger.ID] = key
	r.out.Turns = append(r.out.Turns, t)
}

// words returns a reason without its figures: another price that is not below the
// target either is no other reason.
func words(why string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || r == ' ' {
			return r
		}
		return -1
	}, why)
}

// since returns the history from a day on.
func (h History) since(day int) History {
	i, _ := slices.BinarySearchFunc(h.Lows, day, func(l Low, day int) int { return cmp.Compare(l.Day, day) })
	return History{Lows: h.Lows[i:]}
}

// add adds the low of a look that is not before any of the others.
func (h *History) add(l Low) {
	if !h.Improves(l) {
		return
	}
	for i := range h.Lows {
		if o := &h.Lows[i]; o.Day == l.Day && o.Buyable == l.Buyable && o.Price.Currency() == l.Price.Currency() {
			*o = l
			return
		}
	}
	h.Lows = append(h.Lows, l)
}
