package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/watch"
)

// Added is what became of a [NewWatch].
type Added struct {
	Entry Entry
	// Look is the first look; nil if there was none.
	Look *Look
	// Warnings say what keeps its triggers from ever holding, as far as the
	// first look shows.
	Warnings []string
	// Holding names the triggers that hold already and will be told.
	Holding []string
}

// AddWatch adds a watch and takes a first look at it, which counts like any
// other: what holds already is told.
func (s *Server) AddWatch(ctx context.Context, n NewWatch) (Added, error) {
	l, w, err := n.build()
	if err != nil {
		return Added{}, err
	}
	if err := s.channels.Load().check(&w); err != nil {
		return Added{}, err
	}
	if err := s.sources.ready(l.Source); err != nil {
		return Added{}, err
	}
	var look *Look
	if !n.NoLook {
		got := lookAt(ctx, s.service, s.opt.Clock, l)
		if ctx.Err() != nil {
			return Added{}, ctx.Err()
		}
		look = &got
	}
	now := s.opt.Clock()
	l.NextLook = now
	if look != nil && look.Observation != nil {
		l.NextLook = now.Add(l.Interval) // it has just been looked at
	}
	e, err := s.watches.Add(ctx, now, l, w)
	if err != nil {
		return Added{}, fmt.Errorf("add the watch: %w", err)
	}
	added := Added{Entry: e, Look: look}
	switch {
	case look == nil:
	case look.Observation == nil:
		err = s.watches.RecordFailure(ctx, now, watch.Failure{ListingID: e.Listing.ID, Err: look.Error, Missing: look.missing})
	default:
		err = s.recordFirst(ctx, now, &added, *look.Observation)
	}
	if err != nil {
		return added, fmt.Errorf("watch %s is added, but its first look is not kept: %w", e.Watch.ID, err)
	}
	return added, nil
}

// recordFirst records the first look, so that the page is not asked twice, and
// says what it means for the watch.
func (s *Server) recordFirst(ctx context.Context, now time.Time, added *Added, o Observation) error {
	id := added.Entry.Watch.ID
	// Before this look: every target is below the only price that was ever seen.
	lows, err := s.watches.Lows(ctx, added.Entry.Listing.ID, 0)
	if err != nil {
		return err
	}
	entries, err := s.watches.Record(ctx, now, watch.Recording{
		ListingID: added.Entry.Listing.ID, Observation: o, NextLook: now.Add(added.Entry.Listing.Interval),
		Detect: s.service.Detector(o, now),
	})
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Watch.ID == id {
			added.Entry = e
			added.Entry.Last = &o
		}
	}
	added.Warnings = watch.Warnings(&added.Entry.Watch, &o, lows)
	for _, f := range added.Entry.Evaluate(&o, watch.Telling{}, now).Findings {
		if f.News {
			added.Holding = append(added.Holding, f.Trigger.String())
		}
	}
	if d := s.dispatcher.Load(); d != nil && len(added.Holding) > 0 {
		d.Wake()
	}
	return nil
}

// CheckInterval reports an interval between looks that is out of range.
func CheckInterval(d time.Duration) error {
	if d >= watch.MinInterval && d <= watch.MaxInterval {
		return nil
	}
	return fmt.Errorf("%w: an interval of %s: use %s to %d days", ErrInvalid, d, watch.MinInterval, watch.MaxInterval/(24*time.Hour))
}

// FindWatch returns the watch with the id, or the only one whose id begins so.
func (s *Server) FindWatch(ctx context.Context, id string) (Entry, error) {
	e, err := s.watches.Get(ctx, id)
	if !errors.Is(err, ErrUnknownWatch) || len(id) < minPrefix {
		return e, err
	}
	all, listErr := s.watches.List(ctx)
	if listErr != nil {
		return e, listErr
	}
	found := slices.DeleteFunc(all, func(e Entry) bool { return !strings.HasPrefix(e.Watch.ID, id) })
	switch len(found) {
	case 0:
		return e, err
	case 1:
		return found[0], nil
	}
	return e, fmt.Errorf("%w: %d watches begin with %q: write more of the id", ErrInvalid, len(found), id)
}

// minPrefix is how much of an id is enough to find a watch by.
const minPrefix = 4

// Watches returns all watches, oldest first.
func (s *Server) Watches(ctx context.Context) ([]Entry, error) { return s.watches.List(ctx) }

// History returns the latest observations of a listing, newest first.
func (s *Server) History(ctx context.Context, listingID string, limit int) ([]Observation, error) {
	return s.watches.History(ctx, listingID, limit)
}

// PauseWatch pauses a watch, and returns how many waiting notifications that
// withheld.
func (s *Server) PauseWatch(ctx context.Context, id string) (Entry, int, error) {
	e, err := s.setPaused(ctx, id, true)
	if err != nil {
		return e, 0, err
	}
	n, err := s.withhold(ctx, id, lastlook.ReasonListingPaused)
	return e, n, err
}

// ResumeWatch ends a watch's pause.
func (s *Server) ResumeWatch(ctx context.Context, id string) (Entry, error) {
	return s.setPaused(ctx, id, false)
}

func (s *Server) setPaused(ctx context.Context, id string, paused bool) (Entry, error) {
	return s.watches.Update(ctx, s.opt.Clock(), id, func(w *watch.Watch) error {
		w.Paused = paused
		return nil
	})
}

// AcceptWatch takes a watch's page as it is now for what is watched: another
// product, or another currency. It counts for all who watch the page.
func (s *Server) AcceptWatch(ctx context.Context, id string) error {
	e, err := s.watches.Get(ctx, id)
	if err != nil {
		return err
	}
	return s.watches.Accept(ctx, e.Listing.ID)
}

// RemoveWatch removes a watch, and returns how many waiting notifications that
// withheld.
func (s *Server) RemoveWatch(ctx context.Context, id string) (int, error) {
	if err := s.watches.Remove(ctx, s.opt.Clock(), id); err != nil {
		return 0, err
	}
	return s.withhold(ctx, id, lastlook.ReasonWatchRemoved)
}

// withhold drops what waits to be told of a watch.
func (s *Server) withhold(ctx context.Context, id string, reason lastlook.Reason) (dropped int, err error) {
	for _, topic := range watchTopics {
		n, dropErr := s.outbox.DropSubject(ctx, topic, id, reason)
		dropped, err = dropped+n, errors.Join(err, dropErr)
	}
	return dropped, err
}

// ReadBy returns the watches whose listings a source reads.
func (s *Server) ReadBy(ctx context.Context, source string) ([]Entry, error) {
	all, err := s.watches.List(ctx)
	return slices.DeleteFunc(all, func(e Entry) bool { return e.Listing.Source != source }), err
}

// Using returns the watches that tell through a channel.
func (s *Server) Using(ctx context.Context, channel string) ([]Entry, error) {
	all, err := s.watches.List(ctx)
	if err != nil {
		return nil, err
	}
	var out []Entry
	for _, e := range all {
		if slices.Contains(e.Watch.Channels, channel) {
			out = append(out, e)
		}
	}
	return out, nil
}
