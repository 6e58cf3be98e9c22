package feed

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/lastlook/lastlook/source/internal/fact"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/extract"
	"github.com/lastlook/lastlook/watch/price"
)

// Read reads a feed by the options of its listing; contentType is the answer's
// header, host that of its address.
func Read(ctx context.Context, body []byte, contentType string, opt watch.Options, host string, now time.Time) (watch.Observation, error) {
	entries, err := parse(ctx, body, contentType)
	if err != nil {
		return watch.Observation{}, err
	}
	e, selected := choose(entries, opt)
	o := watch.Observation{Availability: watch.Unknown, Value: json.RawMessage("null")}
	if e == nil {
		if opt.SKU != "" {
			return watch.Observation{}, fmt.Errorf("none of the feed's %d entries has the id %.60q", len(entries), opt.SKU)
		}
		return o, nil
	}
	o.Title, o.SKU = e.title, e.product["id"]
	if o.Value, err = e.value(); err != nil {
		return watch.Observation{}, err
	}
	fact.Note(&o, extract.FactTitle, "title", e.title)
	fact.Note(&o, extract.FactSKU, "g:id", o.SKU)
	if a := e.product["availability"]; a != "" {
		o.Availability = fact.Availability(a)
		fact.Note(&o, extract.FactAvailability, "g:availability", a)
	}
	r := reader{o: &o, e: e, context: price.Context{Locale: opt.Locale, Currency: strings.ToUpper(opt.Currency), Host: host}}
	r.prices(now, selected)
	return o, nil
}

// choose returns the entry that counts; selected says that the options name it.
func choose(entries []entry, opt watch.Options) (e *entry, selected bool) {
	words := strings.Fields(strings.ToLower(opt.Variant))
	for i := range entries {
		c := &entries[i]
		if opt.SKU != "" && !c.is(opt.SKU) || !c.has(words) {
			continue
		}
		if e == nil || c.date.After(e.date) {
			e = c
		}
	}
	return e, opt.SKU != "" || len(words) > 0
}

func (e *entry) is(id string) bool {
	for _, own := range []string{e.product["id"], e.id, e.product["mpn"], e.product["gtin"]} {
		if own != "" && strings.EqualFold(own, id) {
			return true
		}
	}
	return false
}

func (e *entry) has(words []string) bool {
	title := strings.ToLower(e.title + " " + e.product["title"])
	for _, w := range words {
		if !strings.Contains(title, w) {
			return false
		}
	}
	return true
}

// value is the entry for triggers on any value.
func (e *entry) value() (json.RawMessage, error) {
	date := ""
	if !e.date.IsZero() {
		date = e.date.Format(time.RFC3339)
	}
	id := e.id
	for _, other := range []string{e.product["id"], e.link, e.title} {
		if id == "" {
			id = other
		}
	}
	return json.Marshal(struct {
		ID    string `json:"id"`
		Title string `json:"title"`
		Link  string `json:"link"`
		Date  string `json:"date,omitzero"`
	}{fact.Clip(id, fact.MaxTitle), e.title, fact.Clip(e.link, 2000), date})
}

// reader reads an entry's prices.
type reader struct {
	o       *watch.Observation
	e       *entry
	context price.Context
}

func (r *reader) prices(now time.Time, selected bool) {
	sale, usual := r.e.product["sale_price"], r.e.product["price"]
	switch {
	case sale != "" && r.lasts(now) && r.take(sale, "g:sale_price"):
		if m, ok := r.read(usual, "g:price"); ok {
			if c, same := m.Cmp(r.o.Price); same && c > 0 {
				r.o.List = m
				fact.Note(r.o, extract.FactListPrice, "g:price", m.String())
			}
		}
	case usual != "":
		r.take(usual, "g:price")
	case selected:
		r.take(r.e.title, "title")
	}
}

// lasts reports whether the sale is on: "from/to", or always where nothing is
// said.
func (r *reader) lasts(now time.Time) bool {
	span := r.e.product["sale_price_effective_date"]
	if span == "" {
		return true
	}
	first, last, _ := strings.Cut(strings.ReplaceAll(span, " ", ""), "/")
	from, okFrom := moment(first)
	to, okTo := moment(last)
	if !okFrom || !okTo || now.Before(from) || now.After(to) {
		return false
	}
	r.o.ValidUntil = to
	return true
}

func moment(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05-0700", "2006-01-02T15:04-0700"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// take makes what a field states the price.
func (r *reader) take(text, where string) bool {
	m, ok := r.read(text, where)
	if ok {
		fact.SetPrice(r.o, m, where, "feed")
	}
	return !r.o.Price.IsZero()
}

// read reads a field: "15.00 USD" as the merchants' format has it, or a text.
func (r *reader) read(text, where string) (price.Money, bool) {
	if where != "title" {
		if m, err := price.Parse(text); err == nil {
			return m, true
		}
		if m, err := price.Machine(text, r.context.Currency); err == nil {
			return m, true
		}
	}
	reading := price.ReadText(text, r.context)
	c, ok := reading.Price()
	if !ok || !reading.Alertable {
		if len(reading.Candidates) > 0 {
			fact.Note(r.o, extract.FactNoPrice, where, text)
		}
		return price.Money{}, false
	}
	return c.Amount.Money()
}
