package extract

import (
	"context"
	"fmt"

	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/price"
)

// Candidate is what one rule read, and what became of it: a price, an amount that
// is none, or an availability.
type Candidate struct {
	// Rule is the one that read it ("selector", "json_ld", …), Fact what it was
	// taken for ("price", "list_price", "availability", …); "" if the rule found
	// nothing at all.
	Rule, Fact string
	// Text is what stands there, Where the place.
	Text, Where string
	// Chosen says that it is the observation's; Why says why it is or is not.
	Chosen bool
	Why    string
}

type candidatesKey struct{}

// WithCandidates returns a context under which [Document.Product] also lists all
// that it chose from, in the order in which the rules count. Most looks have no
// use for that.
func WithCandidates(ctx context.Context, into *[]Candidate) context.Context {
	return context.WithValue(ctx, candidatesKey{}, into)
}

// listCandidates writes down what there was to choose from, if somebody asks. o is what was
// made of it; nil if the page states no product.
func listCandidates(ctx context.Context, all []finding, o *watch.Observation) {
	into, ok := ctx.Value(candidatesKey{}).(*[]Candidate)
	if !ok {
		return
	}
	stock := false // the first availability is the one that counts
	*into = nil
	for i := range all {
		f := &all[i]
		n := len(*into)
		for _, e := range f.Evidence {
			c := Candidate{Rule: f.rule, Fact: e.Fact, Text: e.Text, Where: e.Where}
			switch e.Fact {
			case FactPrice:
				c.Chosen, c.Why = f.whyPrice(o)
			case FactAvailability:
				c.Chosen, c.Why = f.whyStock(o, e, stock)
				stock = stock || c.Chosen
			default:
				if c.Why = whyNone[e.Fact]; c.Why == "" {
					continue
				}
			}
			*into = append(*into, c)
		}
		switch {
		case len(*into) > n:
		case f.err != nil:
			*into = append(*into, Candidate{Rule: f.rule, Why: f.err.Error()})
		case f.rule != RuleSelector: // which need not point anywhere
			*into = append(*into, Candidate{Rule: f.rule, Why: "it states neither price nor stock"})
		}
	}
}

// whyNone says why what stands under a fact is not the price, or the availability.
var whyNone = map[string]string{
	FactAmbiguous:      "one of several answers, of which none was taken",
	FactAmbiguousStock: "one of several answers to whether it can be had",
	FactNoPrice:        "no price",
	FactHigh:           "the upper end of a range",
	FactListPrice:      "what stands crossed out or recommended is not what is paid",
	FactMemberPrice:    "only for members",
	FactUnitPrice:      "a price per unit",
	FactQuantityPrice:  "only for several at once",
	FactInstalment:     "a part of the price",
	FactOtherPrice:     "an amount beside the price",
}

func (f *finding) whyPrice(o *watch.Observation) (chosen bool, why string) {
	switch {
	case o == nil:
		return false, "the page states no single product"
	case o.Price.IsZero() && o.Ambiguous:
		return false, "an earlier rule states several prices, of which none was taken"
	case o.Price.IsZero():
		return false, "an earlier rule counts, and states no price"
	case f.rule == o.Rule && f.rule == RuleSelector:
		return true, "it stands where the user points"
	case f.rule == o.Rule && f.rule == RuleVisible && !o.List.IsZero():
		return true, "people see it beside what is crossed out, or no earlier rule states one" + agreed(o)
	case f.rule == o.Rule:
		return true, "the first rule that states one price" + agreed(o)
	case sameAmount(f.Price, o.Price):
		return false, "says the same as " + o.Rule
	}
	return false, fmt.Sprintf("contradicts %s, which counts before it", o.Rule)
}

func agreed(o *watch.Observation) string {
	if o.Agreed {
		return ", and another rule says the same"
	}
	return ""
}

func sameAmount(a, b price.Money) bool {
	c, same := a.Cmp(b)
	return same && c == 0
}

func (f *finding) whyStock(o *watch.Observation, e watch.Evidence, taken bool) (chosen bool, why string) {
	switch {
	case o == nil:
		return false, "the page states no single product"
	case taken:
		return false, "an earlier rule has said it"
	}
	for _, has := range o.Evidence {
		if has == e && f.Availability == o.Availability {
			return true, "the first rule that says so"
		}
	}
	return false, "what people see says otherwise, or another rule counts"
}
