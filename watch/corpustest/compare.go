package corpustest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/govalues/decimal"
)

// Answer is what was made of a case's input, in the corpus' words. Numbers are
// decimal; "" is null: there is none.
type Answer struct {
	Price             string
	Currency          string
	CurrencyAmbiguous bool
	High              string
	ListPrice         string
	UnitPrice         string
	Unit              string
	Quantity          string
	Free              bool
	// TaxIncluded is nil where nothing is said of taxes.
	TaxIncluded    *bool
	PriceKind      string
	Alertable      bool
	Reject         string
	Availability   string
	Ambiguous      bool
	EffectivePrice string
	Outcome        string
	Alert          bool
	KeepLast       bool
	Retry          bool
	// RetryAfter is in seconds, 0 if the answer said nothing.
	RetryAfter int
	Fresh      bool
}

// numeric are the fields that are compared as numbers.
var numeric = []string{"price", "high", "list_price", "unit_price", "quantity", "effective_price", "retry_after"}

// field returns a field of the answer as JSON has it: nil, bool or string.
func (a Answer) field(name string) any {
	text := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	switch name {
	case "price":
		return text(a.Price)
	case "currency":
		return text(a.Currency)
	case "currency_ambiguous":
		return a.CurrencyAmbiguous
	case "high":
		return text(a.High)
	case "list_price":
		return text(a.ListPrice)
	case "unit_price":
		return text(a.UnitPrice)
	case "unit":
		return text(a.Unit)
	case "quantity":
		return text(a.Quantity)
	case "free":
		return a.Free
	case "tax_included":
		if a.TaxIncluded == nil {
			return nil
		}
		return *a.TaxIncluded
	case "price_kind":
		return text(a.PriceKind)
	case "alertable":
		return a.Alertable
	case "reject":
		return text(a.Reject)
	case "availability":
		return text(a.Availability)
	}
	return a.fetchField(name)
}

func (a Answer) fetchField(name string) any {
	switch name {
	case "ambiguous":
		return a.Ambiguous
	case "effective_price":
		if a.EffectivePrice != "" {
			return a.EffectivePrice
		}
	case "outcome":
		return a.Outcome
	case "alert":
		return a.Alert
	case "keep_last":
		return a.KeepLast
	case "retry":
		return a.Retry
	case "retry_after":
		if a.RetryAfter > 0 {
			return fmt.Sprint(a.RetryAfter)
		}
	case "fresh":
		return a.Fresh
	}
	return nil
}

// Compare returns what is wrong with an answer, a line each: "price: expected
// 9.90, got 99". It returns nil if the answer is right. What the expectation
// does not name is not judged.
func Compare(expect Expect, got Answer) []string {
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(expect.Fields)) {
		raw := expect.Fields[name]
		if !slices.Contains(answerFields, name) {
			wrong = append(wrong, fmt.Sprintf("%s: this kind of answer has no such field", name))
			continue
		}
		if have := got.field(name); !same(name, raw, have) {
			wrong = append(wrong, fmt.Sprintf("%s: expected %s, got %s", name, raw, show(have)))
		}
	}
	return wrong
}

func same(name string, raw json.RawMessage, got any) bool {
	var want any
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	if err := d.Decode(&want); err != nil {
		return false
	}
	if slices.Contains(numeric, name) {
		return sameNumber(want, got)
	}
	if name == "availability" {
		return want == got || want == "limited" && got == "in_stock"
	}
	return want == got
}

// sameNumber compares numbers; a null equals only a null. A quantity may be
// written with its unit ("2 l"), which is not judged.
func sameNumber(want, got any) bool {
	if want == nil || got == nil {
		return want == nil && got == nil
	}
	number := func(v any) (decimal.Decimal, bool) {
		first, _, _ := strings.Cut(strings.TrimSpace(fmt.Sprint(v)), " ")
		d, err := decimal.Parse(first)
		return d, err == nil
	}
	w, ok1 := number(want)
	g, ok2 := number(got)
	return ok1 && ok2 && w.Cmp(g) == 0
}

func show(v any) string {
	if v == nil {
		return "null"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
