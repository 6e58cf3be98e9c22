package price

import "github.com/govalues/decimal"

// choice collects, in one pass, the candidates that can be the price, the best of
// each rank.
type choice struct {
	ranks [ranks]struct {
		first  int // index of a candidate, plus one
		anchor *anchor
		// several says that there is another one with another amount.
		several bool
	}
}

// The ranks, the best first.
const (
	rankNow = iota
	rankPlain
	rankFrom
	rankUsual
	rankTotal
	rankClub
	rankPiece
	rankMulti
	ranks
)

func rankOf(a *anchor) int {
	switch {
	case a.kind == KindPrice && a.said&mClub != 0:
		return rankClub
	case a.kind == KindPrice && a.said&mNow != 0:
		return rankNow
	case a.kind == KindPrice && a.said&mUsual != 0:
		return rankUsual
	case a.kind == KindPrice && a.said&mTotal != 0:
		return rankTotal
	case a.kind == KindPrice:
		return rankPlain
	case a.kind == KindFrom, a.kind == KindRange:
		return rankFrom
	case a.kind == KindUnit && a.unit == &pieceUnit, a.kind == KindUnit && a.unit != nil && a.unit.per == pieceUnit.per && a.count.Cmp(one) == 0:
		return rankPiece
	case a.kind == KindMultibuy && a.signed:
		return rankMulti
	}
	return -1
}

// see takes note of a candidate.
func (c *choice) see(a *anchor, index int) {
	i := rankOf(a)
	if i < 0 {
		return
	}
	rank := &c.ranks[i]
	switch {
	case rank.first == 0:
		rank.first, rank.anchor = index+1, a
	case rank.anchor.code != a.code || rank.anchor.value.Cmp(a.value) != 0:
		rank.several = true
	}
}

// best returns the candidate of the best rank; ambiguous if that has several.
func (c *choice) best([]Candidate) (index int, ambiguous bool) {
	for _, rank := range c.ranks {
		switch {
		case rank.first == 0:
		case rank.several:
			return -1, true
		default:
			return rank.first - 1, false
		}
	}
	return -1, false
}

func (c *choice) doubtful(index int) bool {
	for _, rank := range c.ranks {
		if rank.first == index+1 {
			return rank.anchor.doubtful
		}
	}
	return false
}

// settle compares plain prices with each other where there are a few, and tells
// the one of now from those of before, the gross from the net one, the one in the
// watch's currency from its conversions.
func (r *reader) settle() {
	defer r.settleUsual()
	r.dropEchoes()
	var buf [maxSettled]*anchor
	all := buf[:0]
	for i := range r.anchors {
		a := &r.anchors[i]
		if !a.shown() || a.kind != KindPrice {
			continue
		}
		if len(all) == maxSettled {
			return // a page of prices: nobody can tell
		}
		all = append(all, a)
	}
	if len(all) < 2 {
		return
	}
	settleTaxes(all)
	now := false
	plain := all[:0]
	for _, a := range all {
		if a.kind == KindPrice && a.said&(mUsual|mTotal|mClub) == 0 {
			plain = append(plain, a)
			now = now || a.said&mNow != 0
		}
	}
	if len(plain) < 2 {
		return
	}
	settleCurrencies(plain, r.view.watch)
	if now {
		settleNow(plain)
		return
	}
	r.settleSavings(plain)
}

// dropEchoes drops the "$12999" of "$129.99$12999": a price that stands there a
// second time, in elements of which the decimal point is drawn.
func (r *reader) dropEchoes() {
	for i := 1; i < len(r.anchors); i++ {
		a, b := &r.anchors[i-1], &r.anchors[i]
		if a.kind != KindPrice || b.kind != KindPrice || a.value.Scale() != 2 || b.value.Scale() != 0 || a.code != b.code ||
			a.value.Coef() != b.value.Coef() || r.looksPriced(b.num) || r.toks[b.first].gap {
			continue
		}
		b.highEnd = true
	}
}

// settleUsual makes list prices of usual ones that a lower price stands beside.
func (r *reader) settleUsual() {
	var lowest *anchor
	for i := range r.anchors {
		a := &r.anchors[i]
		if rank := rankOf(a); a.shown() && rank >= 0 && rank < rankUsual && (lowest == nil || a.value.Cmp(lowest.value) < 0) {
			lowest = a
		}
	}
	for i := range r.anchors {
		a := &r.anchors[i]
		if lowest != nil && a.shown() && rankOf(a) == rankUsual && a.code == lowest.code && a.value.Cmp(lowest.value) > 0 {
			a.kind = KindList
		}
	}
}

// maxSettled is how many plain prices are compared with each other.
const maxSettled = 6

// settleCurrencies makes conversions of the prices that say they are rough, that
// stand in parentheses behind one in another currency, or that are not in the
// watch's.
func settleCurrencies(plain []*anchor, watch string) {
	mine := false
	for _, a := range plain {
		mine = mine || a.code == watch && watch != ""
	}
	for i, a := range plain {
		other := false
		for j, b := range plain {
			other = other || i != j && a.code != b.code
		}
		if !other {
			continue
		}
		first := plain[0].code
		if !mine && a.said&mRoughly != 0 && (i > 0 || !plain[1].inside) || mine && a.code != watch && a.code != "" || !mine && a.inside && a.code != first && !plain[0].inside {
			a.kind = KindConverted
		}
	}
}

// settleTaxes makes the net price of a pair one: the other has the taxes in it, up
// to 30 %.
func settleTaxes(plain []*anchor) {
	for _, a := range plain {
		for _, b := range plain {
			if a == b || a.kind != KindPrice || b.kind != KindPrice || a.code != b.code || a.value.Cmp(b.value) >= 0 {
				continue
			}
			// a is the lower one
			if (a.tax == TaxExcluded || b.tax == TaxIncluded) && a.tax != TaxIncluded && b.tax != TaxExcluded && within(a.value, b.value, 130) {
				a.tax, b.tax = TaxExcluded, TaxIncluded
				a.kind = KindNet
			}
		}
	}
}

// within reports whether b is at most percent of a.
func within(a, b decimal.Decimal, percent int64) bool {
	most, err := a.Mul(decimal.MustNew(percent, 2))
	return err == nil && b.Cmp(most) <= 0
}

// settleNow makes list prices of what costs more than the one price of now.
func settleNow(plain []*anchor) {
	var now *anchor
	for _, a := range plain {
		if a.kind == KindPrice && a.said&mNow != 0 {
			if now != nil && now.value.Cmp(a.value) != 0 {
				return
			}
			now = a
		}
	}
	for _, a := range plain {
		if now != nil && a.kind == KindPrice && a.said&mNow == 0 && a.code == now.code && a.value.Cmp(now.value) > 0 {
			a.kind = KindList
		}
	}
}

// settleSavings finds the price before and the price of now by the difference
// that stands beside them: "$20.00 $15.00 (-25%)".
func (r *reader) settleSavings(plain []*anchor) {
	var high, low *anchor
	for _, a := range plain {
		switch {
		case a.kind != KindPrice:
		case high == nil:
			high = a
		case a.value.Cmp(high.value) == 0 || low != nil && a.value.Cmp(low.value) == 0:
		case low == nil:
			low = a
		default:
			return
		}
	}
	if low == nil {
		return
	}
	if low.value.Cmp(high.value) > 0 {
		high, low = low, high
	}
	if high.code != low.code {
		return
	}
	for i := range r.anchors {
		if s := &r.anchors[i]; s.percent && isPercentOff(high.value, low.value, s.value) || s.kind == KindSaving && isSaving(high.value, low.value, s.value) {
			for _, a := range plain {
				if a.value.Cmp(high.value) == 0 {
					a.kind = KindList
				}
			}
			return
		}
	}
}

func isSaving(high, low, saving decimal.Decimal) bool {
	sum, err := low.Add(saving)
	return err == nil && sum.Cmp(high) == 0
}

// isPercentOff reports whether low is high less percent, which may be rounded.
func isPercentOff(high, low, percent decimal.Decimal) bool {
	hundred := decimal.MustNew(100, 0)
	diff, err := high.Sub(low)
	if err != nil || high.IsZero() {
		return false
	}
	rate, err := diff.Mul(hundred)
	if err != nil {
		return false
	}
	if rate, err = rate.Quo(high); err != nil {
		return false
	}
	off, err := rate.SubAbs(percent)
	return err == nil && off.Cmp(one) < 0
}
