package model

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/lastlook/lastlook"
)

// Sweep implements [lastlook.Store]. A page has up to Limit rows in the order
// of ids; the cursor is the last one's id.
func (s *Store) Sweep(ctx context.Context, req lastlook.SweepRequest) (lastlook.Swept, error) {
	var after int64
	if req.Cursor != "" {
		var err error
		if after, err = strconv.ParseInt(req.Cursor, 10, 64); err != nil {
			return lastlook.Swept{}, fmt.Errorf("%w: sweep cursor %q", lastlook.ErrInvalid, req.Cursor)
		}
	}
	end, err := s.begin(ctx)
	if err != nil {
		return lastlook.Swept{}, err
	}
	defer end()
	s.settle()

	var out lastlook.Swept
	for _, k := range s.markedKeys() {
		if id, ok := s.revive(req.Now, k); ok {
			out.Revived = append(out.Revived, id)
		}
	}
	found := 0
	for _, r := range byID(s.live) {
		dead := !r.lease.IsZero() && !r.leased(req.Now)
		expired := r.state != lastlook.StateSending && !r.item.ExpiresAt.After(req.Now)
		if int64(r.id) <= after || !dead && !expired {
			continue
		}
		if found == req.Limit {
			// There is more than one page.
			return out, nil
		}
		found++
		if dead {
			out.Dead = append(out.Dead, s.view(r))
		}
		if expired {
			out.Expired = append(out.Expired, s.view(r))
		}
		out.Next = strconv.FormatInt(int64(r.id), 10)
	}
	out.Next = ""
	return out, nil
}

// markedKeys returns the keys that have marks, in the order of their first.
func (s *Store) markedKeys() []*keyRow {
	var keys []*keyRow
	for _, m := range s.marks {
		if !slices.Contains(keys, m.key) {
			keys = append(keys, m.key)
		}
	}
	return keys
}

// Prune implements [lastlook.Store].
func (s *Store) Prune(ctx context.Context, req lastlook.PruneRequest) (lastlook.Pruned, error) {
	end, err := s.begin(ctx)
	if err != nil {
		return lastlook.Pruned{}, err
	}
	defer end()
	limit := req.Limit
	if limit == 0 {
		limit = 1000
	}
	var out lastlook.Pruned
	for _, r := range byID(s.ended) {
		if out.Notifications < limit && r.endedAt.Before(req.EndedBefore) &&
			(len(req.Reasons) == 0 || slices.Contains(req.Reasons, r.reason)) {
			delete(s.ended, r.id)
			out.Notifications++
		}
	}
	if req.KeysIdleBefore.IsZero() {
		return out, nil
	}
	for key, k := range s.keys {
		if out.Keys < limit && s.idle(k, req.KeysIdleBefore) {
			delete(s.keys, key)
			out.Keys++
		}
	}
	return out, nil
}

// idle reports whether nothing needs the key row any more.
func (s *Store) idle(k *keyRow, before time.Time) bool {
	endless := k.Told.Policy == "once" || k.Told.Policy == "episodes"
	if endless || !k.Last.At.Before(before) || !k.ToldAt.Before(before) {
		return false
	}
	for _, r := range s.ended {
		if r.key == k {
			return false
		}
	}
	if s.plant.PruneBusyKeys {
		return true
	}
	return s.liveRow(k) == nil && !slices.Contains(s.markedKeys(), k)
}
