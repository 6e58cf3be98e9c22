package demo

import (
	"testing"

	"github.com/lastlook/lastlook/watch"
)

// TestPagesReadTrue: what the extractor reads of a shop's page is what is true in
// that shop, in every market.
func TestPagesReadTrue(t *testing.T) {
	for i := range markets {
		p := &product{id: "p07", title: "Bike light", market: &markets[i]}
		for _, f := range []fact{{cents: 49999, stock: watch.InStock}, {cents: 50000, stock: watch.InStock}, {cents: 61020, stock: watch.OutOfStock}} {
			o, err := p.read(t.Context(), f)
			if err != nil {
				t.Errorf("%s: %v", p.market.host, err)
				continue
			}
			if o.Price.String() != p.market.money(f.cents).String() || o.Availability != f.stock || o.Title != p.title {
				t.Errorf("%s: read %s, %s, %q; true is %s, %s", p.market.host, o.Price, o.Availability, o.Title, p.market.money(f.cents), f.stock)
			}
		}
	}
}

func TestLocal(t *testing.T) {
	for i, want := range []string{"1.234,50\u00a0€", "$1,234.50", "123,450円", "3\u202f703,50\u00a0€", "R$\u00a06.172,50", "₹3,70,350.00"} {
		m := &markets[i]
		if got := m.local(m.minor(123450)); got != want {
			t.Errorf("%s: %q, want %q", m.host, got, want)
		}
	}
}
