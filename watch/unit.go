package watch

import (
	"strings"

	"github.com/govalues/decimal"

	"github.com/lastlook/lastlook/watch/price"
)

// measure is what a unit measures.
type measure uint8

const (
	mass measure = iota + 1
	volume
	length
	area
	count
)

// unit is a unit by what it measures, and how much of the measure's own unit
// (kg, l, m, m², piece) it is.
type unit struct {
	of    measure
	ratio string
}

// units are the units in which shops state quantities.
var units = map[string]unit{
	"kg": {mass, "1"}, "g": {mass, "0.001"}, "mg": {mass, "0.000001"}, "lb": {mass, "0.45359237"}, "oz": {mass, "0.028349523125"},
	"l": {volume, "1"}, "dl": {volume, "0.1"}, "cl": {volume, "0.01"}, "ml": {volume, "0.001"},
	"m": {length, "1"}, "cm": {length, "0.01"}, "mm": {length, "0.001"},
	"m2": {area, "1"}, "m²": {area, "1"},
	"piece": {count, "1"}, "pieces": {count, "1"}, "pc": {count, "1"}, "pcs": {count, "1"}, "stk": {count, "1"}, "st": {count, "1"},
	"item": {count, "1"}, "items": {count, "1"}, "unit": {count, "1"}, "units": {count, "1"}, "pack": {count, "1"}, "tablet": {count, "1"},
	"roll": {count, "1"}, "sheet": {count, "1"}, "dose": {count, "1"}, "wash": {count, "1"}, "load": {count, "1"},
}

// unitOf reads a unit such as "kg" or "100 g": what it measures, and how much.
func unitOf(s string) (of measure, size decimal.Decimal, ok bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	digits := len(s) - len(strings.TrimLeft(s, "0123456789."))
	size = decimal.MustNew(1, 0)
	if digits > 0 {
		n, err := decimal.Parse(s[:digits])
		if err != nil || !n.IsPos() {
			return 0, size, false
		}
		size = n
	}
	u, ok := units[strings.TrimSpace(s[digits:])]
	if !ok {
		return 0, size, false
	}
	ratio, err := decimal.Parse(u.ratio)
	if err != nil {
		return 0, size, false
	}
	size, err = size.Mul(ratio)
	return u.of, size, err == nil
}

// unitPrice returns the price of a look per unit: the stated one, or else what
// the price and the quantity come to; why says what is missing.
func unitPrice(o *Observation, per string) (p price.Money, why string) {
	of, size, ok := unitOf(per)
	if !ok {
		return p, "nobody knows the unit " + per
	}
	if !o.Unit.Price.IsZero() {
		if statedOf, stated, ok := unitOf(o.Unit.Per); ok && statedOf == of {
			return scaled(o.Unit.Price, size, stated)
		}
	}
	if o.Quantity.Unit == "" {
		return p, "the page does not say how much one buys"
	}
	boughtOf, one, ok := unitOf(o.Quantity.Unit)
	if !ok || boughtOf != of || !o.Quantity.Amount.IsPos() {
		return p, "what one buys is stated in " + o.Quantity.Unit + ", not in " + per
	}
	bought, err := o.Quantity.Amount.Mul(one)
	if err != nil {
		return p, "the quantity is too large"
	}
	return scaled(o.Price, size, bought)
}

// scaled returns what size costs if of costs p.
func scaled(p price.Money, size, of decimal.Decimal) (price.Money, string) {
	amount, err := p.Amount().Mul(size)
	if err == nil {
		amount, err = amount.Quo(of)
	}
	if err != nil {
		return price.Money{}, "the price per unit is out of reach"
	}
	return withAmount(p, amount)
}

// withAmount returns another amount of money in the currency of p.
func withAmount(p price.Money, amount decimal.Decimal) (price.Money, string) {
	m, err := price.New(amount.Trim(0).String(), p.Currency())
	if err != nil {
		return price.Money{}, "an amount is out of reach"
	}
	return m, ""
}
