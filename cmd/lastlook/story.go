package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/server"
)

type outboxShowCmd struct {
	ID int64 `arg:"" help:"The notification's id."`
}

// storyView is the JSON of a notification's story.
type storyView struct {
	lastlook.Record
	// Meaning and Do are the documentation of its reason.
	Meaning string `json:"meaning,omitzero"`
	Do      string `json:"do,omitzero"`
	// Next says what happens next, in words.
	Next []string `json:"next"`
	// Registered says that this data directory's lastlook can tell it.
	Registered bool `json:"registered"`
	// DeliveryKey is what the receiver knew it by, once it was (maybe) sent.
	DeliveryKey string `json:"delivery_key,omitzero"`
}

// Run tells the story.
func (c *outboxShowCmd) Run(ctx context.Context, a *app) error {
	return a.reading(ctx, func(s *server.Server) error {
		r, err := s.Outbox().Get(ctx, lastlook.ID(c.ID))
		if err != nil {
			return unknownNotification(c.ID, err)
		}
		v := storyView{Record: r, Registered: slices.Contains(s.Topics(), r.Key.Topic) && slices.Contains(s.Channels(), r.Key.Channel)}
		if info, ok := r.Reason.Info(); ok {
			v.Meaning, v.Do = info.Meaning, info.Do
		}
		if r.Seq > 0 {
			v.DeliveryKey = lastlook.DeliveryKey(r.Key, r.Seq)
		}
		t, err := a.teller(ctx, s, &r)
		if err != nil {
			return err
		}
		v.Next = t.next(&r, v.Registered)
		if a.out.json {
			return a.out.value(v)
		}
		a.printStory(t, &v)
		return nil
	})
}

// teller returns one that knows what is around a notification.
func (a *app) teller(ctx context.Context, s *server.Server, r *lastlook.Record) (t teller, err error) {
	t = teller{now: a.now(), when: a.out.when, watched: watching(ctx, s, r)}
	if !r.State.Live() {
		return t, nil
	}
	if t.serving, err = s.Dispatching(ctx); err != nil || !t.serving || !t.late(r) {
		return t, err
	}
	text, at, err := s.ChannelError(ctx, r.Key.Channel)
	if text != "" {
		t.trouble = text + ", " + t.when(at)
	}
	return t, err
}

func (a *app) printStory(t teller, v *storyView) {
	r := &v.Record
	a.out.linef("%s", headline(r))
	if v.Meaning != "" {
		a.out.linef("%s", v.Meaning)
	}
	about := r.Key.Topic + " " + r.Key.Subject
	if title := server.TitleOf(r.Key.Topic, r.Detection); title != "" {
		about += ", " + title
	}
	retryOf, lane := "", ""
	if r.RetryOf != 0 {
		retryOf = fmt.Sprintf("notification %d", r.RetryOf)
		if r.MayRepeat {
			retryOf += ", although that one may have been delivered"
		}
	}
	if r.Lane != r.Key.Channel {
		lane = r.Lane
	}
	a.out.facts("  ",
		"about", about,
		"for", r.Key.Recipient+" through "+r.Key.Channel,
		"lane", lane,
		"noticed", t.value(r.Key.Topic, r.Detection)+", "+t.when(r.CreatedAt),
		toldWord(r), t.told(r),
		"expires", t.when(r.ExpiresAt),
		"ended", t.when(r.EndedAt),
		"tries again", retryOf,
		"delivery id", v.DeliveryKey,
		"trace", r.Trace)
	a.out.linef("what happened")
	a.out.linef("  %s  noticed: %s", stamp(r.CreatedAt), t.value(r.Key.Topic, r.Detection))
	for i := range r.Story {
		if n := r.Story[i].Skipped; n > 0 {
			a.out.linef("  (%s left out)", plural(n, "step"))
		}
		a.out.linef("  %s  %s", stamp(r.Story[i].At), t.step(r.Key.Topic, &r.Story[i]))
	}
	a.out.linef("what is remembered of this subject, recipient and channel")
	a.out.facts("  ", t.keyRow(r)...)
	a.out.linef("what happens next")
	for _, text := range v.Next {
		a.out.linef("  %s", text)
	}
}

// headline says in a line how a notification stands.
func headline(r *lastlook.Record) string {
	text := fmt.Sprintf("notification %d", r.ID)
	switch r.State {
	case lastlook.StatePending:
		return text + " waits for a look"
	case lastlook.StateSending:
		return text + " is being delivered"
	case lastlook.StateRetry:
		return text + " waits to be tried again"
	case lastlook.StateSent:
		return text + " was sent"
	case lastlook.StateDropped:
		if info, ok := r.Reason.Info(); ok && info.Verdict {
			return fmt.Sprintf("%s was rightly withheld: %s", text, r.Reason)
		}
		return fmt.Sprintf("%s was dropped: %s", text, r.Reason)
	case lastlook.StateFailed:
		return fmt.Sprintf("%s failed: %s", text, r.Reason)
	case lastlook.StateNone:
	}
	return text
}

// teller words stories. It is pure, but for the clock given.
type teller struct {
	now  time.Time
	when func(time.Time) string
	// serving says that a process dispatches, trouble what the notification's
	// channel met last, watched that its watch is there and not paused.
	serving bool
	trouble string
	watched bool
}

// lateAfter is when a notification that is due should have been taken.
const lateAfter = 5 * time.Second

func (t teller) late(r *lastlook.Record) bool { return t.now.Sub(r.Due) > lateAfter }

// maybeTold says that a notification may have arrived, as far as is known.
func maybeTold(r *lastlook.Record) bool {
	return r.KeyRow != nil && len(r.KeyRow.Maybe) > 0 && r.KeyRow.ToldBy == r.ID
}

// toldWord names the value of [teller.told].
func toldWord(r *lastlook.Record) string {
	switch {
	case r.State == lastlook.StateSent:
		return "told"
	case r.State == lastlook.StateSending:
		return "is telling"
	case maybeTold(r):
		return "perhaps told"
	case r.State.Live():
		return "tried to tell"
	}
	return "would have told"
}

func (t teller) value(topic string, v []byte) string {
	return firstOf(server.Describe(topic, v), "nothing")
}

func (t teller) told(r *lastlook.Record) string {
	if len(r.Asserted) == 0 {
		return ""
	}
	return t.value(r.Key.Topic, r.Asserted) + ", looked at " + t.when(r.LookedAt)
}

// step words one step of a story.
func (t teller) step(topic string, s *lastlook.Step) string {
	text := t.event(topic, s)
	if s.Attempt > 0 {
		text = "attempt " + strconv.Itoa(s.Attempt) + ": " + text
	}
	if s.Answer != "" {
		text += "; answer: " + s.Answer
	}
	if s.By != "" {
		text += " (by " + s.By + ")"
	}
	return text
}

// look words what was seen, and how old that was when it was judged.
func (t teller) look(topic string, s *lastlook.Step) string {
	if s.LookedAt.IsZero() || len(s.Value) == 0 {
		return ""
	}
	return fmt.Sprintf("looked, %s before: %s; ", span(max(s.At.Sub(s.LookedAt), 0)), t.value(topic, s.Value))
}

func (t teller) event(topic string, s *lastlook.Step) string {
	look, why := t.look(topic, s), ""
	if s.Error != "" {
		why = ": " + s.Error
	}
	switch s.Event {
	case lastlook.EventSending:
		return look + "still true, so the channel is called"
	case lastlook.EventDropped:
		if look == "" && s.Error == "" {
			return fmt.Sprintf("dropped before looking: %s", s.Reason)
		}
		return fmt.Sprintf("%snot told, %s%s", look, s.Reason, why)
	case lastlook.EventPostponed:
		return look + "put off, which costs no attempt" + why
	case lastlook.EventLookUnknown:
		return look + "could not tell, so it is asked again" + why
	case lastlook.EventAccepted:
		return "delivered: the channel accepted"
	case lastlook.EventTransient:
		return "not delivered" + why
	case lastlook.EventNotCalled:
		return "the channel was not called, which costs no attempt" + why
	case lastlook.EventMisconfigured:
		return "the channel refuses our settings or credentials, which costs no attempt" + why
	case lastlook.EventOutcomeUnknown:
		return "nobody knows whether it was delivered; it counts as told and is tried again" + why
	case lastlook.EventGaveUpUnknown:
		return "nobody knows whether it was delivered, and it may be tried only once" + why
	case lastlook.EventRecipientGone:
		return "the recipient does not exist any more, and is muted here" + why
	case lastlook.EventRejected:
		return "refused for good" + why
	case lastlook.EventExhausted:
		return fmt.Sprintf("that was the last attempt: failed, %s", s.Reason)
	case lastlook.EventSwept:
		return fmt.Sprintf("failed, %s%s", s.Reason, why)
	case lastlook.EventWithdrawn:
		return fmt.Sprintf("withdrawn: %s", s.Reason)
	case lastlook.EventEnqueued, lastlook.EventClaimed:
	}
	return look + string(s.Event) + why
}

// keyRow words what is remembered across the notifications of a key, as pairs.
func (t teller) keyRow(r *lastlook.Record) []string {
	k := r.KeyRow
	if k == nil {
		return nil
	}
	last := "nothing was ever delivered"
	if len(k.Baseline) > 0 {
		last = t.value(r.Key.Topic, k.Baseline) + ", " + t.when(k.BaselineAt)
	}
	maybe, window, failures := "", "", ""
	if len(k.Maybe) > 0 {
		maybe = t.value(r.Key.Topic, k.Maybe) + ": nobody knows whether it arrived"
	}
	if !k.Told.IsZero() {
		window = fmt.Sprintf("%s, by notification %d, %s", k.Told, k.ToldBy, t.when(k.ToldAt))
	}
	if k.Failures > 0 {
		failures = plural(k.Failures, "notification") + " since the last delivery ended without one, so the next waits longer"
	}
	ended := ""
	if k.Last.ID != 0 {
		ended = strings.TrimSpace(fmt.Sprintf("notification %d, %s %s", k.Last.ID, k.Last.State, k.Last.Reason)) + ", " + t.when(k.Last.At)
	}
	return []string{"last told", last, "perhaps told", maybe, "window told", window, "last ended", ended, "trouble", failures}
}

// next says what happens next to a notification, and when.
func (t teller) next(r *lastlook.Record, registered bool) []string {
	if !r.State.Live() {
		return t.after(r)
	}
	var out []string
	claimed := r.Leased.After(t.now)
	switch {
	case r.State == lastlook.StateSending:
		out = append(out, "it is being delivered; if that process has died, it counts as perhaps delivered and is tried again "+t.when(r.Leased))
	case claimed:
		out = append(out, "it is being looked at; if that process has died, another takes over "+t.when(r.Leased))
	case !registered:
		out = append(out, fmt.Sprintf("nothing: no lastlook on this data directory tells topic %q through channel %q; add the channel, or cancel it: lastlook outbox cancel %d", r.Key.Topic, r.Key.Channel, r.ID))
	case r.Due.After(t.now):
		out = append(out, fmt.Sprintf("it is looked at again, as attempt %d of at most %d, %s", r.Attempt+1, lastlook.DefaultPolicy().MaxAttempts, t.when(r.Due)))
	case !t.serving:
		out = append(out, "it became due "+t.when(r.Due)+", and no lastlook serve runs on this data directory: start one, and it is taken within seconds")
	case t.late(r):
		text := "it became due " + t.when(r.Due) + ", and the lastlook that runs has not taken it: its lane may be parked or held back, which serve's log says"
		if t.trouble != "" {
			text += "; the last trouble through " + r.Key.Channel + ": " + t.trouble
		}
		out = append(out, text)
	default:
		out = append(out, "it became due "+t.when(r.Due)+": the lastlook that runs takes it within seconds")
	}
	out = append(out, "unless it ends before, it is dropped as expired "+t.when(r.ExpiresAt))
	if r.Marks > 0 {
		out = append(out, plural(r.Marks, "newer detection")+" waiting behind it")
	}
	return out
}

// after says what can be done about a notification that has ended.
func (t teller) after(r *lastlook.Record) []string {
	if r.State == lastlook.StateSent {
		return []string{"nothing: it was told"}
	}
	do := "nothing"
	if info, ok := r.Reason.Info(); ok {
		do = info.Do
	}
	switch {
	case r.State == lastlook.StateDropped && maybeTold(r):
		do = "nothing: it may have arrived, so it isn't told again in this episode"
	case r.Reason == lastlook.ReasonRecipientGone || r.Reason == lastlook.ReasonMuted:
		do = fmt.Sprintf("once the recipient can be reached again: lastlook channel unmute %s --recipient %s", r.Key.Channel, r.Key.Recipient)
	case r.Reason == lastlook.ReasonCancelled && t.watched:
		do = stopText(r)
	}
	if r.State != lastlook.StateFailed {
		return []string{do}
	}
	again := fmt.Sprintf("to try it again: lastlook outbox retry %d", r.ID)
	if r.KeyRow != nil && r.KeyRow.ToldBy == r.ID {
		again += " --may-repeat (it may have been delivered, so the recipient may be told twice)"
	}
	return []string{do, again}
}
