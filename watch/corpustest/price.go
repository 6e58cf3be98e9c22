package corpustest

import "github.com/lastlook/lastlook/watch/price"

// FromReading says in the corpus' words what was read from a text.
func FromReading(r price.Reading) Answer {
	a := Answer{Free: r.Free, Alertable: r.Alertable, Reject: r.Reject, Ambiguous: r.Ambiguous}
	if r.SoldOut {
		a.Availability = "out_of_stock"
	}
	if c, ok := r.Price(); ok {
		a.Price = c.Amount.Number.String()
		a.Currency, a.CurrencyAmbiguous = c.Amount.Currency, c.Amount.CurrencyAmbiguous
		a.PriceKind = string(c.Kind)
		if c.High != nil {
			a.High = c.High.Number.String()
		}
		if c.Tax != "" {
			in := c.Tax == price.TaxIncluded
			a.TaxIncluded = &in
		}
		if !c.Quantity.Number.IsZero() {
			a.Quantity = c.Quantity.Number.String()
		}
	} else if len(r.Candidates) > 0 && !r.Ambiguous {
		a.PriceKind = string(r.Candidates[0].Kind)
	}
	if c, ok := r.First(price.KindList); ok {
		a.ListPrice = c.Amount.Number.String()
	}
	if c, ok := r.UnitPrice(); ok {
		a.UnitPrice, a.Unit = c.Amount.Number.String(), c.Per
		if a.Price == "" && !r.Ambiguous {
			a.Currency, a.CurrencyAmbiguous = c.Amount.Currency, c.Amount.CurrencyAmbiguous
		}
	}
	if c, ok := r.First(price.KindMultibuy); ok && a.UnitPrice == "" {
		if each, err := c.Amount.Number.Quo(c.Quantity.Number); err == nil {
			a.UnitPrice, a.Unit = each.String(), c.Quantity.Unit
		}
	}
	return a
}
