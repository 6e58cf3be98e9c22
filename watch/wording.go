package watch

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/watch/price"
)

// All words that a message of a watch is made of stand in this file.

// Word writes the message from the value just looked at. It is pure.
func Word(c lastlook.Case[Value]) lastlook.Message {
	e, ev := evaluateCase(c)
	o := &ev.Seen
	news := ev.News()
	var clauses []string
	aboutPrice := false
	for i := range news {
		clauses = append(clauses, clause(&e.Watch, &news[i], tellingOf(c.Baseline)))
		aboutPrice = aboutPrice || priced(news[i].Trigger.Kind)
	}
	body := strings.Join(clauses, "; ")
	switch {
	case o.Price.IsZero():
	case aboutPrice:
		body = o.Price.String() + ": " + body
	case len(news) == 1 && news[0].Trigger.Kind == BackInStock:
		body += " at " + o.Price.String()
	}
	if a := o.Availability; a != "" && a != Unknown && !strings.Contains(body, "in stock") {
		body += " (" + people(a) + ")"
	}
	data, err := json.Marshal(newFacts(e, &ev, c.Baseline))
	if err != nil {
		panic(err) // plain data always encodes; a panic ends this attempt with the text
	}
	return lastlook.Message{Title: firstOf(e.Watch.Name, o.Title, e.Listing.URL), Body: capitalize(body), URL: e.Listing.URL, Data: data}
}

// wordUnreadable says that a listing cannot be read. It is pure.
func wordUnreadable(c lastlook.Case[Unreadable]) lastlook.Message {
	e := c.Value.entry
	title := ""
	if e.Last != nil {
		title = e.Last.Title
	}
	data, err := json.Marshal(map[string]any{"watch": e.Watch.ID, "unreadable_since": c.Value.Since, "why": c.Value.Why})
	if err != nil {
		panic(err) // plain data always encodes; a panic ends this attempt with the text
	}
	return lastlook.Message{Title: firstOf(e.Watch.Name, title, e.Listing.URL), URL: e.Listing.URL, Data: data,
		Body: fmt.Sprintf("This has not been readable since %s: %s. Nothing can be told of it until it is.",
			c.Value.Since.UTC().Format("2006-01-02 15:04 UTC"), strings.TrimSuffix(c.Value.Why, "."))}
}

// priced reports whether a kind's clause follows the price.
func priced(k Kind) bool {
	switch k {
	case Below, Drop, Rise, LowestInDays, UnitBelow, EffectiveBelow:
		return true
	case BackInStock, AnyChange, ValueIs:
	}
	return false
}

// clause says what is news of one trigger.
func clause(w *Watch, f *Finding, told Telling) string {
	t := &f.Trigger
	switch t.Kind {
	case Below:
		text := "below your target of " + t.Target.String()
		if f.Group != nil && f.Group.Shops > 1 {
			text += ", " + f.Group.String()
		}
		return text
	case UnitBelow:
		return fmt.Sprintf("%s per %s, below your target of %s per %s", rounded(f.Figure), t.Per, t.Target, t.Per)
	case EffectiveBelow:
		return fmt.Sprintf("%s after points, below your target of %s", f.Figure, t.Target)
	case Drop, Rise:
		return fmt.Sprintf("%s %s than %s", t.howMuch(), direction(t.Kind), earlier(t, f, told))
	case LowestInDays:
		return lowestClause(t, f)
	case BackInStock:
		return "back in stock"
	case AnyChange:
		return changeClause(f)
	case ValueIs:
		return fmt.Sprintf("now %s: %s", cut(f.memory.LastValue, maxText), t.When)
	}
	return t.String()
}

// earlier names the price that a move is measured from.
func earlier(t *Trigger, f *Finding, told Telling) string {
	switch t.since() {
	case Previous:
		return f.Ref.String() + " before"
	case First:
		return f.Ref.String() + " at first"
	case LastNotified:
	}
	if sameMoney(f.Ref, told.Price) {
		return "the " + f.Ref.String() + " told last"
	}
	return f.Ref.String() + " at first"
}

func lowestClause(t *Trigger, f *Finding) string {
	days := fmt.Sprintf("%d days", t.Days)
	if f.Covered < t.Days {
		days = fmt.Sprintf("the %d days that are known of the last %d", f.Covered, t.Days)
	}
	if sameMoney(f.Ref, f.memory.Last) {
		return "as low as never below in " + days
	}
	return "the lowest price in " + days + ", " + f.Ref.String() + " before"
}

func changeClause(f *Finding) string {
	var out []string
	if f.is.priceDiffers(&f.was) {
		out = append(out, "the price is "+f.is.price.String()+", it was "+f.was.price.String())
	}
	if f.is.stockDiffers(&f.was) {
		out = append(out, "it is "+people(f.is.stock)+", it was "+people(f.was.stock))
	}
	if f.is.valueDiffers(&f.was) {
		out = append(out, "now "+cut(f.is.value, maxText)+", it was "+cut(f.was.value, maxText))
	}
	return strings.Join(out, "; ")
}

// facts are a message's data, for programs.
type facts struct {
	Watch        string          `json:"watch"`
	Reasons      []string        `json:"reasons"`
	Price        price.Money     `json:"price"`
	Availability Availability    `json:"availability"`
	Previous     price.Money     `json:"previous,omitzero"`
	Effective    price.Money     `json:"effective,omitzero"`
	UnitPrice    *UnitPrice      `json:"unit_price,omitzero"`
	CoveredDays  int             `json:"covered_days,omitzero"`
	Value        json.RawMessage `json:"value,omitzero"`
	Group        *Cheapest       `json:"group,omitzero"`
}

// newFacts gathers what a message tells. Previous is what the price is compared
// with: by the triggers, or else what was told last.
func newFacts(e *Entry, ev *Evaluation, baseline *Value) facts {
	d := facts{Watch: e.Watch.ID, Price: ev.Seen.Price, Availability: ev.Seen.Availability, Previous: tellingOf(baseline).Price, Value: ev.Seen.Value}
	for _, f := range ev.News() {
		d.Reasons = append(d.Reasons, string(f.Trigger.Kind))
		switch f.Trigger.Kind {
		case EffectiveBelow:
			d.Effective = f.Figure
		case UnitBelow:
			d.UnitPrice = &UnitPrice{Price: f.Figure, Per: f.Trigger.Per}
		case Drop, Rise:
			d.Previous = f.Ref
		case LowestInDays:
			d.CoveredDays = f.Covered
		case Below:
			d.Group = f.Group
		case BackInStock, AnyChange, ValueIs:
		}
	}
	if p, why := effectivePrice(&ev.Seen, e.Watch.Points); d.Effective.IsZero() && len(e.Watch.Points)+len(ev.Seen.Points) > 0 && why == "" {
		d.Effective = p
	}
	return d
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
