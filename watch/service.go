package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/lastlook/lastlook"
)

// ErrMissing is wrapped by a source's error for a page that does not exist
// (404). A second look, a minute or more later, makes it definite.
var ErrMissing = errors.New("the page does not exist")

// missingFor is how long a page must have been answered 404 to be gone.
const missingFor = time.Minute

// Value is the outbox topic's value: what a look saw, for one watch. As a
// baseline it is what was told.
type Value struct {
	Observation Observation `json:"observation"`
	// Told is set in asserted values: what has been told of each trigger once
	// this is delivered.
	Told map[string]Told `json:"told,omitzero"`
	// Noticed names the triggers that were news when the row was written.
	Noticed []string `json:"noticed,omitzero"`

	// entry is the watch at the moment of the look; looks only.
	entry *Entry
}

// Config configures a [Service].
type Config struct {
	Store   Store
	Sources map[string]Source // by Listing.Source
	Logger  *slog.Logger
	// Clock is the source of now; the default is [time.Now].
	Clock func() time.Time
	// Workers bounds the listings looked at at once (default 8).
	Workers int
	// Jitter is the largest part of an interval by which a listing's next look
	// is moved, so that listings added together drift apart (default 0.1).
	Jitter float64
	// Rand gives numbers in [0, 1) for it.
	Rand func() float64
}

// Service detects, and gives the dispatcher its topic.
type Service struct {
	cfg Config
	log *slog.Logger
}

// New returns a service.
func New(c Config) (*Service, error) {
	switch {
	case c.Store == nil:
		return nil, fmt.Errorf("%w: the service needs a store", ErrInvalid)
	case len(c.Sources) == 0:
		return nil, fmt.Errorf("%w: the service needs a source", ErrInvalid)
	case c.Rand == nil:
		return nil, fmt.Errorf("%w: the service needs a source of random numbers", ErrInvalid)
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Workers == 0 {
		c.Workers = 8
	}
	if c.Jitter == 0 {
		c.Jitter = 0.1
	}
	return &Service{cfg: c, log: c.Logger}, nil
}

// Key returns the outbox key of a watch on one of its channels.
func Key(w *Watch, channel string) lastlook.Key {
	return lastlook.Key{Topic: TopicName, Subject: w.ID, Recipient: w.Recipient, Channel: channel}
}

// SweepResult counts what one sweep did.
type SweepResult struct {
	Looked   int `json:"looked"`
	Failed   int `json:"failed"`
	Enqueued int `json:"enqueued"`
}

// Sweep looks at up to limit due listings and records what it saw. Detection
// is level-triggered: what a sweep misses, the next one finds. Enqueued counts
// the items given to the outbox, duplicates of live rows included.
func (s *Service) Sweep(ctx context.Context, limit int) (SweepResult, error) {
	due, err := s.cfg.Store.Due(ctx, s.cfg.Clock(), limit)
	if err != nil {
		return SweepResult{}, fmt.Errorf("list due listings: %w", err)
	}
	var (
		mu   sync.Mutex
		res  SweepResult
		errs []error
		wg   sync.WaitGroup
	)
	work := make(chan Listing)
	for range min(s.cfg.Workers, len(due)) {
		wg.Go(func() {
			for l := range work {
				n, ok, err := s.sweepOne(ctx, l)
				mu.Lock()
				res.Enqueued += n
				if ok {
					res.Looked++
				} else {
					res.Failed++
				}
				if err != nil {
					errs = append(errs, err)
				}
				mu.Unlock()
			}
		})
	}
	for _, l := range due {
		select {
		case work <- l:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(work)
	wg.Wait()
	return res, errors.Join(errs...)
}

// sweepOne looks at a listing; ok says whether it could be read.
func (s *Service) sweepOne(ctx context.Context, l Listing) (enqueued int, ok bool, err error) {
	o, lookErr := s.Look(ctx, l)
	now := s.cfg.Clock()
	if ctx.Err() != nil {
		return 0, false, ctx.Err() // stopped: the listing stays due
	}
	if lookErr != nil {
		s.log.Info("could not look", "listing", l.ID, "url", l.URL, "error", lookErr)
		return 0, false, s.cfg.Store.RecordFailure(ctx, now, Failure{ListingID: l.ID, Err: lookErr.Error(),
			Missing: errors.Is(lookErr, ErrMissing), NextLook: s.nextAfterFailure(l, lookErr, now)})
	}
	_, err = s.cfg.Store.Record(ctx, now, Recording{ListingID: l.ID, Observation: o, NextLook: s.next(l, now),
		Detect: func(e Entry, keys []lastlook.KeyRow) (Detected, error) {
			d, err := Detect(e, keys, o, now)
			enqueued += len(d.Items)
			return d, err
		}})
	return enqueued, true, err
}

// Look looks at a listing once, without recording anything.
func (s *Service) Look(ctx context.Context, l Listing) (Observation, error) {
	src, ok := s.cfg.Sources[l.Source]
	if !ok {
		return Observation{}, fmt.Errorf("%w: no source %q is set up", ErrInvalid, l.Source)
	}
	began := s.cfg.Clock()
	o, err := lookSafely(ctx, src, l)
	if err == nil && o.At.IsZero() {
		o.At = began
	}
	o.At = lastlook.Micro(o.At)
	return o, err
}

// lookSafely keeps a source's panic, on a page that nobody foresaw, from
// taking the process along.
func lookSafely(ctx context.Context, src Source, l Listing) (o Observation, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the source %q panicked: %v", l.Source, p)
		}
	}()
	return src.Look(ctx, l)
}

// next returns when a listing is due after it was read.
func (s *Service) next(l Listing, now time.Time) time.Time {
	return now.Add(l.Interval + time.Duration(s.cfg.Jitter*(2*s.cfg.Rand()-1)*float64(l.Interval)))
}

// nextAfterFailure waits longer after each failure in a row, up to 8
// intervals, and never less than the site asked for.
func (s *Service) nextAfterFailure(l Listing, err error, now time.Time) time.Time {
	_, hint := lastlook.Classify(err)
	if errors.Is(err, ErrMissing) && l.MissingSince.IsZero() {
		// Ask again soon: it is either a hiccup or definite.
		return now.Add(min(l.Interval, missingFor))
	}
	wait := s.next(l, now).Sub(now) << min(l.Failures, 3)
	return now.Add(min(max(wait, hint), MaxInterval))
}

// Detect decides what an observation means for one watch: to which states it
// moves the triggers, and, per channel, whether that is news given what was
// told there. It is pure.
func Detect(e Entry, keys []lastlook.KeyRow, o Observation, now time.Time) (Detected, error) {
	d := Detected{States: Evaluate(&e.Watch, &o, e.States, nil, now).States}
	if e.Watch.Paused {
		return d, nil
	}
	topic := lastlook.Handle[Value]{Name: TopicName}
	for i, channel := range e.Watch.Channels {
		told, err := toldOf(keys[i])
		if err != nil {
			return d, fmt.Errorf("watch %s, channel %s: %w", e.Watch.ID, channel, err)
		}
		ev := Evaluate(&e.Watch, &o, e.States, told, now)
		news := ev.News()
		if len(news) == 0 {
			continue
		}
		v := Value{Observation: o}
		for _, f := range news {
			v.Noticed = append(v.Noticed, f.Trigger.ID)
		}
		it, err := topic.Item(lastlook.Target{Subject: e.Watch.ID, Recipient: e.Watch.Recipient, Channel: channel}, v)
		if err != nil {
			return d, err
		}
		it.Windows = lastlook.Always()
		d.Items = append(d.Items, it)
	}
	return d, nil
}
