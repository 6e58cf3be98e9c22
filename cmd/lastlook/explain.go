package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lastlook/lastlook/internal/server"
)

type explainCmd struct {
	ID          string    `arg:"" help:"The watch's id, or its beginning."`
	From        string    `placeholder:"WHEN" help:"Show only what came since: a date such as 2026-11-24, a time in RFC 3339, or how long ago, such as 168h."`
	If          whenFlags `embed:""`
	IgnoreStock bool      `help:"Tell by the price alone, whether or not it was in stock."`
}

// Help implements [kong.HelpProvider].
func (*explainCmd) Help() string {
	return `Replays the looks that were kept of a watch's page through its triggers, or through those that the flags ask for, and shows when it would have told and why not otherwise: a line for each change of an answer, with the values and times. It asks what detection and the last look ask, and takes every message for delivered.

What a last look would have seen is only known where another look was kept within a minute; elsewhere what was noticed is taken for still true. Nothing is stored, and nobody is told.

Example: lastlook explain w_4kq2 --below "450 EUR" --from 720h`
}

// explanationView is the JSON of an explanation.
type explanationView struct {
	Watch    string   `json:"watch"`
	Name     string   `json:"name"`
	URL      string   `json:"url"`
	Triggers []string `json:"triggers"`
	// Changed says that the triggers are those of the command line.
	Changed bool `json:"changed"`
	History struct {
		Looks int       `json:"looks"`
		From  time.Time `json:"from,omitzero"`
		To    time.Time `json:"to,omitzero"`
		// Complete is false if there are older looks than are replayed.
		Complete bool `json:"complete"`
	} `json:"history"`
	Told     int        `json:"told"`
	Withheld int        `json:"withheld"`
	Changes  []turnView `json:"changes"`
}

// glanceView is a look in short.
type glanceView struct {
	At           time.Time  `json:"at"`
	Price        *moneyView `json:"price"`
	Availability string     `json:"availability"`
}

func newGlanceView(o *server.Observation) *glanceView {
	if o == nil {
		return nil
	}
	v := &glanceView{At: o.At, Availability: firstOf(string(o.Availability), "unknown")}
	if !o.Price.IsZero() {
		v.Price = newMoneyView(o.Price)
	}
	return v
}

type turnView struct {
	Trigger string `json:"trigger"`
	Kind    string `json:"kind"`
	Text    string `json:"text"`
	// Answer is holds, does_not_hold or cannot_tell; Said told, withheld or null.
	Answer  string      `json:"answer"`
	Said    *string     `json:"said"`
	Why     string      `json:"why,omitzero"`
	Seen    *glanceView `json:"seen"`
	Before  *glanceView `json:"before"`
	Noticed *glanceView `json:"noticed"`
}

// Run explains.
func (c *explainCmd) Run(ctx context.Context, a *app) error {
	from, err := a.moment("--from", c.From)
	if err != nil {
		return err
	}
	return a.reading(ctx, func(s *server.Server) error {
		x, err := s.Explain(ctx, c.ID, server.NewWatch{Below: c.If.Below, BackInStock: c.If.BackInStock, IgnoreStock: c.IgnoreStock, More: c.If.wishes()})
		if err != nil {
			return unknownWatch(c.ID, err)
		}
		var turns []server.Turn
		for i := range x.Turns {
			if !x.Turns[i].Seen.At.Before(from) {
				turns = append(turns, x.Turns[i])
			}
		}
		if a.out.json {
			return a.out.value(newExplanationView(&x, turns))
		}
		a.printExplanation(&x, turns, from)
		return nil
	})
}

func newExplanationView(x *server.Explanation, turns []server.Turn) explanationView {
	v := explanationView{Watch: x.Entry.Watch.ID, Name: nameOf(&x.Entry), URL: x.Entry.Listing.URL, Triggers: append([]string{}, x.Triggers...), Changed: x.Changed, Changes: []turnView{}}
	v.History.Looks, v.History.From, v.History.To, v.History.Complete = x.Looks, x.From, x.To, !x.Older
	for i := range turns {
		t := &turns[i]
		tv := turnView{Trigger: t.Trigger, Kind: t.Kind, Text: t.Text, Answer: t.Answer, Why: t.Why, Seen: newGlanceView(&t.Seen), Before: newGlanceView(t.Before), Noticed: newGlanceView(t.Noticed)}
		if t.Said != "" {
			tv.Said = &t.Said
		}
		v.Changes = append(v.Changes, tv)
	}
	v.Told, v.Withheld = messages(turns)
	return v
}

func (a *app) printExplanation(x *server.Explanation, turns []server.Turn, from time.Time) {
	a.out.linef("%s", nameOf(&x.Entry))
	asked := "its own triggers"
	if x.Changed {
		asked = "asked instead"
	}
	a.out.facts("  ", "page", x.Entry.Listing.URL, asked, strings.Join(x.Triggers, "; "), "history", a.reach(x))
	for i := range turns {
		t := &turns[i]
		a.out.linef("%s  %s%s", stamp(t.Seen.At), sayTurn(t, len(x.Triggers) > 1), beforeThat(t))
	}
	since := ""
	if !from.IsZero() {
		since = " since " + stamp(from)
	}
	if x.Looks == 0 {
		a.out.linef("nothing was seen yet that could be replayed")
		return
	}
	text := "never told"
	told, withheld := messages(turns)
	if told > 0 {
		text = "told " + times(told)
	}
	if withheld > 0 {
		text += ", withheld " + times(withheld) + " at the last look"
	}
	a.out.linef("would have %s%s", text, since)
}

// reach says how far the history reaches.
func (a *app) reach(x *server.Explanation) string {
	if x.Looks == 0 {
		return "no look"
	}
	text := fmt.Sprintf("%s, %s to %s", plural(x.Looks, "look"), stamp(x.From), stamp(x.To))
	if x.Older {
		text += "; older ones are not replayed"
	}
	if x.Before > 0 && !x.Changed {
		text += fmt.Sprintf("; %s from before the watch", plural(x.Before, "look"))
	}
	return text
}

func sayTurn(t *server.Turn, several bool) string {
	text := ""
	if several {
		text = t.Text + ": "
	}
	switch {
	case t.Said == "told":
		text += "would have told " + server.DescribeObservation(t.Seen)
		if !t.Noticed.At.Equal(t.Seen.At) {
			text += ", noticed at " + t.Noticed.At.UTC().Format(time.TimeOnly)
		}
		return text
	case t.Said == "withheld":
		return text + fmt.Sprintf("withheld at the last look: %s (noticed at %s: %s)", t.Why, t.Noticed.At.UTC().Format(time.TimeOnly), server.DescribeObservation(*t.Noticed))
	case t.Answer == "holds":
		text += "holds, not told: "
	case t.Answer == "does_not_hold":
		text += "does not hold: "
	default:
		text += "cannot tell: "
	}
	return text + t.Why + " (" + server.DescribeObservation(t.Seen) + ")"
}

// beforeThat says what was seen before.
func beforeThat(t *server.Turn) string {
	if t.Before == nil || t.Said == "withheld" {
		return ""
	}
	return fmt.Sprintf("; before, at %s: %s", stamp(t.Before.At), server.DescribeObservation(*t.Before))
}

// messages counts what was told and withheld: several triggers make one message.
func messages(turns []server.Turn) (told, withheld int) {
	last := map[string]time.Time{}
	for i := range turns {
		t := &turns[i]
		if t.Said == "" || last[t.Said].Equal(t.Seen.At) {
			continue
		}
		last[t.Said] = t.Seen.At
		if t.Said == "told" {
			told++
		} else {
			withheld++
		}
	}
	return told, withheld
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// moment reads a time as people give it: a date, a time, or how long ago.
func (a *app) moment(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, form := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(form, text); err == nil {
			return t, nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return a.now().Add(-d), nil
	}
	return time.Time{}, usagef("%s %q: write a date such as 2026-11-24, a time such as 2026-11-24T09:00:00Z, or how long ago, such as 168h", flag, text)
}
