package watchdb

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/watch"
)

// RecordFailure implements [watch.Store].
func (s *Store) RecordFailure(ctx context.Context, now time.Time, f watch.Failure) error {
	if err := lastlook.CheckClock(now); err != nil {
		return fmt.Errorf("record a failed look: %w", err)
	}
	return s.write(ctx, "record a failed look", func(ctx context.Context, q *session) error {
		n, err := q.exec(ctx, "failed", f.ListingID, now.UnixMicro(), f.Err, f.Missing, micros(f.NextLook))
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("%w: listing %q", watch.ErrNotFound, f.ListingID)
		}
		if f.Detect == nil {
			return nil
		}
		return s.detectFailure(ctx, q, now, &f)
	})
}

// detectFailure enqueues what a failure means to those who watch the listing.
func (s *Store) detectFailure(ctx context.Context, q *session, now time.Time, f *watch.Failure) error {
	l, err := q.oneListing(ctx, "listing_by_id", f.ListingID)
	if err != nil {
		return err
	}
	list, err := q.watches(ctx, "watches_by_listing", l.n)
	if err != nil {
		return err
	}
	var items []lastlook.Item
	for _, e := range list {
		e.in(l)
		more, err := f.Detect(e.Entry)
		if err != nil {
			return err
		}
		items = append(items, more...)
	}
	_, err = q.tx.Enqueue(ctx, now, items...)
	return err
}

// Postpone implements [watch.Store].
func (s *Store) Postpone(ctx context.Context, next map[string]time.Time) error {
	var list [][2]any
	for _, id := range slices.Sorted(maps.Keys(next)) {
		if err := lastlook.CheckClock(next[id]); err != nil {
			return fmt.Errorf("postpone looks: %w", err)
		}
		list = append(list, [2]any{id, next[id].UnixMicro()})
	}
	return s.write(ctx, "postpone looks", func(ctx context.Context, q *session) error {
		arg, err := jsonText(list)
		if err != nil {
			return err
		}
		if err := q.lockListings(ctx, slices.Sorted(maps.Keys(next))); err != nil {
			return err
		}
		_, err = q.exec(ctx, "postpone", arg)
		return err
	})
}

// Accept implements [watch.Store].
func (s *Store) Accept(ctx context.Context, listingID string) error {
	return s.write(ctx, "accept a listing's change", func(ctx context.Context, q *session) error {
		l, err := q.lockListing(ctx, listingID)
		if err != nil {
			return err
		}
		text, err := jsonText(l.Standing.Accept())
		if err != nil {
			return err
		}
		_, err = q.exec(ctx, "accept", l.n, text)
		return err
	})
}

// Due implements [watch.Store].
func (s *Store) Due(ctx context.Context, now, until time.Time, limit int) ([]watch.Listing, error) {
	if err := lastlook.CheckClock(now); err != nil {
		return nil, fmt.Errorf("list due listings: %w", err)
	}
	var out []watch.Listing
	into := func(scan func(...any) error) error {
		var l listing
		targets, complete := l.targets()
		if err := scan(targets...); err != nil {
			return err
		}
		complete()
		out = append(out, l.Listing)
		return nil
	}
	// A look first: most times nothing is due, and nobody need be kept from
	// writing for that.
	err := s.read(ctx, "list due listings", func(ctx context.Context, q *session) error {
		out = nil
		return q.query(ctx, "due", into, now.UnixMicro(), max(limit, 0))
	})
	if err != nil || len(out) == 0 || !until.After(now) {
		return out, err
	}
	err = s.write(ctx, "claim due listings", func(ctx context.Context, q *session) error {
		out = nil
		return q.query(ctx, "claim_due", into, now.UnixMicro(), until.UnixMicro(), limit)
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(out, func(a, b watch.Listing) int { return a.NextLook.Compare(b.NextLook) })
	return out, nil
}

// Release implements [watch.Store].
func (s *Store) Release(ctx context.Context, ids []string, until time.Time) error {
	if len(ids) == 0 {
		return nil
	}
	return s.write(ctx, "release listings", func(ctx context.Context, q *session) error {
		if err := q.lockListings(ctx, ids); err != nil {
			return err
		}
		arg, err := jsonText(ids)
		if err != nil {
			return err
		}
		_, err = q.exec(ctx, "release", arg, until.UnixMicro())
		return err
	})
}

// NextDue implements [watch.Store].
func (s *Store) NextDue(ctx context.Context, now time.Time) (time.Time, error) {
	var at instant
	err := s.read(ctx, "find the next due listing", func(ctx context.Context, q *session) error {
		return q.query(ctx, "next_due", func(scan func(...any) error) error { return scan(&at) }, now.UnixMicro())
	})
	return at.Time, err
}

// lockListing locks a listing, whose watches then stay as they are, and reads it.
func (s *session) lockListing(ctx context.Context, id string) (*listing, error) {
	if err := s.lockListings(ctx, []string{id}); err != nil {
		return nil, err
	}
	l, err := s.oneListing(ctx, "listing_by_id", id)
	if err == nil && l == nil {
		err = fmt.Errorf("%w: listing %q", watch.ErrNotFound, id)
	}
	return l, err
}

func (s *session) lockListings(ctx context.Context, ids []string) error {
	arg, err := jsonText(ids)
	if err != nil {
		return err
	}
	return s.tx.Lock(ctx, "lock_listings", arg)
}

// lockWatch locks a watch's listing, and reads the watch.
func (s *session) lockWatch(ctx context.Context, id string) (*stored, error) {
	if err := s.tx.Lock(ctx, "lock_listing_of", id); err != nil {
		return nil, err
	}
	return s.one(ctx, id)
}
