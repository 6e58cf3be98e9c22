package price

// gap is what stands between two amounts, or before the first or after the last:
// the tokens from lo to hi, without it.
type gap struct {
	l, r   *anchor // nil at the text's ends
	next   *anchor // behind r, nil if there is none
	lo, hi int
	// dist is how many words that nobody knows stand between a token and the
	// amounts.
	distL, distR int
	// stopL and stopR say that a sentence or column ends in between, lineL and
	// lineR that a line does.
	stopL, stopR, lineL, lineR bool
	// openL says that a parenthesis opens between the left amount and the token,
	// closeR that one closes between it and the right one.
	openL, closeR bool
}

// reach is how far from its amount what is said of instalments and taxes may
// stand, in unknown words.
const reach = 3

// reach returns how far from its amount a word may stand, in unknown words. Most
// stand next to it: "Original: $20", and not "Original toner cartridge $20".
func (e *entry) reach() int {
	switch {
	case e.means&near != 0:
		return 0
	case e.means&(mInstall|mTaxWord) != 0:
		return reach
	case e.means&mMember != 0, e.words > 1:
		return 2
	}
	return 0
}

// bind tells each amount what the words around say of it. Each token is looked at
// a fixed number of times.
func (r *reader) bind() {
	for i := range len(r.anchors) + 1 {
		g := gap{lo: 0, hi: len(r.toks)}
		if i > 0 {
			g.l = &r.anchors[i-1]
			g.lo = g.l.last + 1
		}
		if i < len(r.anchors) {
			g.r = &r.anchors[i]
			g.hi = g.r.first
		}
		if i+1 < len(r.anchors) {
			g.next = &r.anchors[i+1]
		}
		r.bindGap(&g)
	}
}

// sides is how a gap looks to the right of a token.
type sides struct {
	cost, stops, lines, closes int
}

func (s *sides) add(t *token) {
	switch {
	case t.kind == tokBreak && t.r == '\n':
		s.lines++
	case t.kind == tokBreak:
		s.stops++
	case t.rune(')'):
		s.closes++
	case t.rune(','), t.kind == tokNumber, t.kind == tokWord && t.e == nil:
		s.cost++
	}
}

func (r *reader) bindGap(g *gap) {
	var all, seen sides
	opens := 0
	for i := g.lo; i < g.hi; i++ {
		all.add(&r.toks[i])
	}
	for i := g.lo; i < g.hi; i++ {
		t := &r.toks[i]
		before := seen
		seen.add(t)
		if t.rune('(') {
			opens++
		}
		if t.kind != tokWord || t.e == nil || t.e.means&said == 0 {
			continue
		}
		g.distL, g.distR = before.cost, all.cost-seen.cost
		g.stopL, g.stopR = before.stops > 0, all.stops > seen.stops
		g.lineL, g.lineR = before.lines > 0, all.lines > seen.lines
		g.openL, g.closeR = opens > before.closes, all.closes > seen.closes
		r.bindWord(g, i, t)
	}
	if g.r != nil && g.openL && !g.closeR {
		g.r.inside = true
	}
	if g.r != nil && opens > all.closes {
		g.r.inside = true
	}
}

func (r *reader) bindWord(g *gap, i int, t *token) {
	m := t.e.means
	switch {
	case m&mSold != 0:
		r.soldOut = true
	case m&(mTaxWord|mNet|mGross) != 0:
		r.bindTax(g, i, t)
		m &^= mNet | mGross
	}
	if m&mFreeShip != 0 || m&mShip != 0 {
		r.bindShipping(g, i, t)
		return
	}
	if m&mFree != 0 && r.freeShipAt(g, i) == 0 {
		r.free = true
	}
	a := r.side(g, i, m)
	if a == nil {
		return
	}
	a.say(m & said)
	if next := g.next; next != nil && a == g.r && a.percent && m&mMember != 0 && r.near(a.last+1, next.first) {
		next.say(m & said) // Subscribe and save 10% $17.99
	}
}

// side returns the amount that a word of a gap is about, nil if it is none's.
func (r *reader) side(g *gap, i int, m means) *anchor {
	dist := r.toks[i].e.reach()
	if m&either == after && r.tok(i+1).rune(':') { // OFF: $5
		m ^= either
	}
	left := m&after != 0 && g.l != nil && !g.stopL && g.distL <= dist
	if m&mPoints != 0 {
		left = left && i == g.lo
	}
	if p := r.tok(i - 1); m&mExtra != 0 && (p.rune('+') || p.is(mEx|mIn)) {
		left = false // 1,19 € + Pfand
	}
	right := m&before != 0 && g.r != nil && !g.stopR && g.distR <= dist
	switch {
	case left && right && r.prefersRight(g, i, m):
		return g.r
	case left:
		return g.l
	case right:
		return g.r
	}
	return nil
}

// prefersRight decides for a word that may be about either amount.
func (r *reader) prefersRight(g *gap, i int, m means) bool {
	switch {
	case g.openL && g.closeR, g.closeR && !g.openL:
		return false
	case g.openL:
		return true
	case r.tok(i + 1).rune(':'), m&mMember != 0 && g.distR <= 2 && r.tok(g.hi-1).rune(':'): // with code SAVE20: $63.99
		return true
	case g.lineL != g.lineR:
		return g.lineL
	case r.tok(i - 1).rune('+'), r.tok(i - 1).rune(','):
		return m&rather != 0 || r.tok(i-1).rune(',')
	case r.tok(i + 1).rune(','):
		return false
	case g.distL != g.distR:
		return g.distR < g.distL
	}
	return m&rather != 0
}

// say adds what a word says. Of "was" and "now" the one that stands nearer to the
// amount counts, which for one behind words before it is the later.
func (a *anchor) say(m means) {
	const when = mList | mUsual | mNow | mTotal
	if m&when != 0 {
		a.said &^= when
	}
	a.said |= m
}

// bindTax finds out what words about taxes say: "inkl. 19 % MwSt.", "ex VAT",
// "税込".
func (r *reader) bindTax(g *gap, i int, t *token) {
	tax := Tax("")
	switch {
	case t.is(mGross):
		tax = TaxIncluded
	case t.is(mNet):
		tax = TaxExcluded
	default:
		tax = r.taxAround(g, i)
	}
	if tax == "" {
		return
	}
	m := either
	if t.is(mGross|mNet) && g.l != nil && g.r != nil && r.taxFirst || t.is(mTaxWord) && r.taxFirst {
		m |= rather
	}
	a := r.side(g, i, m)
	if a == nil {
		return
	}
	if g.l == nil && a == g.r {
		r.taxFirst = true
	}
	if a.tax == "" || a == g.r {
		a.tax = tax
	}
}

// taxAround looks for "incl." or "excl." around a word for a tax: up to four
// tokens before it, or right after.
func (r *reader) taxAround(g *gap, i int) Tax {
	for j := i - 1; j >= max(g.lo, i-4); j-- {
		switch t := &r.toks[j]; {
		case t.is(mTaxWord), t.kind == tokBreak && t.r != '\n':
			j = 0
		case t.is(mEx), t.rune('+'):
			return TaxExcluded
		case t.is(mIn):
			return TaxIncluded
		}
	}
	for j := i + 1; j <= min(i+2, g.hi-1); j++ {
		switch t := &r.toks[j]; {
		case t.is(mEx):
			return TaxExcluded
		case t.is(mIn):
			if j == i+1 && r.tok(i-1).kind == tokWord && r.toks[i-1].e != nil && r.toks[i-1].e.text == "not" {
				return TaxExcluded
			}
			return TaxIncluded
		}
	}
	return ""
}

// freeShipAt says whether a word for nothing and one for delivery stand together
// around token i: it returns the token that ends them, 0 if they don't.
func (r *reader) freeShipAt(g *gap, i int) int {
	if r.toks[i].is(mFreeShip) {
		return i
	}
	other := mFree
	if r.toks[i].is(mFree) {
		other = mShip
	}
	for d := 1; d <= 3; d++ {
		if j := i + d; j < g.hi && r.toks[j].kind == tokBreak {
			break
		} else if j < g.hi && r.toks[j].is(other|mFreeShip) {
			return j
		}
	}
	for d := 1; d <= 3; d++ {
		if j := i - d; j >= g.lo && r.toks[j].kind == tokBreak {
			break
		} else if j >= g.lo && r.toks[j].is(other|mFreeShip) {
			return i
		}
	}
	return 0
}

// bindShipping finds the amounts that are about delivery: what it costs, or from
// which value on it is free.
func (r *reader) bindShipping(g *gap, i int, t *token) {
	if end := r.freeShipAt(g, i); end > 0 {
		if g.l != nil && !g.stopL && !g.lineL && (g.l.said&(mOver|mOrder|mUpTo) != 0 || g.l.said&mFrom != 0 && r.near(g.lo, i) ||
			r.tok(g.lo).rune('+') && !r.tok(g.lo).gap || r.condition(g.lo, i)) {
			g.l.say(mShip)
		}
		if g.r != nil && !g.stopR && (r.has(mOver|mOrder|mFrom, end+1, g.hi) || r.tok(g.r.last+1).is(mOrder) || r.tok(g.r.last+1).rune('+')) {
			g.r.say(mShip)
		}
		return
	}
	out := r.tok(i-1).is(mIn|mEx) || r.tok(i-1).rune('+')
	if g.r != nil && !g.stopR && r.labels(g, i, out) {
		g.r.say(mShip)
		return
	}
	if g.l == nil || g.stopL || g.lineL || out || g.distL > 0 || r.has(mIn|mEx, g.lo, i) {
		return
	}
	if next := r.tok(i + 1); i+1 >= g.hi || next.kind == tokBreak || next.rune(')') || next.rune(',') || next.is(mTotal) || next.is(mTo) {
		g.l.say(mShip)
	}
}

// labels reports whether a word for delivery stands before its cost: "Versand:
// 4,99 €". "inkl. Versand 19,99 €" says something else.
func (r *reader) labels(g *gap, i int, out bool) bool {
	if out && (g.lineR || r.tok(i-1).is(mIn) && !r.tok(i-1).is(mEx)) || r.tok(i-1).is(mIn) && !r.tok(i-1).is(mEx) {
		return false
	}
	if g.closeR && !g.openL {
		return false
	}
	if g.distR == 0 {
		return !g.lineR || i+1 == g.hi-1 || r.tok(i+1).rune(':')
	}
	return r.tok(g.hi-1).rune(':') && g.distR <= reach
}

// condition reports whether words that follow a minimum stand in a few tokens:
// "$35 orders".
func (r *reader) condition(lo, hi int) bool {
	for i := lo; i < min(hi, lo+4) && r.toks[i].kind != tokNumber; i++ {
		if t := &r.toks[i]; t.is(mOrder|mOver) && t.is(after) {
			return true
		}
	}
	return false
}

// near reports whether only known words stand between two tokens.
func (r *reader) near(lo, hi int) bool {
	const most = 8
	for i := lo; i < hi; i++ {
		if t := &r.toks[i]; i == lo+most || t.kind == tokBreak || t.kind == tokWord && t.e == nil || t.rune('+') || t.rune(',') {
			return false
		}
	}
	return true
}

// has reports whether a word of a meaning stands in a few tokens.
func (r *reader) has(m means, lo, hi int) bool {
	for i := lo; i < min(hi, lo+8); i++ {
		if r.tok(i).is(m) {
			return true
		}
	}
	return false
}
