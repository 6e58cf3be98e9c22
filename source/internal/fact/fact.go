// Package fact is how sources that are answered in data write down what they
// read: evidence, money from numbers, availability from words.
package fact

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"unicode/utf8"

	"github.com/govalues/decimal"

	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/extract"
	"github.com/lastlook/lastlook/watch/price"
)

// Bounds of what is kept of a text.
const (
	MaxTitle = 300
	maxShown = 80
)

// Note adds evidence of a fact, unless there is nothing to say.
func Note(o *watch.Observation, name, where, text string) {
	if text = Clip(text, maxShown); text != "" {
		o.Evidence = append(o.Evidence, watch.Evidence{Fact: name, Where: Clip(where, 2*maxShown), Text: text})
	}
}

// Clip makes one line of a text, of limit characters at most.
func Clip(s string, limit int) string {
	if len(s) > 8*limit {
		s = s[:8*limit]
	}
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	if utf8.RuneCountInString(s) > limit {
		s = string([]rune(s)[:limit-1]) + "…"
	}
	return s
}

// SetPrice takes an amount for the price. Nothing is taken that is below zero, or
// that is 0 for something that cannot be ordered: shops write 0 where they have no
// price to tell.
func SetPrice(o *watch.Observation, m price.Money, where, rule string) {
	orderable, _ := o.Availability.Orderable()
	switch {
	case m.IsZero():
	case m.Amount().IsNeg():
		Note(o, extract.FactNoPrice, where, m.Amount().String()+": it is below zero")
	case !m.Positive() && !orderable:
		Note(o, extract.FactNoPrice, where, m.Amount().String()+": it is 0, for something that cannot be ordered")
	default:
		o.Price, o.Rule = m, rule
		Note(o, extract.FactPrice, where, m.Amount().String())
		Note(o, extract.FactCurrency, where, m.Currency())
	}
}

// Hundredths is an amount in hundredths, whatever the currency's own digits.
func Hundredths(n json.Number, currency string) (price.Money, error) {
	d, err := Scaled(n, 2)
	if err != nil {
		return price.Money{}, err
	}
	return price.New(d.String(), currency)
}

// Scaled is a whole number, with its last digits after the point.
func Scaled(n json.Number, digits int) (decimal.Decimal, error) {
	d, err := decimal.Parse(n.String())
	if err != nil || d.Scale() > 0 || strings.ContainsAny(n.String(), "eE") {
		return decimal.Decimal{}, fmt.Errorf("%.40q is no whole number of hundredths", n.String())
	}
	one, err := decimal.New(1, digits)
	if err != nil {
		return decimal.Decimal{}, err
	}
	d, err = d.Mul(one)
	if err != nil {
		return decimal.Decimal{}, err
	}
	return d.Trim(0), nil
}

// Number is an amount that stands as a number in data: its point is a decimal
// point, so that nothing of it is open.
func Number(n json.Number, currency string) (price.Money, error) {
	m, err := price.Machine(n.String(), currency)
	if err == nil {
		return m, nil
	}
	d, perr := price.ParseMachine(n.String())
	if perr != nil {
		return price.Money{}, perr
	}
	return price.New(d.String(), currency)
}

// Availability reads what a service says of stock: a word, an address of
// schema.org's, a count, or yes and no.
func Availability(v any) watch.Availability {
	switch v := v.(type) {
	case bool:
		return has(v)
	case json.Number:
		d, err := price.ParseMachine(v.String())
		if err != nil {
			return watch.Unknown
		}
		return has(d.IsPos())
	case int: // computed by a path, as are the next two
		return has(v > 0)
	case float64:
		return has(v > 0)
	case *big.Int:
		return has(v.Sign() > 0)
	case string:
		return words(v)
	}
	return watch.Unknown
}

func has(yes bool) watch.Availability {
	if yes {
		return watch.InStock
	}
	return watch.OutOfStock
}

func words(s string) watch.Availability {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > 200 {
		return watch.Unknown
	}
	switch strings.ToLower(s) {
	case "true", "yes", "y":
		return watch.InStock
	case "false", "no", "n", "none":
		return watch.OutOfStock
	}
	if d, err := price.ParseMachine(s); err == nil {
		return has(d.IsPos())
	}
	return extract.ReadAvailability(s)
}
