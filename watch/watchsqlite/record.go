package watchsqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/watch"
)

// Record implements [watch.Store]. It calls Detect once for each watch of the
// listing, under the file's write lock.
func (s *Store) Record(ctx context.Context, now time.Time, r watch.Recording) ([]watch.Entry, error) {
	if err := lastlook.CheckClock(now); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	r.Observation.At = lastlook.Micro(r.Observation.At)
	if err := lastlook.CheckClock(r.Observation.At); err != nil {
		return nil, fmt.Errorf("record: the observation's time: %w", err)
	}
	var list []*stored
	err := s.write(ctx, "record", func(ctx context.Context, q *session) (err error) {
		list, err = s.record(ctx, q, now, &r)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]watch.Entry, len(list))
	for i, e := range list {
		out[i] = e.Entry
	}
	return out, nil
}

func (s *Store) record(ctx context.Context, q *session, now time.Time, r *watch.Recording) ([]*stored, error) {
	l, err := q.oneListing(ctx, "listing_by_id", r.ListingID)
	if err != nil {
		return nil, err
	}
	if l == nil {
		return nil, fmt.Errorf("%w: listing %q", watch.ErrNotFound, r.ListingID)
	}
	list, err := q.watches(ctx, "watches_by_listing", l.n)
	if err != nil {
		return nil, err
	}
	if err := q.readStates(ctx, list); err != nil {
		return nil, err
	}
	for _, e := range list {
		e.in(l)
	}
	n, err := q.insertObservation(ctx, l.n, &r.Observation)
	if err != nil {
		return nil, err
	}
	var decides any // NULL leaves the last observation as it is
	if !late(l, &r.Observation, now) {
		decides = n
		if err := s.detect(ctx, q, now, list, r); err != nil {
			return nil, err
		}
		l.last = &r.Observation
	}
	if _, err := q.exec(ctx, "looked", l.n, now.UnixMicro(), micros(r.NextLook), decides); err != nil {
		return nil, err
	}
	l.LastOK, l.LastTried = lastlook.Micro(now), lastlook.Micro(now)
	l.LastError, l.Failures, l.MissingSince = "", 0, time.Time{}
	if !r.NextLook.IsZero() {
		l.NextLook = lastlook.Micro(r.NextLook)
	}
	for _, e := range list {
		e.in(l)
	}
	return list, nil
}

// late reports whether an observation was made before the one that decided
// last: two looks overlapped, or the source gave an older copy. A last
// observation from the future says that the clock was set back, which must not
// make deaf until it is that late again.
func late(l *listing, o *watch.Observation, now time.Time) bool {
	return l.last != nil && o.At.Before(l.last.At) && !l.last.At.After(now)
}

// detect asks about every watch, and writes what that leads to.
func (s *Store) detect(ctx context.Context, q *session, now time.Time, list []*stored, r *watch.Recording) error {
	var keys []lastlook.Key
	for _, e := range list {
		for _, channel := range e.Watch.Channels {
			keys = append(keys, watch.Key(&e.Watch, channel))
		}
	}
	rows, err := s.db.KeyRowsTx(ctx, q.tx, keys)
	if err != nil {
		return err
	}
	var items []lastlook.Item
	var changed [][6]any
	for _, e := range list {
		mine := rows[:len(e.Watch.Channels)]
		rows = rows[len(mine):]
		if e.Err != nil {
			continue
		}
		d, err := r.Detect(e.Entry, mine)
		if err != nil {
			return err
		}
		items = append(items, d.Items...)
		for id, st := range d.States {
			if before, ok := e.States[id]; !ok || before != st {
				changed = append(changed, [6]any{e.n, id, st.Known, st.Holding, st.Episode, micros(st.Since)})
			}
		}
		e.States = d.States
	}
	if len(changed) > 0 {
		arg, err := jsonText(changed)
		if err != nil {
			return err
		}
		if _, err := q.exec(ctx, "write_states", arg); err != nil {
			return err
		}
	}
	_, err = s.db.EnqueueTx(ctx, q.tx, now, items...)
	return err
}

func (s *session) insertObservation(ctx context.Context, listing int64, o *watch.Observation) (n int64, err error) {
	var amount, currency, evidence any
	if !o.Price.IsZero() {
		amount, currency = o.Price.Amount().String(), o.Price.Currency()
	}
	if len(o.Evidence) > 0 {
		b, err := json.Marshal(o.Evidence)
		if err != nil {
			return 0, fmt.Errorf("encode evidence: %w", err)
		}
		evidence = string(b)
	}
	return s.number(ctx, "insert_observation", listing, o.At.UnixMicro(), amount, currency,
		string(o.Availability), o.SKU, o.Title, o.Image, evidence)
}
