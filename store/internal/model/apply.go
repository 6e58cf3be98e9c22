package model

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/lastlook/lastlook"
)

// Apply implements [lastlook.Store].
func (s *Store) Apply(ctx context.Context, now time.Time, changes []lastlook.Change) ([]bool, error) {
	end, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	s.settle()
	done := make([]bool, len(changes))
	for i := range changes {
		c := &changes[i]
		if r := s.live[c.ID]; r != nil && holds(r, c) {
			s.apply(now, r, c)
			done[i] = true
		}
	}
	return done, nil
}

// holds reports whether what the change compares is so.
func holds(r *row, c *lastlook.Change) bool {
	if r.state != c.From {
		return false
	}
	same := r.token == c.Token && !c.Token.IsZero() // no token opens nothing
	switch c.Fence {
	case lastlook.FenceNone:
		return true
	case lastlook.FenceToken:
		return same
	case lastlook.FenceTokenAlive:
		return same && r.lease.After(c.At)
	case lastlook.FenceTokenDead:
		return same && !r.lease.After(c.At)
	}
	return false
}

func (s *Store) apply(now time.Time, r *row, c *lastlook.Change) {
	read := r.token // whose marks go if the row ends
	r.state, r.attempt = c.To, c.Attempt
	if s.plant.AttemptLate && (c.To == lastlook.StateRetry || c.Ends()) {
		r.attempt++
	}
	if c.Story != nil {
		r.story = bytes.Clone(c.Story)
	}
	switch {
	case c.To == lastlook.StateSending:
		r.lease, r.assertion = c.Lease, cloneAssertion(c.Assertion)
	case c.Ends():
		r.assertion, r.reason, r.seen, r.endedAt = cloneAssertion(c.Assertion), c.Reason, bytes.Clone(c.Seen), c.At
		r.due, r.token, r.lease = time.Time{}, lastlook.Token{}, time.Time{}
		delete(s.live, r.id)
		s.ended[r.id] = r
	default: // pending or retry
		r.due, r.lease, r.assertion = c.Due, time.Time{}, lastlook.Assertion{}
		if !s.plant.TokenKept {
			r.token = lastlook.Token{}
		}
	}
	if s.plant.BaselineLater && c.Key == lastlook.KeyDelivered {
		late := *c
		s.deferred = append(s.deferred, func() { s.applyKey(r.key, &late) })
	} else {
		s.applyKey(r.key, c)
	}
	if c.Mute {
		s.muted[address{r.key.key.Recipient, r.key.key.Channel}] = true
	}
	if c.Ends() {
		s.endMarks(r.key, read, c.DropMarks)
		if !s.plant.NoRevive {
			s.revive(now, r.key)
		}
	}
}

// applyKey writes the change's effects on the key row.
func (s *Store) applyKey(k *keyRow, c *lastlook.Change) {
	a := cloneAssertion(c.Assertion)
	switch c.Key {
	case lastlook.KeyKeep:
	case lastlook.KeyDelivered:
		k.Baseline, k.BaselineAt = a.Value, c.At
		k.Seq, k.Told, k.ToldBy, k.ToldAt = a.Seq, a.Window, c.ID, c.At
		if !s.plant.MaybeKept {
			k.Maybe = nil
		}
		if !s.plant.FailuresKept {
			k.Failures = 0
		}
	case lastlook.KeyMaybe:
		k.Maybe = a.Value
		k.Seq, k.Told, k.ToldBy, k.ToldAt = a.Seq, a.Window, c.ID, c.At
	}
	if c.AddFailure {
		k.Failures++
	}
	if c.Ends() {
		k.Last = lastlook.End{ID: c.ID, State: c.To, Reason: c.Reason, At: c.At}
	}
}

// endMarks deletes the marks that the ended row's claim had read, or all.
func (s *Store) endMarks(k *keyRow, read lastlook.Token, all bool) {
	s.marks = slices.DeleteFunc(s.marks, func(m *mark) bool {
		if m.key != k {
			return false
		}
		return all || m.token == read && (!read.IsZero() || s.plant.NullEqual)
	})
}

// revive makes one row of the key's marks, from the last of them, if there are
// any and the key has no live row.
func (s *Store) revive(now time.Time, k *keyRow) (lastlook.ID, bool) {
	var last *mark
	for _, m := range s.marks {
		if m.key == k {
			last = m
		}
	}
	if last == nil || s.liveRow(k) != nil {
		return 0, false
	}
	s.endMarks(k, lastlook.Token{}, true)
	r := s.insert(now, k, last.item, lastlook.ReviveDue(now, last.item.Due, last.item.ExpiresAt, k.KeyRow))
	return r.id, true
}
