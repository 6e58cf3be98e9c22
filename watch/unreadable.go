package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lastlook/lastlook"
)

// UnreadableTopic is the outbox topic that tells the owner of a watch, once, that
// its listing has not been readable for a day. The subject is the watch's id.
const UnreadableTopic = "watch_unreadable"

// unreadableAfter is how long a listing may be unreadable before that is told.
const unreadableAfter = 24 * time.Hour

// Unreadable is the value of [UnreadableTopic].
type Unreadable struct {
	// Since is when it was first not readable; zero if it is.
	Since time.Time `json:"since,omitzero"`
	// Why is what the last look said.
	Why string `json:"why,omitzero"`

	entry *Entry // looks only
}

// detectUnreadable says what a failure means for one watch: that its listing has
// been unreadable for a day is told once, until it is readable again.
func detectUnreadable(e Entry, now time.Time) ([]lastlook.Item, error) {
	l := &e.Listing
	if e.Watch.Paused || e.Err != nil || e.Watch.SnoozedUntil.After(now) || !unreadable(l, now) {
		return nil, nil
	}
	topic := lastlook.Handle[Unreadable]{Name: UnreadableTopic}
	var items []lastlook.Item
	for _, channel := range e.Watch.Channels {
		it, err := topic.Item(lastlook.Target{Subject: e.Watch.ID, Recipient: e.Watch.Recipient, Channel: channel}, Unreadable{Since: l.FailingSince, Why: l.LastError})
		if err != nil {
			return nil, err
		}
		it.Windows, it.Episode = lastlook.Episodes(), l.FailingSince.UnixMicro()
		items = append(items, it)
	}
	return items, nil
}

func unreadable(l *Listing, now time.Time) bool {
	return !l.FailingSince.IsZero() && now.Sub(l.FailingSince) >= unreadableAfter
}

// Unreadable returns the outbox topic that says that a listing cannot be read.
// Each time it cannot, for a day on end, is an episode.
func (s *Service) Unreadable() lastlook.Topic[Unreadable] {
	return lastlook.Topic[Unreadable]{
		Name:    UnreadableTopic,
		Look:    s.lookUnreadable,
		Active:  s.active,
		Judge:   judgeUnreadable,
		Word:    wordUnreadable,
		Same:    func(v Unreadable) any { return v.Since },
		Windows: lastlook.Episodes(),
		Episode: func(v Unreadable) int64 { return v.Since.UnixMicro() },
	}
}

// lookUnreadable looks at the listings like any other last look. That one cannot
// be read is what is to be known here.
func (s *Service) lookUnreadable(ctx context.Context, ids []string) []lastlook.Looked[Unreadable] {
	looks := s.look(ctx, ids)
	out := make([]lastlook.Looked[Unreadable], len(looks))
	entries, err := s.cfg.Store.Current(ctx, ids)
	for i, l := range looks {
		switch {
		case err != nil:
			out[i].Err = fmt.Errorf("read watches: %w", err)
		case entries[i].Watch.ID == "" || entries[i].Err != nil || errors.Is(l.Err, lastlook.ErrNotLooked) || ctx.Err() != nil:
			out[i].Err = firstError(l.Err, ctx.Err(), errNoAnswer)
		default:
			e := &entries[i]
			out[i].Value = Unreadable{Since: e.Listing.FailingSince, Why: e.Listing.LastError, entry: e}
			if l.Err == nil {
				out[i].Value.Since, out[i].Value.Why = time.Time{}, ""
			}
		}
	}
	return out
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// judgeUnreadable is pure.
func judgeUnreadable(c lastlook.Case[Unreadable]) lastlook.Verdict {
	e := c.Value.entry
	switch {
	case e == nil:
		return lastlook.CannotTell("the look gave no watch")
	case e.Watch.Paused:
		return lastlook.CannotTell("the watch was paused while it was looked at")
	case e.Watch.Recipient != c.Key.Recipient || !slices.Contains(e.Watch.Channels, c.Key.Channel):
		return lastlook.Drop(lastlook.ReasonConditionLost).Because(elsewhere(&c.Key))
	case c.Value.Since.IsZero() || !unreadable(&e.Listing, c.Now):
		return lastlook.Drop(lastlook.ReasonConditionLost).Because("it can be read again")
	case e.Watch.SnoozedUntil.After(c.Now):
		return lastlook.Defer(e.Watch.SnoozedUntil).Because("snoozed")
	}
	return lastlook.Send()
}

func elsewhere(k *lastlook.Key) string {
	return fmt.Sprintf("the watch does not tell %s through %s any more", k.Recipient, k.Channel)
}
