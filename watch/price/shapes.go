package price

import (
	"cmp"
	"slices"

	"github.com/govalues/decimal"
)

// one is the count where none is written.
var one = decimal.One

// shapes finds what amounts are by the numbers and signs around them, and takes
// those tokens for theirs: "/ 100 g", "12x de", "2 for".
func (r *reader) shapes() {
	for i := range r.anchors {
		a := &r.anchors[i]
		if a.percent || a.kind == KindPoints {
			continue
		}
		lo := 0
		if i > 0 {
			lo = r.anchors[i-1].last + 1
		}
		hi := len(r.toks)
		if i+1 < len(r.anchors) {
			hi = r.anchors[i+1].first
		}
		if !r.unitAfter(a, hi) {
			r.unitBefore(a, lo)
		}
		r.countBefore(a, lo)
	}
}

// unitAfter takes "/ kg", "per 100 g", "je Stück", "/mo" behind an amount.
func (r *reader) unitAfter(a *anchor, hi int) bool {
	j := a.last + 1
	if t := r.tok(j); t.kind == tokBreak && t.r == '\n' || t.rune('(') {
		j++
	}
	if t := r.tok(j); j < hi && t.is(mEach) && !t.is(mPer) {
		a.unit, a.count = &pieceUnit, one
		a.last = j
		return true
	}
	start := j
	for j < hi && j < start+3 && (r.tok(j).rune('/') || r.tok(j).is(mPer)) {
		j++
	}
	if j == start {
		return false
	}
	count := one
	k := j
	if n, _, ok := r.countAt(j); ok {
		count = n
		k++
	}
	if t := r.tok(k); k >= hi || t.kind != tokWord || t.e == nil || t.e.unit == nil {
		if t := r.tok(start); start < hi && t.is(mEach) {
			a.unit, a.count, a.last = &pieceUnit, one, start
			return true
		}
		return false
	}
	a.unit, a.count, a.last = r.toks[k].e.unit, count, k
	if p := r.tok(k + 1); a.unit.per == "m" && p.kind == tokNumber && !p.gap { // m2
		switch r.numberText(k + 1) {
		case "2":
			a.unit, a.last = &squareMetre, k+1
		case "3":
			a.unit, a.last = &cubicMetre, k+1
		}
	}
	return true
}

// pieceUnit is the unit of "each".
var pieceUnit = unit{per: "piece", parts: 1}

// squareMetre and cubicMetre are those whose 2 and 3 are numbers of their own.
var (
	squareMetre = unit{per: "m2", parts: 1}
	cubicMetre  = unit{per: "m3", parts: 1}
)

// countAt reads the number of a measure: "100" of "100 g", "0,75" of "0,75 l".
func (r *reader) countAt(i int) (n decimal.Decimal, doubtful, ok bool) {
	if r.tok(i).kind != tokNumber {
		return n, false, false
	}
	n, doubtful, ok = readNumber(r.numberText(i), convention{digits: -1, point: r.view.point, group: r.view.group})
	return n, doubtful, ok && n.IsPos()
}

// unitBefore takes "100 g =", "1 kg:", "100mlあたり", "per kg" before an amount.
func (r *reader) unitBefore(a *anchor, lo int) {
	j := a.first - 1
	sign, per := false, false
	for j >= lo && j > a.first-4 {
		switch t := r.tok(j); {
		case t.rune('='), t.rune('/'):
			sign = true
		case t.rune(':'):
		case t.is(mPer) && unspaced(r.firstRune(j)):
			per = true
		default:
			goto word
		}
		j--
	}
word:
	t := r.tok(j)
	if j < lo || t.kind != tokWord || t.e == nil || t.e.unit == nil {
		return
	}
	count, first := one, j
	if n, _, ok := r.countAt(j - 1); ok && j-1 >= lo {
		count, first = n, j-1
	}
	if p := r.tok(first - 1); first-1 >= lo && (p.is(mPer) || p.rune('/')) && (!p.is(mNow) || j < a.first-1 || first < j) {
		per = true
		first--
	}
	if !sign && !per {
		return
	}
	a.unit, a.count = t.e.unit, count
	a.first = first
}

func (r *reader) firstRune(i int) rune {
	c, _ := r.peek(r.tok(i).start())
	return c
}

// countBefore takes "12x de" and "2 for" before an amount.
func (r *reader) countBefore(a *anchor, lo int) {
	j := a.first - 1
	for j >= lo && j > a.first-5 && r.tok(j).is(mOf|mNow|mFiller|mPer) && !r.tok(j).is(mFor|mTimes) {
		j--
	}
	t := r.tok(j)
	if j-1 < lo {
		return
	}
	n, ok := r.counted(j - 1)
	if !ok {
		return
	}
	switch {
	case t.rune('×') || t.is(mTimes):
		a.said |= mInstall
		a.first = j - 1
	case t.is(mFor) && n.Cmp(one) > 0 && !r.gluedBefore(j-1) && !r.tok(j-2).is(mTotal|mPack) && (j+1 == a.first || !r.toks[j].is(mOver)):
		a.kind = KindMultibuy
		a.count = n
		a.first = j - 1
	}
}

// ranges joins the two ends of a range: "10 € – 20 €", "10–20 €", "from $10 to
// $20".
func (r *reader) ranges() {
	for i := range r.anchors {
		a := &r.anchors[i]
		if a.percent || a.negative || a.highEnd || a.kind != "" || a.said&notEnds != 0 {
			continue
		}
		lo, hi := 0, len(r.toks)
		if i > 0 {
			lo = r.anchors[i-1].last + 1
		}
		if i+1 < len(r.anchors) {
			b := &r.anchors[i+1]
			hi = b.first
			if r.rangeEnds(a, b) {
				a.code = cmp.Or(a.code, b.code)
				a.ambiguous = a.code == "" && (a.ambiguous || b.ambiguous)
				a.high = &Amount{b.value, a.code, a.ambiguous}
				a.tax = cmp.Or(a.tax, b.tax)
				a.doubtful = a.doubtful || b.doubtful
				b.highEnd = true
				continue
			}
		}
		if !r.lowerHalf(a, lo) {
			r.upperHalf(a, hi)
		}
	}
}

// notEnds are what an end of a range is not.
const notEnds = mShip | mSave | mInstall | mList | mPoints | mExtra | mUsual | mTotal | mRoughly

func (r *reader) rangeEnds(a, b *anchor) bool {
	if b.percent || b.unit != a.unit && a.unit != nil || b.said&notEnds != 0 || b.kind != "" ||
		!oneCurrency(a, b) || a.value.Cmp(b.value) >= 0 {
		return false
	}
	return r.joinsRange(a.last+1, b.first) || b.negative && b.first == a.last+1
}

// oneCurrency reports whether two amounts can be in the same currency: "US$10" and
// "$20" can, "€10" and "$20" cannot.
func oneCurrency(a, b *anchor) bool {
	switch {
	case a.code == b.code:
		return true
	case a.code == "":
		return a.or == nil || slices.Contains(a.or, b.code)
	case b.code == "":
		return b.or == nil || slices.Contains(b.or, a.code)
	}
	return false
}

// joinsRange reports whether only a dash or a "to" stands between two tokens.
func (r *reader) joinsRange(lo, hi int) bool {
	joint := false
	for i := lo; i < min(hi, lo+4); i++ {
		switch t := &r.toks[i]; {
		case t.line():
		case (t.rune('-') || t.rune('~') || t.is(mTo)) && !joint:
			joint = true
		default:
			return false
		}
	}
	return joint && hi-lo <= 4
}

// half reads a number that shares the currency of the amount at the other end.
func (r *reader) half(i int, a *anchor) (b anchor, ok bool) {
	b = anchor{num: i, first: i, last: i, code: a.code}
	ok = r.toks[i].kind == tokNumber && r.bare(i) && r.readValue(&b, false) && b.value.IsPos()
	return b, ok
}

// lowerHalf takes the number before a dash: "10–20 €".
func (r *reader) lowerHalf(a *anchor, lo int) bool {
	i := a.first - 2
	if i < lo || !r.joinsRange(i+1, a.first) || r.tok(i-1).rune('-') {
		return false
	}
	b, ok := r.half(i, a)
	if !ok || b.value.Cmp(a.value) >= 0 {
		return false
	}
	a.high = &Amount{a.value, a.code, a.ambiguous}
	a.value, a.first, a.doubtful = b.value, i, a.doubtful || b.doubtful
	return true
}

// upperHalf takes the number behind a dash: "$10-20".
func (r *reader) upperHalf(a *anchor, hi int) {
	i := a.last + 2
	if i >= hi || !r.joinsRange(a.last+1, i) || r.tok(i+1).rune('%') || r.tok(i+1).kind == tokSign {
		return
	}
	b, ok := r.half(i, a)
	if !ok || a.value.Cmp(b.value) >= 0 {
		return
	}
	a.high = &Amount{b.value, a.code, a.ambiguous}
	a.last, a.doubtful = i, a.doubtful || b.doubtful
}
