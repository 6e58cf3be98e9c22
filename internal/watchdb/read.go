package watchdb

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/price"
)

// listing is a stored listing and its last observation.
type listing struct {
	watch.Listing
	n    int64
	last *watch.Observation
}

// stored is an entry, with the numbers of its rows.
type stored struct {
	watch.Entry
	n, listing int64
}

// listingTargets returns where the listing columns are to be scanned to, and
// what completes the listing then.
func (l *listing) targets() (into []any, complete func()) {
	var next, ok, tried, missing, failing instant
	var interval, slowest, pace span
	into = []any{&l.n, &l.ID, &l.Source, &l.URL, fromJSON[watch.Options]{&l.Options}, &l.Private, &interval, &slowest, &pace, &next,
		&ok, &tried, &l.LastError, &l.Failures, &missing, &failing, fromJSON[watch.Standing]{&l.Standing}}
	return into, func() {
		l.Interval, l.MaxInterval, l.Pace = interval.Duration, slowest.Duration, pace.Duration
		l.NextLook, l.LastOK, l.LastTried, l.MissingSince, l.FailingSince = next.Time, ok.Time, tried.Time, missing.Time, failing.Time
	}
}

// observationRow is an observation as it is stored; all NULL if there is none.
type observationRow struct {
	n                              sql.NullInt64
	at                             instant
	amount, currency, availability sql.NullString
	sku, title, image, evidence    sql.NullString
	facts                          sql.NullString
}

func (r *observationRow) targets() []any {
	return []any{&r.n, &r.at, &r.amount, &r.currency, &r.availability, &r.sku, &r.title, &r.image, &r.evidence, &r.facts}
}

// observation decodes the row; nil if there is none.
func (r *observationRow) observation() (*watch.Observation, error) {
	if !r.n.Valid {
		return nil, nil
	}
	o := new(watch.Observation)
	if r.facts.Valid {
		if err := (fromJSON[watch.Observation]{o}).Scan(r.facts.String); err != nil {
			return nil, err
		}
	}
	o.At, o.Availability = r.at.Time, watch.Availability(r.availability.String)
	o.Title, o.Image, o.SKU = r.title.String, r.image.String, r.sku.String
	if r.amount.Valid {
		// A currency that is not in circulation any more, and that this version
		// does not know, leaves no price that could be compared with anything.
		if m, err := price.New(r.amount.String, r.currency.String); err == nil {
			o.Price = m
		}
	}
	if r.evidence.Valid {
		if err := json.Unmarshal([]byte(r.evidence.String), &o.Evidence); err != nil {
			return nil, fmt.Errorf("decode the evidence of observation %d: %w", r.n.Int64, err)
		}
	}
	return o, nil
}

// listings reads listings with their last observations.
func (s *session) listings(ctx context.Context, name string, args ...any) ([]*listing, error) {
	var out []*listing
	err := s.query(ctx, name, func(scan func(...any) error) error {
		l := new(listing)
		into, complete := l.targets()
		var o observationRow
		if err := scan(append(into, o.targets()...)...); err != nil {
			return err
		}
		complete()
		var err error
		l.last, err = o.observation()
		out = append(out, l)
		return err
	}, args...)
	return out, err
}

// oneListing reads the listing that a statement names; nil if there is none.
func (s *session) oneListing(ctx context.Context, name string, args ...any) (*listing, error) {
	list, err := s.listings(ctx, name, args...)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return list[0], nil
}

// watches reads watches, without their listings and states.
func (s *session) watches(ctx context.Context, name string, args ...any) ([]*stored, error) {
	var out []*stored
	err := s.query(ctx, name, func(scan func(...any) error) error {
		e := new(stored)
		w := &e.Watch
		var channels, triggers, details []byte
		var interval, slowest span
		var snoozed, created instant
		if err := scan(&e.n, &w.ID, &e.listing, &interval, &w.Name, &w.Recipient, &channels, &triggers,
			&w.IgnoreStock, &w.Zone, &w.Paused, &snoozed, &created, &slowest, &w.Group, &details); err != nil {
			return err
		}
		e.Interval, w.MaxInterval = interval.Duration, slowest.Duration
		w.SnoozedUntil, w.CreatedAt = snoozed.Time, created.Time
		e.Err = decodeWatch(w, channels, triggers, details)
		out = append(out, e)
		return nil
	}, args...)
	return out, err
}

// watchDetails are the fields of a watch that no statement asks for.
type watchDetails struct {
	Points   []watch.Points `json:"points,omitzero"`
	Cooldown time.Duration  `json:"cooldown,omitzero"`
	Rearm    time.Duration  `json:"rearm,omitzero"`
}

// decodeWatch decodes what is JSON. One watch that cannot be read must not keep
// the others of its listing from being told.
func decodeWatch(w *watch.Watch, channels, triggers, details []byte) error {
	var d watchDetails
	if err := json.Unmarshal(details, &d); err != nil {
		return fmt.Errorf("watch %s: decode its details: %w: remove it, or run the version that wrote it", w.ID, err)
	}
	w.Points, w.Cooldown, w.Rearm = d.Points, d.Cooldown, d.Rearm
	if err := json.Unmarshal(channels, &w.Channels); err != nil {
		return fmt.Errorf("watch %s: decode its channels: %w: remove it, or run the version that wrote it", w.ID, err)
	}
	if err := json.Unmarshal(triggers, &w.Triggers); err != nil {
		w.Triggers = nil
		return fmt.Errorf("watch %s: decode its triggers: %w: remove it, or run the version that wrote it", w.ID, err)
	}
	return nil
}

// entries reads whole entries, a fixed number of statements for any number.
func (s *session) entries(ctx context.Context, name string, args ...any) ([]*stored, error) {
	list, err := s.watches(ctx, name, args...)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	byNumber := map[int64]*listing{}
	var numbers []int64
	for _, e := range list {
		if _, ok := byNumber[e.listing]; !ok {
			byNumber[e.listing] = nil
			numbers = append(numbers, e.listing)
		}
	}
	arg, err := jsonText(numbers)
	if err != nil {
		return nil, err
	}
	listings, err := s.listings(ctx, "listings_by_number", arg)
	if err != nil {
		return nil, err
	}
	for _, l := range listings {
		byNumber[l.n] = l
	}
	if name == "watches_by_group" { // not locked: one may have been removed since
		list = slices.DeleteFunc(list, func(e *stored) bool { return byNumber[e.listing] == nil })
	}
	for _, e := range list {
		if byNumber[e.listing] == nil {
			return nil, fmt.Errorf("watch %s has no listing: the tables have been changed by hand", e.Watch.ID)
		}
		e.in(byNumber[e.listing])
	}
	return list, s.readStates(ctx, list)
}

// in completes an entry with its listing.
func (e *stored) in(l *listing) {
	e.Watch.ListingID, e.Listing, e.Last = l.ID, l.Listing, l.last
}

// readStates reads where the triggers of all the watches stand.
func (s *session) readStates(ctx context.Context, list []*stored) error {
	byNumber := make(map[int64]*stored, len(list))
	numbers := make([]int64, len(list))
	for i, e := range list {
		byNumber[e.n], numbers[i] = e, e.n
	}
	arg, err := jsonText(numbers)
	if err != nil {
		return err
	}
	return s.query(ctx, "states_by_watch", func(scan func(...any) error) error {
		var n int64
		var id string
		var st watch.State
		var since instant
		if err := scan(&n, &id, &st.Known, &st.Holding, &st.Episode, &since, fromJSON[watch.Memory]{&st.Memory}); err != nil {
			return err
		}
		st.Since = since.Time
		e := byNumber[n]
		if e.States == nil {
			e.States = map[string]watch.State{}
		}
		e.States[id] = st
		return nil
	}, arg)
}

// one reads one entry by its id.
func (s *session) one(ctx context.Context, id string) (*stored, error) {
	arg, err := jsonText([]string{id})
	if err != nil {
		return nil, err
	}
	list, err := s.entries(ctx, "watches_by_id", arg)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%w: watch %q", watch.ErrNotFound, id)
	}
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// Get implements [watch.Store].
func (s *Store) Get(ctx context.Context, id string) (watch.Entry, error) {
	var e *stored
	err := s.read(ctx, "get watch", func(ctx context.Context, q *session) (err error) {
		e, err = q.one(ctx, id)
		return err
	})
	if err != nil {
		return watch.Entry{}, err
	}
	return e.Entry, nil
}

// List implements [watch.Store].
func (s *Store) List(ctx context.Context) ([]watch.Entry, error) { return s.list(ctx, "watches_all") }

// ListFor implements [watch.Store].
func (s *Store) ListFor(ctx context.Context, recipient string) ([]watch.Entry, error) {
	return s.list(ctx, "watches_by_recipient", recipient)
}

func (s *Store) list(ctx context.Context, name string, args ...any) ([]watch.Entry, error) {
	var list []*stored
	err := s.read(ctx, "list watches", func(ctx context.Context, q *session) (err error) {
		list, err = q.entries(ctx, name, args...)
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

// Current implements [watch.Store].
func (s *Store) Current(ctx context.Context, ids []string) ([]watch.Entry, error) {
	if len(ids) == 0 {
		return nil, ctx.Err()
	}
	var list []*stored
	err := s.read(ctx, "read watches", func(ctx context.Context, q *session) error {
		arg, err := jsonText(ids)
		if err != nil {
			return err
		}
		if list, err = q.entries(ctx, "watches_by_id", arg); err != nil {
			return err
		}
		return q.readGroups(ctx, list)
	})
	if err != nil {
		return nil, err
	}
	byID := make(map[string]*stored, len(list))
	for _, e := range list {
		byID[e.Watch.ID] = e
	}
	out := make([]watch.Entry, len(ids))
	for i, id := range ids {
		if e := byID[id]; e != nil {
			out[i] = e.Entry
		}
	}
	return out, nil
}

// History implements [watch.Store].
func (s *Store) History(ctx context.Context, listingID string, limit int) ([]watch.Observation, error) {
	var out []watch.Observation
	err := s.read(ctx, "read history", func(ctx context.Context, q *session) error {
		l, err := q.oneListing(ctx, "listing_by_id", listingID)
		if err != nil {
			return err
		}
		if l == nil {
			return fmt.Errorf("%w: listing %q", watch.ErrNotFound, listingID)
		}
		out = nil
		return q.query(ctx, "history", func(scan func(...any) error) error {
			var r observationRow
			if err := scan(r.targets()...); err != nil {
				return err
			}
			o, err := r.observation()
			if err == nil {
				out = append(out, *o)
			}
			return err
		}, l.n, max(limit, 0))
	})
	return out, err
}

// jsonText encodes a list as an argument of a statement.
func jsonText(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode: %w", err)
	}
	return string(b), nil
}
