package model

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/lastlook/lastlook"
)

// Lanes implements [lastlook.Store].
func (s *Store) Lanes(ctx context.Context, q lastlook.LaneQuery) ([]lastlook.LaneState, error) {
	end, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	due := map[lastlook.Lane]time.Time{}
	for _, r := range s.live {
		if !slices.Contains(q.Topics, r.lane.Topic) || !slices.Contains(q.Channels, r.lane.Channel) ||
			r.state == lastlook.StateSending || r.leased(q.Now) {
			continue
		}
		if first, ok := due[r.lane]; !ok || r.due.Before(first) {
			due[r.lane] = r.due
		}
	}
	lanes := make([]lastlook.LaneState, 0, len(due))
	for l, t := range due {
		lanes = append(lanes, lastlook.LaneState{Lane: l, Due: t})
	}
	slices.SortFunc(lanes, func(a, b lastlook.LaneState) int { return cmp.Compare(a.ID, b.ID) })
	return lanes, nil
}

// Claim implements [lastlook.Store].
func (s *Store) Claim(ctx context.Context, req lastlook.ClaimRequest) ([]lastlook.Row, error) {
	end, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	var claimed []*row
	for _, lc := range req.Lanes {
		for _, r := range s.claimable(req.Now, lc) {
			r.state, r.token, r.lease = lastlook.StatePending, req.Token, lastlook.Micro(req.Now.Add(lc.Lease))
			if !s.plant.AttemptLate {
				r.attempt++
			}
			for _, m := range s.marks {
				if m.key == r.key && (!s.plant.UnreadOnly || m.token.IsZero()) {
					m.token = req.Token
				}
			}
			claimed = append(claimed, r)
		}
	}
	slices.SortFunc(claimed, func(a, b *row) int { return cmp.Compare(a.id, b.id) })
	return s.views(claimed), nil
}

// claimable returns up to N due rows of a lane, the longest due first.
func (s *Store) claimable(now time.Time, lc lastlook.LaneClaim) []*row {
	var rows []*row
	for _, r := range byID(s.live) {
		if r.lane.ID == lc.Lane.ID && r.state != lastlook.StateSending && !r.leased(now) && r.attempt < lc.MaxAttempts &&
			(s.plant.HeadOfLine || !r.due.After(now)) {
			rows = append(rows, r)
		}
	}
	if s.plant.HeadOfLine { // in the order of ids
		rows = rows[:min(len(rows), max(lc.N, 0))]
		return slices.DeleteFunc(rows, func(r *row) bool { return r.due.After(now) })
	}
	slices.SortStableFunc(rows, func(a, b *row) int { return a.due.Compare(b.due) })
	return rows[:min(len(rows), max(lc.N, 0))]
}

func (s *Store) views(rows []*row) []lastlook.Row {
	out := make([]lastlook.Row, len(rows))
	for i, r := range rows {
		out[i] = s.view(r)
	}
	return out
}

// view is a live row as the core reads it. It shares no memory with the store.
func (s *Store) view(r *row) lastlook.Row {
	return lastlook.Row{
		ID: r.id, Key: r.key.key, Lane: r.lane,
		Detection: bytes.Clone(r.item.Detection), CreatedAt: r.created, ExpiresAt: r.item.ExpiresAt,
		Trace: r.item.Trace, Episode: r.item.Episode, RetryOf: r.item.RetryOf,
		State: r.state, Due: r.due, Attempt: r.attempt, Token: r.token, Lease: r.lease,
		Assertion: cloneAssertion(r.assertion),
		Story:     lastlook.StoryOf(r.story, r.state, r.attempt, r.assertion),
		KeyRow:    s.keyView(r.key),
		Muted:     s.muted[address{r.key.key.Recipient, r.key.key.Channel}],
	}
}

func (s *Store) keyView(k *keyRow) lastlook.KeyRow {
	v := k.KeyRow
	if s.plant.SharedBaseline {
		for _, o := range s.keys {
			if o.key.Topic == k.key.Topic && o.key.Subject == k.key.Subject && o.key.Recipient == k.key.Recipient && o.BaselineAt.After(v.BaselineAt) {
				v.Baseline, v.BaselineAt = o.Baseline, o.BaselineAt
			}
		}
	}
	v.Baseline, v.Maybe = bytes.Clone(v.Baseline), bytes.Clone(v.Maybe)
	return v
}

func cloneAssertion(a lastlook.Assertion) lastlook.Assertion {
	a.Value, a.LookedAt = bytes.Clone(a.Value), lastlook.Micro(a.LookedAt)
	return a
}
