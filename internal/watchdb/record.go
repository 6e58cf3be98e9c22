package watchdb

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/price"
)

// Record implements [watch.Store]. It calls Detect once for each watch of the
// listing, and again if the transaction has to be made again. Meanwhile the
// listing is locked.
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
	l, err := q.lockListing(ctx, r.ListingID)
	if err != nil {
		return nil, err
	}
	list, err := q.watches(ctx, "watches_by_listing", l.n)
	if err != nil {
		return nil, err
	}
	if err := q.readStates(ctx, list); err != nil {
		return nil, err
	}
	if err := q.readGroups(ctx, list); err != nil {
		return nil, err
	}
	for _, e := range list {
		e.in(l)
	}
	n, err := q.insertObservation(ctx, l.n, &r.Observation)
	if err != nil {
		return nil, err
	}
	var decides, standing any // NULL leaves the last ones as they are
	if !late(l, &r.Observation, now) {
		decides = n
		after, err := s.decide(ctx, q, now, l, list, r)
		if err != nil {
			return nil, err
		}
		if after != l.Standing {
			if standing, err = jsonText(after); err != nil {
				return nil, err
			}
		}
		l.last, l.Standing = &r.Observation, after
	}
	var pace any
	if r.Pace != 0 {
		pace, l.Pace = r.Pace.Microseconds(), r.Pace
	}
	if _, err := q.exec(ctx, "looked", l.n, now.UnixMicro(), micros(r.NextLook), decides, standing, pace); err != nil {
		return nil, err
	}
	l.LastOK, l.LastTried = lastlook.Micro(now), lastlook.Micro(now)
	l.LastError, l.Failures, l.MissingSince, l.FailingSince = "", 0, time.Time{}, time.Time{}
	if !r.NextLook.IsZero() {
		l.NextLook = lastlook.Micro(r.NextLook)
	}
	for _, e := range list {
		e.in(l)
	}
	return list, nil
}

// decide asks about every watch what the observation means, and keeps it for the
// days to come if it can be trusted. It returns the listing's standing after it.
func (s *Store) decide(ctx context.Context, q *session, now time.Time, l *listing, list []*stored, r *watch.Recording) (watch.Standing, error) {
	weighed := l.Standing.Weigh(&r.Observation)
	low, isLow := watch.LowOf(&r.Observation)
	isLow = isLow && weighed.Trusted()
	var history watch.History
	days := 0
	for _, e := range list {
		days = max(days, watch.HistoryDays(&e.Watch))
	}
	if days > 0 || isLow {
		var err error
		if history, err = q.lows(ctx, l.n, watch.DayOf(r.Observation.At)-days); err != nil {
			return weighed.After, err
		}
	}
	for _, e := range list {
		e.History = history
	}
	if err := s.detect(ctx, q, now, list, r); err != nil {
		return weighed.After, err
	}
	if !isLow || !history.Improves(low) {
		return weighed.After, nil
	}
	_, err := q.exec(ctx, "write_low", l.n, low.Day, low.Price.Currency(), low.Buyable, low.Price.Amount().String())
	return weighed.After, err
}

// lows reads the lowest prices of the days from one on.
func (s *session) lows(ctx context.Context, listing int64, from int) (watch.History, error) {
	var h watch.History
	err := s.query(ctx, "lows", func(scan func(...any) error) error {
		var l watch.Low
		var code, amount string
		if err := scan(&l.Day, &code, &l.Buyable, &amount); err != nil {
			return err
		}
		m, err := price.New(amount, code)
		if err != nil {
			return nil // a currency that this version does not know compares with nothing
		}
		l.Price = m
		h.Lows = append(h.Lows, l)
		return nil
	}, listing, from)
	return h, err
}

// Lows implements [watch.Store].
func (s *Store) Lows(ctx context.Context, listingID string, from int) (watch.History, error) {
	var h watch.History
	err := s.read(ctx, "read lows", func(ctx context.Context, q *session) error {
		l, err := q.oneListing(ctx, "listing_by_id", listingID)
		if err != nil {
			return err
		}
		if l == nil {
			return fmt.Errorf("%w: listing %q", watch.ErrNotFound, listingID)
		}
		h, err = q.lows(ctx, l.n, from)
		return err
	})
	return h, err
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
	rows, err := q.tx.KeyRows(ctx, keys)
	if err != nil {
		return err
	}
	var items []lastlook.Item
	var changed [][7]any
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
				memory, err := jsonText(st.Memory)
				if err != nil {
					return err
				}
				changed = append(changed, [7]any{e.n, id, st.Known, st.Holding, st.Episode, micros(st.Since), memory})
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
	_, err = q.tx.Enqueue(ctx, now, items...)
	return err
}

func (s *session) insertObservation(ctx context.Context, listing int64, o *watch.Observation) (n int64, err error) {
	var amount, currency, evidence, facts any
	if !o.Price.IsZero() {
		amount, currency = o.Price.Amount().String(), o.Price.Currency()
	}
	if len(o.Evidence) > 0 {
		if evidence, err = jsonText(o.Evidence); err != nil {
			return 0, err
		}
	}
	text, err := jsonText(factsOf(o))
	if err != nil {
		return 0, err
	}
	if text != "{}" {
		facts = text
	}
	return s.number(ctx, "insert_observation", listing, o.At.UnixMicro(), amount, currency,
		string(o.Availability), o.SKU, o.Title, o.Image, evidence, facts)
}

// facts are what a look states beside what has a column. They are read back
// into an observation, so their names are its.
type facts struct {
	High       price.Money     `json:"high,omitzero"`
	List       price.Money     `json:"list_price,omitzero"`
	Unit       watch.UnitPrice `json:"unit_price,omitzero"`
	Quantity   watch.Quantity  `json:"quantity,omitzero"`
	Tax        price.Tax       `json:"tax,omitzero"`
	Points     []watch.Points  `json:"points,omitzero"`
	ValidUntil time.Time       `json:"valid_until,omitzero"`
	Ambiguous  bool            `json:"ambiguous,omitzero"`
	Rule       string          `json:"rule,omitzero"`
	Agreed     bool            `json:"agreed,omitzero"`
	Value      json.RawMessage `json:"value,omitzero"`
}

func factsOf(o *watch.Observation) facts {
	return facts{High: o.High, List: o.List, Unit: o.Unit, Quantity: o.Quantity, Tax: o.Tax, Points: o.Points, ValidUntil: o.ValidUntil,
		Ambiguous: o.Ambiguous, Rule: o.Rule, Agreed: o.Agreed, Value: o.Value}
}
