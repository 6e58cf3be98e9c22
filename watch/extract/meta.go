package extract

import (
	"strings"

	"github.com/lastlook/lastlook/watch"
)

// metaFact is what a meta element says.
type metaFact struct{ name, content string }

const maxMetas = 200

// addMeta keeps what a meta element says of a price, a currency or the stock.
func (d *Document) addMeta(name, content string) {
	content = strings.TrimSpace(content)
	if content == "" || len(d.metas) >= maxMetas {
		return
	}
	for _, p := range []string{"product:", "og:price", "og:availability", "og:sale", "og:product", "twitter:label", "twitter:data", "price", "currency", "availability"} {
		if strings.HasPrefix(name, p) {
			d.metas = append(d.metas, metaFact{name, content})
			return
		}
	}
}

// The names under which pages state a price: those of the Open Graph protocol's
// and Facebook's product types, and what shops make of them. What is before
// another is more exact.
var (
	metaSale  = []string{"product:sale_price:amount", "og:sale_price:amount", "product:sale_price"}
	metaPrice = []string{"product:price:amount", "og:price:amount", "product:price", "og:price", "product:price:value", "og:product:price:amount", "price"}
	metaList  = []string{"product:original_price:amount", "og:price:standard_amount", "product:price:standard_amount", "product:list_price:amount", "product:original_price", "og:original_price:amount"}
	metaStock = []string{"product:availability", "og:availability", "product:price:availability", "og:product:availability", "availability"}
	metaSKU   = []string{"product:retailer_item_id", "product:sku", "product:retailer_part_no", "product:mfr_part_no"}
)

// metaFinding is what the page's meta elements state.
func (d *Document) metaFinding() finding {
	f := finding{rule: RuleMeta}
	all := func(names []string) (out []quote) {
		for _, name := range names {
			out = d.metaQuotes(name)
			if len(out) > 0 {
				return out
			}
		}
		return nil
	}
	now, list := all(metaPrice), all(metaList)
	if sale := all(metaSale); len(sale) > 0 {
		// A sale price of nothing, or of as much, is none.
		if cheaper := lower(sale, now); len(cheaper) > 0 {
			if len(list) == 0 {
				list = now
			}
			now = cheaper
		}
	}
	if len(now) == 0 {
		now = d.twitterQuotes()
	}
	f.settle(d, now)
	if len(list) > 0 {
		f.setList(list[0])
	}
	for _, name := range metaStock {
		if f.Availability == "" || f.Availability == watch.Unknown {
			for _, m := range d.metas {
				if m.name == name {
					f.setAvailability(ReadAvailability(m.content), fact{m.content, "meta " + name})
					break
				}
			}
		}
	}
	if f.Availability == "" {
		d.twitterStock(&f)
	}
	for _, name := range metaSKU {
		if sku := d.meta(name); sku != "" && f.SKU == "" {
			f.SKU = shorten(sku)
			note(&f.Observation, FactSKU, fact{sku, "meta " + name})
		}
	}
	return f
}

func (d *Document) meta(name string) string {
	for _, m := range d.metas {
		if m.name == name {
			return m.content
		}
	}
	return ""
}

// metaQuotes reads the amounts of one name, each with the currency that follows
// it, or else the only one that is stated: prices in several currencies come as a
// list of pairs.
func (d *Document) metaQuotes(name string) (out []quote) {
	base := strings.TrimSuffix(strings.TrimSuffix(name, ":amount"), ":value")
	follows := func(n string) bool { return n == base+":currency" || n == base+"_currency" }
	var fallback fact
	for _, n := range []string{base + ":currency", "product:price:currency", "og:price:currency", "product:currency", "og:currency", "pricecurrency", "currency", "price:currency"} {
		if c := d.meta(n); c != "" && !fallback.ok() {
			fallback = fact{c, "meta " + n}
		}
	}
	for i, m := range d.metas {
		if m.name != name || len(out) == maxQuotes {
			continue
		}
		currency := fallback
		for _, next := range d.metas[i+1:] {
			if next.name == name {
				break
			}
			if follows(next.name) {
				currency = fact{next.content, "meta " + next.name}
				break
			}
		}
		out = append(out, d.readQuote(fact{m.content, "meta " + name}, currency, false))
	}
	return out
}

// lower returns the quotes that are below all of others in their currency.
func lower(quotes, others []quote) (out []quote) {
	for _, q := range quotes {
		ok := q.err == nil && q.money.Positive()
		for _, o := range others {
			if c, same := q.money.Cmp(o.money); same && o.err == nil && c >= 0 {
				ok = false
			}
		}
		if ok {
			out = append(out, q)
		}
	}
	return out
}

// twitterLabels are what pages call the price in the data of a Twitter card.
var twitterLabels = " price preis prix precio prezzo preco prijs pris cena fiyat hinta ar pret 価格 価格(税込) 价格 價格 가격 цена "

// twitterQuotes reads the price of a Twitter card.
func (d *Document) twitterQuotes() []quote {
	for _, m := range d.metas {
		i, found := strings.CutPrefix(m.name, "twitter:label")
		if !found || !strings.Contains(twitterLabels, " "+strings.Trim(plainWords(m.content), " :")+" ") {
			continue
		}
		if text := d.meta("twitter:data" + i); text != "" {
			return d.textQuotes(fact{text, "meta twitter:data" + i})
		}
	}
	return nil
}

// twitterStock reads the availability of a Twitter card.
func (d *Document) twitterStock(f *finding) {
	for _, m := range d.metas {
		i, found := strings.CutPrefix(m.name, "twitter:data")
		label := plainWords(d.meta("twitter:label" + i))
		if found && (strings.Contains(label, "avail") || strings.Contains(label, "stock") || strings.Contains(label, "verfug") || strings.Contains(label, "dispo")) {
			f.setAvailability(ReadAvailability(m.content), fact{m.content, "meta " + m.name})
		}
	}
}
