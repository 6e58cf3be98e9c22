package sqlite

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
	err := s.read(ctx, "get", func(ctx context.Context, q session) error {
		return selectRows(ctx, q, "get", []any{int64(id)}, func(r *row) error {
			found = true
			rec = readRecord(r)
			readFull(r, recordWidth, &rec)
			return nil
		})
	})
	if err != nil {
		return lastlook.Record{}, err
	}
	if !found {
		return lastlook.Record{}, fmt.Errorf("sqlite: get: %w: %d: it never was, or retention has deleted it", lastlook.ErrNotFound, id)
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
	err := s.read(ctx, "list", func(ctx context.Context, t session) error {
		err := selectRows(ctx, t, name, args, func(r *row) error {
			out = append(out, readRecord(r))
			return nil
		})
		if err != nil || !q.Full {
			return err
		}
		full := batch{name: "list_full", n: len(out), width: 2, add: func(args []any, i int) []any {
			return append(args, int64(i), int64(out[i].ID))
		}}
		return full.each(ctx, t, func(r *row) error {
			readFull(r, 1, &out[r.int(0)])
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Stats implements [lastlook.Store].
func (s *Store) Stats(ctx context.Context, now, since time.Time) (lastlook.Stats, error) {
	var st lastlook.Stats
	err := s.read(ctx, "stats", func(ctx context.Context, q session) error {
		err := selectRows(ctx, q, "stats_live", []any{now.UnixMicro()}, func(r *row) error {
			st.Live = append(st.Live, lastlook.LaneStats{
				Lane:  lastlook.Lane{ID: r.int(0), Topic: r.text(1), Channel: r.text(2), Name: r.text(3), Priority: lastlook.Priority(r.int(4))},
				State: lastlook.State(r.int(5)), Count: int(r.int(6)), Leased: int(r.int(7)), OldestDue: r.time(8),
			})
			return nil
		})
		if err != nil {
			return err
		}
		err = selectRows(ctx, q, "stats_ended", []any{since.UnixMicro()}, func(r *row) error {
			st.Ended = append(st.Ended, lastlook.EndCount{Topic: r.text(0), State: lastlook.State(r.int(1)), Reason: lastlook.Reason(r.text(2)), Count: int(r.int(3))})
			return nil
		})
		if err != nil {
			return err
		}
		return selectRows(ctx, q, "stats_others", nil, func(r *row) error {
			st.Marks, st.Muted = int(r.int(0)), int(r.int(1))
			return nil
		})
	})
	if err != nil {
		return lastlook.Stats{}, err
	}
	return st, nil
}
