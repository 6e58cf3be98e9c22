package watchdb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/watch"
)

// Add implements [watch.Store].
func (s *Store) Add(ctx context.Context, now time.Time, l watch.Listing, w watch.Watch) (watch.Entry, error) {
	if l.Interval == 0 {
		l.Interval = watch.DefaultInterval
	}
	w.Channels, w.Triggers = slices.Clone(w.Channels), slices.Clone(w.Triggers)
	w.ID, w.CreatedAt = newWatchID(), now
	watch.RenewIDs(nil, &w)
	for _, err := range []error{lastlook.CheckClock(now), l.Validate(), w.Validate()} {
		if err != nil {
			return watch.Entry{}, fmt.Errorf("add watch: %w", err)
		}
	}
	var e *stored
	err := s.write(ctx, "add watch", func(ctx context.Context, q *session) error {
		at, err := q.place(ctx, now, l)
		if err != nil {
			return err
		}
		if err := q.insertWatch(ctx, at.n, l.Interval, &w); err != nil {
			return err
		}
		// A new watch is to see the page soon, also if the listing is looked at
		// rarely; but adding watches must not press a site, least of all one
		// that has asked for, or earned, a pause.
		soon := l.NextLook
		if soon.IsZero() {
			soon = later(now, at.LastTried.Add(watch.MinInterval))
		}
		if !w.Paused && at.Failures == 0 && soon.Before(at.NextLook) {
			at.NextLook = soon
		}
		if err := q.schedule(ctx, now, at); err != nil {
			return err
		}
		e, err = q.one(ctx, w.ID)
		return err
	})
	if err != nil {
		return watch.Entry{}, err
	}
	return e.Entry, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// place returns the listing that l describes, and makes it if there is none.
func (s *session) place(ctx context.Context, now time.Time, l watch.Listing) (*listing, error) {
	options, err := jsonText(l.Options)
	if err != nil {
		return nil, err
	}
	for {
		at, err := s.oneListing(ctx, "listing_by_url", l.URL, l.Source, options, l.Private)
		if err != nil {
			return nil, err
		}
		if at == nil {
			at, err = s.newListing(ctx, now, l, options)
		} else {
			at, err = s.lockListing(ctx, at.ID)
		}
		// Made, or removed, by others meanwhile: look again.
		if at != nil && at.n != 0 || err != nil && !errors.Is(err, watch.ErrNotFound) {
			return at, err
		}
	}
}

// newListing makes a listing; its number is 0 if somebody else has made it.
func (s *session) newListing(ctx context.Context, now time.Time, l watch.Listing, options string) (at *listing, err error) {
	at = &listing{Listing: watch.Listing{ID: newListingID(), Source: l.Source, URL: l.URL, Options: l.Options, Private: l.Private, Interval: l.Interval, NextLook: l.NextLook}}
	if at.NextLook.IsZero() {
		at.NextLook = now
	}
	at.n, err = s.number(ctx, "insert_listing", at.ID, at.Source, at.URL, options, at.Private, at.Interval.Microseconds(), at.NextLook.UnixMicro())
	return at, err
}

func (s *session) insertWatch(ctx context.Context, listing int64, interval time.Duration, w *watch.Watch) error {
	changeable, err := watchColumns(w)
	if err != nil {
		return err
	}
	_, err = s.exec(ctx, "insert_watch", append([]any{w.ID, listing, interval.Microseconds(), w.CreatedAt.UnixMicro()}, changeable...)...)
	return err
}

// watchColumns returns the values of the columns that may change.
func watchColumns(w *watch.Watch) ([]any, error) {
	channels, err := jsonText(w.Channels)
	if err != nil {
		return nil, err
	}
	triggers, err := jsonText(w.Triggers)
	if err != nil {
		return nil, err
	}
	details, err := jsonText(watchDetails{Points: w.Points, Cooldown: w.Cooldown, Rearm: w.Rearm})
	if err != nil {
		return nil, err
	}
	return []any{w.Name, w.Recipient, channels, triggers, w.IgnoreStock, w.Zone, w.Paused, micros(w.SnoozedUntil),
		w.MaxInterval.Microseconds(), w.Group, details}, nil
}

// schedule writes when a listing is looked at, after its watches have changed:
// as often as the most eager one that is not paused wants it.
func (s *session) schedule(ctx context.Context, now time.Time, l *listing) error {
	var wanted bool
	var interval, slowest span
	err := s.query(ctx, "demand", func(scan func(...any) error) error { return scan(&wanted, &interval, &slowest) }, l.n)
	if err != nil {
		return err
	}
	if wanted {
		l.Interval, l.MaxInterval = interval.Duration, slowest.Duration
		if l.MaxInterval == l.Interval {
			l.MaxInterval = 0
		}
		if soonest := now.Add(l.Interval); l.Failures == 0 && soonest.Before(l.NextLook) {
			l.NextLook = soonest
		}
	}
	_, err = s.exec(ctx, "schedule", l.n, wanted, l.Interval.Microseconds(), l.MaxInterval.Microseconds(), l.NextLook.UnixMicro())
	return err
}

// Update implements [watch.Store]. change runs while the listing is locked: it
// must be quick, and call no method of the store. It runs again if the transaction
// has to be made again.
func (s *Store) Update(ctx context.Context, now time.Time, id string, change func(*watch.Watch) error) (watch.Entry, error) {
	if err := lastlook.CheckClock(now); err != nil {
		return watch.Entry{}, fmt.Errorf("update watch: %w", err)
	}
	var e *stored
	err := s.write(ctx, "update watch", func(ctx context.Context, q *session) error {
		var err error
		if e, err = q.lockWatch(ctx, id); err != nil {
			return err
		}
		if e.Err != nil {
			return e.Err
		}
		before := e.Watch
		w := before
		w.Channels, w.Triggers = slices.Clone(before.Channels), slices.Clone(before.Triggers)
		if err := change(&w); err != nil {
			return err
		}
		w.ID, w.ListingID, w.CreatedAt = before.ID, before.ListingID, before.CreatedAt
		watch.RenewIDs(&before, &w)
		if err := w.Validate(); err != nil {
			return err
		}
		if err := q.updateWatch(ctx, e.n, &w); err != nil {
			return err
		}
		if err := q.schedule(ctx, now, &listing{Listing: e.Listing, n: e.listing}); err != nil {
			return err
		}
		e, err = q.one(ctx, id)
		return err
	})
	if err != nil {
		return watch.Entry{}, err
	}
	return e.Entry, nil
}

func (s *session) updateWatch(ctx context.Context, n int64, w *watch.Watch) error {
	changeable, err := watchColumns(w)
	if err != nil {
		return err
	}
	if _, err := s.exec(ctx, "update_watch", append([]any{n}, changeable...)...); err != nil {
		return err
	}
	ids := make([]string, len(w.Triggers))
	for i, t := range w.Triggers {
		ids[i] = t.ID
	}
	arg, err := jsonText(ids)
	if err != nil {
		return err
	}
	_, err = s.exec(ctx, "keep_states", n, arg)
	return err
}

// Remove implements [watch.Store]. Call [lastlook.Outbox.DropSubject] after
// it.
func (s *Store) Remove(ctx context.Context, now time.Time, id string) error {
	return s.write(ctx, "remove watch", func(ctx context.Context, q *session) error {
		e, err := q.lockWatch(ctx, id)
		if err != nil {
			return err
		}
		for _, name := range []string{"delete_states", "delete_watch"} {
			if _, err := q.exec(ctx, name, e.n); err != nil {
				return err
			}
		}
		watched, err := q.number(ctx, "watched", e.listing)
		if err != nil {
			return err
		}
		if watched > 0 {
			return q.schedule(ctx, now, &listing{Listing: e.Listing, n: e.listing})
		}
		for _, name := range []string{"delete_observations", "delete_lows", "delete_listing"} {
			if _, err := q.exec(ctx, name, e.listing); err != nil {
				return err
			}
		}
		return nil
	})
}
