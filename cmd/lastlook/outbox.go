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

type outboxCmd struct {
	List   outboxListCmd   `cmd:"" help:"List notifications, newest first."`
	Show   outboxShowCmd   `cmd:"" help:"Tell one notification's whole story, and what happens next."`
	Stats  outboxStatsCmd  `cmd:"" help:"Count what waits, and what was sent, rightly withheld and failed."`
	Cancel outboxCancelCmd `cmd:"" help:"Withdraw waiting notifications."`
	Retry  outboxRetryCmd  `cmd:"" help:"Try failed notifications again, as new ones."`
	Tail   outboxTailCmd   `cmd:"" help:"Follow what happens, until interrupted."`
}

// filters select notifications.
type filters struct {
	State     []string `enum:"pending,sending,retry,sent,dropped,failed" placeholder:"STATE" help:"In these states: pending, sending, retry, sent, dropped, failed."`
	Topic     string   `placeholder:"TOPIC" help:"Of this topic."`
	Subject   string   `placeholder:"SUBJECT" help:"About this subject, such as a watch's id."`
	Recipient string   `placeholder:"WHO" help:"For this recipient."`
	Channel   string   `placeholder:"CHANNEL" help:"Through this channel."`
	Reason    string   `placeholder:"REASON" help:"Dropped or failed for this reason, such as condition_lost."`
}

// query returns what the flags ask for; --subject is expanded by [filters.expand].
func (f *filters) query(a *app) (lastlook.Query, error) {
	q := lastlook.Query{Topic: f.Topic, Subject: f.Subject, Recipient: f.Recipient, Channel: f.Channel, Reason: lastlook.Reason(f.Reason)}
	if _, ok := q.Reason.Info(); f.Reason != "" && !ok {
		return q, usagef("there is no reason %q; known are %s", f.Reason, strings.Join(reasonNames(), ", "))
	}
	if len(f.State) == 0 && a.given("state") {
		return q, usagef("--state is empty: name one, such as --state failed")
	}
	for _, name := range f.State {
		var s lastlook.State
		if err := s.UnmarshalText([]byte(name)); err != nil {
			return q, usage{err}
		}
		q.States = append(q.States, s)
	}
	return q, nil
}

// expand completes the shortened id of a watch, as every other command takes
// one. What is no watch's stays: it may be another topic's subject, or a watch
// that has been removed.
func expand(ctx context.Context, s *server.Server, q *lastlook.Query) error {
	if q.Subject == "" || q.Topic != "" && q.Topic != server.WatchTopic {
		return nil
	}
	exact, err := s.Outbox().List(ctx, lastlook.Query{Topic: q.Topic, Subject: q.Subject, Limit: 1})
	if err != nil || len(exact) > 0 {
		return err
	}
	e, err := s.FindWatch(ctx, q.Subject)
	switch {
	case err == nil:
		q.Subject = e.Watch.ID
	case !errors.Is(err, server.ErrUnknownWatch):
		return err
	}
	return nil
}

// nothing says that a list is empty, and why as far as that is plain.
func (a *app) nothing(ctx context.Context, s *server.Server, q *lastlook.Query) error {
	where := " in " + a.place()
	if q.Subject != "" {
		any, err := s.Outbox().List(ctx, lastlook.Query{Topic: q.Topic, Subject: q.Subject, Limit: 1})
		if err != nil {
			return err
		}
		if len(any) == 0 {
			a.out.notef("no notifications%s: nothing there has the subject %q; the id of a removed watch must be given whole", where, q.Subject)
			return nil
		}
	}
	a.out.notef("no notifications%s", where)
	return nil
}

func reasonNames() []string {
	var names []string
	for _, info := range lastlook.Reasons() {
		names = append(names, string(info.Reason))
	}
	return names
}

type outboxListCmd struct {
	filters
	Limit  int   `default:"50" placeholder:"N" help:"How many to list (default ${default})."`
	Before int64 `placeholder:"ID" help:"Only those older than this one, for paging."`
}

// Run lists notifications.
func (c *outboxListCmd) Run(ctx context.Context, a *app) error {
	q, err := c.query(a)
	if err != nil {
		return err
	}
	if c.Limit < 1 {
		return usagef("--limit %d: it is 1 or more", c.Limit)
	}
	if c.Before < 0 || c.Before == 0 && a.given("before") {
		return usagef("--before %d: it is the id of a notification, 1 or more", c.Before)
	}
	q.Limit, q.Before = c.Limit, lastlook.ID(c.Before)
	return a.reading(ctx, func(s *server.Server) error {
		if err := expand(ctx, s, &q); err != nil {
			return err
		}
		recs, err := s.Outbox().List(ctx, q)
		if err != nil {
			return err
		}
		if a.out.json {
			return a.out.value(append([]lastlook.Record{}, recs...))
		}
		if len(recs) == 0 {
			return a.nothing(ctx, s, &q)
		}
		a.printRecords(recs)
		if len(recs) == c.Limit {
			a.out.notef("older ones: --before %d", recs[len(recs)-1].ID)
		}
		return nil
	})
}

func (a *app) printRecords(recs []lastlook.Record) {
	var rows [][]string
	for i := range recs {
		r := &recs[i]
		about := r.Key.Topic + "/" + short(r.Key.Subject, 24)
		if title := server.TitleOf(r.Key.Topic, r.Detection); title != "" {
			about += " " + short(title, 32)
		}
		at, what := r.EndedAt, "ended "
		if r.State.Live() {
			at, what = r.Due, "due "
		}
		rows = append(rows, []string{fmt.Sprint(r.ID), r.State.String(), string(r.Reason), about, r.Key.Recipient + " through " + r.Key.Channel,
			a.out.ago(r.CreatedAt), what + a.out.when(at)})
	}
	a.out.table([]string{"ID", "STATE", "REASON", "ABOUT", "FOR", "NOTICED", "WHEN"}, rows)
}

type outboxStatsCmd struct {
	Since time.Duration `default:"24h" placeholder:"DURATION" help:"Count what ended since this long ago (default ${default})."`
}

// statsView is the JSON of the counts.
type statsView struct {
	Since time.Time `json:"since"`
	Sent  int       `json:"sent"`
	// Withheld counts what a last look found to be no longer true.
	Withheld int `json:"withheld"`
	// Dropped counts what was dropped for other reasons.
	Dropped int                 `json:"dropped"`
	Failed  int                 `json:"failed"`
	Ended   []lastlook.EndCount `json:"ended"`
	Waiting []laneView          `json:"waiting"`
	// OldestDue is null if nothing waits.
	OldestDue *time.Time `json:"oldest_due"`
	Marks     int        `json:"marks"`
	Muted     int        `json:"muted"`
}

type laneView struct {
	lastlook.LaneStats
	// Registered says that this data directory's lastlook can tell them.
	Registered bool `json:"registered"`
}

// Run prints the counts.
func (c *outboxStatsCmd) Run(ctx context.Context, a *app) error {
	if c.Since < 0 {
		return usagef("--since %s: it is how long ago, such as 24h", c.Since)
	}
	return a.reading(ctx, func(s *server.Server) error {
		since := a.now().Add(-c.Since)
		st, err := s.Outbox().Stats(ctx, since)
		if err != nil {
			return err
		}
		v := statsView{Since: lastlook.Micro(since), Ended: append([]lastlook.EndCount{}, st.Ended...), Waiting: []laneView{}, Marks: st.Marks, Muted: st.Muted}
		v.count()
		for _, l := range st.Live {
			v.Waiting = append(v.Waiting, laneView{l, slices.Contains(s.Topics(), l.Topic) && slices.Contains(s.Channels(), l.Channel)})
			if v.OldestDue == nil || l.OldestDue.Before(*v.OldestDue) {
				v.OldestDue = &l.OldestDue
			}
		}
		if a.out.json {
			return a.out.value(v)
		}
		a.printStats(&v)
		return nil
	})
}

func (v *statsView) count() {
	for _, e := range v.Ended {
		switch e.State {
		case lastlook.StateSent:
			v.Sent += e.Count
		case lastlook.StateFailed:
			v.Failed += e.Count
		case lastlook.StateDropped:
			if info, _ := e.Reason.Info(); info.Verdict {
				v.Withheld += e.Count
			} else {
				v.Dropped += e.Count
			}
		default: // live rows have not ended
		}
	}
}

func (a *app) printStats(v *statsView) {
	a.out.linef("since %s", a.out.when(v.Since))
	a.out.facts("  ",
		"sent", fmt.Sprint(v.Sent),
		"rightly withheld", fmt.Sprint(v.Withheld)+because(v.Ended, lastlook.StateDropped, true),
		"otherwise dropped", fmt.Sprint(v.Dropped)+because(v.Ended, lastlook.StateDropped, false),
		"failed", fmt.Sprint(v.Failed)+because(v.Ended, lastlook.StateFailed, false))
	if len(v.Waiting) == 0 {
		a.out.linef("nothing is waiting")
	} else {
		a.out.linef("waiting, the oldest due %s", a.out.when(*v.OldestDue))
		a.printLanes(v.Waiting)
	}
	if v.Marks > 0 {
		a.out.linef("%s waiting to become notifications", plural(v.Marks, "mark"))
	}
	if v.Muted > 0 {
		a.out.linef("%s muted", plural(v.Muted, "recipient"))
	}
}

func (a *app) printLanes(lanes []laneView) {
	var rows [][]string
	for _, l := range lanes {
		note := ""
		if !l.Registered {
			note = "nobody here tells this topic or channel"
		}
		rows = append(rows, []string{l.Topic, l.Channel, l.Name, l.State.String(), fmt.Sprint(l.Count), fmt.Sprint(l.Leased), a.out.ago(l.OldestDue), note})
	}
	a.out.table([]string{"  TOPIC", "CHANNEL", "LANE", "STATE", "COUNT", "AT WORK", "OLDEST DUE", "NOTE"}, indentFirst(rows))
}

func indentFirst(rows [][]string) [][]string {
	for i := range rows {
		rows[i][0] = "  " + rows[i][0]
	}
	return rows
}

// because lists the reasons in a count, the most frequent first.
func because(ended []lastlook.EndCount, state lastlook.State, verdicts bool) string {
	counts := map[lastlook.Reason]int{}
	for _, e := range ended {
		if info, _ := e.Reason.Info(); e.State == state && info.Verdict == verdicts {
			counts[e.Reason] += e.Count
		}
	}
	var texts []string
	for _, info := range lastlook.Reasons() {
		if n := counts[info.Reason]; n > 0 {
			texts = append(texts, fmt.Sprintf("%s %d", info.Reason, n))
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return " (" + strings.Join(texts, ", ") + ")"
}

type outboxCancelCmd struct {
	IDs []int64 `arg:"" name:"id" help:"The notifications' ids."`
}

// Run withdraws notifications.
func (c *outboxCancelCmd) Run(ctx context.Context, a *app) error {
	type cancelledView struct {
		ID  int64  `json:"id"`
		Did string `json:"did"`
	}
	return a.with(ctx, func(s *server.Server) error {
		views := []cancelledView{}
		for _, id := range c.IDs {
			if err := s.Outbox().Cancel(ctx, lastlook.ID(id), a.operator()); err != nil {
				return unknownNotification(id, err)
			}
			views = append(views, cancelledView{ID: id, Did: "cancelled"})
			if !a.out.json {
				a.out.notef("notification %d cancelled", id)
				r, err := s.Outbox().Get(ctx, lastlook.ID(id))
				if err != nil {
					return unknownNotification(id, err)
				}
				if watching(ctx, s, &r) {
					a.out.notef("%s", stopText(&r))
				}
			}
		}
		if a.out.json {
			return a.out.value(views)
		}
		return nil
	})
}

// watching says whether a notification's watch is there and looked at.
func watching(ctx context.Context, s *server.Server, r *lastlook.Record) bool {
	if r.Key.Topic != server.WatchTopic {
		return false
	}
	e, err := s.FindWatch(ctx, r.Key.Subject)
	return err == nil && e.Watch.ID == r.Key.Subject && !e.Watch.Paused
}

// stopText says what a cancelled notification's watch does next.
func stopText(r *lastlook.Record) string {
	return "the watch notices it again at its next look while it stays true; to stop it: lastlook watch pause " + r.Key.Subject
}

func unknownNotification(id int64, err error) error {
	if errors.Is(err, lastlook.ErrNotFound) {
		return fmt.Errorf("there is no notification %d (any more): lastlook outbox list shows them", id)
	}
	return err
}

type outboxRetryCmd struct {
	IDs       []int64 `arg:"" name:"id" help:"The failed notifications' ids."`
	MayRepeat bool    `help:"Try also what may have been delivered: the recipient may be told twice."`
}

// Help implements [kong.HelpProvider].
func (*outboxRetryCmd) Help() string {
	return `A failed notification stays failed; a new one does its work again, with a new look, and names the old one.

Example: lastlook outbox retry 42 --may-repeat`
}

// retriedView is the JSON of a retried notification.
type retriedView struct {
	ID     int64                  `json:"id"`
	Result lastlook.EnqueueResult `json:"result"`
}

// Run retries notifications.
func (c *outboxRetryCmd) Run(ctx context.Context, a *app) error {
	return a.with(ctx, func(s *server.Server) error {
		views := []retriedView{}
		for _, id := range c.IDs {
			res, err := s.Outbox().Retry(ctx, lastlook.ID(id), lastlook.RetryOptions{MayRepeat: c.MayRepeat})
			if err != nil {
				return unknownNotification(id, err)
			}
			views = append(views, retriedView{id, res})
			switch {
			case a.out.json:
			case res.Status == lastlook.Inserted:
				made, err := s.Outbox().Get(ctx, res.ID)
				if err != nil {
					return err
				}
				a.out.linef("notification %d is tried again as %d, %s", id, res.ID, a.out.when(made.Due))
			default:
				a.out.linef("notification %d: nothing new was made, notification %d (%s) does its work already", id, res.ID, res.State)
			}
		}
		if a.out.json {
			return a.out.value(views)
		}
		return nil
	})
}
