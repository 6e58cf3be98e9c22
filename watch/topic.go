package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/lastlook/lastlook"
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
		if e.Watch.ID == "" {
			// Removed since it was asked whether it is active.
			out[i].Err = lastlook.Gone(fmt.Errorf("%w: watch %s", ErrNotFound, ids[i]))
			continue
		}
		if byListing[e.Listing.ID] == nil {
			listings = append(listings, e.Listing)
		}
		byListing[e.Listing.ID] = append(byListing[e.Listing.ID], i)
	}
	type result struct {
		listing string
		at      time.Time
		entries map[string]Entry
		err     error
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	results := make(chan result, len(listings))
	work := make(chan Listing, len(listings))
	for _, l := range listings {
		work <- l
	}
	close(work)
	for range min(s.cfg.Workers, len(listings)) {
		wg.Go(func() {
			for l := range work {
				r := result{listing: l.ID}
				r.entries, r.at, r.err = s.lookAndRecord(ctx, l)
				results <- r
			}
		})
	}
	for range listings {
		r := <-results
		for _, i := range byListing[r.listing] {
			e, ok := r.entries[ids[i]]
			switch {
			case r.err != nil:
				out[i].Err = r.err
			case !ok:
				out[i].Err = lastlook.Gone(fmt.Errorf("%w: watch %s", ErrNotFound, ids[i]))
			default:
				out[i].Value, out[i].At = Value{Observation: *e.Last, entry: &e}, r.at
			}
		}
	}
	return out
}

// lookAndRecord looks at a listing for the dispatcher. A page that was missing
// before, and still is, is gone.
func (s *Service) lookAndRecord(ctx context.Context, l Listing) (map[string]Entry, time.Time, error) {
	o, err := s.Look(ctx, l)
	now := s.cfg.Clock()
	if err != nil {
		if ctx.Err() != nil {
			return nil, now, err
		}
		missing := errors.Is(err, ErrMissing)
		if rec := s.cfg.Store.RecordFailure(ctx, now, Failure{ListingID: l.ID, Err: err.Error(), Missing: missing}); rec != nil {
			return nil, now, errors.Join(err, rec)
		}
		if missing && !l.MissingSince.IsZero() && now.Sub(l.MissingSince) >= missingFor {
			err = lastlook.Gone(err)
		}
		return nil, now, err
	}
	entries, err := s.cfg.Store.Record(ctx, now, Recording{ListingID: l.ID, Observation: o,
		Detect: func(e Entry, keys []lastlook.KeyRow) (Detected, error) { return Detect(e, keys, o, now) }})
	if err != nil {
		return nil, now, fmt.Errorf("record what the look saw: %w", err)
	}
	byID := make(map[string]Entry, len(entries))
	for _, e := range entries {
		e.Last = &o
		byID[e.Watch.ID] = e
	}
	return byID, o.At, nil
}

// evaluateCase asks the question of the value just looked at.
func evaluateCase(c lastlook.Case[Value]) (e *Entry, ev Evaluation) {
	e = c.Value.entry
	return e, Evaluate(&e.Watch, &c.Value.Observation, e.States, toldBefore(c), c.Now)
}

func toldBefore(c lastlook.Case[Value]) map[string]Told {
	if c.Baseline == nil {
		return nil
	}
	return c.Baseline.Told
}

// toldOf returns what was told to a key, as detection counts it: an assertion
// that may have been delivered is told too, so that a sweep does not repeat it
// beside the row that still tries.
func toldOf(k lastlook.KeyRow) (map[string]Told, error) {
	out := map[string]Told{}
	for _, b := range []json.RawMessage{k.Baseline, k.Maybe} {
		if b == nil {
			continue
		}
		var v Value
		if err := json.Unmarshal(b, &v); err != nil {
			return nil, fmt.Errorf("decode what was told: %w", err)
		}
		for id, t := range v.Told {
			if t.Episode >= out[id].Episode {
				out[id] = t
			}
		}
	}
	return out, nil
}

// Judge is the last look's question. It is pure.
func Judge(c lastlook.Case[Value]) lastlook.Verdict {
	if c.Value.entry == nil {
		return lastlook.CannotTell("the look gave no watch")
	}
	e, ev := evaluateCase(c)
	if len(ev.News()) > 0 {
		return lastlook.Send()
	}
	if e.Watch.SnoozedUntil.After(c.Now) {
		return lastlook.Defer(e.Watch.SnoozedUntil).Because("snoozed")
	}
	noticed := map[string]bool{}
	for _, id := range c.Detection.Noticed {
		noticed[id] = true
	}
	var why []string
	unknown, outOfStock, others := false, false, false
	for _, f := range ev.Findings {
		if len(noticed) > 0 && !noticed[f.Trigger.ID] {
			continue
		}
		why = append(why, f.Why)
		switch {
		case f.Answer == CannotTell:
			unknown = true
		case f.OutOfStock:
			outOfStock = true
		default:
			others = true
		}
	}
	note := strings.Join(why, "; ")
	switch {
	case unknown:
		return lastlook.CannotTell(note)
	case outOfStock && !others:
		return lastlook.Drop(lastlook.ReasonOutOfStock).Because(note)
	}
	return lastlook.Drop(lastlook.ReasonConditionLost).Because(note)
}

// Word writes the message from the value just looked at. It is pure.
func Word(c lastlook.Case[Value]) lastlook.Message {
	e, ev := evaluateCase(c)
	o := &c.Value.Observation
	var reasons []string
	var ids []string
	for _, f := range ev.News() {
		ids = append(ids, string(f.Trigger.Kind))
		switch f.Trigger.Kind {
		case Below:
			reasons = append(reasons, fmt.Sprintf("%s: below your target of %s", o.Price, f.Trigger.Target))
		case BackInStock:
			reasons = append(reasons, "back in stock")
		}
	}
	title := firstOf(e.Watch.Name, o.Title, e.Listing.URL)
	body := strings.Join(reasons, "; ")
	if len(reasons) == 1 && reasons[0] == "back in stock" && !o.Price.IsZero() {
		body += " at " + o.Price.String()
	}
	if a := o.Availability; a != "" && a != Unknown && !strings.Contains(body, "in stock") {
		body += " (" + people(a) + ")"
	}
	data, err := json.Marshal(map[string]any{"watch": e.Watch.ID, "reasons": ids, "price": o.Price, "availability": o.Availability})
	if err != nil {
		panic(err) // plain data always encodes; a panic ends this attempt with the text
	}
	return lastlook.Message{Title: title, Body: capitalize(body), URL: e.Listing.URL, Data: data}
}

// assert returns what a message tells: the facts without their evidence, and
// what has been told of each trigger once it is delivered.
func assert(c lastlook.Case[Value]) Value {
	e, ev := evaluateCase(c)
	o := c.Value.Observation
	v := Value{Observation: Observation{At: o.At, Price: o.Price, Availability: o.Availability, Title: o.Title}}
	v.Told = tell(&e.Watch, toldBefore(c), ev.News(), &o, c.Now)
	return v
}

// same is the part by which a resend is recognized: what is told, not when.
func same(v Value) any {
	episodes := map[string]int64{}
	for id, t := range v.Told {
		episodes[id] = t.Episode
	}
	return struct {
		Price        any
		Availability Availability
		Episodes     map[string]int64
	}{v.Observation.Price, v.Observation.Availability, episodes}
}

func firstOf(s ...string) string {
	for _, v := range s {
		if v != "" {
			return v
		}
	}
	return ""
}

func capitalize(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
