package extract

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/lastlook/lastlook/watch"
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
	// FactAmbiguous is one of several answers to the question for the price: none
	// was taken.
	FactAmbiguous = "ambiguous"
	// FactNoPrice is an amount that is no price, and why.
	FactNoPrice = "no_price"
	// FactAmount is an amount whose currency nobody knows, so that it is no price.
	FactAmount = "amount"
	// FactAmbiguousStock is one of several answers to the question whether it can
	// be had.
	FactAmbiguousStock = "ambiguous_availability"
	// FactContradiction is what another rule says, which does not count.
	FactContradiction = "contradiction"
	// FactValidUntil is when the offer ends, FactQuantity how much one buys.
	FactValidUntil = "valid_until"
	FactQuantity   = "quantity"
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

// Observe reads what a page states of its product: [Parse], then
// [Document.Product].
func Observe(ctx context.Context, p Page) (watch.Observation, error) {
	d, err := Parse(ctx, p)
	if err != nil {
		return watch.Observation{}, err
	}
	return d.Product(ctx)
}

// graphFinding is what items for machines state, be they JSON-LD's or microdata's.
func (d *Document) graphFinding(g *graph, rule string) finding {
	f := finding{rule: rule}
	p, several, err := g.findProduct(d)
	switch {
	case err != nil:
		f.err, f.listing = err, g.listing
		return f
	case p == nil:
		f.Ambiguous = true
		f.Title = d.name()
		note(&f.Observation, FactTitle, fact{f.Title, "the page's title"})
		for i, p := range several {
			if t := p.title(); i < maxEvidence {
				note(&f.Observation, FactAmbiguous, fact{"a product of its own: " + t.text, p.nodes[0].where})
			}
		}
		return f
	}
	f.own = p.matches(d) > 0
	c := &choice{d: d, collector: g.collect(d, p)}
	c.choose()
	c.fill(&f, p)
	return f
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
	missed    bool // the variant that the watch names is not among them
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
	hint := c.d.page.Hint
	if sku := hint.SKU; sku != "" {
		c.variant = c.keep(func(o *offer) bool { return o.hasID(sku) })
		if !slices.ContainsFunc(c.offers, func(o *offer) bool { return len(o.ids) == 0 || o.hasID(sku) }) {
			c.elsewhere = true // the address leads to another thing now
			return
		}
	}
	if hint.Variant != "" && !c.variant {
		best := 0
		scores := make(map[*offer]int, len(c.offers))
		for _, o := range c.offers {
			scores[o] = o.fits(hint.Variant)
			best = max(best, scores[o])
		}
		if best > 0 {
			c.variant = c.keep(func(o *offer) bool { return scores[o] == best }) || len(c.offers) > 0
		} else {
			c.missed = len(c.offers) > 1
		}
	}
	if !c.variant {
		c.variantByAddress()
	}
	if c.variant {
		// A range over all variants says nothing of one.
		c.aggregates = nil
		for _, o := range c.offers {
			o.of = nil
		}
	}
}

// variantByAddress keeps the offers that the page's address names.
func (c *choice) variantByAddress() {
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
	c.quotes = distinct(c.quotes)
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
		yes, _ := ReadAvailability(f.text).Orderable()
		orderable = orderable || yes
	}
	for _, q := range quotes {
		switch {
		case q.err != nil:
		case q.money.Amount().IsNeg():
			q.err = errNegative
		case !q.money.Positive() && !orderable:
			// Shops write 0 where they have no price to tell.
			c.said = append(c.said, said{name: FactNoPrice, fact: fact{q.amount.text + ": " + errZero.Error(), q.amount.where}})
			c.said = append(c.said, said{name: FactCurrency, fact: q.currency})
			continue
		}
		q.free = q.err == nil && !q.money.Positive()
		c.quotes = append(c.quotes, q)
	}
}

// settled returns the price; nil if there is none, or several.
func (c *choice) settled() *quote {
	if len(c.quotes) != 1 || c.quotes[0].err != nil && c.quotes[0].bare == nil || c.elsewhere {
		return nil
	}
	return &c.quotes[0]
}

// chooseAvailability gathers what the offers at the price say; without a price,
// what all of them say.
func (c *choice) chooseAvailability() {
	q := c.settled()
	for _, o := range c.offers {
		if q != nil && len(o.quotes) > 0 && o.quotes[0].err == nil && !o.quotes[0].same(q) {
			continue
		}
		ids := []string{o.sku.text, o.url, o.seller, o.name.text + strings.Join(o.attrs, " ")}
		for _, f := range o.avail {
			c.avail = append(c.avail, stated{f, ReadAvailability(f.text), ids})
		}
	}
	for _, a := range c.aggregates {
		for _, f := range a.avail {
			c.avail = append(c.avail, stated{f, ReadAvailability(f.text), nil})
		}
	}
}

// fill writes down what was chosen, with its evidence.
func (c *choice) fill(f *finding, p *product) {
	o := &f.Observation
	f.elsewhere = c.elsewhere
	q := c.settled()
	if c.elsewhere {
		for i := range c.quotes {
			if i < maxEvidence {
				note(o, FactAmbiguous, fact{c.quotes[i].shown() + ": another variant than the one asked for", c.quotes[i].amount.where})
			}
		}
	} else {
		f.settle(c.d, c.quotes)
		if c.high != nil && c.high.err == nil && higher(c.high.money, o.Price) {
			o.High = c.high.money
			note(o, FactHigh, c.high.amount)
		}
	}
	listed := slices.DeleteFunc(slices.Clone(c.said), func(s said) bool { return s.name != FactListPrice || s.quote == nil || s.quote.err != nil })
	for i, s := range c.said {
		if i < maxEvidence {
			note(o, s.name, s.fact)
		}
		switch {
		case s.quote == nil || s.quote.err != nil || !s.quote.money.Positive():
		case s.name == FactListPrice && o.List.IsZero() && len(distinctSaid(listed)) == 1:
			o.List = s.quote.money
		case s.name == FactUnitPrice && o.Unit.Per == "":
			o.Unit = unitPriceOf(s)
		}
	}
	if q != nil && !o.Price.IsZero() {
		c.terms(o, q)
	}
	switch {
	case c.elsewhere:
	case c.missed && len(stockDiffers(c.avail)) > 1:
		for _, s := range stockDiffers(c.avail) {
			note(o, FactAmbiguousStock, s.fact)
		}
	default:
		is, evidence := availabilityOf(c.avail, q != nil)
		if is != watch.Unknown {
			o.Availability = is
		}
		for _, s := range evidence {
			name := FactAvailability
			if len(evidence) > 1 {
				name = FactAmbiguousStock
			}
			note(o, name, s.fact)
		}
	}
	c.describe(o, p)
}

// stockDiffers returns one of each availability that is stated.
func stockDiffers(all []stated) (out []stated) {
	seen := map[watch.Availability]bool{}
	for _, s := range all {
		if !seen[s.is] {
			seen[s.is] = true
			out = append(out, s)
		}
	}
	return out
}

func distinctSaid(all []said) map[string]bool {
	out := map[string]bool{}
	for _, s := range all {
		out[s.quote.key()] = true
	}
	return out
}

// terms adds what the offers at the price say besides: how much one gets, and
// until when.
func (c *choice) terms(o *watch.Observation, q *quote) {
	for _, of := range c.offers {
		if len(of.quotes) == 0 || !of.quotes[0].same(q) {
			continue
		}
		if of.quantity.Unit != "" && o.Quantity.Unit == "" {
			o.Quantity = of.quantity
			note(o, FactQuantity, fact{of.quantity.Amount.String() + " " + of.quantity.Unit, of.where})
		}
		if t, ok := lastDay(of.until.text); ok && (o.ValidUntil.IsZero() || t.After(o.ValidUntil)) {
			o.ValidUntil = t
			note(o, FactValidUntil, of.until)
		}
	}
}

// lastDay reads the end of an offer: a date ends with its day.
func lastDay(s string) (time.Time, bool) {
	s = strings.TrimSpace(s)
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05"} {
		if t, err := time.Parse(form, s); err == nil {
			return t.UTC(), true
		}
	}
	t, err := time.Parse(time.DateOnly, s)
	return t.AddDate(0, 0, 1), err == nil
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
