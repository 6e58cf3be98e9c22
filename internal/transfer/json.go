package transfer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/govalues/decimal"

	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/price"
)

// version is that of the JSON form. It grows when an older lastlook would read a
// file wrong; members that it does not know are refused anyway.
const version = 1

type document struct {
	Version    int               `json:"lastlook_export"`
	ExportedAt time.Time         `json:"exported_at,omitzero"`
	Watches    []json.RawMessage `json:"watches"`
}

// record is a watch in JSON.
type record struct {
	URL     string        `json:"url"`
	Source  string        `json:"source,omitzero"`
	Private *bool         `json:"private,omitzero"`
	Options watch.Options `json:"options,omitzero"`

	Name        string    `json:"name,omitzero"`
	Recipient   string    `json:"recipient,omitzero"`
	Channels    []string  `json:"channels,omitzero"`
	Triggers    []trigger `json:"triggers,omitzero"`
	IgnoreStock bool      `json:"ignore_stock,omitzero"`
	Points      []points  `json:"points,omitzero"`
	Group       string    `json:"group,omitzero"`
	Every       span      `json:"every,omitzero"`
	MaxEvery    span      `json:"max_every,omitzero"`
	Cooldown    span      `json:"cooldown,omitzero"`
	Rearm       span      `json:"rearm,omitzero"`
	Zone        string    `json:"zone,omitzero"`
	Paused      bool      `json:"paused,omitzero"`
	Snoozed     time.Time `json:"snoozed_until,omitzero"`
	// CreatedAt is for people: an import is a new watch.
	CreatedAt time.Time `json:"created_at,omitzero"`
}

// trigger is a trigger in JSON. Amounts are as people write them, "500.00 EUR".
type trigger struct {
	ID         string          `json:"id,omitzero"`
	Kind       string          `json:"kind"`
	Target     string          `json:"target,omitzero"`
	Per        string          `json:"per,omitzero"`
	Percent    decimal.Decimal `json:"percent,omitzero"`
	Amount     string          `json:"amount,omitzero"`
	Since      string          `json:"since,omitzero"`
	Days       int             `json:"days,omitzero"`
	MatchEqual bool            `json:"match_equal,omitzero"`
	When       string          `json:"when,omitzero"`
	Again      decimal.Decimal `json:"again,omitzero"`
	Margin     decimal.Decimal `json:"margin,omitzero"`
	PerDay     int             `json:"per_day,omitzero"`
	Cooldown   span            `json:"cooldown,omitzero"`
}

type points struct {
	Rate        decimal.Decimal `json:"rate,omitzero"`
	Amount      string          `json:"amount,omitzero"`
	Conditional bool            `json:"conditional,omitzero"`
}

// span is a duration as Go writes it: "15m0s".
type span time.Duration

// MarshalText implements [encoding.TextMarshaler].
func (s span) MarshalText() ([]byte, error) { return []byte(time.Duration(s).String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *span) UnmarshalText(b []byte) error {
	d, err := time.ParseDuration(string(b))
	if err != nil {
		return fmt.Errorf("%w: %q is no duration such as 15m", ErrInvalid, short(string(b)))
	}
	*s = span(d)
	return nil
}

func writeJSON(w io.Writer, now time.Time, entries []Entry) error {
	doc := document{Version: version, ExportedAt: now.UTC().Truncate(time.Second), Watches: []json.RawMessage{}}
	for i := range entries {
		b, err := json.Marshal(recordOf(&entries[i]))
		if err != nil {
			return fmt.Errorf("encode the watch of %s: %w", entries[i].Listing.URL, err)
		}
		doc.Watches = append(doc.Watches, b)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(doc)
}

func recordOf(e *Entry) record {
	l, w := &e.Listing, &e.Watch
	r := record{
		URL: l.URL, Source: l.Source, Private: &l.Private, Options: l.Options,
		Name: w.Name, Recipient: w.Recipient, Channels: w.Channels, IgnoreStock: w.IgnoreStock, Group: w.Group,
		Every: span(l.Interval), MaxEvery: span(w.MaxInterval), Cooldown: span(w.Cooldown), Rearm: span(w.Rearm),
		Zone: w.Zone, Paused: w.Paused, Snoozed: w.SnoozedUntil, CreatedAt: w.CreatedAt,
	}
	for i := range w.Triggers {
		r.Triggers = append(r.Triggers, triggerOf(&w.Triggers[i]))
	}
	for i := range w.Points {
		p := &w.Points[i]
		r.Points = append(r.Points, points{p.Rate, text(p.Amount), p.Conditional})
	}
	return r
}

func triggerOf(t *watch.Trigger) trigger {
	return trigger{
		ID: t.ID, Kind: string(t.Kind), Target: text(t.Target), Per: t.Per, Percent: t.Percent, Amount: text(t.Amount), Since: string(t.Since),
		Days: t.Days, MatchEqual: t.MatchEqual, When: t.When, Again: t.Again, Margin: t.Margin, PerDay: t.PerDay, Cooldown: span(t.Cooldown),
	}
}

// text writes money with all its digits.
func text(m price.Money) string {
	if m.IsZero() {
		return ""
	}
	return m.String()
}

func (f *File) readJSON(b []byte, d *Defaults) error {
	var doc document
	if err := json.Unmarshal(b, &doc); err != nil {
		return fmt.Errorf("%w: it is no JSON of lastlook export: %w", ErrInvalid, err)
	}
	switch {
	case doc.Version == 0:
		return fmt.Errorf("%w: it is no file of lastlook export, which begins with \"lastlook_export\"", ErrInvalid)
	case doc.Version > version:
		return fmt.Errorf("%w: a newer lastlook wrote it (form %d, this one reads %d): update lastlook", ErrInvalid, doc.Version, version)
	}
	for i, raw := range doc.Watches {
		it := Item{Where: fmt.Sprintf("watch %d", i+1)}
		var r record
		if err := strict(raw, &r); err != nil {
			it.Err = fmt.Errorf("%w: %w", ErrInvalid, err)
			var known struct {
				URL string `json:"url"`
			}
			_ = json.Unmarshal(raw, &known) // only to name it
			it.Listing.URL = known.URL
		} else {
			it.Entry, it.Err = r.entry(d)
		}
		if err := f.add(it, d); err != nil {
			return err
		}
	}
	return nil
}

// strict decodes JSON, and refuses members that mean something to somebody else: a
// watch that lost a part of what it asks is another watch.
func strict(b []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}

func (r *record) entry(d *Defaults) (e Entry, err error) {
	e.Listing = watch.Listing{Source: r.Source, URL: r.URL, Options: r.Options, Private: r.Private == nil || *r.Private, Interval: time.Duration(r.Every)}
	e.Watch = watch.Watch{
		Name: r.Name, Recipient: r.Recipient, Channels: r.Channels, IgnoreStock: r.IgnoreStock, Group: r.Group,
		MaxInterval: time.Duration(r.MaxEvery), Cooldown: time.Duration(r.Cooldown), Rearm: time.Duration(r.Rearm),
		Zone: r.Zone, Paused: r.Paused, SnoozedUntil: r.Snoozed,
	}
	for i := range r.Triggers {
		t, err := r.Triggers[i].trigger(d)
		if err != nil {
			return e, err
		}
		e.Watch.Triggers = append(e.Watch.Triggers, t)
	}
	for _, p := range r.Points {
		m, err := d.maybe(p.Amount)
		if err != nil {
			return e, err
		}
		e.Watch.Points = append(e.Watch.Points, watch.Points{Rate: p.Rate, Amount: m, Conditional: p.Conditional})
	}
	return e, nil
}

func (t *trigger) trigger(d *Defaults) (watch.Trigger, error) {
	out := watch.Trigger{
		ID: t.ID, Kind: watch.Kind(t.Kind), Per: t.Per, Percent: t.Percent, Since: watch.Since(t.Since), Days: t.Days, MatchEqual: t.MatchEqual,
		When: t.When, Again: t.Again, Margin: t.Margin, PerDay: t.PerDay, Cooldown: time.Duration(t.Cooldown),
	}
	var err error
	if out.Target, err = d.maybe(t.Target); err != nil {
		return out, err
	}
	out.Amount, err = d.maybe(t.Amount)
	return out, err
}

// maybe reads an amount that may be missing.
func (d *Defaults) maybe(text string) (price.Money, error) {
	if text == "" {
		return price.Money{}, nil
	}
	return d.money(text)
}
