package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/lastlook/lastlook/internal/httpapi"
	"github.com/lastlook/lastlook/watch"
)

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// optionsOf reads a source's options by the names under which they are stored.
func optionsOf(m map[string]any) (o watch.Options, err error) {
	if len(m) == 0 {
		return o, nil
	}
	b, err := json.Marshal(m)
	if err != nil {
		return o, fmt.Errorf("%w: options: %w", httpapi.ErrInvalid, err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if d.Decode(&o) != nil { // whose text would repeat what was sent
		return o, httpapi.Invalid("options", "there is one that is unknown, or not of its type")
	}
	return o, nil
}

// optionsView is the inverse of optionsOf; nil for none.
func optionsView(o watch.Options) (m map[string]any) {
	b, err := json.Marshal(o)
	if err != nil || json.Unmarshal(b, &m) != nil || len(m) == 0 {
		return nil
	}
	return m
}

// Watch implements [httpapi.Backend].
func (s *Server) Watch(ctx context.Context, who httpapi.Who, id string) (httpapi.Watch, error) {
	e, err := s.ownWatch(ctx, who, id)
	if err != nil {
		return httpapi.Watch{}, err
	}
	return watchView(&e), nil
}

// PauseFor implements [httpapi.Backend].
func (s *Server) PauseFor(ctx context.Context, who httpapi.Who, id string, paused bool) (httpapi.Watch, error) {
	if _, err := s.ownWatch(ctx, who, id); err != nil {
		return httpapi.Watch{}, err
	}
	var e Entry
	var err error
	if paused {
		e, _, err = s.PauseWatch(ctx, id)
	} else {
		e, err = s.ResumeWatch(ctx, id)
	}
	return watchView(&e), err
}

// ListingsOf implements [httpapi.Backend].
func (s *Server) ListingsOf(ctx context.Context, who httpapi.Who) ([]httpapi.Listing, error) {
	own, err := s.entriesOf(ctx, who)
	if err != nil {
		return nil, err
	}
	out, at := []httpapi.Listing{}, map[string]int{}
	for i := range own {
		l := &own[i].Listing
		n, ok := at[l.ID]
		if !ok {
			n = len(out)
			at[l.ID] = n
			out = append(out, httpapi.Listing{ID: l.ID, URL: l.URL, Source: l.Source, Every: int(l.Interval / time.Second), NextLook: l.NextLook, Problem: l.LastError})
		}
		out[n].Watches = append(out[n].Watches, own[i].Watch.ID)
	}
	return out, nil
}

// ObservationsOf implements [httpapi.Backend].
func (s *Server) ObservationsOf(ctx context.Context, who httpapi.Who, listing string, limit int) ([]httpapi.Observation, error) {
	own, err := s.entriesOf(ctx, who)
	if err != nil {
		return nil, err
	}
	for i := range own {
		if own[i].Listing.ID == listing {
			return s.observations(ctx, listing, limit)
		}
	}
	return nil, fmt.Errorf("%w: there is no such listing of yours", httpapi.ErrNotFound)
}

// ObservationsFor implements [httpapi.Backend].
func (s *Server) ObservationsFor(ctx context.Context, who httpapi.Who, id string, limit int) ([]httpapi.Observation, error) {
	e, err := s.ownWatch(ctx, who, id)
	if err != nil {
		return nil, err
	}
	return s.observations(ctx, e.Listing.ID, limit)
}

func (s *Server) observations(ctx context.Context, listing string, limit int) ([]httpapi.Observation, error) {
	list, err := s.watches.History(ctx, listing, limit)
	out := []httpapi.Observation{}
	for i := range list {
		o := &list[i]
		out = append(out, httpapi.Observation{At: o.At, Price: moneyView(o.Price), Availability: string(o.Availability), Title: o.Title, Value: o.Value, Text: DescribeObservation(*o), Rule: o.Rule})
	}
	return out, err
}

// TryTriggers implements [httpapi.Backend].
func (s *Server) TryTriggers(ctx context.Context, who httpapi.Who, id string, n httpapi.NewWatch) (httpapi.DryRun, error) {
	if _, err := s.ownWatch(ctx, who, id); err != nil {
		return httpapi.DryRun{}, err
	}
	x, err := s.Explain(ctx, id, NewWatch{Below: n.Below, BackInStock: n.BackInStock, IgnoreStock: n.IgnoreStock, Zone: n.Zone, More: wishesOf(n.Wishes)})
	if err != nil {
		return httpapi.DryRun{}, err
	}
	out := httpapi.DryRun{Triggers: append([]string{}, x.Triggers...), Looks: x.Looks, From: x.From, To: x.To, Told: x.Told, Withheld: x.Withheld, Turns: []httpapi.Turn{}}
	for i := range x.Turns {
		t := &x.Turns[i]
		out.Turns = append(out.Turns, httpapi.Turn{At: t.Seen.At, Trigger: t.Text, Answer: t.Answer, Said: t.Said, Why: t.Why, Seen: DescribeObservation(t.Seen)})
	}
	return out, nil
}
