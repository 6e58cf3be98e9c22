package extract

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// fact is a text and where it stands.
type fact struct{ text, where string }

func (f fact) ok() bool { return f.text != "" }

// item is something that the page is about, as one block states it.
type item struct {
	v     *value
	where string // such as "JSON-LD Product"
	main  bool   // another item calls it its main entity
}

// graph is what a page's blocks state together.
type graph struct {
	blocks   [][]value
	byID     map[string]*value // the fullest object of each @id
	products []item            // at the page's level, in its order
	offers   []item
	mains    map[*value]bool
	types    []string // that were met at the page's level, for messages
	listing  bool     // the page says that it is a list
	nested   int      // products that stand inside of other things
	broken   []string // why blocks could not be read
}

// productTypes are schema.org's Product with its subtypes, and the works that
// shops state with offers in the place of a Product.
var productTypes = []string{
	"product", "productgroup", "productmodel", "individualproduct", "someproducts", "dietarysupplement", "drug",
	"vehicle", "car", "motorcycle", "motorizedbicycle", "busortoaster",
	"event", "musicevent", "theaterevent", "sportsevent", "festival", "course", "service", "trip", "hotelroom",
	"book", "audiobook", "game", "videogame", "musicalbum", "softwareapplication", "mobileapplication", "webapplication",
}

var listingTypes = []string{"itemlist", "collectionpage", "searchresultspage", "offercatalog", "productcollection"}

// readGraph reads the blocks. Those that cannot be read are noted: one broken
// block does not lose the page.
func readGraph(ctx context.Context, scripts []string) (*graph, error) {
	g := &graph{byID: map[string]*value{}, mains: map[*value]bool{}}
	budget := maxValues
	for i, s := range scripts {
		values, err := readJSON(ctx, s, &budget)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("read the page's JSON-LD: %w", ctx.Err())
		}
		if err != nil {
			g.broken = append(g.broken, fmt.Sprintf("block %d %s", i+1, err))
		}
		g.blocks = append(g.blocks, values)
	}
	g.read("JSON-LD")
	return g, nil
}

// newGraph makes a graph of what was read already.
func newGraph(blocks [][]value, label string) *graph {
	g := &graph{byID: map[string]*value{}, mains: map[*value]bool{}, blocks: blocks}
	g.read(label)
	return g
}

// read finds what the blocks are about.
func (g *graph) read(name string) {
	for i, values := range g.blocks {
		label := name
		if len(g.blocks) > 1 {
			label += " #" + strconv.Itoa(i+1)
		}
		for j := range values {
			g.index(&values[j])
			g.top(&values[j], label, false)
		}
	}
	for i, p := range g.products {
		g.products[i].main = p.main || g.mains[p.v]
	}
	g.nested -= len(g.products)
}

// index notes all objects by their @id, and counts the products among them.
func (g *graph) index(v *value) {
	if v.kind == object {
		if id := idOf(v); id != "" && (g.byID[id] == nil || len(g.byID[id].keys) < len(v.keys)) {
			g.byID[id] = v
		}
		t := typesOf(v)
		if isProduct(t) {
			g.nested++
		}
		g.listing = g.listing || containsAny(t, listingTypes)
	}
	for i := range v.items {
		g.index(&v.items[i])
	}
}

// top notes what stands at the page's level: the values of the blocks, what a
// @graph holds, and what a page calls its main entity. Everything else, such as
// what is related, recommended, reviewed or listed, is not what the page is about.
func (g *graph) top(v *value, label string, main bool) {
	switch v.kind {
	case list:
		for i := range v.items {
			g.top(&v.items[i], label, main)
		}
	case object:
		g.topObject(v, label, main)
	case null, boolean, number, text:
	}
}

func (g *graph) topObject(v *value, label string, main bool) {
	t := typesOf(v)
	main = main || v.get(mainKey) != nil
	name := ""
	if len(t) > 0 {
		name = shorten(t[0])
	}
	if name != "" && !slices.Contains(g.types, name) && len(g.types) < 10 {
		g.types = append(g.types, name)
	}
	switch {
	case isReference(v):
		if main {
			g.mains[g.resolve(v)] = true
		}
	case isProduct(t):
		g.products = append(g.products, item{v, label + " " + name, main})
	case isOffer(t):
		g.offers = append(g.offers, item{v, label + " " + name, main})
	}
	if sub := v.get("@graph"); sub != nil {
		g.top(sub, label, false)
	}
	if sub := v.get("mainEntity"); sub != nil && !isProduct(t) {
		g.top(sub, label, true)
	}
	if sub := v.get("about"); sub != nil && containsAny(t, []string{"webpage", "itempage"}) {
		g.top(sub, label, true)
	}
}

// resolve returns what an object that only names an @id stands for.
func (g *graph) resolve(v *value) *value {
	if isReference(v) {
		if full := g.byID[idOf(v)]; full != nil {
			return full
		}
	}
	return v
}

// describe says what a page without a product had instead.
func (g *graph) describe() string {
	var b strings.Builder
	switch {
	case len(g.blocks) == 0:
		return "the page has no JSON-LD"
	case len(g.types) == 0:
		b.WriteString("its JSON-LD names no type")
	default:
		b.WriteString("its JSON-LD is about " + strings.Join(g.types, ", "))
	}
	if len(g.broken) > 0 {
		b.WriteString("; not readable: " + strings.Join(g.broken[:min(3, len(g.broken))], "; "))
	}
	return b.String()
}

func idOf(v *value) string {
	id := v.get("@id")
	if id == nil {
		id = v.get("id")
	}
	if id == nil || id.kind != text {
		return ""
	}
	return id.text
}

// isReference reports whether an object says no more than another's @id, and
// perhaps its type.
func isReference(v *value) bool {
	if v.kind != object || idOf(v) == "" {
		return false
	}
	for _, k := range v.keys {
		switch strings.ToLower(k) {
		case "@id", "id", "@type", "type":
		default:
			return false
		}
	}
	return true
}

// typesOf returns an object's types, without what makes them IRIs.
func typesOf(v *value) []string {
	t := v.get("@type")
	if t == nil {
		t = v.get("type")
	}
	if t == nil {
		return nil
	}
	var out []string
	for s := range scalars(t) {
		if s = term(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

func isProduct(types []string) bool { return containsAny(types, productTypes) }

func isOffer(types []string) bool { return containsAny(types, []string{"offer", "aggregateoffer"}) }

func containsAny(types, wanted []string) bool {
	return slices.ContainsFunc(types, func(t string) bool { return slices.Contains(wanted, strings.ToLower(t)) })
}

// scalars goes through the texts of a value: itself, those of a list, those of
// JSON-LD's value objects.
func scalars(v *value) func(yield func(string) bool) {
	return func(yield func(string) bool) { eachScalar(v, yield) }
}

func eachScalar(v *value, yield func(string) bool) bool {
	if v == nil {
		return true
	}
	switch v.kind {
	case text, number, boolean:
		if s := strings.TrimSpace(v.text); s != "" {
			return yield(s)
		}
	case list:
		for i := range v.items {
			if !eachScalar(&v.items[i], yield) {
				return false
			}
		}
	case object:
		return eachScalar(v.get("@value"), yield)
	case null:
	}
	return true
}

// scalar returns the first text of a value, "" if it has none.
func scalar(v *value) string {
	for s := range scalars(v) {
		return s
	}
	return ""
}

// link returns the address that a value is or names: a text, or an object with
// one.
func link(v *value) string {
	if v != nil && v.kind == list {
		for i := range v.items {
			if s := link(&v.items[i]); s != "" {
				return s
			}
		}
		return ""
	}
	for _, key := range []string{"contentUrl", "url", "@id"} {
		if s := scalar(v.get(key)); s != "" {
			return s
		}
	}
	return scalar(v)
}
