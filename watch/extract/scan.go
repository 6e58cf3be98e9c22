package extract

import (
	"context"
	"errors"
	"io"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// zone says in what an element stands, as a set that its children inherit.
type zone uint16

const (
	inBeside zone = 1 << iota // other products, or what is around every page
	inCard                    // one of several products
	inOption                  // a choice between variants
	inMain                    // the page's own product
	inHidden
	inLink // leads to another page
	inItem // an item of microdata
	inBlock
	inStock
	inButton
	inStruck // crossed out
)

// spot is an element worth a second look.
type spot struct {
	n     *html.Node
	zone  zone
	marks mark
	order int // in the page
}

// scanned is what one walk through the tree found.
type scanned struct {
	items   []spot // of microdata, that are no other item's property
	loose   []spot // itemprops outside of any item
	blocks  []spot // elements that call themselves a price
	amounts []spot // short texts with a currency, that do not
	stock   []spot
	notices []spot // elements that say nothing but that it is sold out
	buttons []spot
	cards   int                 // prices that are other products'
	heading int                 // the order of the main heading, 0 if there is none
	above   map[*html.Node]bool // what the main heading stands in
}

// Limits on what the walk keeps.
const (
	maxItems   = 500
	maxLoose   = 100
	maxBlocks  = 300
	maxAmounts = 50
	maxStocks  = 60
	maxButtons = 60
)

type scanner struct {
	d     *Document
	memo  map[string]mark
	above map[*html.Node]bool
	head  *html.Node
	order int
	path  string
}

// scan goes through the tree once, in the order of the page.
func (d *Document) scan(root *html.Node) {
	s := &scanner{d: d, memo: map[string]mark{}, above: map[*html.Node]bool{}}
	if u, err := url.Parse(d.page.URL); err == nil {
		s.path = u.Path
	}
	s.head = mainHeading(root)
	for n := s.head; n != nil; n = n.Parent {
		s.above[n] = true
	}
	d.seen.above = s.above
	s.children(root, 0)
}

// mainHeading returns the h1 of the product; that of a logo only if there is no
// other.
func mainHeading(root *html.Node) *html.Node {
	var first *html.Node
	tried := 0
	for n := root; n != nil; n = following(n) {
		if n.DataAtom != atom.H1 || n.Type != html.ElementNode {
			continue
		}
		if tried++; tried > maxHeadings {
			break
		}
		if collapse(textOf(n)) == "" {
			continue
		}
		if first == nil {
			first = n
		}
		m := marksOf(attr(n, "class")) | marksOf(attr(n, "id"))
		inHeader := false
		for p := n.Parent; p != nil; p = p.Parent {
			inHeader = inHeader || p.DataAtom == atom.Header && p.Parent != nil && p.Parent.DataAtom == atom.Body || p.DataAtom == atom.Nav
		}
		if m&saysBeside == 0 && !inHeader && !strings.Contains(strings.ToLower(attr(n, "class")), "logo") {
			return n
		}
	}
	return first
}

// following returns the next node in the order of the page.
func following(n *html.Node) *html.Node {
	if n.FirstChild != nil {
		return n.FirstChild
	}
	for n != nil && n.NextSibling == nil {
		n = n.Parent
	}
	if n == nil {
		return nil
	}
	return n.NextSibling
}

func (s *scanner) children(n *html.Node, z zone) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.Type {
		case html.TextNode:
			s.text(c, z)
		case html.ElementNode:
			s.element(c, z)
		case html.DocumentNode:
			s.children(c, z)
		default:
		}
	}
}

func (s *scanner) text(n *html.Node, z zone) {
	if z&inHidden != 0 {
		return
	}
	s.d.addText(n.Data)
	s.notice(n, z)
	if z&(inBlock|inBeside|inCard|inLink|inOption) == 0 && len(s.d.seen.amounts) < maxAmounts && looksLikePrice(n.Data) {
		s.d.seen.amounts = append(s.d.seen.amounts, spot{n.Parent, z, 0, s.order})
	}
}

// notice notes an element near the heading whose whole text says that there is
// none.
func (s *scanner) notice(n *html.Node, z zone) {
	const near, long, most = 120, 60, 4
	if s.d.seen.heading == 0 || s.order > s.d.seen.heading+near || len(n.Data) > long || len(s.d.seen.notices) == most ||
		z&(inBlock|inBeside|inCard|inLink|inOption|inButton|inStock) != 0 || n.PrevSibling != nil || n.NextSibling != nil {
		return
	}
	switch n.Parent.DataAtom {
	case atom.P, atom.Div, atom.Span, atom.Strong, atom.B, atom.Em:
	default:
		return
	}
	if _, ok := soldOutNotice(n.Data); ok {
		s.d.seen.notices = append(s.d.seen.notices, spot{n.Parent, z, 0, s.order})
	}
}

// looksLikePrice reports whether a text is short and has digits and a currency.
func looksLikePrice(t string) bool {
	const short = 60
	if len(t) > short || !strings.ContainsAny(t, "0123456789") {
		return false
	}
	if strings.ContainsAny(t, "$€£¥￥₹₩₺₽₴₪₫฿₱₦₡₲₸₾₼円元원") {
		return true
	}
	for _, w := range []string{"EUR", "USD", "GBP", "CHF", "JPY", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "RON", "CAD", "AUD", "kr", "zł", "Kč", "Ft", "lei", "TL", "Fr.", "Rs", "руб", "грн"} {
		if strings.Contains(t, w) {
			return true
		}
	}
	return false
}

// element notes what an element says and goes on with its children.
func (s *scanner) element(n *html.Node, z zone) {
	s.order++
	d := s.d
	switch n.DataAtom {
	case atom.Script:
		d.addScript(attr(n, "type"), textOf(n))
		return
	case atom.Title:
		if d.title == "" && n.Namespace == "" {
			d.title = shortenTo(textOf(n), maxTitle)
		}
		return
	case atom.Style, atom.Template, atom.Svg, atom.Iframe:
		return
	case atom.Noscript:
		if len(d.noscript) < maxText {
			raw := textOf(n)
			d.noscript += " " + shortenTo(raw, maxText)
			d.unscripted(raw)
		}
		return
	case atom.H1:
		if d.h1s++; d.h1 == "" && d.h1s <= maxHeadings && (n == s.head || s.head == nil) {
			d.h1 = shortenTo(textOf(n), maxTitle)
		}
		if n == s.head {
			d.seen.heading = s.order
		}
	case atom.Html:
		if l := attr(n, "lang"); l != "" {
			d.lang = l
		}
	case atom.Meta, atom.Link:
		d.addHead(n.Data, func(key string) string { return attr(n, key) })
	default:
	}
	m, z := s.attributes(n, z)
	sp := spot{n, z, m, s.order}
	z = s.price(sp)
	s.stock(sp)
	s.children(n, z|stockZone(sp))
}

func stockZone(sp spot) zone {
	if sp.marks&saysStock != 0 {
		return inStock
	}
	return 0
}

// attributes reads what an element's attributes say of it, and notes microdata.
func (s *scanner) attributes(n *html.Node, z zone) (mark, zone) {
	var m mark
	var itemscope, itemprop, typeOf bool
	for i := range n.Attr {
		a := &n.Attr[i]
		switch a.Key {
		case "class":
			m |= s.marks(a.Val)
			if strings.Contains(a.Val, "hid") || a.Val == "dn" || strings.Contains(a.Val, "none") || strings.Contains(a.Val, "invisible") {
				z |= hiddenBy(a.Val)
			}
		case "id", "data-test", "data-testid", "data-test-id", "data-qa", "data-qa-id", "data-hook", "data-cy", "data-role", "data-price-type", "data-automation-id", "data-component", "data-element", "data-auto", "data-e2e", "name":
			m |= s.marks(a.Val)
		case "itemscope":
			itemscope = true
		case "itemprop":
			itemprop = true
			switch strings.ToLower(a.Val) {
			case "price", "lowprice":
				m |= saysPrice
			case "availability":
				m |= saysStock
			}
		case "typeof":
			typeOf = true
		case "hidden":
			z |= inHidden
		case "style":
			if styleHides(a.Val) {
				z |= inHidden
			}
		case "aria-label":
			if len(a.Val) < 40 {
				m |= marksOf(a.Val) & saysPrice
			}
		}
	}
	z = s.around(n, m, z)
	seen := &s.d.seen
	switch {
	case (itemscope || typeOf) && (!itemprop || z&inItem == 0):
		if len(seen.items) < maxItems {
			seen.items = append(seen.items, spot{n, z, m, s.order})
		}
		z |= inItem
	case itemscope || typeOf:
		z |= inItem
	case itemprop && z&inItem == 0 && len(seen.loose) < maxLoose:
		seen.loose = append(seen.loose, spot{n, z, m, s.order})
	}
	return m, z
}

func styleHides(style string) bool {
	s := strings.ReplaceAll(strings.ToLower(style), " ", "")
	return strings.Contains(s, "display:none") || strings.Contains(s, "visibility:hidden")
}

// marks returns what an attribute's words say. Pages repeat their classes, so
// each is read once.
func (s *scanner) marks(val string) mark {
	m, ok := s.memo[val]
	if ok {
		return m
	}
	const most = 5000
	for w := range strings.FieldsSeq(val) {
		if !strings.Contains(w, ":") { // a class for some screens or states only
			m |= marksOf(w)
		}
	}
	if len(s.memo) < most {
		s.memo[val] = m
	}
	return m
}

func hiddenBy(class string) zone {
	for w := range strings.FieldsSeq(class) {
		if hiddenClasses[w] {
			return inHidden
		}
	}
	return 0
}

// around says whether an element is about something else than the page's own
// product. Whatever the main heading stands in is not, whatever it is called.
func (s *scanner) around(n *html.Node, m mark, z zone) zone {
	switch {
	case s.above[n]:
	case m&saysBeside != 0, m&saysCart != 0 && m&saysExtra != 0, n.DataAtom == atom.Nav, n.DataAtom == atom.Footer,
		n.DataAtom == atom.Header && n.Parent != nil && n.Parent.DataAtom == atom.Body:
		if n.DataAtom != atom.Body && n.DataAtom != atom.Html && n.DataAtom != atom.Main {
			z |= inBeside
		}
	case m&saysProduct != 0 && m&saysCard != 0 && m&(saysDetail|saysBuy|saysPrice|saysStock) == 0:
		z |= inCard
	}
	if n.DataAtom == atom.Option || m&saysOption != 0 && m&(saysPrice|saysStock|saysDetail|saysBuy) == 0 && !s.above[n] {
		z |= inOption
	}
	if z&(inBeside|inCard) == 0 && (m&saysProduct != 0 && m&saysDetail != 0 && m&saysCard == 0 || m&saysBuy != 0) {
		z |= inMain
	}
	if n.DataAtom == atom.A && s.elsewhere(attr(n, "href")) {
		z |= inLink
	}
	switch n.DataAtom {
	case atom.Button:
		z |= inButton
	case atom.Del, atom.S, atom.Strike:
		z |= inStruck
	default:
	}
	return z
}

// elsewhere reports whether a link leads to another page.
func (s *scanner) elsewhere(href string) bool {
	href = strings.TrimSpace(href)
	if i := strings.IndexAny(href, "?#"); i >= 0 {
		href = href[:i]
	}
	if href == "" || strings.HasPrefix(href, "javascript:") || strings.HasPrefix(href, "mailto:") || strings.HasPrefix(href, "tel:") {
		return false
	}
	return s.path == "" || !strings.HasSuffix(href, s.path)
}

// price notes an element that calls itself a price, unless it stands in one. One
// that holds half the page only has the word in its name.
func (s *scanner) price(sp spot) zone {
	seen := &s.d.seen
	z := sp.zone
	if sp.marks&saysPrice == 0 || z&(inBlock|inHidden) != 0 || sp.n.DataAtom == atom.Meta || sp.n.DataAtom == atom.Link {
		return z
	}
	if sp.marks&(saysCart|saysOther) != 0 && sp.marks&(saysNow|saysBuy) == 0 {
		return z | inBeside
	}
	if !shortText(sp.n) {
		return z
	}
	switch {
	case z&(inBeside|inCard|inLink) != 0:
		seen.cards++
	case len(seen.blocks) < maxBlocks:
		seen.blocks = append(seen.blocks, sp)
	}
	return z | inBlock
}

// stock notes elements that speak of the stock, and buttons.
func (s *scanner) stock(sp spot) {
	seen := &s.d.seen
	if sp.zone&(inBeside|inCard|inHidden|inOption) != 0 {
		return
	}
	n := sp.n
	switch {
	case n.DataAtom == atom.Button, n.DataAtom == atom.Input && isSubmit(n), n.DataAtom == atom.A && sp.marks&(saysCart|saysBuy) != 0:
		if len(seen.buttons) < maxButtons {
			seen.buttons = append(seen.buttons, sp)
		}
	case sp.marks&saysStock != 0 && sp.zone&inLink == 0 && len(seen.stock) < maxStocks:
		seen.stock = append(seen.stock, sp)
	}
}

func isSubmit(n *html.Node) bool {
	t := strings.ToLower(attr(n, "type"))
	return t == "submit" || t == "button"
}

// unscripted takes the data for machines out of what is there for those without
// scripts, which is kept as its source.
func (d *Document) unscripted(raw string) {
	const open, shut = "<script", "</script"
	for n := 0; n < maxItems && (n > 0 || strings.Contains(raw, "ld+json")); n++ {
		i := strings.Index(raw, open)
		if i < 0 {
			return
		}
		tag, rest, _ := strings.Cut(raw[i+len(open):], ">")
		body, after, closed := strings.Cut(rest, shut)
		if raw = after; closed && strings.Contains(strings.ToLower(tag), "application/ld+json") {
			d.addScript("application/ld+json", body)
		}
	}
}

// readTokens is scan for pages of which no tree can be built.
func (d *Document) readTokens(ctx context.Context) error {
	z := html.NewTokenizer(&ctxReader{ctx: ctx, r: strings.NewReader(d.html)})
	var in string // the element whose raw text comes next
	var scriptType string
	for {
		switch z.Next() {
		case html.ErrorToken:
			if errors.Is(z.Err(), io.EOF) {
				return nil
			}
			return z.Err()
		case html.TextToken:
			raw := string(z.Raw())
			switch in {
			case "script":
				d.addScript(scriptType, raw)
			case "title":
				d.title = shortenTo(html.UnescapeString(raw), maxTitle)
			case "style", "noscript", "iframe":
			default:
				d.addText(html.UnescapeString(raw))
			}
			in = ""
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			in = t.Data
			get := func(key string) string { return attr(&html.Node{Attr: t.Attr}, key) }
			switch in {
			case "script":
				scriptType = get("type")
			case "meta", "link":
				d.addHead(in, get)
			}
		default:
			in = ""
		}
	}
}
