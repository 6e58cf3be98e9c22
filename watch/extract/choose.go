package extract

import (
	"context"
	"errors"
	"strings"

	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/price"
)

// The facts of which an observation's evidence speaks.
const (
	FactPrice        = "price"
	FactCurrency     = "currency"
	FactAvailability = "availability"
	FactTitle        = "title"
	FactImage        = "image"
	FactSKU          = "sku"
	FactURL          = "url"
	// FactHigh is the upper end of a range whose lower end is the price.
	FactHigh = "high"
	// FactAmbiguous is one of several answers to the question for the price (or
	// the availability): none was taken.
	FactAmbiguous = "ambiguous"
	// FactNoPrice is an amount that is no price, and why.
	FactNoPrice = "no_price"
	// FactTaxIncluded says whether tax is in the price: "true" or "false".
	FactTaxIncluded = "tax_included"
	// These are amounts that are stated beside the price and never are it.
	FactListPrice     = "list_price"
	FactMemberPrice   = "member_price"
	FactUnitPrice     = "unit_price"
	FactQuantityPrice = "quantity_price"
	FactInstalment    = "instalment"
	FactOtherPrice    = "other_price"
)

// maxEvidence bounds how many answers are listed where there are several.
const maxEvidence = 8

var (
	errNoCurrency = errors.New("no currency stands beside it, and none is guessed")
	errNegative   = errors.New("it is below zero")
	errZero       = errors.New("it is 0, for something that cannot be ordered")
)

// Observe reads what a page states of its product: [Parse], then
// [Document.Product].
func Observe(ctx context.Context, p Page) (watch.Observation, error) {
	d, err := Parse(ctx, p)
	if err != nil {
		return watch.Observation{}, err
	}
	return d.Product(ctx)
}

// Product returns what the page states of the product that it is about. The
// price is left out where the page states none, or several; the evidence tells
// which. At is left to who fetched the page.
//
// The error is a [NotProductError] or a [NoOfferError] if the page can be read
// and states nothing.
func (d *Document) Product(ctx context.Context) (watch.Observation, error) {
	if d.urls.sentHome {
		return watch.Observation{}, &NotProductError{Reason: HomePage}
	}
	g, err := readGraph(ctx, d.blocks)
	if err != nil {
		return watch.Observation{}, err
	}
	p, several, err := g.findProduct(d)
	switch {
	case err != nil:
		if n, ok := errors.AsType[*NotProductError](err); ok && d.urls.callsHome {
			n.Reason = HomePage
		}
		return watch.Observation{}, err
	case p == nil:
		return d.undecided(several), nil
	case d.urls.callsHome && p.matches(d) == 0:
		// A home page has products too, and none of them is what was asked for.
		return watch.Observation{}, &NotProductError{Reason: HomePage}
	}
	c := &choice{d: d, collector: g.collect(p)}
	c.choose()
	return c.observe(p), nil
}

// undecided is the observation of a page that is about several products.
func (d *Document) undecided(several []*product) watch.Observation {
	o := watch.Observation{Availability: watch.Unknown, Title: d.name()}
	for _, p := range several {
		f := p.title()
		note(&o, FactAmbiguous, fact{"a product of its own: " + f.text, p.nodes[0].where})
	}
	return o
}

// name is what the page, if not the product, is called.
func (d *Document) name() string {
	for _, s := range []string{d.ogTitle, d.h1, d.title} {
		if s != "" {
			return s
		}
	}
	return ""
}

// choice decides between a product's offers.
type choice struct {
	d *Document
	*collector
	variant bool // the offers are those of the variant that was asked for

	quotes    []quote // the distinct prices: one, or it is undecided
	high      *quote
	said      []said
	avail     []stated
	elsewhere bool // all offers are for other variants than the one asked for
}

func (c *choice) choose() {
	c.chooseVariant()
	// New things are meant unless only used ones are offered.
	c.keep(func(o *offer) bool { return !o.used })
	if cur := c.d.page.Hint.Currency; cur != "" {
		c.keep(func(o *offer) bool {
			return len(o.quotes) > 0 && strings.EqualFold(o.quotes[0].money.Currency(), cur)
		})
	}
	c.choosePrice()
	c.chooseAvailability()
}

// keep drops offers, unless that would drop them all.
func (c *choice) keep(wanted func(*offer) bool) (dropped bool) {
	var kept []*offer
	for _, o := range c.offers {
		if wanted(o) {
			kept = append(kept, o)
		}
	}
	if len(kept) == 0 || len(kept) == len(c.offers) {
		return false
	}
	for _, o := range c.offers {
		if o.of != nil && !wanted(o) {
			o.of.dropped = true
		}
	}
	c.offers = kept
	return true
}

// chooseVariant keeps the offers of the variant that the watch or the page's
// address names.
func (c *choice) chooseVariant() {
	if sku := c.d.page.Hint.SKU; sku != "" && c.keep(func(o *offer) bool { return strings.EqualFold(o.sku.text, sku) }) {
		c.variant = true
	}
	scores := make(map[*offer]int, len(c.offers))
	best, others := 0, 0
	for _, o := range c.offers {
		score, other := c.d.urls.match(o.url)
		scores[o] = score
		best = max(best, score)
		if other {
			others++
			scores[o] = -1
		}
	}
	switch {
	case best > 0:
		c.variant = c.keep(func(o *offer) bool { return scores[o] == best }) || c.variant
	case others == len(c.offers) && others > 0:
		c.elsewhere = true
	default:
		c.variant = c.keep(func(o *offer) bool { return scores[o] == 0 }) || c.variant
	}
	if c.variant {
		// A range over all variants says nothing of one.
		c.aggregates = nil
		for _, o := range c.offers {
			o.of = nil
		}
	}
}

// choosePrice gathers the distinct prices of the offers that are left.
func (c *choice) choosePrice() {
	for _, o := range c.offers {
		if o.of == nil {
			c.addQuotes(o.quotes, o.avail)
		}
		c.said = append(c.said, o.said...)
	}
	for _, a := range c.aggregates {
		low, high := a.low, a.high
		avail := a.avail
		if low == nil || a.dropped {
			var all []quote
			for _, o := range c.offers {
				if o.of == a {
					all = append(all, o.quotes...)
					avail = append(avail, o.avail...)
				}
			}
			var ok bool
			if low, high, ok = span(all); !ok {
				c.addQuotes(all, avail)
				continue
			}
		}
		c.addQuotes([]quote{*low}, avail)
		if high != nil && high.err == nil && high.key() != low.key() {
			c.high = high
		}
	}
	c.settle()
}

// span returns the lowest and the highest of quotes in one currency.
func span(all []quote) (low, high *quote, ok bool) {
	for i := range all {
		q := &all[i]
		if q.err != nil {
			return nil, nil, false
		}
		if low == nil {
			low, high = q, q
			continue
		}
		toLow, same := q.money.Cmp(low.money)
		toHigh, _ := q.money.Cmp(high.money)
		switch {
		case !same:
			return nil, nil, false
		case toLow < 0:
			low = q
		case toHigh > 0:
			high = q
		}
	}
	return low, high, low != nil
}

func (c *choice) addQuotes(quotes []quote, avail []fact) {
	orderable := false
	for _, f := range avail {
		yes, _ := readAvailability(f.text).Orderable()
		orderable = orderable || yes
	}
	for _, q := range quotes {
		switch {
		case q.err != nil:
		case q.money.Amount().IsNeg():
			q.err = errNegative
		case !q.money.Positive() && !orderable:
			// Shops write 0 where they have no price to tell.
			c.said = append(c.said, said{FactNoPrice, fact{q.amount.text + ": " + errZero.Error(), q.amount.where}})
			c.said = append(c.said, said{FactCurrency, q.currency})
			continue
		}
		c.quotes = append(c.quotes, q)
	}
}

// settle leaves one of each distinct price. An amount whose currency is not
// said is the same as one whose currency is.
func (c *choice) settle() {
	seen := map[string]bool{}
	amounts := map[string]bool{}
	var kept []quote
	for _, q := range c.quotes {
		if q.err == nil {
			amounts[q.money.Amount().Trim(0).String()] = true
		}
	}
	for _, q := range c.quotes {
		if d, err := price.ParseMachine(q.amount.text); q.currency.text == "" && err == nil && amounts[d.Trim(0).String()] {
			continue
		}
		if k := q.key(); !seen[k] {
			seen[k] = true
			kept = append(kept, q)
		}
	}
	c.quotes = kept
}

// settled returns the price; nil if there is none, or several.
func (c *choice) settled() *quote {
	if len(c.quotes) != 1 || c.quotes[0].err != nil || c.elsewhere {
		return nil
	}
	return &c.quotes[0]
}

// chooseAvailability gathers what the offers at the price say; without a price,
// what all of them say.
func (c *choice) chooseAvailability() {
	q := c.settled()
	for _, o := range c.offers {
		if q != nil && len(o.quotes) > 0 && o.quotes[0].err == nil && o.quotes[0].key() != q.key() {
			continue
		}
		ids := []string{o.sku.text, o.url, o.seller, o.name.text}
		for _, f := range o.avail {
			c.avail = append(c.avail, stated{f, readAvailability(f.text), ids})
		}
	}
	for _, a := range c.aggregates {
		for _, f := range a.avail {
			c.avail = append(c.avail, stated{f, readAvailability(f.text), nil})
		}
	}
}

// observe writes down what was chosen, with its evidence.
func (c *choice) observe(p *product) watch.Observation {
	o := watch.Observation{Availability: watch.Unknown}
	q := c.settled()
	if q != nil {
		o.Price = q.money
		note(&o, FactPrice, q.amount)
		note(&o, FactCurrency, q.currency)
		if c.high != nil {
			note(&o, FactHigh, c.high.amount)
		}
	}
	c.noteUndecided(&o, q)
	for i, s := range c.said {
		if i < maxEvidence {
			note(&o, s.name, s.fact)
		}
	}
	if !c.elsewhere {
		is, evidence := availabilityOf(c.avail, q != nil)
		o.Availability = is
		for _, s := range evidence {
			name := FactAvailability
			if len(evidence) > 1 {
				name = FactAmbiguous
			}
			note(&o, name, s.fact)
		}
	}
	c.describe(&o, p)
	return o
}

// noteUndecided says why there is no price.
func (c *choice) noteUndecided(o *watch.Observation, q *quote) {
	if q != nil {
		return
	}
	for i, u := range c.quotes {
		if i == maxEvidence {
			break
		}
		name, text := FactAmbiguous, strings.TrimSpace(u.amount.text+" "+u.currency.text)
		switch {
		case c.elsewhere:
			text += ": another variant than the one asked for"
		case u.err != nil:
			name, text = FactNoPrice, text+": "+u.err.Error()
		}
		note(o, name, fact{text, u.amount.where})
	}
}

// describe adds what the product is: title, image, SKU, address.
func (c *choice) describe(o *watch.Observation, p *product) {
	title, sku := p.title(), fact{}
	if c.variant && len(c.offers) == 1 {
		if c.offers[0].name.ok() {
			title = c.offers[0].name
		}
		sku = c.offers[0].sku
	}
	if !title.ok() {
		title = fact{c.d.name(), "the page's title"}
	}
	var image, address fact
	for _, n := range p.nodes {
		if !sku.ok() {
			sku = skuOf(n.v, n.where)
		}
		if s := absolute(c.d.urls.base, link(n.v.get("image"))); s != "" && !image.ok() {
			image = fact{s, n.where + ".image"}
		}
		if s := absolute(c.d.urls.base, link(n.v.get("url"))); s != "" && !address.ok() {
			address = fact{s, n.where + ".url"}
		}
	}
	if !sku.ok() && len(c.offers) == 1 {
		sku = c.offers[0].sku
	}
	if s := absolute(c.d.urls.base, c.d.ogImage); s != "" && !image.ok() {
		image = fact{s, "meta og:image"}
	}
	o.Title, o.Image, o.SKU = shortenTo(title.text, maxTitle), image.text, shorten(sku.text)
	note(o, FactTitle, title)
	note(o, FactImage, image)
	note(o, FactSKU, sku)
	note(o, FactURL, address)
}

// note adds evidence of a fact that there is.
func note(o *watch.Observation, name string, f fact) {
	if f.ok() {
		o.Evidence = append(o.Evidence, watch.Evidence{Fact: name, Where: shortenTo(f.where, maxWhere), Text: shorten(f.text)})
	}
}
