package corpustest

import (
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/price"
)

// Options are the options of the case's listing.
func (c Ctx) Options() watch.Options {
	return watch.Options{
		Variant: c.Variant, SKU: c.SKU, Locale: c.Locale, Currency: c.Currency,
		PriceSelector: c.PriceSelector, StockSelector: c.StockSelector, PricePath: c.PricePath, StockPath: c.StockPath,
	}
}

// OfObservation is the answer that a look gave. An amount whose currency nobody
// knows is no price of an observation; its evidence still shows it, and so does the
// answer.
func OfObservation(o watch.Observation) Answer {
	a := Answer{Availability: string(watch.Unknown), Ambiguous: o.Ambiguous, Unit: o.Unit.Per}
	if o.Availability != "" {
		a.Availability = string(o.Availability)
	}
	amount := func(m price.Money) string {
		if m.IsZero() {
			return ""
		}
		return m.Amount().String()
	}
	a.Price, a.Currency = amount(o.Price), o.Price.Currency()
	a.High, a.ListPrice, a.UnitPrice = amount(o.High), amount(o.List), amount(o.Unit.Price)
	if o.Quantity.Unit != "" {
		a.Quantity = o.Quantity.Amount.String()
	}
	if o.Tax != "" {
		included := o.Tax == price.TaxIncluded
		a.TaxIncluded = &included
	}
	for _, e := range o.Evidence {
		switch e.Fact {
		case "amount":
			if a.Price == "" && !o.Ambiguous {
				a.Price = e.Text
			}
		case "currency":
			if a.Currency == "" {
				a.Currency = e.Text
			}
		}
	}
	return a
}
