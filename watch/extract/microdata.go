package extract

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// microdata makes of the page's items (https://html.spec.whatwg.org/multipage/microdata.html)
// and RDFa's (https://www.w3.org/TR/rdfa-lite/) the same values that JSON-LD has,
// so that one reader decides what they mean.
type microdata struct {
	d     *Document
	left  int // how many values may still be made, and elements visited
	depth int
	busy  map[*html.Node]bool // items that are being read, and refer to themselves
	byID  map[string]*html.Node
}

const (
	maxVisits = 1_000_000
	maxRefs   = 20
)

// items returns the page's items that are no other item's, but those beside the
// product; their number is returned.
func (d *Document) items() (values []value, beside int) {
	m := &microdata{d: d, left: maxVisits, busy: map[*html.Node]bool{}}
	for _, s := range d.seen.items {
		v := m.item(s.n)
		if s.zone&(inBeside|inCard|inLink) != 0 {
			if isProduct(typesOf(&v)) {
				beside++
			}
			continue
		}
		if s.zone&inMain != 0 || d.seen.above[s.n] {
			v.keys, v.items = append(v.keys, mainKey), append(v.items, value{kind: boolean, text: "true"})
		}
		values = append(values, v)
	}
	return values, beside
}

// mainKey marks an item that the page's heading stands in.
const mainKey = "\x00main"

// looseItem makes an offer of the properties that stand outside of any item.
func (d *Document) looseItem() (value, bool) {
	m := &microdata{d: d, left: maxVisits, busy: map[*html.Node]bool{}}
	v := value{kind: object}
	priced := false
	for _, s := range d.seen.loose {
		if s.zone&(inBeside|inCard|inLink) != 0 {
			continue
		}
		for name := range strings.FieldsSeq(attr(s.n, "itemprop")) {
			switch name = term(name); strings.ToLower(name) {
			case "price", "lowprice":
				priced = true
			case "pricecurrency", "availability", "highprice", "pricevaliduntil":
			default:
				continue
			}
			m.add(&v, name, m.property(s.n))
		}
	}
	return v, priced
}

// item reads an item.
func (m *microdata) item(n *html.Node) value {
	v := value{kind: object}
	if m.busy[n] || m.depth == maxDepth || m.left <= 0 {
		return v
	}
	m.busy[n] = true
	m.depth++
	defer func() { m.depth--; delete(m.busy, n) }()
	types := attr(n, "itemtype")
	if types == "" {
		types = attr(n, "typeof")
	}
	for t := range strings.FieldsSeq(types) {
		m.add(&v, "@type", value{kind: text, text: t})
	}
	if id := attr(n, "itemid"); id != "" {
		m.add(&v, "@id", value{kind: text, text: id})
	}
	m.properties(&v, n)
	refs := 0
	for id := range strings.FieldsSeq(attr(n, "itemref")) {
		if ref := m.find(id); ref != nil && refs < maxRefs {
			refs++
			m.visit(&v, ref)
		}
	}
	return v
}

func (m *microdata) properties(v *value, n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		m.visit(v, c)
	}
}

// visit adds what an element and those in it say of the item v.
func (m *microdata) visit(v *value, n *html.Node) {
	if n.Type != html.ElementNode || n.DataAtom == atom.Script || n.DataAtom == atom.Template || m.left <= 0 {
		return
	}
	m.left--
	scope := isScope(n)
	if name := propOf(n); name != "" {
		var is value
		if scope {
			is = m.item(n)
		} else {
			is = m.property(n)
		}
		for w := range strings.FieldsSeq(name) {
			m.add(v, renamed(term(w)), is)
		}
	}
	if !scope {
		m.properties(v, n)
	}
}

// renamed gives the properties of data-vocabulary.org, which schema.org replaced,
// their present names.
func renamed(name string) string {
	switch name {
	case "offerDetails":
		return "offers"
	case "currency":
		return "priceCurrency"
	}
	return name
}

func isScope(n *html.Node) bool { return hasAttr(n, "itemscope") || hasAttr(n, "typeof") }

// propOf returns the names of the property that an element is; RDFa's count only
// without a prefix of another vocabulary.
func propOf(n *html.Node) string {
	if p := attr(n, "itemprop"); p != "" {
		return p
	}
	p := attr(n, "property")
	if strings.Contains(p, ":") && !strings.HasPrefix(p, "schema:") && !strings.HasPrefix(p, "http") {
		return ""
	}
	return p
}

// add adds a value of a property; of several the property is the list.
func (m *microdata) add(v *value, name string, is value) {
	m.left--
	if is.kind == null || is.kind == text && is.text == "" {
		return
	}
	if old := v.get(name); old != nil {
		if old.kind != list {
			*old = value{kind: list, items: []value{*old}}
		}
		if len(old.items) < maxQuotes {
			old.items = append(old.items, is)
		}
		return
	}
	v.keys, v.items = append(v.keys, name), append(v.items, is)
}

// property returns what an element that is a property says: by the standard only
// some elements have an attribute for it, but shops write content everywhere.
func (m *microdata) property(n *html.Node) value {
	for _, key := range valueAttrs(n) {
		if s := strings.TrimSpace(attr(n, key)); s != "" {
			return value{kind: text, text: s}
		}
	}
	return value{kind: text, text: priceText(n)}
}

// valueAttrs are the attributes that hold an element's value.
func valueAttrs(n *html.Node) []string {
	switch n.DataAtom {
	case atom.A, atom.Area, atom.Link:
		return []string{"content", "href"}
	case atom.Img, atom.Audio, atom.Video, atom.Source, atom.Embed, atom.Iframe, atom.Track:
		return []string{"content", "src"}
	case atom.Data, atom.Meter, atom.Input, atom.Option:
		return []string{"content", "value"}
	case atom.Object:
		return []string{"content", "data"}
	case atom.Time:
		return []string{"content", "datetime"}
	default:
		return []string{"content"}
	}
}

// find returns the element of an id.
func (m *microdata) find(id string) *html.Node {
	if m.byID == nil {
		m.byID = map[string]*html.Node{}
		for n := m.d.root; n != nil; n = following(n) {
			if n.Type == html.ElementNode {
				if id := attr(n, "id"); id != "" && m.byID[id] == nil {
					m.byID[id] = n
				}
			}
		}
	}
	return m.byID[id]
}
