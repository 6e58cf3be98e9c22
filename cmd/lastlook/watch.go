package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/server"
)

type watchCmd struct {
	Add    watchAddCmd    `cmd:"" help:"Watch a page, and look at it at once."`
	List   watchListCmd   `cmd:"" help:"List the watches."`
	Show   watchShowCmd   `cmd:"" help:"Show one watch: where its triggers stand, what was seen, what was told."`
	Pause  watchPauseCmd  `cmd:"" help:"Stop looking and telling, for now."`
	Resume watchResumeCmd `cmd:"" help:"End a pause."`
	Accept watchAcceptCmd `cmd:"" help:"Take a page that has become another product, or states another currency, for what is watched."`
	Remove watchRemoveCmd `cmd:"" help:"Remove watches, with what was seen of their pages."`
}

type watchAddCmd struct {
	URL         string        `arg:"" help:"The page's address."`
	When        whenFlags     `embed:""`
	Name        string        `placeholder:"TEXT" help:"What to call it; the default is the page's title."`
	Every       time.Duration `default:"15m" placeholder:"DURATION" help:"How often to look, 10s to 31 days (default ${default})."`
	To          []string      `default:"log" placeholder:"CHANNEL" help:"The channels to tell through, separated by commas or given several times (default ${default})."`
	Recipient   string        `default:"me" placeholder:"WHO" help:"Who is told (default ${default})."`
	IgnoreStock bool          `help:"Tell by the price alone, whether or not it is in stock."`
	Zone        string        `placeholder:"ZONE" help:"The IANA time zone in which \"once a day\" is counted, such as Europe/Berlin; the default is UTC."`
	Source      string        `default:"page" placeholder:"NAME" help:"What reads it: page, json, shopify, feed, rakuten, yahoo or browser (default ${default})."`
	Browser     browserFlag   `env:"LASTLOOK_BROWSER" help:"With --source browser: --browser=PATH is Chromium's program, if it is not the one that is found."`
	Read        readFlags     `embed:""`
	Check       bool          `default:"true" negatable:"" help:"Look at the page at once; --no-check leaves that to serve."`
}

// Help implements [kong.HelpProvider].
func (*watchAddCmd) Help() string {
	return `A price counts only while the item can be ordered, unless --ignore-stock is given. What holds at the first look is told.

A trigger tells once per episode: once when it begins to hold, and again only after it was seen not to hold in between. And it tells at most once a day, as days are counted in --zone: what begins to hold again on the same day is told on the next, if it still holds.

Example: lastlook watch add https://shop.example/camera --below "500 EUR" --back-in-stock --to phone`
}

// addedView is the JSON of an added watch.
type addedView struct {
	Watch    watchView `json:"watch"`
	Look     *lookView `json:"look"`
	Warnings []string  `json:"warnings"`
	Holding  []string  `json:"holding"`
}

// browserSource is the source that needs a browser.
const browserSource = "browser"

// Run adds a watch.
func (c *watchAddCmd) Run(ctx context.Context, a *app) error {
	if c.When.asksNothing() {
		return usagef("say when to tell you: --below \"500 EUR\", --back-in-stock, or another of the triggers that lastlook watch add --help lists")
	}
	if c.Every == 0 {
		return server.CheckInterval(c.Every) // the server takes 0 for its default
	}
	if c.Source == browserSource { // which is asked for so, whatever the flag says
		a.browser = c.Browser.options()
		a.browser.On, a.browser.Patient = true, true
	}
	return a.with(ctx, func(s *server.Server) error {
		added, err := s.AddWatch(ctx, server.NewWatch{
			URL: c.URL, Name: c.Name, Recipient: c.Recipient, Zone: c.Zone, Below: c.When.Below, BackInStock: c.When.BackInStock,
			IgnoreStock: c.IgnoreStock, Every: c.Every, Channels: c.To, NoLook: !c.Check, Source: c.Source, Options: c.Read.options(),
			More: c.When.wishes(),
		})
		if err != nil {
			return err
		}
		if a.out.json {
			v := addedView{Watch: newWatchView(&added.Entry), Warnings: append([]string{}, added.Warnings...), Holding: append([]string{}, added.Holding...)}
			if added.Look != nil {
				look := newLookView(added.Look)
				v.Look = &look
			}
			return a.out.value(v)
		}
		a.printAdded(&added)
		return nil
	})
}

func (a *app) printAdded(added *server.Added) {
	w := &added.Entry.Watch
	a.out.linef("watch %s added: %s", w.ID, triggersOf(&added.Entry))
	if added.Look != nil {
		a.printLook(added.Look)
	}
	for _, text := range added.Warnings {
		a.out.linef("warning: %s", text)
	}
	if added.Look != nil && added.Look.Observation == nil {
		a.out.linef("warning: the page could not be read; the watch stays and will look again")
	}
	if added.Entry.Listing.Source == browserSource {
		a.out.notef("read by a browser: lastlook serve needs --browser for that")
	}
	if len(added.Holding) > 0 {
		a.out.notef("this holds already and will be told: %s", strings.Join(added.Holding, "; "))
	}
	a.out.notef("looked at every %s by lastlook serve; told through %s", span(added.Entry.Listing.Interval), strings.Join(w.Channels, ", "))
}

func triggersOf(e *server.Entry) string {
	var texts []string
	for _, t := range e.Watch.Triggers {
		texts = append(texts, t.String())
	}
	return strings.Join(texts, "; ")
}

type watchListCmd struct{}

// Run lists the watches.
func (watchListCmd) Run(ctx context.Context, a *app) error {
	return a.reading(ctx, func(s *server.Server) error {
		all, err := s.Watches(ctx)
		if err != nil {
			return err
		}
		if a.out.json {
			views := []watchView{}
			for i := range all {
				views = append(views, newWatchView(&all[i]))
			}
			return a.out.value(views)
		}
		if len(all) == 0 {
			a.out.notef("nothing is watched yet in %s: lastlook watch add URL --below \"500 EUR\"", a.place())
			return nil
		}
		var rows [][]string
		for i := range all {
			e := &all[i]
			seen := ""
			if e.Last != nil {
				seen = server.DescribeObservation(*e.Last)
			}
			rows = append(rows, []string{e.Watch.ID, short(nameOf(e), 40), triggersOf(e), seen, a.out.ago(e.Listing.LastOK), a.standing(e)})
		}
		a.out.table([]string{"ID", "NAME", "WHEN", "LAST SEEN", "LOOKED", "STATE"}, rows)
		return a.noteServing(ctx, s)
	})
}

// noteServing says so if nobody looks and tells.
func (a *app) noteServing(ctx context.Context, s *server.Server) error {
	serving, err := s.Dispatching(ctx)
	if err == nil && !serving {
		a.out.notef("no lastlook serve runs on this data directory now: without one, or a lastlook tick from cron, nothing is looked at or told")
	}
	return err
}

// standing says in a few words how a watch is doing.
func (a *app) standing(e *server.Entry) string {
	switch {
	case e.Err != nil:
		return "cannot be used: " + e.Err.Error()
	case e.Watch.Paused:
		return "paused"
	case e.Listing.Failures > 0:
		return fmt.Sprintf("cannot read it: %s", short(e.Listing.LastError, 60))
	case len(e.Listing.Standing.Flags()) > 0:
		return server.DescribeFlags(e)
	case e.Watch.SnoozedUntil.After(a.now()):
		return "snoozed until " + stamp(e.Watch.SnoozedUntil)
	case !e.Listing.NextLook.After(a.now()):
		return "due"
	}
	return "next look " + a.out.ago(e.Listing.NextLook)
}

type watchShowCmd struct {
	ID      string `arg:"" help:"The watch's id, or its beginning."`
	History int    `default:"10" placeholder:"N" help:"How many looks to show (default ${default})."`
}

// shownView is the JSON of watch show.
type shownView struct {
	watchView
	History       []*observationView `json:"history"`
	Notifications []lastlook.Record  `json:"notifications"`
}

// Run shows one watch.
func (c *watchShowCmd) Run(ctx context.Context, a *app) error {
	if c.History < 0 {
		return usagef("--history %d: it is 0 or more", c.History)
	}
	return a.reading(ctx, func(s *server.Server) error {
		e, err := s.FindWatch(ctx, c.ID)
		if err != nil {
			return unknownWatch(c.ID, err)
		}
		history, err := s.History(ctx, e.Listing.ID, c.History)
		if err != nil {
			return err
		}
		recs, err := s.Outbox().List(ctx, lastlook.Query{Topic: s.Topics()[0], Subject: e.Watch.ID, Limit: 20})
		if err != nil {
			return err
		}
		if a.out.json {
			v := shownView{watchView: newWatchView(&e), History: []*observationView{}, Notifications: append([]lastlook.Record{}, recs...)}
			for i := range history {
				v.History = append(v.History, newObservationView(&history[i]))
			}
			return a.out.value(v)
		}
		withheld, err := s.Withheld(ctx, &e)
		if err != nil {
			return err
		}
		a.printWatch(&e, withheld)
		a.printHistory(history)
		if len(recs) > 0 {
			a.out.linef("notifications")
			a.printRecords(recs)
		}
		return a.noteServing(ctx, s)
	})
}

func (a *app) printWatch(e *server.Entry, withheld []server.Withheld) {
	w, l := &e.Watch, &e.Listing
	a.out.linef("%s", nameOf(e))
	a.out.facts("  ",
		"watch", w.ID,
		"page", l.URL,
		"told", w.Recipient+" through "+strings.Join(w.Channels, ", "),
		"state", a.standing(e),
		"looked at", "every "+span(l.Interval)+", last read "+firstOf(a.out.when(l.LastOK), "never"),
		"next look", a.out.when(l.NextLook),
		"last error", l.LastError,
		"added", a.out.when(w.CreatedAt))
	a.out.linef("triggers")
	for _, t := range w.Triggers {
		text := "nobody knows yet whether it holds"
		if s := e.States[t.ID]; s.Known && s.Holding {
			text = "holds since " + a.out.when(s.Since)
		} else if s.Known {
			text = "does not hold since " + a.out.when(s.Since)
		}
		a.out.linef("  %s: %s", t.String(), text)
		for _, h := range withheld {
			if h.Trigger == t.ID {
				a.out.linef("    %s: %s", h.Channel, a.whyWithheld(&h))
			}
		}
	}
}

// whyWithheld says why a trigger that holds is not told now.
func (a *app) whyWithheld(h *server.Withheld) string {
	at := ""
	if h.Told != "" {
		at = " at " + h.Told
	}
	perhaps := ""
	if h.Maybe {
		at += ", but nobody knows whether it arrived"
		perhaps = "perhaps "
	}
	switch {
	case h.ToldAt.IsZero():
		return h.Why
	case h.Again.IsZero():
		return fmt.Sprintf("%salready told in this episode%s, %s; may tell again once it has stopped holding and holds again", perhaps, at, a.out.when(h.ToldAt))
	}
	return fmt.Sprintf("%stold today%s; may tell again from %s", perhaps, at, h.Again.Format("15:04 ")+firstOf(h.Zone, "UTC"))
}

func (a *app) printHistory(history []server.Observation) {
	if len(history) == 0 {
		return
	}
	a.out.linef("seen")
	for i := range history {
		a.out.linef("  %s  %s", stamp(history[i].At), server.DescribeObservation(history[i]))
	}
}

func unknownWatch(id string, err error) error {
	if errors.Is(err, server.ErrUnknownWatch) {
		return fmt.Errorf("there is no watch %q: lastlook watch list shows them all", id)
	}
	return err
}

type watchPauseCmd struct {
	IDs []string `arg:"" name:"id" help:"The watches' ids, or their beginnings."`
}

// changedView is the JSON of a changed watch.
type changedView struct {
	ID string `json:"id"`
	// Did is "paused", "resumed", "accepted" or "removed".
	Did string `json:"did"`
	// Withheld counts the waiting notifications that were dropped.
	Withheld int `json:"withheld"`
}

// each makes a change to every watch named, and prints what it came to.
func (a *app) each(ctx context.Context, ids []string, did string, change func(s *server.Server, id string) (withheld int, err error)) error {
	return a.with(ctx, func(s *server.Server) error {
		var whole []string // all are found first, so that a mistyped one changes nothing
		for _, id := range ids {
			e, err := s.FindWatch(ctx, id)
			if err != nil {
				return unknownWatch(id, err)
			}
			if !slices.Contains(whole, e.Watch.ID) {
				whole = append(whole, e.Watch.ID)
			}
		}
		views := []changedView{}
		for _, id := range whole {
			n, err := change(s, id)
			if err != nil {
				return unknownWatch(id, err)
			}
			views = append(views, changedView{ID: id, Did: did, Withheld: n})
			if a.out.json {
				continue
			}
			text := ""
			if n > 0 {
				text = ", and " + plural(n, "waiting notification") + " withheld"
			}
			a.out.notef("watch %s %s%s", id, did, text)
		}
		if a.out.json {
			return a.out.value(views)
		}
		return nil
	})
}

// Run pauses watches.
func (c *watchPauseCmd) Run(ctx context.Context, a *app) error {
	return a.each(ctx, c.IDs, "paused", func(s *server.Server, id string) (int, error) {
		_, n, err := s.PauseWatch(ctx, id)
		return n, err
	})
}

type watchResumeCmd struct {
	IDs []string `arg:"" name:"id" help:"The watches' ids, or their beginnings."`
}

// Run resumes watches.
func (c *watchResumeCmd) Run(ctx context.Context, a *app) error {
	return a.each(ctx, c.IDs, "resumed", func(s *server.Server, id string) (int, error) {
		_, err := s.ResumeWatch(ctx, id)
		return 0, err
	})
}

type watchAcceptCmd struct {
	IDs []string `arg:"" name:"id" help:"The watches' ids, or their beginnings."`
}

// Run accepts what pages have become.
func (c *watchAcceptCmd) Run(ctx context.Context, a *app) error {
	return a.each(ctx, c.IDs, "accepted", func(s *server.Server, id string) (int, error) {
		return 0, s.AcceptWatch(ctx, id)
	})
}

type watchRemoveCmd struct {
	IDs []string `arg:"" name:"id" help:"The watches' ids, or their beginnings."`
}

// Run removes watches.
func (c *watchRemoveCmd) Run(ctx context.Context, a *app) error {
	return a.each(ctx, c.IDs, "removed", func(s *server.Server, id string) (int, error) {
		return s.RemoveWatch(ctx, id)
	})
}
