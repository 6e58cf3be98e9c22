package price

import (
	"strings"

	"github.com/govalues/decimal"
)

// decide turns the anchors into candidates and chooses.
func (r *reader) decide() Reading {
	out := Reading{Choice: -1, SoldOut: r.soldOut}
	r.settle()
	n := 0
	for i := range r.anchors {
		if a := &r.anchors[i]; a.shown() {
			n++
		}
	}
	if n > 0 {
		out.Candidates = make([]Candidate, 0, n)
	}
	var pick choice
	for i := range r.anchors {
		a := &r.anchors[i]
		if !a.shown() {
			continue
		}
		pick.see(a, len(out.Candidates))
		out.Candidates = append(out.Candidates, r.candidate(i))
	}
	out.Choice, out.Ambiguous = pick.best(out.Candidates)
	if r.free && r.takeFree(&out) {
		return out
	}
	if out.Choice < 0 {
		if r.negative && n == 0 {
			out.Reject = RejectNegative
		}
		return out
	}
	c := &out.Candidates[out.Choice]
	usable := c.Kind == KindPrice || c.Kind == KindFrom || c.Kind == KindRange || c.Kind == KindUnit
	out.Alertable = usable && c.Amount.Currency != "" && c.Amount.Number.IsPos() && !pick.doubtful(out.Choice)
	return out
}

// shown reports whether an anchor is a candidate.
func (a *anchor) shown() bool {
	return !a.percent && !a.highEnd && (!a.negative || a.kind == KindSaving)
}

// candidate makes the candidate of an anchor.
func (r *reader) candidate(i int) Candidate {
	a := &r.anchors[i]
	c := Candidate{
		Kind: a.kind, Amount: Amount{a.value, a.code, a.ambiguous}, Tax: a.tax,
		Start: r.toks[a.first].start(), End: r.toks[a.last].end(),
	}
	last := a.last
	if c.High = a.high; c.High != nil {
		c.Amount.CurrencyAmbiguous = a.ambiguous && a.code == ""
		if i+1 < len(r.anchors) && r.anchors[i+1].highEnd {
			last = r.anchors[i+1].last
			c.End = r.toks[last].end()
		}
	}
	switch {
	case a.kind == KindUnit && a.unit != nil:
		c.Per = a.unit.per
		if d, ok := a.unit.normal(a.value, a.count); ok {
			c.Amount.Number = d
		}
	case a.kind == KindMultibuy:
		c.Quantity = Quantity{a.count, pieceUnit.per}
	case a.kind == KindPrice, a.kind == KindFrom:
		c.Quantity = r.quantity()
	}
	c.Snippet = r.snippet(a.first, last)
	return c
}

// maxSnippet bounds how far a snippet reaches before and behind its amount.
const maxSnippet = 60

// snippet returns an amount with the words around it, to the neighbouring amounts
// or the ends of the sentence.
func (r *reader) snippet(first, last int) string {
	start, end := r.toks[first].start(), r.toks[last].end()
	lo, hi := start, end
	for i := first - 1; i >= 0 && r.toks[i].kind != tokBreak && r.toks[i].kind != tokNumber && start-r.toks[i].start() <= maxSnippet; i-- {
		lo = r.toks[i].start()
	}
	for i := last + 1; i < len(r.toks) && r.toks[i].kind != tokBreak && r.toks[i].kind != tokNumber && r.toks[i].end()-end <= maxSnippet; i++ {
		hi = r.toks[i].end()
	}
	return strings.TrimSpace(r.text[lo:hi])
}

// quantity returns how much the text says one gets, if it says so once: "Pack of
// 6", "2 Litre bottle".
func (r *reader) quantity() (q Quantity) {
	const window = 40 // tokens that are looked at
	found := 0
	for i := 0; i < min(len(r.toks), window); i++ {
		if r.toks[i].kind != tokNumber || r.inAnchor(i) {
			continue
		}
		next, prev := r.tok(i+1), r.tok(i-1)
		if next.rune('-') && !next.gap {
			next = r.tok(i + 2)
		}
		n, _, ok := r.countAt(i)
		switch {
		case !ok:
		case next.kind == tokWord && next.e != nil && next.e.unit != nil && !next.e.unit.period && !r.gluedBefore(i):
			u := next.e.unit
			if t := r.tok(i - 1); t.rune('×') || t.is(mTimes) { // 6 x 0,5 l
				if times, ok := r.counted(i - 2); ok {
					n, _ = n.Mul(times)
				}
			}
			all, err := n.Quo(decimal.MustNew(u.parts, 0))
			if err == nil {
				q = Quantity{all, u.per}
				found++
			}
		case prev.is(mPack) || next.is(mPack) && !next.is(mTimes):
			q = Quantity{n, pieceUnit.per}
			found++
		}
	}
	if found != 1 {
		return Quantity{}
	}
	return q
}

func (r *reader) inAnchor(i int) bool {
	for j := range r.anchors {
		if a := &r.anchors[j]; a.first <= i && i <= a.last {
			return true
		}
		if j > 8 {
			return false
		}
	}
	return false
}

// takeFree takes a text that says in words that something costs nothing.
func (r *reader) takeFree(out *Reading) bool {
	if out.Ambiguous || !r.onlyKnown() || len(r.text) > maxBare {
		return false
	}
	currency := r.view.watch
	if out.Choice >= 0 {
		c := &out.Candidates[out.Choice]
		if c.Amount.Number.IsZero() {
			out.Free, out.Alertable = true, c.Amount.Currency != ""
			return true
		}
		return false
	}
	for _, c := range out.Candidates {
		if c.Kind != KindList {
			return false
		}
		currency = c.Amount.Currency
	}
	for i := range r.toks {
		if r.toks[i].is(mMember | mClub) {
			return false // for some
		}
	}
	for i := range r.toks {
		if t := &r.toks[i]; t.is(mFree) {
			out.Choice, out.Free, out.Alertable = len(out.Candidates), true, currency != ""
			out.Candidates = append(out.Candidates, Candidate{
				Kind: KindPrice, Amount: Amount{Currency: currency}, Snippet: r.snippet(i, i), Start: t.start(), End: t.end(),
			})
			return true
		}
	}
	return false
}
