package extract

import (
	"errors"
	"fmt"
	"html"
	"slices"
	"strings"
)

// product is what the page states of one product, in one place or in several.
type product struct {
	nodes  []item
	offers []item // stated apart from it, for it
}

// findProduct returns the product that the page is about; nil, and those in
// question, if it is about several.
func (g *graph) findProduct(d *Document) (*product, []*product, error) {
	all := g.group(d)
	sold := slices.DeleteFunc(slices.Clone(all), func(p *product) bool { return !p.hasOffer() })
	switch {
	case len(all) == 0 && len(g.offers) > 0:
		return &product{nodes: g.offers[:1], offers: g.offers}, nil, nil
	case len(all) == 0 && g.listing && g.nested > 0:
		return nil, nil, &NotProductError{Reason: ListingPage, Found: fmt.Sprintf("a list of %d products", g.nested)}
	case len(all) == 0:
		return nil, nil, &NotProductError{Reason: NoProduct, Found: g.describe()}
	case len(sold) == 0 && len(all) == 1 && len(g.offers) > 0:
		// The offers name no product, and there is only one that they can be for.
		all[0].offers = g.offers
		return all[0], nil, nil
	}
	// A product without an offer is in question too: it may be the page's own,
	// sold out, and the one with a price merely related.
	p := pick(all, d)
	switch {
	case p == nil && len(sold) == 0:
		p = all[0]
	case p == nil && (g.listing || len(all) > manyProducts):
		return nil, nil, &NotProductError{Reason: ListingPage, Found: fmt.Sprintf("%d products, none of them the page's own", len(all))}
	case p == nil:
		return nil, all, nil
	}
	if !p.hasOffer() {
		return nil, nil, &NoOfferError{Where: p.nodes[0].where, Title: p.title().text}
	}
	return p, nil, nil
}

// manyProducts, none of them the page's own, are a list.
const manyProducts = 5

// pick chooses the product that the page is about: the one whose address is the
// page's, that is called its main entity, or that has the page's name. What
// would choose two chooses none.
func pick(products []*product, d *Document) *product {
	if len(products) == 1 {
		return products[0]
	}
	name := func(want string) func(*product) int {
		want = fold(want)
		return func(p *product) int {
			if want != "" && fold(p.title().text) == want {
				return 1
			}
			return 0
		}
	}
	pageTitle := fold(d.title)
	inTitle := func(p *product) int {
		if t := fold(p.title().text); t != "" && strings.Contains(pageTitle, t) {
			return len(t)
		}
		return 0
	}
	for _, score := range []func(*product) int{
		func(p *product) int { return p.matches(d) },
		func(p *product) int {
			if slices.ContainsFunc(p.nodes, func(n item) bool { return n.main }) {
				return 1
			}
			return 0
		},
		name(d.h1), name(d.ogTitle), inTitle,
	} {
		best, top, ties := (*product)(nil), 0, 0
		for _, p := range products {
			switch s := score(p); {
			case s > top:
				best, top, ties = p, s, 0
			case s == top && s > 0:
				ties++
			}
		}
		if best != nil && ties == 0 {
			return best
		}
	}
	return nil
}

// matches scores how exactly the product's address is the page's.
func (p *product) matches(d *Document) (score int) {
	for _, n := range p.nodes {
		for _, ref := range []string{link(n.v.get("url")), link(n.v.get("mainEntityOfPage")), idOf(n.v), link(n.v.get("offers").get("url"))} {
			s, _ := d.urls.match(ref)
			score = max(score, s)
		}
	}
	return score
}

func (p *product) hasOffer() bool {
	return len(p.offers) > 0 || slices.ContainsFunc(p.nodes, func(n item) bool {
		return n.v.get("offers") != nil || n.v.get("hasVariant") != nil || n.v.get("price") != nil || n.v.get("lowPrice") != nil
	})
}

// title returns the name; a product that is stated twice has it from the first.
func (p *product) title() fact {
	for _, n := range p.nodes {
		if f := nameOf(n.v, n.where); f.ok() {
			return f
		}
	}
	return fact{}
}

// group puts together what states the same product: theme and plug-ins of a
// shop often state it once each, and variants one by one.
func (g *graph) group(d *Document) []*product {
	var (
		nodes = g.products
		same  union
		first = map[string]int{} // the node that was first identified so
		of    = map[*value]int{}
	)
	join := func(it item) int {
		i, known := of[it.v]
		if !known {
			i = same.grow()
			of[it.v] = i
		}
		for _, key := range d.identities(it.v) {
			if j, ok := first[key]; ok {
				same.join(i, j)
			} else {
				first[key] = i
			}
		}
		return i
	}
	var kept []item
	for _, it := range nodes {
		it.v = g.resolve(it.v)
		if _, known := of[it.v]; !known {
			join(it)
			kept = append(kept, it)
		}
	}
	// Offers that stand by themselves say which product they are for; it may
	// stand in the offer only.
	offers := map[int][]item{}
	var free []item
	for _, o := range g.offers {
		whole := each(o.v.get("itemOffered"))
		for _, v := range whole {
			v = g.resolve(v)
			if v.kind != object {
				continue
			}
			if _, known := of[v]; !known {
				kept = append(kept, item{v: v, where: o.where + ".itemOffered"})
			}
			i := join(item{v: v})
			offers[i] = append(offers[i], o)
		}
		if len(whole) == 0 {
			free = append(free, o)
		}
	}
	g.offers = free
	return collect(kept, same, offers)
}

// collect makes products of the nodes, in the order of the page. A node that
// neither names a product nor offers it is left out.
func collect(nodes []item, same union, offers map[int][]item) []*product {
	var out []*product
	byRoot := map[int]*product{}
	for i, it := range nodes {
		root := same.find(i)
		p := byRoot[root]
		if p == nil {
			p = &product{}
			byRoot[root] = p
			out = append(out, p)
		}
		p.nodes = append(p.nodes, it)
		p.offers = append(p.offers, offers[i]...)
	}
	return slices.DeleteFunc(out, func(p *product) bool { return !p.hasOffer() && p.title().text == "" })
}

// union keeps which nodes are the same product: each points to an earlier one,
// the first to itself.
type union []int

func (u *union) grow() int {
	*u = append(*u, len(*u))
	return len(*u) - 1
}

func (u union) find(i int) int {
	for u[i] != i {
		u[i] = u[u[i]]
		i = u[i]
	}
	return i
}

func (u union) join(i, j int) {
	i, j = u.find(i), u.find(j)
	u[max(i, j)] = min(i, j)
}

// identities returns what the same product has in common wherever it is stated.
func (d *Document) identities(v *value) []string {
	var keys []string
	add := func(kind, s string) {
		if s != "" {
			keys = append(keys, kind+"\x00"+s)
		}
	}
	add("id", idOf(v))
	add("sku", fold(scalar(v.get("sku"))))
	for _, k := range []string{"gtin", "gtin8", "gtin12", "gtin13", "gtin14"} {
		add("gtin", strings.TrimLeft(scalar(v.get(k)), "0"))
	}
	add("url", d.urls.key(link(v.get("url"))))
	add("name", fold(html.UnescapeString(scalar(v.get("name")))))
	add("group", fold(scalar(v.get("productGroupID"))))
	add("group", fold(scalar(v.get("inProductGroupWithID"))))
	for _, of := range each(v.get("isVariantOf")) {
		add("id", idOf(of))
		add("group", fold(scalar(of.get("productGroupID"))))
	}
	return keys
}

// each returns the items of a list, lists in it included, or the value itself.
func each(v *value) []*value {
	if v == nil || v.kind == null {
		return nil
	}
	if v.kind != list {
		return []*value{v}
	}
	var out []*value
	for i := range v.items {
		out = append(out, each(&v.items[i])...)
	}
	return out
}

// fold makes names comparable.
func fold(s string) string { return strings.ToLower(collapse(s)) }

// Reason says why a page is not one product's.
type Reason string

// The reasons.
const (
	// NoProduct: nothing on the page says that it is a product's.
	NoProduct Reason = "no_product"
	// ListingPage: it lists products and is about none of them.
	ListingPage Reason = "listing_page"
	// HomePage: the site's home page was answered instead of what was asked for.
	HomePage Reason = "home_page"
	// MissingPage: the site says in words that there is no such page.
	MissingPage Reason = "missing_page"
)

// ErrNotProduct is wrapped by every [NotProductError].
var ErrNotProduct = errors.New("not a product page")

// NotProductError says that a page is not about one product, what was looked
// for and what was found.
type NotProductError struct {
	Reason Reason
	Found  string
}

// Error implements error.
func (e *NotProductError) Error() string {
	switch e.Reason {
	case ListingPage:
		return fmt.Sprintf("%s: it lists products (%s): watch the address of one of them", ErrNotProduct, e.Found)
	case HomePage:
		return fmt.Sprintf("%s: the site answered with its home page: check the address", ErrNotProduct)
	case MissingPage:
		return fmt.Sprintf("%s: the site says that there is no such page (%q): check the address", ErrNotProduct, e.Found)
	case NoProduct:
	}
	return fmt.Sprintf("%s: looked for a JSON-LD Product, ProductGroup or Offer: %s", ErrNotProduct, e.Found)
}

// Unwrap returns [ErrNotProduct].
func (e *NotProductError) Unwrap() error { return ErrNotProduct }

// NoOfferError says that a page states a product, but neither price nor
// availability.
type NoOfferError struct{ Where, Title string }

// Error implements error.
func (e *NoOfferError) Error() string {
	return fmt.Sprintf("the page states the product %q (%s) without an offer: neither price nor availability", shorten(e.Title), e.Where)
}
