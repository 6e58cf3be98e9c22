package extract

import (
	"errors"
	"strings"

	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/price"
)

// The rules by which a price is found, in the order in which they count.
const (
	RuleSelector  = "selector"
	RuleJSONLD    = "json_ld"
	RuleMicrodata = "microdata"
	RuleMeta      = "meta"
	RuleVisible   = "visible"
)

var (
	errNoCurrency    = errors.New("no currency stands beside it, and none is guessed")
	errWhichCurrency = errors.New("several currencies have that symbol, and nothing tells which it is")
	errOtherCurrency = errors.New("the text names another currency than what stands beside it")
	errNegative      = errors.New("it is below zero")
	errZero          = errors.New("it is 0, for something that cannot be ordered")
)

// finding is what one rule read: an observation of its own, and what the others
// may complete.
type finding struct {
	watch.Observation
	rule string
	// err says why the rule found no product.
	err error
	// listing says that it found a list.
	listing bool
	// bare are the prices that only lack a currency.
	bare []quote
	// pricePointed and stockPointed say that the user points at the element.
	pricePointed, stockPointed bool
	// elsewhere says that the offers are another variant's.
	elsewhere bool
	// own says that the product's address is the page's.
	own bool

	cards  int    // visible prices that are other products'
	inMain bool   // what is said of the stock stands in the product's box
	button stated // what the visible button says of the stock
}

func (f *finding) setAvailability(is watch.Availability, from fact) {
	if is != watch.Unknown {
		f.Availability = is
		note(&f.Observation, FactAvailability, from)
	}
}

func (f *finding) setList(q quote) {
	if q.err == nil && q.money.Positive() {
		f.List = q.money
		note(&f.Observation, FactListPrice, q.amount)
	}
}

func (f *finding) setUnit(u *unitQuote) {
	if u != nil && u.err == nil && u.money.Positive() {
		f.Unit = watch.UnitPrice{Price: u.money, Per: u.per}
		note(&f.Observation, FactUnitPrice, u.amount)
	}
}

func (f *finding) setTax(q quote) {
	switch q.tax {
	case "true":
		f.Tax = price.TaxIncluded
	case "false":
		f.Tax = price.TaxExcluded
	}
}

// settle takes the price if the quotes are one; several are ambiguous.
func (f *finding) settle(d *Document, quotes []quote) {
	quotes = d.usable(f, distinct(quotes))
	if hint := d.page.Hint.Currency; hint != "" {
		quotes = without(quotes, func(q *quote) bool { return q.err == nil && !strings.EqualFold(q.money.Currency(), hint) })
	}
	known := 0
	for i := range quotes {
		if quotes[i].err == nil {
			known++
		}
	}
	switch {
	case len(quotes) == 1 && known == 1:
		q := quotes[0]
		f.Price, f.Rule = q.money, f.rule
		note(&f.Observation, FactPrice, q.amount)
		note(&f.Observation, FactCurrency, q.currency)
		f.setTax(q)
		if q.high != nil {
			f.High = *q.high
			note(&f.Observation, FactHigh, q.amount)
		}
	case len(quotes) > 1:
		f.Ambiguous = known > 1
		for i, q := range quotes {
			if i < maxEvidence {
				note(&f.Observation, FactAmbiguous, fact{q.shown(), q.amount.where})
			}
		}
	}
	if len(quotes) == 1 && quotes[0].err != nil {
		if quotes[0].bare != nil {
			f.bare = quotes
		}
		note(&f.Observation, FactNoPrice, fact{quotes[0].shown() + ": " + quotes[0].err.Error(), quotes[0].amount.where})
	}
}

// shown is a quote as evidence shows it.
func (q *quote) shown() string {
	if q.currency.ok() && !strings.Contains(strings.ToUpper(q.amount.text), strings.ToUpper(q.currency.text)) {
		return q.amount.text + " " + q.currency.text
	}
	return q.amount.text
}

// usable drops what is no price. 0 is one for what can be had; shops write it too
// where they have none to tell.
func (d *Document) usable(f *finding, quotes []quote) (kept []quote) {
	for _, q := range quotes {
		switch {
		case q.err == nil && q.money.Amount().IsNeg():
			note(&f.Observation, FactNoPrice, fact{q.shown() + ": " + errNegative.Error(), q.amount.where})
		case q.err == nil && !q.money.Positive() && !q.free:
			note(&f.Observation, FactNoPrice, fact{q.shown() + ": " + errZero.Error(), q.amount.where})
			note(&f.Observation, FactCurrency, q.currency)
		default:
			kept = append(kept, q)
		}
	}
	return kept
}

// take takes what price elements state.
func (f *finding) take(d *Document, p priced) {
	f.settle(d, p.now)
	if p.list != nil {
		f.setList(*p.list)
	}
	f.setUnit(p.unit)
	for i, s := range p.none {
		if i < maxEvidence {
			note(&f.Observation, s.name, s.fact)
		}
	}
	if p.soldOut && f.Availability == "" {
		f.setAvailability(watch.OutOfStock, fact{"sold out", "the text at the price"})
	}
}

// price of the finding, if it is settled.
func (f *finding) settled() bool { return f.err == nil && !f.Price.IsZero() }
