package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/lastlook/lastlook/internal/server"
)

// The views are what --json prints of watches. They are kept apart from what
// is stored, so that scripts do not break when that changes.

type moneyView struct {
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
}

// newMoneyView returns an amount with all the digits that its currency has.
func newMoneyView(m fmt.Stringer) *moneyView {
	amount, currency, _ := strings.Cut(m.String(), " ")
	return &moneyView{amount, currency}
}

type evidenceView struct {
	Fact  string `json:"fact"`
	Where string `json:"where"`
	Text  string `json:"text"`
}

type observationView struct {
	At           time.Time      `json:"at"`
	Price        *moneyView     `json:"price"`
	Availability string         `json:"availability"`
	Title        string         `json:"title,omitzero"`
	Image        string         `json:"image,omitzero"`
	SKU          string         `json:"sku,omitzero"`
	Evidence     []evidenceView `json:"evidence"`
}

func newObservationView(o *server.Observation) *observationView {
	if o == nil {
		return nil
	}
	v := &observationView{At: o.At, Availability: firstOf(string(o.Availability), "unknown"), Title: o.Title, Image: o.Image, SKU: o.SKU, Evidence: []evidenceView{}}
	if !o.Price.IsZero() {
		v.Price = newMoneyView(o.Price)
	}
	for _, e := range o.Evidence {
		v.Evidence = append(v.Evidence, evidenceView{e.Fact, e.Where, e.Text})
	}
	return v
}

type triggerView struct {
	ID     string     `json:"id"`
	Kind   string     `json:"kind"`
	Text   string     `json:"text"`
	Target *moneyView `json:"target,omitzero"`
	// Holding is null while nobody knows.
	Holding *bool     `json:"holding"`
	Since   time.Time `json:"since,omitzero"`
	Episode int64     `json:"episode"`
}

type watchView struct {
	ID              string           `json:"id"`
	Name            string           `json:"name"`
	URL             string           `json:"url"`
	Source          string           `json:"source"`
	Recipient       string           `json:"recipient"`
	Channels        []string         `json:"channels"`
	Triggers        []triggerView    `json:"triggers"`
	IgnoreStock     bool             `json:"ignore_stock"`
	Zone            string           `json:"zone"`
	Paused          bool             `json:"paused"`
	IntervalSeconds int64            `json:"interval_seconds"`
	CreatedAt       time.Time        `json:"created_at"`
	NextLook        time.Time        `json:"next_look"`
	LastOK          time.Time        `json:"last_ok,omitzero"`
	LastTried       time.Time        `json:"last_tried,omitzero"`
	LastError       string           `json:"last_error,omitzero"`
	Failures        int              `json:"failures"`
	Last            *observationView `json:"last"`
	// Error says why the watch cannot be used.
	Error string `json:"error,omitzero"`
}

func newWatchView(e *server.Entry) watchView {
	w, l := &e.Watch, &e.Listing
	v := watchView{
		ID: w.ID, Name: nameOf(e), URL: l.URL, Source: l.Source, Recipient: w.Recipient, Channels: append([]string{}, w.Channels...), Triggers: []triggerView{},
		IgnoreStock: w.IgnoreStock, Zone: firstOf(w.Zone, "UTC"), Paused: w.Paused, IntervalSeconds: int64(l.Interval / time.Second),
		CreatedAt: w.CreatedAt, NextLook: l.NextLook, LastOK: l.LastOK, LastTried: l.LastTried, LastError: l.LastError, Failures: l.Failures,
		Last: newObservationView(e.Last),
	}
	if e.Err != nil {
		v.Error = e.Err.Error()
	}
	for _, t := range w.Triggers {
		tv := triggerView{ID: t.ID, Kind: string(t.Kind), Text: t.String()}
		if !t.Target.IsZero() {
			tv.Target = newMoneyView(t.Target)
		}
		if s := e.States[t.ID]; s.Known {
			tv.Holding, tv.Since, tv.Episode = &s.Holding, s.Since, s.Episode
		}
		v.Triggers = append(v.Triggers, tv)
	}
	return v
}

// nameOf returns what to call a watch.
func nameOf(e *server.Entry) string {
	title := ""
	if e.Last != nil {
		title = e.Last.Title
	}
	return firstOf(e.Watch.Name, title, e.Listing.URL)
}
