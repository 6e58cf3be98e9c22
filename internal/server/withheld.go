package server

import (
	"context"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/watch"
)

// Withheld says why a trigger that holds is not told through a channel now.
type Withheld struct {
	Trigger, Channel string
	// Why is the evaluation's own word for it.
	Why string
	// ToldAt is when it was last told, Told the price that was told then; zero
	// if that is not the reason.
	ToldAt time.Time
	Told   string
	// Maybe says that nobody knows whether that arrived.
	Maybe bool
	// Again is when the next day begins, in Zone, if it was told today and may
	// be told again then; zero if it was told in this episode.
	Again time.Time
	Zone  string
}

// Withheld returns, for each trigger of a watch that holds and each channel,
// why it is not news there. It asks what detection and the last look ask.
func (s *Server) Withheld(ctx context.Context, e *Entry) ([]Withheld, error) {
	if e.Last == nil || e.Err != nil {
		return nil, nil
	}
	now := s.opt.Clock()
	var out []Withheld
	for _, channel := range e.Watch.Channels {
		told, maybe, err := s.toldThrough(ctx, &e.Watch, channel)
		if err != nil {
			return nil, err
		}
		told.Channel = channel
		for _, f := range e.Evaluate(e.Last, told, now).Findings {
			if f.Answer != watch.Holds || f.News {
				continue
			}
			h := Withheld{Trigger: f.Trigger.ID, Channel: channel, Why: f.Why, Zone: e.Watch.Zone}
			if t := told.Triggers[f.Trigger.ID]; !e.Watch.SnoozedUntil.After(now) && !t.At.IsZero() {
				h.ToldAt, h.Maybe = t.At, maybe[f.Trigger.ID]
				if !t.Price.IsZero() {
					h.Told = t.Price.String()
				}
				if t.Episode < f.Episode {
					h.Again = nextDay(&e.Watch, now)
				}
			}
			out = append(out, h)
		}
	}
	return out, nil
}

// toldThrough returns what was told of a watch through a channel, and of which
// triggers that is not certain: by the key's row, which the latest notification
// carries.
func (s *Server) toldThrough(ctx context.Context, w *watch.Watch, channel string) (told watch.Telling, maybe map[string]bool, err error) {
	key := watch.Key(w, channel)
	recs, err := s.outbox.List(ctx, lastlook.Query{Topic: key.Topic, Subject: key.Subject, Recipient: key.Recipient, Channel: key.Channel, Limit: 1, Full: true})
	if err != nil || len(recs) == 0 || recs[0].KeyRow == nil {
		return told, nil, err
	}
	row := *recs[0].KeyRow
	if told, err = watch.TellingOf(row); err != nil {
		return told, nil, err
	}
	row.Maybe = nil
	certain, err := watch.TellingOf(row)
	maybe = map[string]bool{}
	for id, t := range told.Triggers {
		maybe[id] = t != certain.Triggers[id]
	}
	return told, maybe, err
}

// nextDay returns when the next day begins for a watch.
func nextDay(w *watch.Watch, now time.Time) time.Time {
	loc, err := time.LoadLocation(w.Zone)
	if err != nil {
		loc = time.UTC // as the evaluation does
	}
	y, m, d := now.In(loc).Date()
	return time.Date(y, m, d+1, 0, 0, 0, 0, loc)
}

// Unmute lifts a mute, and says whether there was one. The channel must be set
// up.
func (s *Server) Unmute(ctx context.Context, recipient, channel string) (lifted bool, err error) {
	if err := s.channels.Load().Check(channel); err != nil {
		return false, err
	}
	now := s.opt.Clock()
	before, err := s.outbox.Stats(ctx, now)
	if err != nil {
		return false, err
	}
	if err := s.outbox.Unmute(ctx, recipient, channel); err != nil {
		return false, err
	}
	after, err := s.outbox.Stats(ctx, now)
	return after.Muted < before.Muted, err
}

// ChannelError returns the latest trouble that a channel met, as the stories
// of its latest notifications tell it; "" if they tell of none.
func (s *Server) ChannelError(ctx context.Context, channel string) (text string, at time.Time, err error) {
	recs, err := s.outbox.List(ctx, lastlook.Query{Channel: channel, Limit: 50, Full: true})
	if err != nil {
		return "", at, err
	}
	for i := range recs {
		for j := range recs[i].Story {
			step := &recs[i].Story[j]
			switch step.Event {
			case lastlook.EventMisconfigured, lastlook.EventTransient, lastlook.EventOutcomeUnknown, lastlook.EventNotCalled:
				if step.Error != "" && step.At.After(at) {
					text, at = step.Error, step.At
				}
			default: // of the row, not of the channel
			}
		}
	}
	return text, at, nil
}
