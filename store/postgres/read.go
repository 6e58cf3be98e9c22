package postgres

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/lastlook/lastlook"
)

const defaultListLimit = 100

// Get implements [lastlook.Store].
func (s *Store) Get(ctx context.Context, id lastlook.ID) (lastlook.Record, error) {
	var rec lastlook.Record
	found := false
	err := s.transact(ctx, "get", reading, func(ctx context.Context, t *transaction) error {
		var scan recordScan
		var key keyScan
		var story []byte
		return t.commit(ctx, step{name: "get", args: []any{int64(id)}, each: func(r scanner) error {
			if err := r.Scan(append(append(scan.all(), &story), key.all()...)...); err != nil {
				return err
			}
			found = true
			rec = scan.record()
			complete(&rec, story, &key)
			return nil
		}})
	})
	if err != nil {
		return lastlook.Record{}, err
	}
	if !found {
		return lastlook.Record{}, fmt.Errorf("postgres: get: %w: %d: it never was, or retention has deleted it", lastlook.ErrNotFound, id)
	}
	return rec, nil
}

// List implements [lastlook.Store]. A subject (with its topic), a recipient or
// live states narrow the search by an index; a list by anything else walks the
// history from its newest end until Limit is reached.
func (s *Store) List(ctx context.Context, q lastlook.Query) ([]lastlook.Record, error) {
	limit := q.Limit
	if limit <= 0 {
		limit = defaultListLimit
	}
	before := int64(q.Before)
	if before <= 0 {
		before = math.MaxInt64
	}
	var states int64
	live := len(q.States) > 0
	for _, st := range q.States {
		states |= 1 << st
		live = live && st.Live()
	}
	name := "list_all"
	switch {
	case q.Topic != "" && q.Subject != "":
		name = "list_subject"
	case q.Recipient != "":
		name = "list_recipient"
	case live:
		name = "list_live"
	}
	var out []lastlook.Record
	args := []any{q.Topic, q.Subject, q.Recipient, q.Channel, states, string(q.Reason), before, int64(limit)}
	err := s.transact(ctx, "list", reading, func(ctx context.Context, t *transaction) error {
		out = nil
		var scan recordScan
		to := scan.all()
		list := step{name: name, args: args, each: func(r scanner) error {
			if err := r.Scan(to...); err != nil {
				return err
			}
			out = append(out, scan.record())
			return nil
		}}
		if !q.Full {
			return t.commit(ctx, list)
		}
		if err := t.run(ctx, list); err != nil {
			return err
		}
		return t.commit(ctx, completeAll(out))
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// completeAll adds the stories and key rows of records.
func completeAll(recs []lastlook.Record) step {
	ids := make([]int64, len(recs))
	for i := range recs {
		ids[i] = int64(recs[i].ID)
	}
	var n int64
	var story []byte
	var key keyScan
	to := append([]any{&n, &story}, key.all()...)
	return step{name: "list_full", args: []any{ids}, each: func(r scanner) error {
		if err := r.Scan(to...); err != nil {
			return err
		}
		complete(&recs[n-1], story, &key)
		return nil
	}}
}

// Stats implements [lastlook.Store].
func (s *Store) Stats(ctx context.Context, now, since time.Time) (lastlook.Stats, error) {
	var st lastlook.Stats
	err := s.transact(ctx, "stats", counting, func(ctx context.Context, t *transaction) error {
		st = lastlook.Stats{}
		return t.commit(ctx,
			step{name: "stats_live", args: []any{now.UnixMicro()}, each: func(r scanner) error {
				var l lastlook.LaneStats
				var priority, state, due int64
				if err := r.Scan(&l.ID, &l.Topic, &l.Channel, &l.Name, &priority, &state, &l.Count, &l.Leased, &due); err != nil {
					return err
				}
				l.Priority, l.State, l.OldestDue = lastlook.Priority(priority), lastlook.State(state), timeOf(due)
				st.Live = append(st.Live, l)
				return nil
			}},
			step{name: "stats_ended", args: []any{since.UnixMicro()}, each: func(r scanner) error {
				var e lastlook.EndCount
				var state int64
				var reason string
				if err := r.Scan(&e.Topic, &state, &reason, &e.Count); err != nil {
					return err
				}
				e.State, e.Reason = lastlook.State(state), lastlook.Reason(reason)
				st.Ended = append(st.Ended, e)
				return nil
			}},
			step{name: "stats_others", each: func(r scanner) error { return r.Scan(&st.Marks, &st.Muted) }})
	})
	if err != nil {
		return lastlook.Stats{}, err
	}
	return st, nil
}
