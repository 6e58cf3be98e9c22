package watch

import (
	"fmt"

	"github.com/lastlook/lastlook/watch/price"
)

// Warnings says what keeps the triggers of a watch from ever holding, as far as
// a look and the lowest prices before it show it. The watch is accepted all the
// same: pages change.
func Warnings(w *Watch, o *Observation, h History) []string {
	var out []string
	// On the first day, the lowest price is about the one that stands there: that
	// the target lies under it is what watches are for.
	var lowest price.Money
	if h.days() > 1 {
		lowest = h.LowestOf(o.Price.Currency())
	}
	for i := range w.Triggers {
		out = append(out, w.Triggers[i].warnings(w, o, lowest)...)
	}
	return out
}

func (t *Trigger) warnings(w *Watch, o *Observation, lowest price.Money) (out []string) {
	cannot := func(why string) {
		out = append(out, fmt.Sprintf("%s: %q cannot hold until it does", why, t))
	}
	_, stockKnown := o.Availability.Orderable()
	switch t.Kind {
	case BackInStock:
		if !stockKnown {
			cannot(noStock)
		}
		return out
	case ValueIs:
		if len(o.Value) == 0 {
			cannot("the source gives no value")
		}
		return out
	case AnyChange:
		return out
	case Below, UnitBelow, EffectiveBelow, Drop, Rise, LowestInDays:
	}
	asked := t.Target
	if asked.IsZero() {
		asked = t.Amount
	}
	switch {
	case o.Price.IsZero():
		cannot("the page states no certain price")
	case !asked.IsZero() && o.Price.Currency() != asked.Currency():
		out = append(out, fmt.Sprintf("the page states its price in %s, the target is in %s: %q cannot hold; remove the watch and give the target in %s",
			o.Price.Currency(), asked.Currency(), t, o.Price.Currency()))
	case t.Kind == Below && less(asked, lowest):
		out = append(out, fmt.Sprintf("the lowest price ever seen here is %s: %q may take long to hold", lowest, t))
	}
	if t.Kind == UnitBelow && !o.Price.IsZero() {
		if _, why := unitPrice(o, t.Per); why != "" {
			cannot(why)
		}
	}
	if !stockKnown && !w.IgnoreStock {
		out = append(out, fmt.Sprintf("%s: %q cannot hold until it does; remove the watch and add it again with --ignore-stock to be told by the price alone", noStock, t))
	}
	return out
}

// days counts the days of a history.
func (h History) days() (n int) {
	for i := range h.Lows { // oldest first
		if i == 0 || h.Lows[i].Day != h.Lows[i-1].Day {
			n++
		}
	}
	return n
}

// LowestOf returns the lowest price of a history in the currency, whether or not
// it could be ordered at that; none if it has none.
func (h History) LowestOf(currency string) (low price.Money) {
	for i := range h.Lows {
		if p := h.Lows[i].Price; p.Currency() == currency && (low.IsZero() || less(p, low)) {
			low = p
		}
	}
	return low
}
