package price_test

import (
	"fmt"

	"github.com/lastlook/lastlook/watch/price"
)

func ExampleReadText() {
	text := "UVP 1.299,00 € jetzt nur 999,00 € inkl. MwSt. (9,99 €/kg) oder 36 x 27,75 €, ab 50 € versandkostenfrei"
	r := price.ReadText(text, price.Context{Locale: "de-DE"})
	for _, c := range r.Candidates {
		m, _ := c.Amount.Money()
		fmt.Printf("%s: %s, per %q\n", c.Kind, m, c.Per)
	}
	if p, ok := r.Price(); ok {
		m, _ := p.Amount.Money()
		fmt.Println("the price:", m, "taxes", p.Tax)
	}

	// A dollar is whose? Nobody guesses.
	r = price.ReadText("$129.00", price.Context{})
	fmt.Println(r.Candidates[r.Choice].Amount.CurrencyAmbiguous, r.Alertable)
	r = price.ReadText("$129.00", price.Context{Locale: "en-CA"})
	fmt.Println(r.Candidates[r.Choice].Amount.Currency, r.Alertable)
	// Output:
	// list: 1299.00 EUR, per ""
	// price: 999.00 EUR, per ""
	// unit: 9.99 EUR, per "kg"
	// installment: 27.75 EUR, per ""
	// shipping: 50.00 EUR, per ""
	// the price: 999.00 EUR taxes included
	// true false
	// CAD true
}
