package watchsqlite

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
	_, err = s.db.EnqueueTx(ctx, q.tx, now, items...)
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
		_, err = q.exec(ctx, "postpone", arg)
		return err
	})
}

// Accept implements [watch.Store].
func (s *Store) Accept(ctx context.Context, listingID string) error {
	return s.write(ctx, "accept a listing's change", func(ctx context.Context, q *session) error {
		l, err := q.oneListing(ctx, "listing_by_id", listingID)
		if err != nil {
			return err
		}
		if l == nil {
			return fmt.Errorf("%w: listing %q", watch.ErrNotFound, listingID)
		}
		text, err := jsonText(l.Standing.Accept())
		if err != nil {
			return err
		}
		_, err = q.exec(ctx, "accept", l.n, text)
		return err
	})
}
