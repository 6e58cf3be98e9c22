package server

import (
	"context"
	"fmt"
	"time"

	"github.com/lastlook/lastlook/watch"
)

// maxReplay is how many of a listing's latest looks are replayed.
const maxReplay = 50_000

// Explanation says what a watch would have told of its listing's history, and why
// not otherwise.
type Explanation struct {
	Entry Entry
	// Triggers are those that were asked: the watch's own, or, if Changed, those
	// that were given.
	Triggers []string
	Changed  bool
	// Looks counts the looks that the triggers were asked about, from From to To.
	// Older says that there are older ones than are replayed, Before how many
	// looks from before the watch only set the scene.
	Looks    int
	From, To time.Time
	Older    bool
	Before   int
	// Told counts the messages, Withheld what was not true any more at its last
	// look; both of the whole history.
	Told, Withheld int
	Turns          []Turn
}

// Turn is a moment at which what is said of a trigger became another.
type Turn struct {
	// Trigger is its id, Kind and Text say what it asks.
	Trigger, Kind, Text string
	// Answer is "holds", "does_not_hold" or "cannot_tell"; Said is "told",
	// "withheld", "" if neither.
	Answer, Said string
	// Why says why nothing was told; "" if it was.
	Why string
	// Seen is what was seen then, Before at the look before, Noticed when it was
	// noticed; nil if there is none.
	Seen            Observation
	Before, Noticed *Observation
}

// Explain replays a watch's history through its triggers or, if n asks for any,
// through those. Of n only what says when and how often to tell counts.
func (s *Server) Explain(ctx context.Context, id string, n NewWatch) (Explanation, error) {
	e, err := s.FindWatch(ctx, id)
	if err != nil {
		return Explanation{}, err
	}
	if e.Err != nil {
		return Explanation{}, e.Err
	}
	x := Explanation{Entry: e}
	w := e.Watch
	// Its first look was made just before it was added.
	since := w.CreatedAt.Add(-lookLimit)
	if n.asksAnything() {
		x.Changed, since = true, time.Time{}
		if err := n.change(&w); err != nil {
			return x, err
		}
	}
	looks, err := s.watches.History(ctx, e.Listing.ID, maxReplay+1)
	if err != nil {
		return x, err
	}
	if len(looks) > maxReplay {
		x.Older, looks = true, looks[:maxReplay]
	}
	for i := range w.Triggers {
		x.Triggers = append(x.Triggers, w.Triggers[i].String())
	}
	r := watch.Replay(&w, looks, since)
	x.Looks, x.From, x.To, x.Told, x.Withheld, x.Before = r.Looks, r.From, r.To, r.Told, r.Withheld, len(looks)-r.Looks
	for i := range r.Turns {
		x.Turns = append(x.Turns, turnOf(&r.Turns[i]))
	}
	return x, nil
}

func turnOf(t *watch.Turn) Turn {
	out := Turn{Trigger: t.Trigger.ID, Kind: string(t.Trigger.Kind), Text: t.Trigger.String(), Why: t.Why, Seen: t.Seen, Before: t.Before, Noticed: t.Noticed}
	switch t.Answer {
	case watch.Holds:
		out.Answer = "holds"
	case watch.DoesNotHold:
		out.Answer = "does_not_hold"
	case watch.CannotTell:
		out.Answer = "cannot_tell"
	}
	switch {
	case t.Told:
		out.Said = "told"
	case t.Withheld:
		out.Said = "withheld"
	}
	return out
}

// asksAnything reports whether n says anything of when or how often to tell.
func (n *NewWatch) asksAnything() bool {
	m := &n.More
	return n.asksTrigger() || n.IgnoreStock || len(m.Points) > 0 || m.Cooldown != 0 || m.Rearm != 0 || m.Again != "" || m.Margin != ""
}

func (n *NewWatch) asksTrigger() bool {
	m := &n.More
	return n.Below != "" || n.BackInStock || m.Drop != "" || m.Rise != "" || m.LowestInDays != 0 || m.UnitBelow != "" || m.EffectiveBelow != "" || m.AnyChange || m.When != ""
}

// change makes a watch ask what n asks, and keeps the rest.
func (n *NewWatch) change(w *watch.Watch) error {
	var err error
	if n.asksTrigger() {
		if w.Triggers, err = n.triggers(); err != nil {
			return err
		}
	} else if err = n.More.howOften(w.Triggers); err != nil {
		return err
	}
	if len(n.More.Points) > 0 {
		if w.Points, err = readPoints(n.More.Points); err != nil {
			return err
		}
	}
	w.IgnoreStock = w.IgnoreStock || n.IgnoreStock
	if n.More.Cooldown != 0 {
		w.Cooldown = n.More.Cooldown
	}
	if n.More.Rearm != 0 {
		w.Rearm = n.More.Rearm
	}
	if n.Zone != "" {
		w.Zone = n.Zone
	}
	if err := w.Validate(); err != nil {
		return fmt.Errorf("the triggers to replay: %w", err)
	}
	return nil
}
