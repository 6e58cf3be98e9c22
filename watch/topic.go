package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/watch/price"
)

// Topic returns the outbox topic of watches: the dispatcher's side of the same
// question that [Service.Sweep] asks.
func (s *Service) Topic() lastlook.Topic[Value] {
	return lastlook.Topic[Value]{
		Name:    TopicName,
		Look:    s.look,
		Active:  s.active,
		Judge:   Judge,
		Word:    Word,
		Assert:  assert,
		Same:    same,
		Windows: lastlook.Always(),
	}
}

// active says which watches are still wanted.
func (s *Service) active(ctx context.Context, ids []string) ([]lastlook.Reason, error) {
	entries, err := s.cfg.Store.Current(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]lastlook.Reason, len(ids))
	for i, e := range entries {
		switch {
		case e.Watch.ID == "":
			out[i] = lastlook.ReasonWatchRemoved
		case e.Watch.Paused:
			out[i] = lastlook.ReasonListingPaused
		}
	}
	return out, nil
}

// The dispatcher goes on when all looks of a batch have ended, and a value may
// be 10 s old when its message is sent. So that a page which is slow to answer
// does not make the other values too old, no look is begun after beginWithin,
// and none takes longer than until lookWithin.
const (
	beginWithin = 4 * time.Second
	lookWithin  = 8 * time.Second
)

var (
	errNotBegun = fmt.Errorf("%w: there were too many listings to look at", lastlook.ErrNotLooked)
	errNoAnswer = fmt.Errorf("the source did not answer within %s", lookWithin)
	errOldCopy  = errors.New("the source gave a copy from before the last look")
)

// listingLook is what a look at a listing gave for its watches.
type listingLook struct {
	listing string
	seen    Observation
	entries map[string]Entry // by watch
	err     error
}

// look looks at the listings of the watches, each once, and records what it
// saw like any other observation.
func (s *Service) look(ctx context.Context, ids []string) []lastlook.Looked[Value] {
	out := make([]lastlook.Looked[Value], len(ids))
	entries, err := s.cfg.Store.Current(ctx, ids)
	if err != nil {
		for i := range out {
			out[i].Err = fmt.Errorf("read watches: %w", err)
		}
		return out
	}
	byListing := map[string][]int{}
	var listings []Listing
	for i, e := range entries {
		switch {
		case e.Watch.ID == "":
			// Removed since it was asked whether it is active.
			out[i].Err = lastlook.Gone(fmt.Errorf("%w: watch %s", ErrNotFound, ids[i]))
			continue
		case e.Err != nil:
			out[i].Err = e.Err
			continue
		case byListing[e.Listing.ID] == nil:
			listings = append(listings, e.Listing)
		}
		byListing[e.Listing.ID] = append(byListing[e.Listing.ID], i)
		out[i].Err = errNoAnswer
	}
	siblings := groupListings(entries, func(id string) bool { return byListing[id] != nil })
	listings = append(listings, siblings...)
	results := s.lookAll(ctx, listings)
	timer := time.NewTimer(lookWithin + time.Second)
	defer timer.Stop()
	for range listings {
		select {
		case r := <-results:
			for _, i := range byListing[r.listing] {
				out[i] = r.of(ids[i])
			}
		case <-timer.C:
			return s.withGroups(ctx, ids, entries, out) // a source does not honour its context
		}
	}
	return s.withGroups(ctx, ids, entries, out)
}

// withGroups gives the watches of groups their siblings as they stand after all
// of them were looked at.
func (s *Service) withGroups(ctx context.Context, ids []string, before []Entry, out []lastlook.Looked[Value]) []lastlook.Looked[Value] {
	if !slices.ContainsFunc(before, func(e Entry) bool { return len(e.Group) > 0 }) {
		return out
	}
	now, err := s.cfg.Store.Current(ctx, ids)
	for i := range out {
		switch {
		case out[i].Value.entry == nil || len(before[i].Group) == 0:
		case err != nil:
			out[i] = lastlook.Looked[Value]{Err: fmt.Errorf("read the watches of the group: %w", err)}
		default:
			out[i].Value.entry.Group = now[i].Group
		}
	}
	return out
}

// of returns what the look gave for one watch.
func (r *listingLook) of(id string) lastlook.Looked[Value] {
	e, ok := r.entries[id]
	switch {
	case r.err != nil:
		return lastlook.Looked[Value]{Err: r.err}
	case !ok:
		return lastlook.Looked[Value]{Err: lastlook.Gone(fmt.Errorf("%w: watch %s", ErrNotFound, id))}
	case e.Err != nil:
		return lastlook.Looked[Value]{Err: e.Err}
	}
	return lastlook.Looked[Value]{Value: Value{Observation: r.seen, entry: &e}, At: r.seen.At}
}

// lookAll looks at listings, a few at a time; the channel takes all results.
func (s *Service) lookAll(ctx context.Context, listings []Listing) <-chan listingLook {
	results := make(chan listingLook, len(listings))
	work := make(chan Listing, len(listings))
	for _, l := range listings {
		work <- l
	}
	close(work)
	began := time.Now()
	looking, cancel := context.WithTimeout(ctx, lookWithin)
	var wg sync.WaitGroup
	for range min(s.cfg.Workers, len(listings)) {
		wg.Go(func() {
			for l := range work {
				r := listingLook{listing: l.ID, err: errNotBegun}
				if s.admitted(looking, l, began) {
					r.seen, r.entries, r.err = s.lookAndRecord(ctx, looking, l)
				}
				results <- r
			}
		})
	}
	go func() {
		wg.Wait()
		cancel()
	}()
	return results
}

// admitted waits until the listing's host may be asked, as long as a look may
// still begin.
func (s *Service) admitted(ctx context.Context, l Listing, began time.Time) bool {
	for {
		left := beginWithin - time.Since(began)
		if left <= 0 || ctx.Err() != nil {
			return false
		}
		if s.cfg.Politeness == nil {
			return true
		}
		wait, err := s.cfg.Politeness.Admit(ctx, hostOf(l.URL), s.cfg.Clock())
		switch {
		case err != nil:
			s.log.Error("cannot ask how often a host may be asked: looking later", "host", hostOf(l.URL), "error", err)
			return false
		case wait <= 0:
			return true
		case wait >= left:
			return false
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// lookAndRecord looks at a listing for the dispatcher, within the time that
// looking has, and records what it saw. A page that was missing before, and
// still is, is gone.
func (s *Service) lookAndRecord(ctx, looking context.Context, l Listing) (Observation, map[string]Entry, error) {
	began := lastlook.Micro(s.cfg.Clock())
	o, err := s.Look(AsLastLook(looking), l)
	now := s.cfg.Clock()
	if err != nil {
		if ctx.Err() != nil {
			return o, nil, err
		}
		if rec := s.cfg.Store.RecordFailure(ctx, now, s.failure(l, err, time.Time{}, now)); unlessRemoved(rec) != nil {
			return o, nil, errors.Join(err, rec)
		}
		if errors.Is(err, ErrMissing) && !l.MissingSince.IsZero() && now.Sub(l.MissingSince) >= missingFor {
			err = lastlook.Gone(err)
		}
		return o, nil, err
	}
	r := Recording{ListingID: l.ID, Observation: o, Detect: s.detect(o, now)}
	switch next, _ := s.nextAfter(l, &o, now); {
	case l.Failures > 0: // it can be read again: no need to wait longer
		r.NextLook = next
	case next.Before(l.NextLook): // a second reading is needed soon
		r.NextLook = next
	}
	entries, err := s.cfg.Store.Record(ctx, now, r)
	if err != nil {
		return o, nil, fmt.Errorf("record what the look saw: %w", err)
	}
	byID := make(map[string]Entry, len(entries))
	newest := &o
	for _, e := range entries {
		byID[e.Watch.ID] = e
		if e.Last != nil && e.Last.At.After(newest.At) {
			newest = e.Last
		}
	}
	// The triggers stand where the newest look left them. One that began after
	// this one is as good; an older one than that says that what the source
	// gave is older still.
	if newest.At.After(o.At) && !newest.At.After(began) {
		return o, nil, errOldCopy
	}
	return *newest, byID, nil
}

// evaluateCase asks the question of the value just looked at.
func evaluateCase(c lastlook.Case[Value]) (e *Entry, ev Evaluation) {
	e = c.Value.entry
	told := tellingOf(c.Baseline)
	told.Channel = c.Key.Channel
	return e, e.Evaluate(&c.Value.Observation, told, c.Now)
}

// tellingOf returns what a baseline says was told.
func tellingOf(v *Value) Telling {
	if v == nil {
		return Telling{}
	}
	t := Telling{Triggers: v.Told, Price: v.Observation.Price, Availability: v.Observation.Availability, Value: v.Observation.Value, At: v.Observation.At}
	if t.Price.IsZero() {
		t.Price = v.Last.Price
	}
	if availabilityKnown(t.Availability) == "" {
		t.Availability = v.Last.Availability
	}
	if len(t.Value) == 0 {
		t.Value = v.Last.Value
	}
	return t
}

// TellingOf returns what was told to a key, as detection counts it: an assertion
// that may have been delivered is told too, so that a sweep does not repeat it
// beside the row that still tries.
func TellingOf(k lastlook.KeyRow) (Telling, error) {
	var out Telling
	for _, b := range []json.RawMessage{k.Baseline, k.Maybe} {
		if b == nil {
			continue
		}
		var v Value
		if err := json.Unmarshal(b, &v); err != nil {
			return Telling{}, fmt.Errorf("decode what was told: %w", err)
		}
		t := tellingOf(&v)
		triggers := out.Triggers
		if triggers == nil {
			triggers = map[string]Told{}
		}
		for id, told := range t.Triggers {
			if told.Episode >= triggers[id].Episode {
				triggers[id] = told
			}
		}
		out = t
		out.Triggers = triggers
	}
	return out, nil
}

// Judge is the last look's question. It is pure.
func Judge(c lastlook.Case[Value]) lastlook.Verdict {
	if c.Value.entry == nil {
		return lastlook.CannotTell("the look gave no watch")
	}
	e, ev := evaluateCase(c)
	switch {
	case e.Watch.Paused:
		// The next claim asks whether it is active, and says why it is not.
		return lastlook.CannotTell("the watch was paused while it was looked at")
	case e.Watch.Recipient != c.Key.Recipient || !slices.Contains(e.Watch.Channels, c.Key.Channel):
		return lastlook.Drop(lastlook.ReasonConditionLost).Because(elsewhere(&c.Key))
	case len(ev.News()) > 0:
		return lastlook.Send()
	case e.Watch.SnoozedUntil.After(c.Now) && slices.ContainsFunc(ev.Findings, func(f Finding) bool { return f.Answer == Holds }):
		return lastlook.Defer(e.Watch.SnoozedUntil).Because("snoozed")
	}
	if w := &ev.Weighed; w.Other {
		return lastlook.Drop(lastlook.ReasonConditionLost).Because("the page describes another product now: " + w.After.NewSKU)
	} else if w.Doubt != "" && slices.ContainsFunc(ev.Findings, func(f Finding) bool { return f.InDoubt }) {
		return lastlook.Defer(w.Until).Because("a second reading is needed: " + w.Doubt.String())
	}
	return whyNot(c.Detection.Noticed, ev.Findings)
}

// whyNot says why nothing is told, by the triggers that were news when the row
// was written.
func whyNot(wereNews []string, findings []Finding) lastlook.Verdict {
	noticed := map[string]bool{}
	for _, id := range wereNews {
		noticed[id] = true
	}
	var why []string
	unknown, outOfStock, told, others := false, false, false, false
	for _, f := range findings {
		if len(noticed) > 0 && !noticed[f.Trigger.ID] {
			continue
		}
		why = append(why, f.Why)
		switch {
		case f.Answer == CannotTell:
			unknown = true
		case f.beaten:
			others = true
		case f.OutOfStock:
			outOfStock = true
		case f.Answer == Holds:
			told = true
		default:
			others = true
		}
	}
	note := strings.Join(why, "; ")
	switch {
	case unknown:
		return lastlook.CannotTell(note)
	case told: // what holds, and is no news, was told
		return lastlook.Drop(lastlook.ReasonAlreadyTold).Because(note)
	case outOfStock && !others:
		return lastlook.Drop(lastlook.ReasonOutOfStock).Because(note)
	}
	return lastlook.Drop(lastlook.ReasonConditionLost).Because(note)
}

// assert returns what a message tells: the facts without their evidence, and
// what has been told of each trigger once it is delivered.
func assert(c lastlook.Case[Value]) Value {
	e, ev := evaluateCase(c)
	o := &ev.Seen
	told := tellingOf(c.Baseline)
	v := Value{Observation: Observation{At: o.At, Price: o.Price, Availability: o.Availability, Title: o.Title, Value: o.Value}}
	if o.Price.IsZero() {
		v.Last.Price = told.Price
	}
	if availabilityKnown(o.Availability) == "" {
		v.Last.Availability = told.Availability
	}
	if len(o.Value) == 0 {
		v.Last.Value = told.Value
	}
	v.Told = tell(&e.Watch, told.Triggers, ev.News(), o, lastlook.Micro(c.Now))
	return v
}

// same is the part by which a resend is recognized: what is told, not when.
func same(v Value) any {
	type telling struct {
		Episode int64
		Figure  price.Money
	}
	triggers := map[string]telling{}
	for id, t := range v.Told {
		triggers[id] = telling{t.Episode, t.Figure}
	}
	return struct {
		Price        any
		Availability Availability
		Value        json.RawMessage
		Triggers     map[string]telling
	}{v.Observation.Price, v.Observation.Availability, v.Observation.Value, triggers}
}
