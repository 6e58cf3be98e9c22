package price

import "github.com/govalues/decimal"

// anchor is something in a text that words are about: an amount of money, a
// number that may be one, or a percentage.
type anchor struct {
	num         int // the token of the number
	first, last int // the tokens that belong to it
	cents       int // the token of the hundredths in "39€90", 0 if there is none
	code        string
	ambiguous   bool
	or          []string // the currencies that it may be in, if it is ambiguous
	signed      bool     // a currency or mark stands with it
	percent     bool
	negative    bool
	doubtful    bool // it can be read in another way
	value       decimal.Decimal
	scale       int     // zeros that a word after the number adds
	hundredths  bool    // the currency's sign is for hundredths
	high        *Amount // the upper end of a range

	said    means // what the words around say of it
	tax     Tax
	kind    Kind
	unit    *unit
	count   decimal.Decimal // of the unit, or of things
	highEnd bool            // it is the upper end of the range before it
	inside  bool            // it stands in parentheses
}

// reader reads one text.
type reader struct {
	scanner
	view    view
	anchors []anchor
	// taxFirst says that in this text, words about taxes stand before amounts.
	taxFirst bool
	negative bool
	free     bool
	soldOut  bool
}

// ReadText reads what a text says of prices: a few words around an amount, or a
// whole description. It takes time in proportion to the text, of which it reads
// no more than the first 256 amounts.
//
// A currency comes from the text; where a symbol there has several ("$", "kr",
// "¥"), from the context: the page's locale, its host's country, or the watch's
// currency, as long as they don't contradict each other. It is never guessed. A
// number without any symbol is a price only where nothing else stands in the
// text, and takes the watch's currency.
//
// The choice is the one plain price; of two, the one marked as the price of now,
// or the one that has the taxes in it, or the one that is the other less the
// saving that stands beside them. Without a plain price it is the one "from"
// price or range, or a usual or total price, a price for one piece, or what
// several cost together, in this order. List, member, points, instalment, saving,
// shipping and unit prices are never chosen.
func ReadText(text string, c Context) Reading {
	out, _ := readText(text, c)
	return out
}

// readText is [ReadText]; it also returns how much work it was.
func readText(text string, c Context) (out Reading, work int) {
	r := reader{view: c.view()}
	r.text, r.lex, r.sg = text, words(), allSigns()
	r.toks = make([]token, 0, min(24, len(text)+1))
	r.scan()
	r.pair()
	if !r.anyMoney() {
		r.takeBare()
	}
	r.classify()
	out = r.decide()
	return out, r.work
}

func (r *reader) anyMoney() bool {
	for i := range r.anchors {
		if r.anchors[i].signed {
			return true
		}
	}
	return false
}

// tok returns a token, or one that is nothing outside of the text.
func (r *reader) tok(i int) *token {
	r.work++
	if i < 0 || i >= len(r.toks) {
		return &nothing
	}
	return &r.toks[i]
}

// nothing stands for what is before the first token and after the last one.
var nothing = token{kind: tokBreak, gap: true}

// maxAnchors is how many amounts and percentages are read: what has more is no
// text about a price.
const maxAnchors = 256

// pair finds the amounts: the numbers with a currency, and the percentages.
func (r *reader) pair() {
	for i := 0; i < len(r.toks); i++ {
		if r.toks[i].kind != tokNumber {
			continue
		}
		if len(r.anchors) == maxAnchors {
			r.toks = r.toks[:i]
			return
		}
		a := anchor{num: i, first: i, last: i}
		switch {
		case r.percent(&a):
			if r.tok(a.last+1).is(mTaxWord) || r.tok(a.first-1).is(mTaxWord) {
				continue // a rate of tax
			}
		case r.money(&a), r.points(&a):
		default:
			continue
		}
		if r.anchors == nil {
			r.anchors = make([]anchor, 0, 4)
		}
		r.anchors = append(r.anchors, a)
		i = a.last
	}
}

// percent takes "25%", "25 %" and "%25".
func (r *reader) percent(a *anchor) bool {
	i := a.num
	switch {
	case r.tok(i + 1).rune('%'):
		a.last = i + 1
	case r.tok(i-1).rune('%') && !r.tok(i).gap && r.free2(i-1):
		a.first = i - 1
	default:
		return false
	}
	a.percent = true
	d, _, ok := readNumber(r.numberText(i), convention{digits: -1, point: r.view.point, group: r.view.group})
	a.value = d
	return ok
}

// points takes a number that counts points: "19ポイント", "Punkte: 19".
func (r *reader) points(a *anchor) bool {
	if r.gluedBefore(a.num) {
		return false
	}
	label := a.num - 1
	if r.tok(label).rune(':') {
		label--
	}
	labelled := r.tok(label).is(mPoints) && r.free2(label) && !r.tok(a.num+1).is(mUnit)
	switch {
	case r.tok(a.num + 1).is(mPoints):
		a.last++
	case !labelled:
		return false
	}
	if labelled {
		a.first = label
	}
	d, _, ok := readNumber(r.numberText(a.num), convention{digits: 0, point: r.view.point, group: r.view.group})
	a.value, a.kind = d, KindPoints
	return ok
}

// free2 reports whether a token belongs to no anchor yet.
func (r *reader) free2(i int) bool {
	n := len(r.anchors)
	return i >= 0 && (n == 0 || r.anchors[n-1].last < i)
}

func (r *reader) numberText(i int) string { return r.text[r.toks[i].start():r.toks[i].end()] }

// money takes a number with its currency or mark.
func (r *reader) money(a *anchor) bool {
	i := a.num
	pre, post := r.prefix(i), -1
	if r.scaled(i + 1) {
		a.scale = r.toks[i+1].e.scale
		a.last = i + 1
	}
	if t := r.tok(a.last + 1); t.kind == tokSign && t.sign == 0 {
		a.last++
		a.signed = true
	}
	post = r.suffix(a, pre >= 0)
	var s *sign
	switch {
	case pre >= 0:
		a.first = pre
		s = r.takeSign(pre, i)
		if s != nil && r.tok(pre-1).kind == tokSign && r.free2(pre-1) && r.narrower(s, &r.sg.list[r.toks[pre-1].sign]) {
			s = &r.sg.list[r.toks[pre-1].sign] // CAD $129
			a.first = pre - 1
		}
		if s != nil && post >= 0 && post != pre {
			if t := r.takeSign(post, i); t != nil && r.narrower(s, t) {
				s = t
				a.last = post
			}
		}
	case post >= 0:
		if s = r.takeSign(post, i); s != nil {
			a.last = max(a.last, post)
		}
	}
	if s == nil && !a.signed {
		return false
	}
	if s == nil {
		a.first = i
		s = &r.sg.list[0]
	}
	a.signed = true
	if a.code, a.ambiguous = r.view.resolve(s); a.ambiguous {
		a.or = s.or
	}
	a.hundredths = s.cents
	if !r.readCents(a, s) && !r.readValue(a, false) {
		return false
	}
	r.sawNegative(a)
	return true
}

// readValue reads the number of an amount whose currency is known; unit says that
// it is a price for a unit.
func (r *reader) readValue(a *anchor, unit bool) bool {
	d, doubtful, ok := readNumber(r.numberText(a.num), r.view.convention(a.code, unit))
	if !ok {
		return false
	}
	if a.scale > 0 {
		var err error
		if d, err = d.Mul(decimal.MustNew(pow10(a.scale), 0)); err != nil {
			return false
		}
		d = d.Trim(0)
	}
	if a.hundredths {
		var err error
		if d, err = d.Mul(decimal.MustNew(1, 2)); err != nil || d.Cmp(one) >= 0 {
			return false // 1080p
		}
	}
	a.value, a.doubtful = d, doubtful
	return true
}

// scaled reports whether a token multiplies the number before it: "250k", "1,2
// Mio".
func (r *reader) scaled(i int) bool {
	t := r.tok(i)
	if t.kind != tokWord || !t.is(mScale) || t.e.scale == 0 {
		return false
	}
	return !t.gap || t.end()-t.start() > 2 && !t.is(mUnit|mTo|mOf)
}

// prefix returns the token of a currency before the number, -1 if there is none:
// "$129", "EUR: 129", "€ -5".
func (r *reader) prefix(i int) int {
	p := i - 1
	for range 2 {
		if t := r.tok(p); t.rune(':') || t.rune('-') && !r.toks[i].gap || t.kind == tokBreak && t.r == '\n' && p > 0 {
			p--
		}
	}
	if t := r.tok(p); t.kind != tokSign || t.sign == 0 || !r.free2(p) {
		return -1
	}
	return p
}

// suffix returns the token of a currency behind an amount, -1 if there is none or
// if it is the next number's.
func (r *reader) suffix(a *anchor, prefixed bool) int {
	j := a.last + 1
	t := r.tok(j)
	if t.kind == tokBreak && t.r == '\n' {
		if !prefixed && r.tok(j+1).kind == tokSign && r.tok(j+2).kind != tokNumber {
			return j + 1
		}
		return -1
	}
	if t.rune('(') && r.tok(j+1).kind == tokSign && r.tok(j+2).rune(')') {
		return j + 1
	}
	if t.kind != tokSign || t.sign == 0 {
		return -1
	}
	next := r.tok(j + 1)
	if next.kind != tokNumber || r.centsAt(a, j) {
		return j
	}
	// Between two numbers: whose is it?
	switch own := r.tok(j + 2); {
	case prefixed:
		if !t.gap && next.gap {
			return j
		}
		return -1
	case r.gluedBefore(a.num):
		return -1
	case !t.gap && next.gap:
		return j
	case t.gap && !next.gap && (own.kind != tokSign || own.sign == 0 || r.tok(j+3).kind == tokNumber && !r.tok(j+3).gap):
		return -1
	case own.kind == tokSign && own.sign != 0:
		return j
	case !r.looksPriced(a.num) && r.looksPriced(j+1): // EOS 5 € 1.299
		return -1
	case r.sg.list[t.sign].first:
		return -1
	}
	return j
}

// gluedBefore reports whether letters or a hyphen after some stand right before a
// number: "X500", "X-500".
func (r *reader) gluedBefore(i int) bool {
	t, p := r.toks[i], r.tok(i-1)
	if t.gap || i == 0 {
		return false
	}
	if p.rune('-') && !p.gap && i > 1 {
		p = r.tok(i - 2)
	}
	return p.kind == tokWord && p.e == nil
}

// takeSign returns what a token's sign is, nil if it is an ordinary word here.
func (r *reader) takeSign(i, number int) *sign {
	t := &r.toks[i]
	s := &r.sg.list[t.sign]
	if next := r.tok(number + 1); s.last && i < number || s.shy && i < number && next.kind == tokWord && !next.gap {
		return nil
	}
	if s.need || s.shy {
		code, _ := r.view.resolve(s)
		if (s.need && code == "" || s.shy && !r.view.names(code) && !r.looksPriced(number)) && (s.cents || !r.lonely()) {
			t.kind = tokWord
			t.e, _ = r.lookup(t.end(), t.start())
			return nil
		}
	}
	if s.code == "HUF" && !r.view.names("HUF") && r.toks[number].end()-r.toks[number].start() < 3 && r.text[t.start():t.end()] != "HUF" {
		return nil // 6 Ft of cable
	}
	return s
}

// lonely reports whether nothing but numbers, currencies and words about prices
// stands in a short text, so that what may be a currency is one.
func (r *reader) lonely() bool {
	if len(r.text) > maxBare {
		return false
	}
	for i := range r.toks {
		if t := &r.toks[i]; t.kind == tokWord && !t.is(mFiller|mNow|mFrom|mUsual|mList|mOf) || t.is(mUnit) {
			return false
		}
	}
	return r.onlyKnown()
}

// looksPriced reports whether a number is written as prices are.
func (r *reader) looksPriced(i int) bool {
	if t := r.tok(i + 1); t.kind == tokSign && t.sign == 0 {
		return true
	}
	for _, c := range r.numberText(i) {
		if separator(c) != 0 {
			return true
		}
	}
	return false
}

// narrower reports whether a second sign says which of the first one's
// currencies is meant: "$ 1299 MXN".
func (r *reader) narrower(s, t *sign) bool {
	if s.code != "" && s.code == t.code {
		return true
	}
	for _, c := range s.or {
		if t.code == c && t.or == nil {
			return true
		}
	}
	return false
}

// sawNegative takes a sign before an amount: "-15 €", "-$15", "$-15".
func (r *reader) sawNegative(a *anchor) {
	dash := r.tok(a.first - 1)
	switch c, _ := r.peek(r.toks[a.num].start()); {
	case c == '.' || c == ',': // -,99: nothing before the point
	case a.first < a.num && r.tok(a.num-1).rune('-'):
		a.negative = true
	case dash.rune('-') && !r.toks[a.first].gap && r.free2(a.first-1):
		before := r.tok(a.first - 2)
		a.negative = dash.gap || before.kind == tokBreak || before.rune('(') || before.rune(':') || before.rune('%')
	}
	if a.negative {
		a.first = min(a.first, a.num-1)
		if dash.rune('-') && r.free2(a.first-1) && !r.tok(a.first).rune('-') {
			a.first--
		}
	}
}
