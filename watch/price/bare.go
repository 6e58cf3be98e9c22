package price

import "github.com/govalues/decimal"

// maxBare bounds a text in which a number without a currency can be a price.
const maxBare = 200

// takeBare takes the numbers of a text that has no currency in it, if nothing
// stands there but numbers and words about prices: "1.099", "Was 39.99 now
// 29.99". "Model X-500 (2024)" is none.
func (r *reader) takeBare() {
	if len(r.text) > maxBare || !r.onlyKnown() {
		return
	}
	code, ambiguous := r.loneSign()
	percents := r.anchors
	r.anchors = nil
	for i := range r.toks {
		if len(percents) > 0 && percents[0].first <= i {
			if percents[0].last == i {
				r.anchors = append(r.anchors, percents[0])
				percents = percents[1:]
			}
			continue
		}
		if r.toks[i].kind == tokNumber && r.bare(i) {
			if a := (anchor{num: i, first: i, last: i, code: code, ambiguous: ambiguous}); r.bareValue(&a) {
				r.anchors = append(r.anchors, a)
			}
		}
	}
}

// loneSign returns the currency that stands apart from the numbers, "Price (USD):
// 1,299.00", or else the watch's.
func (r *reader) loneSign() (code string, ambiguous bool) {
	found := false
	for i := range r.toks {
		t := &r.toks[i]
		if t.kind != tokSign || t.sign == 0 || r.sg.list[t.sign].last {
			continue
		}
		c, open := r.view.resolve(&r.sg.list[t.sign])
		if open || found && c != code {
			return "", true
		}
		code, found = c, true
	}
	if !found {
		code = r.view.watch
	}
	return code, false
}

func (r *reader) bareValue(a *anchor) bool {
	if r.scaled(a.num + 1) {
		a.scale = r.toks[a.num+1].e.scale
		a.last++
	}
	if !r.readValue(a, false) {
		return false
	}
	r.sawNegative(a)
	return true
}

// onlyKnown reports whether every word of the text is of those around prices.
func (r *reader) onlyKnown() bool {
	for i := range r.toks {
		switch t := &r.toks[i]; {
		case t.kind == tokWord && t.e == nil:
			return false
		case t.kind == tokRune && t.r != '(' && t.r != ')' && t.r != ':' && t.r != '-' && t.r != '+' && t.r != '%' && t.r != '/' &&
			t.r != ',' && t.r != '~' && t.r != '×' && t.r != '=':
			return false
		case t.rune(':') && !t.gap && r.tok(i-1).kind == tokNumber && r.tok(i+1).kind == tokNumber: // 12:30
			return false
		}
	}
	return true
}

// bare reports whether a number may be an amount: it isn't glued to anything, and
// counts nothing.
func (r *reader) bare(i int) bool {
	prev, next := r.tok(i-1), r.tok(i+1)
	switch {
	case r.gluedBefore(i), next.kind == tokWord && !next.gap && !next.is(mScale|mFrom|mNow|mList):
		return false
	case next.kind == tokWord && (next.is(mUnit|mPack|mPoints) || next.is(mTimes) && !next.is(mOf)):
		return false
	case next.rune('-') && r.tok(i+2).is(mPack|mUnit), prev.rune('+') && !r.toks[i].gap, next.is(mFor) && r.tok(i+2).kind == tokNumber:
		return false
	case next.kind == tokSign && !next.gap && next.sign != 0: // 1080p
		return false
	case next.rune('×'), prev.rune('/'), prev.is(mPack), prev.rune('-') && !prev.gap && r.tok(i-2).kind == tokNumber && r.tok(i-3).rune('-'):
		return false
	case prev.rune('(') && next.rune(')') && i > 1: // (14)
		return false
	}
	return true
}

// counted returns the number before token i, if it counts something: of two
// digits and no separator.
func (r *reader) counted(i int) (n decimal.Decimal, ok bool) {
	t := r.tok(i)
	if t.kind != tokNumber || t.end()-t.start() > 6 {
		return n, false
	}
	n, _, ok = readNumber(r.numberText(i), convention{})
	return n, ok && n.IsPos() && n.Scale() == 0 && n.Coef() < 1000
}
