package extract

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/lastlook/lastlook/watch/price"
)

const (
	// maxPriceText is the longest text of an element that is taken for a price with
	// what stands around it; maxPriceNodes how many nodes it may have.
	maxPriceText  = 300
	maxPriceNodes = 250
)

// part is a stretch of a price element's text, in which all is said of the same
// price.
type part struct {
	text  strings.Builder
	marks mark
	// struck is crossed out, spoken is only for those who do not see, silent only
	// for those who do.
	struck, spoken, silent bool
}

// parts cuts a price element's text where other prices begin: what is crossed
// out, what is called old, what is for a unit.
type parts struct {
	list  []*part
	nodes int
	bytes int
}

// tellsApart are the marks by which prices in one element differ.
const tellsApart = saysOld | saysRegular | saysNow | saysMember | saysParts | saysUnit | saysOther | saysNet | saysCart

func partsOf(n *html.Node, as part) *parts {
	p := &parts{}
	p.begin(as)
	p.children(n)
	return p
}

func (p *parts) begin(as part) *part {
	b := &part{marks: as.marks, struck: as.struck, spoken: as.spoken, silent: as.silent}
	p.list = append(p.list, b)
	return b
}

func (p *parts) last() *part { return p.list[len(p.list)-1] }

func (p *parts) full() bool { return p.bytes > maxPriceText || p.nodes > maxPriceNodes }

func (p *parts) children(n *html.Node) {
	for c := n.FirstChild; c != nil && !p.full(); c = c.NextSibling {
		p.nodes++
		switch c.Type {
		case html.TextNode:
			p.bytes += len(strings.TrimSpace(c.Data))
			p.last().text.WriteString(c.Data)
		case html.ElementNode:
			p.element(c)
		default:
		}
	}
}

func (p *parts) element(n *html.Node) {
	outer := p.last()
	as := part{marks: outer.marks, struck: outer.struck, spoken: outer.spoken, silent: outer.silent}
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Svg, atom.Select, atom.Button:
		return
	case atom.Del, atom.S, atom.Strike:
		as.struck = true
	case atom.Ins:
		as.marks |= saysNow
	case atom.Br:
		outer.text.WriteByte(' ')
		return
	default:
	}
	var m mark
	for _, a := range n.Attr {
		switch a.Key {
		case "class":
			if hiddenBy(a.Val) != 0 {
				return
			}
			for w := range strings.FieldsSeq(a.Val) {
				as.spoken = as.spoken || spokenClasses[w]
				as.struck = as.struck || w == "line-through"
				if !strings.Contains(w, ":") {
					m |= marksOf(w)
				}
			}
		case "id", "data-price-type", "data-test", "data-testid":
			m |= marksOf(a.Val)
		case "hidden":
			return
		case "style":
			if styleHides(a.Val) {
				return
			}
			as.struck = as.struck || strings.Contains(a.Val, "line-through")
		case "aria-hidden":
			as.silent = as.silent || a.Val == "true"
		case "data-a-strike":
			as.struck = as.struck || a.Val == "true"
		}
	}
	as.marks |= m & tellsApart
	if isCents(n, m) {
		p.cents(n, outer)
		return
	}
	if same := as.marks == outer.marks && as.struck == outer.struck && as.spoken == outer.spoken && as.silent == outer.silent; same {
		p.inline(n)
		return
	}
	p.begin(as)
	p.children(n)
	p.begin(part{marks: outer.marks, struck: outer.struck, spoken: outer.spoken, silent: outer.silent})
}

// inline goes on in the same part; what stands on a line of its own is apart.
func (p *parts) inline(n *html.Node) {
	switch n.DataAtom {
	case atom.Div, atom.P, atom.Li, atom.Ul, atom.Td, atom.Tr, atom.Dd, atom.Dt, atom.Small, atom.Label, atom.H2, atom.H3, atom.H4:
		p.last().text.WriteByte(' ')
		p.children(n)
		p.last().text.WriteByte(' ')
	default:
		p.children(n)
	}
}

// isCents reports whether an element is the part of a price that is written small.
func isCents(n *html.Node, m mark) bool {
	t := strings.TrimSpace(shallowText(n))
	if len(t) != 2 || !isDigit(t[0]) || !isDigit(t[1]) {
		return false
	}
	if n.DataAtom == atom.Sup || n.DataAtom == atom.Sub {
		return true
	}
	class := strings.ToLower(attr(n, "class"))
	for _, w := range []string{"cent", "fraction", "decimal", "-dec", "_dec", "pence"} {
		if strings.Contains(class, w) {
			return true
		}
	}
	return false
}

// shallowText is the text of an element with nothing in it but text.
func shallowText(n *html.Node) string {
	if c := n.FirstChild; c != nil && c.NextSibling == nil && c.Type == html.TextNode {
		return c.Data
	}
	return ""
}

// cents writes the cents behind the point that the eye sees.
func (p *parts) cents(n *html.Node, in *part) {
	t := strings.TrimRight(in.text.String(), " \t\r\n\u00a0")
	p.bytes += 3
	switch {
	case t == "" || !isDigit(t[len(t)-1]):
	case strings.Contains(t, "."):
		t += ","
	default:
		t += "."
	}
	in.text.Reset()
	in.text.WriteString(t + strings.TrimSpace(shallowText(n)))
}

// shortText reports whether an element has so little text that it can be a price.
func shortText(n *html.Node) bool {
	nodes, bytes := 0, 0
	for c := range n.Descendants() {
		if nodes++; nodes > maxPriceNodes {
			return false
		}
		if c.Type == html.TextNode && c.Parent.DataAtom != atom.Script && c.Parent.DataAtom != atom.Style {
			if bytes += len(strings.TrimSpace(c.Data)); bytes > maxPriceText {
				return false
			}
		}
	}
	return true
}

// priceText is an element's text without what is crossed out.
func priceText(n *html.Node) string {
	var b strings.Builder
	for _, p := range partsOf(n, part{}).list {
		if !p.struck && !p.silent {
			b.WriteString(p.text.String())
		}
	}
	return collapse(b.String())
}

// priced is what a price element states.
type priced struct {
	now     []quote // what it costs; several if it contradicts itself
	list    *quote
	unit    *unitQuote
	member  []quote
	soldOut bool
	none    []said // amounts that are no price, and why
}

type unitQuote struct {
	quote
	per string
}

// readPriced reads a price element. What it says of itself holds for all of it.
func (d *Document) readPriced(n *html.Node, is part, where string) (out priced) {
	all := partsOf(n, is).list
	drop := saidTwice(all)
	lead := "" // the label before an amount: "was"
	for i, p := range all {
		text := strings.TrimSpace(footnotes.Replace(collapse(p.text.String())))
		if text == "" || drop(p) {
			continue
		}
		if !hasDigit(text) && i+1 < len(all) {
			lead = lastBytes(lead+" "+text, maxLead)
			continue
		}
		d.readPart(p, fact{strings.TrimSpace(lead + " " + text), where}, &out)
		lead = ""
	}
	out.resolve()
	return out
}

// maxLead bounds a label, in bytes.
const maxLead = 60

func lastBytes(s string, n int) string {
	if len(s) > n {
		s = strings.ToValidUTF8(s[len(s)-n:], "")
	}
	return s
}

// footnotes are what shops put behind an amount: "1,99 €*".
var footnotes = strings.NewReplacer("*", "", "†", "", "¹", "", "²", "", "³", "")

// saidTwice says which parts say again what others do, once for the eye and once
// for the ear. What is crossed out only the eye sees; else the ear hears the whole
// price where the eye sees its pieces.
func saidTwice(all []*part) (drop func(*part) bool) {
	spoken, silent, struck := false, false, false
	for _, p := range all {
		if hasDigit(p.text.String()) {
			spoken = spoken || p.spoken && !p.struck
			silent = silent || p.silent
			struck = struck || p.silent && p.struck && !p.spoken
		}
	}
	return func(p *part) bool {
		switch {
		case spoken && silent && struck:
			return p.spoken && !p.struck
		case silent && !spoken:
			return false
		}
		return p.silent
	}
}

func hasDigit(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= '0' && r <= '9' || r >= '０' && r <= '９' }) >= 0
}

// readPart sorts the amounts of a part by what they are.
func (d *Document) readPart(p *part, at fact, out *priced) {
	r := price.ReadText(at.text, d.context(""))
	out.soldOut = out.soldOut || r.SoldOut
	for i := range r.Candidates {
		c := &r.Candidates[i]
		q := d.fromCandidate(c, at)
		if q.err != nil && q.bare == nil {
			continue
		}
		kind := c.Kind
		switch {
		case kind != price.KindPrice && kind != price.KindFrom && kind != price.KindRange:
		case p.struck || p.marks&saysOld != 0:
			kind = price.KindList
		case p.marks&saysMember != 0:
			kind = price.KindMember
		case p.marks&saysParts != 0:
			kind = price.KindInstallment
		case p.marks&saysUnit != 0:
			kind = price.KindUnit
		case p.marks&(saysOther|saysCart) != 0:
			kind = price.KindExtra
		}
		switch kind {
		case price.KindPrice, price.KindFrom, price.KindRange:
			if r.Choice >= 0 && r.Choice != i && r.Candidates[r.Choice].Kind != kind {
				continue // the text itself says which of its amounts is the price
			}
			q.regular = p.marks&saysRegular != 0 && p.marks&saysNow == 0
			q.net = p.marks&saysNet != 0 || c.Tax == price.TaxExcluded
			out.now = append(out.now, q)
		case price.KindList:
			if out.list == nil {
				out.list = &q
			}
		case price.KindUnit:
			if c.Per != "" && (out.unit == nil || out.unit.per == "piece" && c.Per != "piece") && q.err == nil {
				out.unit = &unitQuote{q, c.Per}
			}
		case price.KindMember:
			out.member = append(out.member, q)
		default:
		}
	}
	if r.Reject != "" {
		out.none = append(out.none, said{name: FactNoPrice, fact: fact{at.text + ": " + r.Reject, at.where}})
	}
}

// resolve leaves the prices that are asked now: of one with tax and one without
// the former; a regular one beside a lower one is what it was.
func (p *priced) resolve() {
	p.now = distinct(p.now)
	p.now = without(p.now, func(q *quote) bool { return q.net })
	if len(p.now) > 1 {
		for i := range p.now {
			if q := p.now[i]; q.regular && p.list == nil {
				p.list = &q
			}
		}
		p.now = without(p.now, func(q *quote) bool { return q.regular })
	}
	if p.list != nil && len(p.now) > 0 {
		if c, same := p.list.money.Cmp(p.now[0].money); same && c <= 0 {
			p.list = nil // it is no higher
		}
	}
}

// without drops quotes, unless that would drop them all.
func without(quotes []quote, drop func(*quote) bool) []quote {
	var kept []quote
	for i := range quotes {
		if !drop(&quotes[i]) {
			kept = append(kept, quotes[i])
		}
	}
	if len(kept) == 0 {
		return quotes
	}
	return kept
}

// distinct leaves one of each price. An amount whose currency is not said is the
// same as one whose currency is.
func distinct(quotes []quote) []quote {
	if len(quotes) < 2 {
		return quotes
	}
	var kept []quote
	seen, amounts := map[string]bool{}, map[string]bool{}
	for i := range quotes {
		q := &quotes[i]
		if q.err != nil && q.bare != nil {
			continue
		}
		if k := q.key(); !seen[k] {
			seen[k] = true
			kept = append(kept, *q)
		}
		if q.err == nil {
			amounts[q.money.Amount().Trim(0).String()] = true
		}
	}
	for i := range quotes {
		q := &quotes[i]
		if q.err == nil || q.bare == nil {
			continue
		}
		if n := q.bare.Trim(0).String(); !amounts[n] {
			amounts[n] = true
			kept = append(kept, *q)
		}
	}
	return kept
}
