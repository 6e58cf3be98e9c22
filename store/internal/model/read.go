package model

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lastlook/lastlook"
)

// Get implements [lastlook.Store].
func (s *Store) Get(ctx context.Context, id lastlook.ID) (lastlook.Record, error) {
	end, err := s.begin(ctx)
	if err != nil {
		return lastlook.Record{}, err
	}
	defer end()
	r := s.live[id]
	if r == nil {
		r = s.ended[id]
	}
	if r == nil {
		return lastlook.Record{}, fmt.Errorf("%w: %d", lastlook.ErrNotFound, id)
	}
	return s.fullRecord(r), nil
}

// fullRecord is a row with its story and key row.
func (s *Store) fullRecord(r *row) lastlook.Record {
	rec := s.record(r)
	rec.Story = lastlook.StoryOf(r.story, r.state, r.attempt, r.assertion)
	rec.KeyRow = new(s.keyView(r.key))
	return rec
}

// record is a row as people see it, without its story.
func (s *Store) record(r *row) lastlook.Record {
	rec := lastlook.Record{
		ID: r.id, Key: r.key.key, Lane: r.lane.Name, Priority: r.lane.Priority, State: r.state, Reason: r.reason,
		Detection: bytes.Clone(r.item.Detection), CreatedAt: r.created, ExpiresAt: r.item.ExpiresAt,
		Trace: r.item.Trace, Episode: r.item.Episode, RetryOf: r.item.RetryOf, MayRepeat: r.item.MayRepeat,
		Due: r.due, Leased: r.lease, Attempt: r.attempt,
		Asserted: bytes.Clone(r.assertion.Value), LookedAt: r.assertion.LookedAt, Seen: bytes.Clone(r.seen),
		Window: r.assertion.Window, Seq: r.assertion.Seq, EndedAt: r.endedAt,
	}
	if r.state.Live() {
		for _, m := range s.marks {
			if m.key == r.key {
				rec.Marks++
			}
		}
	}
	return rec
}

// List implements [lastlook.Store].
func (s *Store) List(ctx context.Context, q lastlook.Query) ([]lastlook.Record, error) {
	end, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	limit := q.Limit
	if limit == 0 {
		limit = 100
	}
	out := []lastlook.Record{}
	for _, r := range append(byID(s.ended), byID(s.live)...) {
		switch {
		case !selects(q, r):
		case q.Full:
			out = append(out, s.fullRecord(r))
		default:
			out = append(out, s.record(r))
		}
	}
	slices.SortFunc(out, func(a, b lastlook.Record) int { return cmp.Compare(b.ID, a.ID) })
	return out[:min(limit, len(out))], nil
}

func selects(q lastlook.Query, r *row) bool {
	k := r.key.key
	return (q.Topic == "" || q.Topic == k.Topic) && (q.Subject == "" || q.Subject == k.Subject) &&
		(q.Recipient == "" || q.Recipient == k.Recipient) && (q.Channel == "" || q.Channel == k.Channel) &&
		(len(q.States) == 0 || slices.Contains(q.States, r.state)) &&
		(q.Reason == "" || q.Reason == r.reason) && (q.Before == 0 || r.id < q.Before)
}

// Stats implements [lastlook.Store].
func (s *Store) Stats(ctx context.Context, now, since time.Time) (lastlook.Stats, error) {
	since = lastlook.Micro(since)
	end, err := s.begin(ctx)
	if err != nil {
		return lastlook.Stats{}, err
	}
	defer end()
	type group struct {
		lane  lastlook.Lane
		state lastlook.State
	}
	live := map[group]*lastlook.LaneStats{}
	for _, r := range s.live {
		g := live[group{r.lane, r.state}]
		if g == nil {
			g = &lastlook.LaneStats{Lane: r.lane, State: r.state, OldestDue: r.due}
			live[group{r.lane, r.state}] = g
		}
		g.Count++
		if r.leased(now) {
			g.Leased++
		}
		if r.due.Before(g.OldestDue) {
			g.OldestDue = r.due
		}
	}
	ended := map[lastlook.EndCount]int{}
	for _, r := range s.ended {
		if !r.endedAt.Before(since) {
			ended[lastlook.EndCount{Topic: r.key.key.Topic, State: r.state, Reason: r.reason}]++
		}
	}
	st := lastlook.Stats{Live: []lastlook.LaneStats{}, Ended: []lastlook.EndCount{}, Marks: len(s.marks), Muted: len(s.muted)}
	for _, g := range live {
		st.Live = append(st.Live, *g)
	}
	for e, n := range ended {
		e.Count = n
		st.Ended = append(st.Ended, e)
	}
	slices.SortFunc(st.Live, func(a, b lastlook.LaneStats) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.State, b.State))
	})
	slices.SortFunc(st.Ended, func(a, b lastlook.EndCount) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.State, b.State), cmp.Compare(a.Reason, b.Reason))
	})
	return st, nil
}
