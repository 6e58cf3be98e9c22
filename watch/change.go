package watch

import (
	"encoding/json"

	"github.com/govalues/decimal"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/watch/condition"
	"github.com/lastlook/lastlook/watch/price"
)

// askChange asks whether anything is another than was told last or, until
// something was told, than was seen first. What a look does not state has not
// changed.
func (q *question) askChange() Finding {
	m := q.s.Memory
	seen := known{q.o.Price, availabilityKnown(q.o.Availability), canonicalValue(q.o.Value)}
	if seen == (known{}) {
		return Finding{Why: "the page states no price, no stock and no value"}
	}
	if m.First.IsZero() {
		m.First = seen.price
	}
	if m.Availability == "" {
		m.Availability = seen.stock
	}
	if m.FirstValue == "" {
		m.FirstValue = seen.value
	}
	was := known{m.First, m.Availability, m.FirstValue}
	if told := q.b.Told; !told.At.IsZero() {
		if told.Price.Currency() == m.First.Currency() && !told.Price.IsZero() {
			was.price = told.Price
		}
		if a := availabilityKnown(told.Availability); a != "" {
			was.stock = a
		}
		if v := canonicalValue(told.Value); v != "" {
			was.value = v
		}
	}
	f := Finding{Answer: DoesNotHold, Why: "nothing has changed", Ref: was.price, memory: m, relative: true, was: was, is: seen}
	if seen.differs(&was) {
		f.Answer, f.Why = Holds, ""
	}
	return f
}

// known is what a look states that may change.
type known struct {
	price price.Money
	stock Availability
	value string
}

func (k *known) priceDiffers(was *known) bool {
	c, ok := k.price.Cmp(was.price)
	return ok && c != 0
}

func (k *known) stockDiffers(was *known) bool {
	return k.stock != "" && was.stock != "" && k.stock != was.stock
}

func (k *known) valueDiffers(was *known) bool {
	return k.value != "" && was.value != "" && k.value != was.value
}

func (k *known) differs(was *known) bool {
	return k.priceDiffers(was) || k.stockDiffers(was) || k.valueDiffers(was)
}

// availabilityKnown returns an availability as it may change: whether few are
// left is no change, and what is not known is none.
func availabilityKnown(a Availability) Availability {
	switch a {
	case InStock, Limited:
		return InStock
	case PreOrder, BackOrder, OutOfStock, Discontinued:
		return a
	case Unknown:
	}
	return ""
}

// canonicalValue returns a value by which it can be compared; "" if there is none.
func canonicalValue(v json.RawMessage) string {
	if len(v) == 0 {
		return ""
	}
	c, err := lastlook.Canonical(v)
	if err != nil {
		return ""
	}
	return string(c)
}

// validCondition compiles a condition when it is saved.
func validCondition(when string) error {
	_, err := condition.Compile(when)
	return err
}

// askValue asks the user's condition on the value.
func (q *question) askValue() Finding {
	now := canonicalValue(q.o.Value)
	if now == "" {
		return Finding{Why: "the source gave no value"}
	}
	c, err := condition.Compile(q.t.When)
	if err != nil {
		return Finding{Why: err.Error()}
	}
	m := q.s.Memory.see(now)
	told := canonicalValue(q.b.Told.Value)
	last := told
	if last == "" {
		last = m.FirstValue
	}
	f := Finding{memory: m, relative: c.Uses("last"), same: now == told}
	yes, err := c.Holds(condition.Values{Now: json.RawMessage(now), Last: json.RawMessage(last), Previous: json.RawMessage(m.PreviousValue),
		First: json.RawMessage(m.FirstValue), Low: json.RawMessage(m.LowValue), High: json.RawMessage(m.HighValue)})
	switch {
	case err != nil:
		f.Why = err.Error()
	case yes:
		f.Answer = Holds
	default:
		f.Answer, f.Why = DoesNotHold, "the value is "+cut(now, maxShown)+", for which \""+cut(q.t.When, maxShown)+"\" does not hold"
	}
	return f
}

// see returns a memory that has seen a value.
func (m Memory) see(now string) Memory {
	if m.FirstValue == "" {
		m.FirstValue, m.LastValue, m.PreviousValue = now, now, now
	}
	if m.LastValue != now {
		m.PreviousValue, m.LastValue = m.LastValue, now
	}
	n, err := decimal.Parse(now)
	if err != nil {
		return m
	}
	if low, err := decimal.Parse(m.LowValue); err != nil || n.Cmp(low) < 0 {
		m.LowValue = now
	}
	if high, err := decimal.Parse(m.HighValue); err != nil || n.Cmp(high) > 0 {
		m.HighValue = now
	}
	return m
}
