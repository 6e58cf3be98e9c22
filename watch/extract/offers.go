package extract

import (
	"cmp"
	"html"
	"slices"
	"strconv"
	"strings"

	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/price"
)

// offer is one way to get the product.
type offer struct {
	where  string
	quotes []quote // what it costs; several if the page contradicts itself
	avail  []fact
	used   bool
	// What tells it from other offers of the product.
	name, sku   fact
	url, seller string
	// of is the aggregate that it is part of, nil if it stands alone.
	of *aggregate
	// ids and attrs are what a watch can name it by: SKU and other numbers; colour,
	// size and the like.
	ids, attrs []string
	quantity   watch.Quantity
	until      fact
	// said keeps what else is stated: list price, tax.
	said []said
}

// said is a fact under its name, with the amount that it is, and its unit.
type said struct {
	name  string
	fact  fact
	quote *quote
	per   *value
}

// aggregate is an AggregateOffer: the range of what its offers cost.
type aggregate struct {
	low, high *quote
	avail     []fact
	dropped   bool // some of its members do not count
}

// collector gathers the offers of one product.
type collector struct {
	d          *Document
	g          *graph
	seen       map[*value]bool
	offers     []*offer
	aggregates []*aggregate
}

// origin is what an offer takes over from where it stands.
type origin struct {
	where     string
	currency  fact
	name, sku fact // of the variant
	ids       []string
	attrs     []string
	url       string
	of        *aggregate
	depth     int
}

const maxNesting = 8

func (g *graph) collect(d *Document, p *product) *collector {
	c := &collector{d: d, g: g, seen: map[*value]bool{}}
	for _, n := range p.nodes {
		if isOffer(typesOf(n.v)) {
			continue // it stands for a product that nothing else states
		}
		c.product(n.v, origin{where: n.where})
	}
	for _, o := range p.offers {
		c.offer(o.v, origin{where: o.where})
	}
	return c
}

// product gathers the offers of a product and of its variants.
func (c *collector) product(v *value, from origin) {
	v = c.g.resolve(v)
	if v.kind != object || c.seen[v] || from.depth > maxNesting {
		return
	}
	c.seen[v] = true
	from.depth++
	from.name, from.sku, from.url = nameOf(v, from.where), skuOf(v, from.where), link(v.get("url"))
	from.ids, from.attrs = idsOf(v), attrsOf(v)
	c.all(v.get("offers"), from, ".offers", c.offer)
	if v.get("offers") == nil && v.get("hasVariant") == nil && (v.get("price") != nil || v.get("lowPrice") != nil || v.get("priceSpecification") != nil) {
		delete(c.seen, v) // what it costs stands in the product itself
		c.offer(v, from)
	}
	from.name, from.sku, from.url, from.ids, from.attrs = fact{}, fact{}, "", nil, nil
	c.all(v.get("hasVariant"), from, ".hasVariant", c.product)
}

// all calls one with each item of a value, and where it stands.
func (c *collector) all(v *value, from origin, name string, one func(*value, origin)) {
	if v == nil {
		return
	}
	from.where += name
	if v.kind != list {
		one(v, from)
		return
	}
	where := from.where
	for i, item := range each(v) {
		from.where = where + "[" + strconv.Itoa(i) + "]"
		one(item, from)
	}
}

// offer gathers an offer, or those of an aggregate.
func (c *collector) offer(v *value, from origin) {
	v = c.g.resolve(v)
	if v.kind != object || c.seen[v] || from.depth > maxNesting || containsAny(typesOf(v), []string{"demand"}) {
		return
	}
	c.seen[v] = true
	from.depth++
	if cur := scalar(v.get("priceCurrency")); cur != "" {
		from.currency = fact{cur, from.where + ".priceCurrency"}
	}
	low, high, parts := v.get("lowPrice"), v.get("highPrice"), v.get("offers")
	if low != nil || parts != nil {
		a := &aggregate{low: c.one(low, from, ".lowPrice"), high: c.one(high, from, ".highPrice"), avail: facts(v, "availability", from.where)}
		c.aggregates = append(c.aggregates, a)
		from.of = a
		c.all(parts, from, ".offers", c.offer)
		from.of = nil
		if v.get("price") == nil && v.get("priceSpecification") == nil {
			return
		}
	}
	if leased(v) {
		return
	}
	o := &offer{
		where: from.where, of: from.of, avail: availFacts(v, from.where), used: isUsed(v),
		name: cmp.Or(nameOf(v, from.where), from.name), sku: cmp.Or(skuOf(v, from.where), from.sku), url: cmp.Or(link(v.get("url")), from.url),
		seller: cmp.Or(scalar(v.get("seller").get("name")), scalar(v.get("offeredBy").get("name"))),
		ids:    append(idsOf(v), from.ids...), attrs: append(attrsOf(v), from.attrs...),
	}
	if of := v.get("itemOffered"); of != nil && of.kind == object {
		of = c.g.resolve(of)
		o.ids, o.attrs = append(idsOf(of), o.ids...), append(attrsOf(of), o.attrs...)
		o.name, o.sku, o.url = cmp.Or(o.name, nameOf(of, from.where+".itemOffered")), cmp.Or(o.sku, skuOf(of, from.where+".itemOffered")), cmp.Or(o.url, link(of.get("url")))
	}
	if until := scalar(v.get("priceValidUntil")); until != "" {
		o.until = fact{until, from.where + ".priceValidUntil"}
	}
	o.quotes = c.quotes(v.get("price"), from, ".price")
	if q := c.one(v.get("price_regular"), from, ".price_regular"); q != nil {
		o.said = append(o.said, said{name: FactListPrice, fact: q.amount, quote: q})
	}
	c.all(v.get("priceSpecification"), from, ".priceSpecification", func(v *value, from origin) { c.specification(o, v, from) })
	o.dedupe()
	c.offers = append(c.offers, o)
}

// specification adds what a PriceSpecification says: the price, if it is one
// that anybody can pay for the whole thing.
func (c *collector) specification(o *offer, v *value, from origin) {
	v = c.g.resolve(v)
	if cur := scalar(v.get("priceCurrency")); cur != "" {
		from.currency = fact{cur, from.where + ".priceCurrency"}
	}
	got := c.quotes(v.get("price"), from, ".price")
	if len(got) == 0 {
		got = c.quotes(v.get("minPrice"), from, ".minPrice")
	}
	if len(got) == 0 {
		return
	}
	if name := specificationKind(v); name != "" {
		o.said = append(o.said, said{name, got[0].amount, &got[0], v.get("referenceQuantity")})
		return
	}
	if q := quantityOf(v); q.Unit != "" && q.Unit != "piece" && v.get("referenceQuantity") == nil {
		// A price in a unit, beside one that is not, is for the unit.
		for i := range got {
			got[i].perUnit = true
		}
		o.said = append(o.said, said{FactUnitPrice, got[0].amount, &got[0], v})
	}
	if kind := specificationType(v); kind == "saleprice" {
		for i := range got {
			got[i].onSale = true
		}
	}
	if ref := v.get("referenceQuantity"); ref != nil {
		o.quantity = quantityOf(ref)
	}
	if until := scalar(v.get("validThrough")); until != "" && !o.until.ok() {
		o.until = fact{until, from.where + ".validThrough"}
	}
	if tax := taxOf(v); tax != "" {
		o.said = append(o.said, said{name: FactTaxIncluded, fact: fact{tax, from.where + ".valueAddedTaxIncluded"}})
		for i := range got {
			got[i].tax = tax
		}
	}
	o.quotes = append(o.quotes, got...)
}

// specificationKind says what a specification's price is, if not the price.
func specificationKind(v *value) string {
	kind := specificationType(v)
	types := typesOf(v)
	switch {
	case kind == "listprice", kind == "msrp", kind == "srp", kind == "strikethroughprice", kind == "regularprice":
		return FactListPrice
	case kind == "minimumadvertisedprice", kind == "invoiceprice":
		return FactOtherPrice
	case v.get("validForMemberTier") != nil, scalar(v.get("membershipPointsEarned")) != "" && scalar(v.get("price")) == "":
		return FactMemberPrice
	case containsAny(types, []string{"deliverychargespecification", "paymentchargespecification"}):
		return FactOtherPrice
	case v.get("priceComponentType") != nil, v.get("billingDuration") != nil, v.get("billingIncrement") != nil:
		return FactInstalment
	case perUnit(v):
		return FactUnitPrice
	case moreThanOne(v.get("eligibleQuantity").get("minValue")):
		return FactQuantityPrice
	}
	return ""
}

func specificationType(v *value) string { return strings.ToLower(term(scalar(v.get("priceType")))) }

// taxOf says whether tax is included: "true", "false", or "".
func taxOf(v *value) string {
	switch strings.ToLower(term(scalar(v.get("valueAddedTaxIncluded")))) {
	case "true", "1", "yes":
		return "true"
	case "false", "0", "no":
		return "false"
	}
	return ""
}

// perUnit reports whether a price is for a measure, not for the item. With a
// valueReference the quantity is the item's, and the price its own
// (https://developers.google.com/search/docs/appearance/structured-data/merchant-listing).
func perUnit(v *value) bool {
	q := v.get("referenceQuantity")
	return q != nil && q.kind == object && q.get("valueReference") == nil
}

func moreThanOne(v *value) bool {
	d, err := price.ParseMachine(scalar(v))
	return err == nil && d.Cmp(d.One()) > 0
}

// leased reports whether an offer lends the product instead of selling it
// (http://purl.org/goodrelations/v1#LeaseOut).
func leased(v *value) bool {
	f := strings.ToLower(link(v.get("businessFunction")))
	return strings.HasSuffix(f, "leaseout") || strings.HasSuffix(f, "repair") || strings.HasSuffix(f, "maintain")
}

func isUsed(v *value) bool {
	c := strings.ToLower(term(link(v.get("itemCondition"))))
	return strings.HasSuffix(c, "condition") && c != "newcondition" || c == "used" || c == "refurbished" || c == "damaged"
}

// dedupe leaves one quote of each amount. What is stated without tax beside a
// price with it is not what is paid, nor is the price beside the one of a sale.
func (o *offer) dedupe() {
	if slices.ContainsFunc(o.quotes, func(q quote) bool { return q.tax == "true" }) {
		o.quotes = slices.DeleteFunc(o.quotes, func(q quote) bool { return q.tax == "false" })
	}
	if slices.ContainsFunc(o.quotes, func(q quote) bool { return q.onSale && q.err == nil }) {
		for i := range o.quotes {
			if q := o.quotes[i]; !q.onSale {
				o.said = append(o.said, said{name: FactListPrice, fact: q.amount, quote: &q})
			}
		}
		o.quotes = slices.DeleteFunc(slices.Clone(o.quotes), func(q quote) bool { return !q.onSale })
	}
	for _, s := range o.said {
		if s.name == FactInstalment { // the price of a contract is stated as the offer's, too
			o.quotes = slices.DeleteFunc(slices.Clone(o.quotes), func(q quote) bool { return s.quote.same(&q) })
		}
	}
	o.quotes = distinct(without(o.quotes, func(q *quote) bool { return q.perUnit }))
}

// maxQuotes bounds what is taken from one property: one is usual, two make it
// ambiguous.
const maxQuotes = 16

// quotes reads each amount that a value states.
func (c *collector) quotes(v *value, from origin, name string) (out []quote) {
	if v != nil && v.kind == object && v.get("value") != nil { // a MonetaryAmount
		if cur := scalar(v.get("currency")); cur != "" {
			from.currency = fact{cur, from.where + name + ".currency"}
		}
		v, name = v.get("value"), name+".value"
	}
	exact := v != nil && v.kind == number
	for s := range scalars(v) {
		out = append(out, c.d.readQuote(fact{s, from.where + name}, from.currency, exact))
		if len(out) == maxQuotes {
			break
		}
	}
	return distinct(out)
}

// one returns the quote that a value states; nil if it states none.
func (c *collector) one(v *value, from origin, name string) *quote {
	for _, q := range c.quotes(v, from, name) {
		return &q
	}
	return nil
}

func facts(v *value, key, where string) (out []fact) {
	for _, x := range each(v.get(key)) {
		if s := link(x); s != "" && len(out) < maxQuotes {
			out = append(out, fact{s, where + "." + key})
		}
	}
	return out
}

// availFacts are what an offer says of its stock: in a word, or else as a number.
func availFacts(v *value, where string) []fact {
	out := facts(v, "availability", where)
	if level := scalar(v.get("inventoryLevel").get("value")); len(out) == 0 && level != "" {
		out = append(out, fact{level, where + ".inventoryLevel"})
	}
	return out
}

func nameOf(v *value, where string) fact {
	if s := scalar(v.get("name")); s != "" {
		return fact{collapse(html.UnescapeString(s)), where + ".name"}
	}
	return fact{}
}

func skuOf(v *value, where string) fact {
	for _, k := range []string{"sku", "gtin13", "gtin", "gtin14", "gtin12", "gtin8", "mpn", "productID"} {
		if s := scalar(v.get(k)); s != "" {
			return fact{s, where + "." + k}
		}
	}
	return fact{}
}
