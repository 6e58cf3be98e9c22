package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/watch/price"
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
	// this is delivered. Last is what was told before, of what this says nothing
	// of.
	Told map[string]Told `json:"told,omitzero"`
	Last Last            `json:"last,omitzero"`
	// Noticed names the triggers that were news when the row was written.
	Noticed []string `json:"noticed,omitzero"`

	// entry is the watch at the moment of the look; looks only.
	entry *Entry
}

// Last is the last of each that was told.
type Last struct {
	Price        price.Money     `json:"price,omitzero"`
	Availability Availability    `json:"availability,omitzero"`
	Value        json.RawMessage `json:"value,omitzero"`
}

// IsZero reports whether nothing is said.
func (l Last) IsZero() bool { return l.Price.IsZero() && l.Availability == "" && len(l.Value) == 0 }

// Config configures a [Service].
type Config struct {
	Store   Store
	Sources map[string]Source // by Listing.Source
	Logger  *slog.Logger
	// Clock is the source of now; the default is [time.Now].
	Clock func() time.Time
	// Workers bounds the listings looked at at once (default 8), PerHost those
	// of one host (default a quarter of that, at least 1).
	Workers int
	PerHost int
	// Politeness says how often a host may be asked; nil means as often as its
	// listings are due.
	Politeness Politeness
	// SweepTime is how long a sweep goes on beginning looks (default 1 min).
	SweepTime time.Duration
	// LookTimeout bounds one look of a sweep, so that a page that never answers
	// does not keep a worker for ever (default 30 s). The dispatcher's looks
	// are bounded by how old a value may be.
	LookTimeout time.Duration
	// Jitter is the largest part of an interval, from 0 to 1, by which a
	// listing's next look is moved, so that listings added together drift apart
	// (default 0.1).
	Jitter float64
	// Rand gives numbers in [0, 1) for it. It is safe for concurrent use.
	Rand func() float64
	// Lane, if set, names what can be slow or broken on its own when a recipient
	// is told through a channel; "" is the channel. It is called under the
	// store's lock: it must be quick, and ask no store.
	Lane func(recipient, channel string) string
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
	case c.Workers < 0 || c.PerHost < 0 || c.LookTimeout < 0 || c.SweepTime < 0:
		return nil, fmt.Errorf("%w: %d workers, %d per host, a look timeout of %s and a sweep time of %s: none can be negative", ErrInvalid, c.Workers, c.PerHost, c.LookTimeout, c.SweepTime)
	case c.Jitter < 0 || c.Jitter > 1:
		return nil, fmt.Errorf("%w: a jitter of %g: it is a part of the interval, from 0 to 1", ErrInvalid, c.Jitter)
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
	if c.PerHost == 0 {
		c.PerHost = max(c.Workers/4, 1)
	}
	if c.LookTimeout == 0 {
		c.LookTimeout = 30 * time.Second
	}
	if c.SweepTime == 0 {
		c.SweepTime = time.Minute
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

// unlessRemoved passes an error on unless it says that the listing is not there
// any more: whoever watched it removed it while it was looked at.
func unlessRemoved(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// failure is what is recorded of a look that gave nothing.
func (s *Service) failure(l Listing, err error, next, now time.Time) Failure {
	return Failure{ListingID: l.ID, Err: cut(err.Error(), maxText), Missing: errors.Is(err, ErrMissing), NextLook: next,
		Detect: func(e Entry) ([]lastlook.Item, error) {
			items, err := detectUnreadable(e, now)
			s.fillLanes(items)
			return items, err
		}}
}

// detect returns the question that a recording asks about each watch. What
// goes wrong with one of them is that one's alone: the listing's others are
// told all the same.
func (s *Service) detect(o Observation, now time.Time) func(Entry, []lastlook.KeyRow) (Detected, error) {
	return func(e Entry, keys []lastlook.KeyRow) (d Detected, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panicked: %v", p)
			}
			if err != nil {
				s.log.Error("cannot detect for a watch; the others of its listing go on", "watch", e.Watch.ID, "listing", e.Listing.ID, "error", err)
				d, err = Detected{States: e.States}, nil
			}
		}()
		d, err = Detect(e, keys, o, now)
		s.fillLanes(d.Items)
		return d, err
	}
}

func (s *Service) fillLanes(items []lastlook.Item) {
	if s.cfg.Lane == nil {
		return
	}
	for i := range items {
		items[i].Lane = s.cfg.Lane(items[i].Recipient, items[i].Channel)
	}
}

// Detector returns what [Recording.Detect] is for an observation that the
// service did not make itself: the question of [Detect], with the lanes filled
// in, and what goes wrong with one watch kept from the others.
func (s *Service) Detector(o Observation, now time.Time) func(Entry, []lastlook.KeyRow) (Detected, error) {
	return s.detect(o, now)
}

// Look looks at a listing once, without recording anything.
func (s *Service) Look(ctx context.Context, l Listing) (Observation, error) {
	src, ok := s.cfg.Sources[l.Source]
	if !ok {
		return Observation{}, fmt.Errorf("%w: no source %q is set up", ErrInvalid, l.Source)
	}
	began := s.cfg.Clock()
	o, err := lookSafely(ctx, src, l)
	if err != nil {
		return Observation{}, err
	}
	// A value cannot be newer than the look: a site's clock may be.
	if o.At.IsZero() || o.At.After(began) {
		o.At = began
	}
	o.At = lastlook.Micro(o.At)
	return tidy(o), nil
}

// Bounds of what an observation holds, in bytes. Pages say what they like, and
// a row of the outbox has a limit that no page may push a listing over.
const (
	maxText     = 500
	maxImage    = 2 << 10
	maxEvidence = 12
	maxValue    = 4 << 10
)

// tidy bounds what a page said.
func tidy(o Observation) Observation {
	o.Title, o.SKU = cut(o.Title, maxText), cut(o.SKU, maxText)
	if len(o.Image) > maxImage { // the picture itself, as a data: URL
		o.Image = ""
	}
	if len(o.Value) > maxValue {
		o.Value = nil // the source is to point at less
	}
	o.Points = o.Points[:min(len(o.Points), maxPoints):min(len(o.Points), maxPoints)]
	evidence := o.Evidence[:min(len(o.Evidence), maxEvidence)]
	o.Evidence = nil // the slice is the source's
	for _, e := range evidence {
		o.Evidence = append(o.Evidence, Evidence{Fact: cut(e.Fact, 50), Where: cut(e.Where, 200), Text: cut(e.Text, 200)})
	}
	return o
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

// nextAfterFailure waits longer after each failure in a row, up to 8
// intervals, and never less than the site asked for, within reason: a site
// must not be able to silence a watch for weeks by one header.
func (s *Service) nextAfterFailure(l Listing, err error, now time.Time) time.Time {
	_, hint := lastlook.Classify(err)
	if errors.Is(err, ErrMissing) && l.MissingSince.IsZero() {
		// Ask again soon: it is either a hiccup or definite.
		return now.Add(min(l.Interval, missingFor))
	}
	hint = min(hint, lastlook.DefaultPolicy().HintCap)
	wait := s.next(l, now).Sub(now) << min(l.Failures, 3)
	return now.Add(min(max(wait, hint), MaxInterval))
}

// Evaluate asks the triggers of the watch about an observation; see [Evaluate].
func (e *Entry) Evaluate(o *Observation, told Telling, now time.Time) Evaluation {
	return Evaluate(&e.Watch, o, Before{States: e.States, Standing: e.Listing.Standing, History: e.History, Told: told, Group: e.Group}, now)
}

// Detect decides what an observation means for one watch: to which states it
// moves the triggers, and, per channel, whether that is news given what was
// told there. What would be news if a second reading says the same is looked at
// again when that may be. It is pure.
func Detect(e Entry, keys []lastlook.KeyRow, o Observation, now time.Time) (Detected, error) {
	d := Detected{States: e.Evaluate(&o, Telling{}, now).States}
	if e.Watch.Paused {
		return d, nil
	}
	topic := lastlook.Handle[Value]{Name: TopicName}
	for i, channel := range e.Watch.Channels {
		told, err := TellingOf(keys[i])
		if err != nil {
			// Nothing can be judged by a baseline that cannot be read. The row
			// fails in plain sight, as bad_payload, instead of silencing the
			// watch.
			told = Telling{}
		}
		told.Channel = channel
		ev := e.Evaluate(&o, told, now)
		v := Value{Observation: o}
		news := false
		for _, f := range ev.Findings {
			if f.News || f.Expected {
				v.Noticed = append(v.Noticed, f.Trigger.ID)
			}
			news = news || f.News
		}
		if len(v.Noticed) == 0 {
			continue
		}
		it, err := topic.Item(lastlook.Target{Subject: e.Watch.ID, Recipient: e.Watch.Recipient, Channel: channel}, v)
		if err != nil {
			return d, err
		}
		it.Windows = lastlook.Always()
		if !news {
			it.Due = ev.Weighed.Until
		}
		d.Items = append(d.Items, it)
	}
	return d, nil
}

// hostOf returns a URL's host, for logs: its path and query may hold a secret.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}
