package extract

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/andybalholm/cascadia"
	"github.com/antchfx/htmlquery"
	"github.com/antchfx/xpath"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/lastlook/lastlook/watch"
)

// Limits on selectors, which are users'. What nests searches in searches costs
// a multiple of the page for each level.
const (
	maxSelector   = 500
	maxSearches   = 4
	maxSelected   = 20
	maxSelectPage = 400_000 // nodes
)

// ErrSelector is wrapped by errors about a selector that cannot be used.
var ErrSelector = errors.New("selector")

// ValidateSelector reports what is wrong with a selector as
// [watch.Options.PriceSelector] has it: CSS, or XPath if it begins with "/" or
// "(". The error wraps [ErrSelector]. An empty one is fine: there is none.
func ValidateSelector(s string) error {
	_, err := compileSelector(s)
	return err
}

// ValidateOptions reports what is wrong with the options of a listing that is a
// web page.
func ValidateOptions(o watch.Options) error {
	for _, s := range []struct{ name, text string }{{"price", o.PriceSelector}, {"stock", o.StockSelector}} {
		if err := ValidateSelector(s.text); err != nil {
			return fmt.Errorf("the %s's %w", s.name, err)
		}
	}
	return nil
}

// selector finds elements.
type selector func(root *html.Node) []*html.Node

func isXPath(s string) bool {
	return strings.HasPrefix(s, "/") || strings.HasPrefix(s, "(") || strings.HasPrefix(s, "./")
}

func compileSelector(s string) (selector, error) {
	s = strings.TrimSpace(s)
	bad := func(form string, args ...any) error {
		return fmt.Errorf("%w %q: %s", ErrSelector, shorten(s), fmt.Sprintf(form, args...))
	}
	switch {
	case s == "":
		return nil, nil
	case len(s) > maxSelector:
		return nil, bad("it has %d bytes: the limit is %d", len(s), maxSelector)
	case strings.ContainsAny(s, "\x00\r\n"):
		return nil, bad("it has several lines: write it in one")
	}
	if isXPath(s) {
		if n := strings.Count(s, "//") + strings.Count(s, "following") + strings.Count(s, "preceding") + strings.Count(s, "descendant") + strings.Count(s, "ancestor"); n > maxSearches {
			return nil, bad("it searches the page %d times over: the limit is %d", n, maxSearches)
		}
		expr, err := compileXPath(s)
		if err != nil {
			return nil, bad("it is no XPath: %s", err)
		}
		return func(root *html.Node) []*html.Node { return selectXPath(root, expr) }, nil
	}
	if n := strings.Count(s, ":has") + strings.Count(s, ":contains") + strings.Count(s, ":matches") + strings.Count(s, ":not") + strings.Count(s, "~"); n > maxSearches {
		return nil, bad("it searches within searches %d times: the limit is %d", n, maxSearches)
	}
	group, err := cascadia.ParseGroup(s)
	if err != nil {
		return nil, bad("it is no CSS selector: %s", err)
	}
	return func(root *html.Node) []*html.Node { return cascadia.QueryAll(root, group) }, nil
}

// compileXPath compiles an expression that selects nodes. The library panics on
// some it does not like.
func compileXPath(s string) (expr *xpath.Expr, err error) {
	defer func() {
		if p := recover(); p != nil {
			expr, err = nil, fmt.Errorf("%v", p)
		}
	}()
	expr, err = xpath.Compile(s)
	if err != nil {
		return nil, err
	}
	// One that gives a number or a text instead of elements shows it here.
	selectXPath(&html.Node{Type: html.DocumentNode}, expr)
	htmlquery.QuerySelectorAll(&html.Node{Type: html.DocumentNode}, expr)
	return expr, nil
}

func selectXPath(root *html.Node, expr *xpath.Expr) (found []*html.Node) {
	// What panics on a page found nothing there.
	defer func() {
		if recover() != nil {
			found = nil
		}
	}()
	return htmlquery.QuerySelectorAll(root, expr)
}

// selected returns what a selector finds: of what stands in one another only the
// outermost, and nothing beside the product unless there is nothing else.
func (d *Document) selected(s string) ([]*html.Node, error) {
	find, err := compileSelector(s)
	if err != nil || find == nil || d.root == nil {
		return nil, err
	}
	found := find(d.root)
	in := map[*html.Node]bool{}
	var out, beside []*html.Node
	for _, n := range found {
		in[n] = true
	}
	for _, n := range found {
		switch {
		case within(n, in):
		case len(out) == maxSelected:
			return out, nil
		case d.besides(n):
			beside = append(beside, n)
		default:
			out = append(out, n)
		}
	}
	if len(out) == 0 {
		out = beside[:min(len(beside), maxSelected)]
	}
	return out, nil
}

// within reports whether an element stands in one of others.
func within(n *html.Node, in map[*html.Node]bool) bool {
	for p := n.Parent; p != nil; p = p.Parent {
		if in[p] {
			return true
		}
	}
	return false
}

// besides reports whether an element stands among other products.
func (d *Document) besides(n *html.Node) bool {
	for p := n.Parent; p != nil && !d.seen.above[p]; p = p.Parent {
		if marksOf(attr(p, "class"))&saysBeside != 0 || p.DataAtom == atom.Nav || p.DataAtom == atom.Footer {
			return true
		}
	}
	return false
}

// selectorError says that the user's selector finds nothing any more.
type selectorError struct{ what, selector string }

func (e *selectorError) Error() string {
	return fmt.Sprintf("the page has nothing where the %s selector %q points: check it", e.what, shorten(e.selector))
}

// Unwrap makes it one of [ErrSelector].
func (e *selectorError) Unwrap() error { return ErrSelector }

// selectorFinding is what stands where the user points.
func (d *Document) selectorFinding() (f finding, err error) {
	f = finding{rule: RuleSelector}
	hint := d.page.Hint
	if hint.StockSelector != "" {
		nodes, err := d.selected(hint.StockSelector)
		if err != nil {
			return f, err
		}
		f.stockPointed = true
		d.readStock(&f, nodes)
	}
	if hint.PriceSelector == "" {
		return f, nil
	}
	nodes, err := d.selected(hint.PriceSelector)
	if err != nil {
		return f, err
	}
	f.pricePointed = true
	if len(nodes) == 0 {
		return f, &selectorError{"price", hint.PriceSelector}
	}
	var all priced
	for _, n := range nodes {
		p := d.readSelected(n)
		if struckBy(n) && len(nodes) > 1 {
			if all.list == nil && len(p.now) > 0 {
				all.list = &p.now[0]
			}
			continue
		}
		all.now = append(all.now, p.now...)
		all.none = append(all.none, p.none...)
		all.soldOut = all.soldOut || p.soldOut
		if all.list == nil {
			all.list = p.list
		}
		if all.unit == nil {
			all.unit = p.unit
		}
		if len(p.now) == 0 && p.unit != nil && len(p.member) == 0 {
			// The user points at it: it is what is meant.
			all.now = append(all.now, p.unit.quote)
		}
		if len(p.now) == 0 {
			all.now = append(all.now, p.member...)
		}
	}
	all.resolve()
	f.take(d, all)
	return f, nil
}

// readSelected reads an element that the user points at, whatever it is called.
func (d *Document) readSelected(n *html.Node) priced {
	const where = "the user's selector"
	if n.Type == html.ElementNode {
		keys := valueAttrs(n)
		if !hasDigit(visibleText(n, maxPriceText)) {
			keys = append(keys, "data-price", "data-price-amount") // for scripts, and perhaps in cents
		}
		for _, key := range keys {
			if s := strings.TrimSpace(attr(n, key)); s != "" && key != "href" && key != "src" && (n.FirstChild == nil || key != "content") {
				return priced{now: []quote{d.readQuote(fact{s, where + ", " + key}, fact{}, false)}}
			}
		}
	}
	wrap := n
	if n.Type == html.ElementNode && struckBy(n) {
		// Being crossed out is all that there is of it.
		wrap = &html.Node{Type: html.ElementNode, Data: "span", DataAtom: atom.Span, FirstChild: n.FirstChild, LastChild: n.LastChild}
	}
	if n.Type == html.TextNode {
		wrap = &html.Node{Type: html.ElementNode, Data: "span", DataAtom: atom.Span, FirstChild: &html.Node{Type: html.TextNode, Data: n.Data}}
	}
	p := d.readPriced(wrap, part{}, where)
	if len(p.now) == 0 && p.list == nil && p.unit == nil && len(p.member) == 0 {
		if t := priceText(wrap); hasDigit(t) {
			q := d.textQuote(quote{amount: fact{t, where}}, t, "")
			p.now = append(p.now, q)
		}
	}
	return p
}

// struckBy reports whether an element is crossed out, or stands in what is.
func struckBy(n *html.Node) bool {
	const up = 4
	for i := 0; n != nil && i < up; i++ {
		switch n.DataAtom {
		case atom.Del, atom.S, atom.Strike:
			return true
		default:
		}
		n = n.Parent
	}
	return false
}

// readStock reads the elements that the user points at for the stock.
func (d *Document) readStock(f *finding, nodes []*html.Node) {
	const where = "the user's stock selector"
	var all []stated
	for _, n := range nodes {
		for _, s := range stockTexts(n) {
			is := ReadAvailability(s)
			if is == watch.Unknown {
				is = pointedStock(n, s)
			}
			if is != watch.Unknown {
				all = append(all, stated{fact{s, where}, is, nil})
				break
			}
		}
	}
	if len(all) == 0 {
		return
	}
	first := all[0]
	if slices.ContainsFunc(all, func(s stated) bool {
		a, _ := s.is.Orderable()
		b, _ := first.is.Orderable()
		return a != b
	}) {
		for _, s := range all {
			note(&f.Observation, FactAmbiguous, s.fact)
		}
		return
	}
	f.setAvailability(first.is, first.fact)
}

// pointedStock reads what says something of the stock only because the user points
// at it: a button that buys, a number of things.
func pointedStock(n *html.Node, s string) watch.Availability {
	if buys([]string{s}) {
		if hasAttr(n, "disabled") {
			return watch.OutOfStock
		}
		return watch.InStock
	}
	if number, unit, ok := strings.Cut(strings.TrimSpace(s), " "); ok && !strings.ContainsAny(unit, " 0123456789") {
		return ReadAvailability(number)
	}
	return watch.Unknown
}

// stockTexts are the texts of an element that may tell of the stock: its own, what
// a button or a field is called, its value for machines.
func stockTexts(n *html.Node) []string {
	if n.Type == html.TextNode {
		return []string{n.Data}
	}
	var out []string
	if t := visibleText(n, maxStock); t != "" {
		out = append(out, t)
	}
	for _, key := range []string{"content", "href", "value", "aria-label", "title", "alt", "data-stock", "data-availability"} {
		if s := attr(n, key); s != "" {
			out = append(out, s)
		}
	}
	if hasAttr(n, "disabled") && n.DataAtom == atom.Button && len(out) == 0 {
		out = append(out, "unavailable")
	}
	for w := range strings.FieldsSeq(attr(n, "class")) {
		out = append(out, w)
	}
	return out
}

// visibleText is the beginning of an element's text, as a reader sees it.
func visibleText(n *html.Node, limit int) string {
	var b strings.Builder
	addVisible(&b, n, limit, 0)
	return collapse(b.String())
}

func addVisible(b *strings.Builder, n *html.Node, limit, depth int) {
	const deep = 30
	if n.Type == html.TextNode {
		b.WriteString(n.Data)
		return
	}
	for c := n.FirstChild; c != nil && b.Len() <= 4*limit && depth < deep; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			b.WriteString(c.Data)
		case c.Type != html.ElementNode, c.DataAtom == atom.Script, c.DataAtom == atom.Style, c.DataAtom == atom.Template, c.DataAtom == atom.Svg, hasAttr(c, "hidden"),
			hiddenBy(attr(c, "class")) != 0, styleHides(attr(c, "style")):
		default:
			b.WriteByte(' ')
			addVisible(b, c, limit, depth+1)
			b.WriteByte(' ')
		}
	}
}
