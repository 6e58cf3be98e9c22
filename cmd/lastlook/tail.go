package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/server"
)

type outboxTailCmd struct {
	filters
	Lines int `short:"n" default:"10" placeholder:"N" help:"How many of the latest notifications to begin with (default ${default})."`
}

// Help implements [kong.HelpProvider].
func (*outboxTailCmd) Help() string {
	return `Prints each step of each notification as it happens; with --json, one object per line.`
}

// tailEvery is how often the outbox is asked.
const tailEvery = 500 * time.Millisecond

// Run follows the outbox until ctx ends.
func (c *outboxTailCmd) Run(ctx context.Context, a *app) error {
	q, err := c.query(a)
	if err != nil {
		return err
	}
	if missing, err := a.missing(); err != nil || missing && !a.database().Shared() {
		return cmp.Or(err, fmt.Errorf("there is no data directory %s yet, so there is nothing to follow: lastlook watch add makes it", a.place()))
	}
	return a.with(ctx, func(s *server.Server) error {
		if err := expand(ctx, s, &q); err != nil {
			return err
		}
		t := tail{outbox: s.Outbox(), query: q, known: map[lastlook.ID]mark{}, print: a.printStep}
		if err := t.begin(ctx, c.Lines); err != nil {
			return unlessStopped(ctx, err)
		}
		ticker := time.NewTicker(tailEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-ticker.C:
			}
			if err := cmp.Or(t.poll(ctx), a.out.err); err != nil {
				return unlessStopped(ctx, err)
			}
		}
	})
}

func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// tail finds out what has happened since it last asked.
type tail struct {
	outbox *lastlook.Outbox
	query  lastlook.Query
	newest lastlook.ID
	// known are the live notifications as they were last seen.
	known map[lastlook.ID]mark
	print func(*lastlook.Record, lastlook.Step) error
}

// mark is how far a notification's story has been told.
type mark struct {
	changed // what List shows without the story
	told    int
}

// changed is what differs after each step but those of one attempt.
type changed struct {
	state   lastlook.State
	attempt int
	due     time.Time
	leased  time.Time
}

func changedOf(r *lastlook.Record) changed {
	return changed{r.State, r.Attempt, r.Due, r.Leased}
}

// begin prints the last step of the latest notifications, and remembers how
// the live ones stand.
func (t *tail) begin(ctx context.Context, lines int) error {
	newest, err := t.outbox.List(ctx, lastlook.Query{Limit: 1})
	if err != nil {
		return err
	}
	if len(newest) > 0 {
		t.newest = newest[0].ID
	}
	live, err := t.live(ctx)
	if err != nil {
		return err
	}
	for i := range live {
		if err := t.catchUp(ctx, live[i].ID, nil); err != nil {
			return err
		}
	}
	if lines <= 0 {
		return nil
	}
	q := t.query
	q.Limit, q.Full = lines, true
	latest, err := t.outbox.List(ctx, q)
	if err != nil {
		return err
	}
	for _, r := range slices.Backward(latest) {
		steps := stepsOf(&r)
		if err := t.print(&r, steps[len(steps)-1]); err != nil {
			return err
		}
	}
	return nil
}

// poll prints what has happened since the last poll.
func (t *tail) poll(ctx context.Context) error {
	live, err := t.live(ctx)
	if err != nil {
		return err
	}
	look := map[lastlook.ID]bool{}
	for id := range t.known {
		look[id] = true // it has ended, unless it is among the live ones
	}
	for i := range live {
		m, ok := t.known[live[i].ID]
		look[live[i].ID] = !ok || m.changed != changedOf(&live[i])
	}
	if err := t.newcomers(ctx, look); err != nil {
		return err
	}
	var ids []lastlook.ID
	for id, yes := range look {
		if yes {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		if err := t.catchUp(ctx, id, t.print); err != nil {
			return err
		}
	}
	return nil
}

// tailPage is how many notifications are read at once.
const tailPage = 500

// live lists the live notifications that are followed.
func (t *tail) live(ctx context.Context) ([]lastlook.Record, error) {
	q := t.query
	q.States, q.Reason, q.Limit = []lastlook.State{lastlook.StatePending, lastlook.StateSending, lastlook.StateRetry}, "", tailPage
	var out []lastlook.Record
	for {
		page, err := t.outbox.List(ctx, q)
		if err != nil {
			return nil, err
		}
		out = append(out, page...)
		if len(page) < tailPage {
			return out, nil
		}
		q.Before = page[len(page)-1].ID
	}
}

// newcomers adds the notifications that came since the last poll, some of
// which may have ended already.
func (t *tail) newcomers(ctx context.Context, look map[lastlook.ID]bool) error {
	q := t.query
	q.States, q.Reason, q.Limit = nil, "", tailPage
	newest := t.newest
	for {
		page, err := t.outbox.List(ctx, q)
		if err != nil {
			return err
		}
		for i := range page {
			id := page[i].ID
			if id <= t.newest {
				t.newest = newest
				return nil
			}
			if _, known := t.known[id]; !known {
				look[id] = true
			}
			newest = max(newest, id)
		}
		if len(page) < tailPage {
			t.newest = newest
			return nil
		}
		q.Before = page[len(page)-1].ID
	}
}

// catchUp tells the steps of one notification that were not told yet.
func (t *tail) catchUp(ctx context.Context, id lastlook.ID, print func(*lastlook.Record, lastlook.Step) error) error {
	r, err := t.outbox.Get(ctx, id)
	if errors.Is(err, lastlook.ErrNotFound) {
		delete(t.known, id) // retention was faster
		return nil
	}
	if err != nil {
		return err
	}
	told, number := t.known[id].told, 0
	for _, s := range stepsOf(&r) {
		// The middle of a long story is left out: count it.
		number += 1 + s.Skipped
		if number <= told || print == nil || !t.wanted(&s) {
			continue
		}
		if err := print(&r, s); err != nil {
			return err
		}
	}
	if r.State.Live() {
		t.known[id] = mark{changedOf(&r), number}
	} else {
		delete(t.known, id)
	}
	return nil
}

// wanted applies the filters that change with each step.
func (t *tail) wanted(s *lastlook.Step) bool {
	return (len(t.query.States) == 0 || slices.Contains(t.query.States, s.State)) && (t.query.Reason == "" || t.query.Reason == s.Reason)
}

// stepsOf returns a story with the detection as its first step.
func stepsOf(r *lastlook.Record) []lastlook.Step {
	first := lastlook.Step{At: r.CreatedAt, Event: lastlook.EventEnqueued, State: lastlook.StatePending, Value: r.Detection}
	return append([]lastlook.Step{first}, r.Story...)
}

// stepView is one JSON line of the tail.
type stepView struct {
	ID  lastlook.ID  `json:"id"`
	Key lastlook.Key `json:"key"`
	lastlook.Step
}

// printStep prints one step of one notification.
func (a *app) printStep(r *lastlook.Record, s lastlook.Step) error {
	if a.out.json {
		return a.out.jsonLine(stepView{r.ID, r.Key, s})
	}
	t := teller{now: a.now(), when: a.out.when}
	text := t.step(r.Key.Topic, &s)
	if s.Event == lastlook.EventEnqueued {
		text = "noticed: " + t.value(r.Key.Topic, r.Detection)
	}
	a.out.linef("%s  %d  %s  %s %s through %s  %s", stamp(s.At), r.ID, s.State, r.Key.Topic, r.Key.Subject, r.Key.Channel, text)
	return a.out.err
}
