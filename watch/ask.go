package watch

import (
	"fmt"
	"time"

	"github.com/bojanz/currency"
	"github.com/govalues/decimal"

	"github.com/lastlook/lastlook/watch/price"
)

// ask answers a trigger's question, by its kind.
func (q *question) ask() Finding {
	switch q.t.Kind {
	case BackInStock:
		return q.askStock()
	case AnyChange:
		return q.askChange()
	case ValueIs:
		return q.askValue()
	case Below, Drop, LowestInDays, Rise, UnitBelow, EffectiveBelow:
		return q.askPrice()
	}
	return Finding{Why: "this version knows no trigger " + string(q.t.Kind)}
}

const noStock = "the page does not say whether it is in stock"

func (q *question) askStock() Finding {
	switch a := q.o.Availability; a {
	case InStock, Limited:
		return Finding{Answer: Holds}
	case OutOfStock, Discontinued, PreOrder, BackOrder:
		return Finding{Answer: DoesNotHold, OutOfStock: true, Why: "it is " + people(a)}
	case Unknown:
	}
	return Finding{Why: noStock}
}

// askPrice asks what all questions about a price have in common, and then the
// trigger's own.
func (q *question) askPrice() Finding {
	if !q.w.IgnoreStock {
		yes, known := q.o.Availability.Orderable()
		switch {
		case !known:
			return Finding{Why: noStock}
		case !yes:
			return Finding{Answer: DoesNotHold, OutOfStock: true, Why: "it is " + people(q.o.Availability), relative: q.relative()}
		}
	}
	switch p := q.o.Price; {
	case p.IsZero() && q.o.Ambiguous:
		return Finding{Why: "the page states several prices, and none is certain"}
	case p.IsZero():
		return Finding{Why: "the page states no certain price"}
	case p.Amount().IsNeg():
		return Finding{Why: "a price of " + p.String() + " cannot be right"}
	}
	if until := q.o.ValidUntil; !until.IsZero() && !until.After(q.now) {
		return Finding{Answer: DoesNotHold, Why: "the offer ended at " + until.UTC().Format(time.RFC3339), memory: q.s.Memory, relative: q.relative()}
	}
	m := q.s.Memory
	switch q.t.Kind {
	case Below, UnitBelow, EffectiveBelow:
		return q.askTarget(m)
	case LowestInDays:
		return q.askLowest(m)
	default:
		return q.askMove(m)
	}
}

// askTarget compares the price, or what it comes to, with the target.
func (q *question) askTarget(m Memory) Finding {
	f := Finding{memory: m}
	figure := q.o.Price
	switch q.t.Kind {
	case UnitBelow:
		figure, f.Why = unitPrice(q.o, q.t.Per)
		f.Figure = figure
	case EffectiveBelow:
		figure, f.Why = effectivePrice(q.o, q.w.Points)
		f.Figure = figure
	default:
	}
	if f.Why != "" {
		return f
	}
	target := q.t.Target
	c, ok := figure.Cmp(target)
	switch {
	case !ok:
		f.Why = "the price is in " + figure.Currency() + ", the target in " + target.Currency()
	case c < 0:
		f.Answer = Holds
	default:
		f.Answer, f.Why = DoesNotHold, q.inUnits(figure)+" is not below "+q.inUnits(target)
		f.soft = q.withinMargin(target, figure, false)
	}
	return f
}

// inUnits returns an amount for people, with the unit that it is for.
func (q *question) inUnits(m price.Money) string {
	if q.t.Kind != UnitBelow {
		return m.String()
	}
	return rounded(m).String() + " per " + q.t.Per
}

// rounded returns an amount with no more digits than its currency has, or four
// for what is worth less.
func rounded(m price.Money) price.Money {
	digits, _ := currency.GetDigits(m.Currency())
	amount := m.Amount().Round(int(digits))
	if amount.IsZero() {
		amount = m.Amount().Round(int(digits) + 4)
	}
	r, why := withAmount(m, amount)
	if why != "" {
		return m
	}
	return r
}

// withinMargin reports whether a figure is past the limit by less than the
// trigger's margin; above says that the condition is to be over the limit.
func (q *question) withinMargin(limit, figure price.Money, above bool) bool {
	if q.t.Margin.IsZero() || !q.s.Holding {
		return false
	}
	kind := Rise // by so much more than the limit, and it is over
	if above {
		kind = Drop
	}
	past, known := moved(kind, q.t.Margin, price.Money{}, limit, figure)
	return known && !past
}

// askMove compares the price with an earlier one.
func (q *question) askMove(m Memory) Finding {
	f := Finding{relative: q.relative()}
	p := q.o.Price
	if m.First.IsZero() {
		m.First = p
	}
	known := true
	switch q.t.since() {
	case LastNotified:
		f.Ref = q.b.Told.Price
		if f.Ref.Currency() != p.Currency() {
			f.Ref = m.First
		}
		m.True, known = q.moved(f.Ref, p)
	case First:
		f.Ref = m.First
		m.True, known = q.moved(f.Ref, p)
	case Previous:
		m, f.again = q.step(m, p)
		f.Ref = m.Ref
	}
	f.memory = m
	switch {
	case !known:
		f.Why = "the price is in " + p.Currency() + ", and cannot be compared with " + f.Ref.String()
	case m.True:
		f.Answer = Holds
	default:
		f.Answer, f.Why = DoesNotHold, p.String()+" is not "+q.t.howMuch()+" "+direction(q.t.Kind)+" than "+f.Ref.String()
		if q.t.since() == First {
			f.soft = q.withinMargin(q.limit(f.Ref), p, q.t.Kind == Rise)
		}
	}
	if f.relative {
		f.memory.True = false // it depends on what was told
	}
	return f
}

func direction(k Kind) string {
	if k == Rise {
		return "dearer"
	}
	return "cheaper"
}

// relative reports whether the answer depends on what was told.
func (q *question) relative() bool {
	return (q.t.Kind == Drop || q.t.Kind == Rise) && q.t.since() == LastNotified
}

// step compares a price with the one before it. A step that is large enough is
// news by itself; a smaller one that stays past what the last one was compared
// with goes on holding.
func (q *question) step(m Memory, p price.Money) (after Memory, again bool) {
	last := m.Last
	if last.IsZero() {
		last = q.b.Standing.Price // the listing was watched before the trigger was
	}
	m.Last = p
	if c, ok := p.Cmp(last); !ok || c == 0 {
		if m.Ref.IsZero() {
			m.Ref = p
		}
		return m, false
	}
	if large, _ := q.moved(last, p); large {
		m.Ref, m.True, again = last, true, m.True
		return m, again
	}
	if still, _ := q.moved(m.Ref, p); m.True && still {
		return m, false
	}
	m.Ref, m.True = last, false
	return m, false
}

// moved reports whether the price has moved from one to the other by as much as
// the trigger asks for.
func (q *question) moved(from, to price.Money) (yes, known bool) {
	return moved(q.t.Kind, q.t.Percent, q.t.Amount, from, to)
}

// moved reports whether a price has moved down (Drop) or up (Rise) by a part in
// percent, or by an amount.
func moved(kind Kind, pct decimal.Decimal, by, from, to price.Money) (yes, known bool) {
	limit, ok := limitOf(kind, pct, by, from)
	if !ok {
		return false, false
	}
	c, ok := to.Cmp(limit)
	still, _ := to.Cmp(from)
	if kind == Rise {
		c, still = -c, -still
	}
	return ok && c <= 0 && still < 0, ok // a part of nothing is nothing
}

// limitOf returns the price that is just far enough from another one.
func limitOf(kind Kind, pct decimal.Decimal, by, from price.Money) (price.Money, bool) {
	if from.IsZero() || !by.IsZero() && by.Currency() != from.Currency() {
		return price.Money{}, false
	}
	change := by.Amount()
	if by.IsZero() {
		part, err := from.Amount().Mul(pct)
		if err != nil {
			return price.Money{}, false
		}
		if change, err = part.Quo(hundred); err != nil {
			return price.Money{}, false
		}
	}
	if kind != Rise {
		change = change.Neg()
	}
	amount, err := from.Amount().Add(change)
	if err != nil {
		return price.Money{}, false
	}
	m, why := withAmount(from, amount)
	return m, why == ""
}

func (q *question) limit(from price.Money) price.Money {
	m, _ := limitOf(q.t.Kind, q.t.Percent, q.t.Amount, from)
	return m
}

// askLowest asks whether the price is the lowest of the last days. It stays so
// until the price moves; each new lowest one is news.
func (q *question) askLowest(m Memory) Finding {
	p := q.o.Price
	last := m.Last
	if last.IsZero() {
		last = q.b.Standing.Price
	}
	f := Finding{}
	if c, ok := p.Cmp(m.Last); ok && c == 0 {
		f.Answer, f.Why = DoesNotHold, fmt.Sprintf("%s is not the lowest price in %d days", p, q.t.Days)
	} else {
		low, covered := q.b.History.lowest(q.t.Days, p.Currency(), q.w.IgnoreStock, q.o.At)
		fell := last.IsZero() || less(p, last)
		was := m.True
		m.True = 2*covered >= q.t.Days && !low.IsZero() && (less(p, low) || q.t.MatchEqual && fell && !less(low, p))
		f.Answer = DoesNotHold
		switch {
		case m.True:
			m.Ref, m.Covered, f.again = low, min(covered, q.t.Days), was
		case 2*covered < q.t.Days:
			f.Why = fmt.Sprintf("only %d of the %d days are known", covered, q.t.Days)
		default:
			f.Why = fmt.Sprintf("%s is not the lowest price in %d days: that was %s", p, q.t.Days, low)
		}
		m.Last = p
	}
	if m.True {
		f.Answer, f.Why = Holds, ""
	}
	f.Ref, f.Covered, f.memory = m.Ref, m.Covered, m
	return f
}

func less(a, b price.Money) bool {
	c, ok := a.Cmp(b)
	return ok && c < 0
}

// effectivePrice returns the price less the confirmed points, each kind of which
// is rounded down by itself, as shops do. Points that need something of the
// buyer do not count.
func effectivePrice(o *Observation, mine []Points) (p price.Money, why string) {
	digits, ok := currency.GetDigits(o.Price.Currency())
	if !ok {
		return p, "nobody knows the currency " + o.Price.Currency()
	}
	left := o.Price.Amount()
	for _, list := range [][]Points{o.Points, mine} {
		for _, points := range list {
			back, why := points.of(o.Price)
			if why != "" {
				return p, why
			}
			var err error
			if left, err = left.Sub(back.Trunc(int(digits))); err != nil {
				return p, "the price after points is out of reach"
			}
		}
	}
	return withAmount(o.Price, left)
}

// of returns what comes back of a price.
func (p *Points) of(paid price.Money) (back decimal.Decimal, why string) {
	switch {
	case p.Conditional:
		return decimalZero, ""
	case !p.Amount.IsZero() && p.Amount.Currency() != paid.Currency():
		return back, "points are stated in " + p.Amount.Currency() + ", the price in " + paid.Currency()
	case !p.Amount.IsZero():
		return p.Amount.Amount(), ""
	}
	back, err := paid.Amount().Mul(p.Rate)
	if err != nil {
		return back, "the points are out of reach"
	}
	return back, ""
}

// in returns a memory without the prices of other currencies, once those of one
// are trusted: nothing can be compared with them.
func (m Memory) in(code string) Memory {
	known := firstOf(m.First.Currency(), m.Last.Currency())
	if code == "" || known == "" || known == code {
		return m
	}
	m.First, m.Last, m.Ref, m.True = price.Money{}, price.Money{}, price.Money{}, false
	return m
}

func people(a Availability) string {
	switch a {
	case InStock:
		return "in stock"
	case Limited:
		return "in stock, but few are left"
	case PreOrder:
		return "for pre-order only"
	case BackOrder:
		return "on back order"
	case OutOfStock:
		return "out of stock"
	case Discontinued:
		return "discontinued"
	case Unknown:
	}
	return "unknown"
}
