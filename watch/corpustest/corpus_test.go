package corpustest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lastlook/lastlook/watch/corpustest"
)

func TestLoadKnowsTheCorpus(t *testing.T) {
	for _, file := range []string{"../testdata/corpus/corpus.jsonl", "../testdata/corpus/own.jsonl"} {
		all, err := corpustest.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, kind := range corpustest.Kinds() {
			some, err := corpustest.Load(file, kind)
			if err != nil {
				t.Fatal(err)
			}
			n += len(some)
		}
		if n != len(all) || n == 0 {
			t.Errorf("%s: %d cases, %d by kind", file, len(all), n)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	good := `{"id":"A","kind":"price_text","input":"1 €","expect":{"price":"1","strength":"must"}}`
	if cases, err := corpustest.Read(strings.NewReader(good + "\n\n")); err != nil || len(cases) != 1 {
		t.Fatal(cases, err)
	}
	for _, bad := range []string{
		good + "\n" + good, // twice the same id
		`{"id":"A","kind":"price_text","expect":{"prize":"1","strength":"must"}}`,
		`{"id":"A","kind":"price_text","expect":{"sent":[],"strength":"must"}}`,
		`{"id":"A","kind":"behaviour","expect":{"price":"1","strength":"must"}}`,
		`{"id":"A","kind":"price_text","expect":{"price":"1","strength":"perhaps"}}`,
		`{"id":"A","kind":"price_text","expect":{"price":"1"}}`,
		`{"id":"A","kind":"price_text"}`,
		`{"id":"A","kind":"song","expect":{"strength":"must"}}`,
		`{"kind":"html","expect":{"strength":"must"}}`,
		`{"id":"A","kind":"html","ctx":{"curency":"EUR"},"expect":{"strength":"must"}}`,
		`{"id":"A","kind":"html","expect":{"strength":"must"},"extra":1}`,
		good + good, `nonsense`,
	} {
		if cases, err := corpustest.Read(strings.NewReader(bad)); err == nil {
			t.Errorf("%s: was read as %+v", bad, cases)
		}
	}
}

func TestCompare(t *testing.T) {
	yes := true
	got := corpustest.Answer{
		Price: "12.50", Currency: "EUR", Quantity: "6", TaxIncluded: &yes, Availability: "in_stock", RetryAfter: 120, Outcome: "ok",
	}
	for expect, wrong := range map[string]string{
		`"price":"12.5","currency":"EUR","high":null`:             "",
		`"price":12.5,"quantity":6,"retry_after":120`:             "",
		`"quantity":"6 piece","tax_included":true`:                "",
		`"availability":"limited","free":false,"list_price":null`: "",
		`"price":"12.51"`:               `price: expected "12.51", got "12.50"`,
		`"price":null`:                  `price: expected null, got "12.50"`,
		`"currency":null`:               `currency: expected null, got "EUR"`,
		`"high":"1"`:                    `high: expected "1", got null`,
		`"tax_included":false`:          `tax_included: expected false, got true`,
		`"availability":"out_of_stock"`: `availability: expected "out_of_stock", got "in_stock"`,
		`"alertable":true`:              `alertable: expected true, got false`,
		`"outcome":"blocked","reject":"negative","alertable":false`: `outcome: expected "blocked", got "ok"` + "\n" + `reject: expected "negative", got null`,
	} {
		cases, err := corpustest.Read(strings.NewReader(`{"id":"A","kind":"html","expect":{"strength":"must",` + expect + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		if is := strings.Join(corpustest.Compare(cases[0].Expect, got), "\n"); is != wrong {
			t.Errorf("%s: got %q, want %q", expect, is, wrong)
		}
	}
}

// TestAnswerKnowsEveryField: a field that Answer forgot would be null for ever.
func TestAnswerKnowsEveryField(t *testing.T) {
	yes := true
	full := corpustest.Answer{
		Price: "1", Currency: "EUR", CurrencyAmbiguous: true, High: "2", ListPrice: "3", UnitPrice: "4", Unit: "kg", Quantity: "5", Free: true,
		TaxIncluded: &yes, PriceKind: "from", Alertable: true, Reject: "negative", Availability: "in_stock", Ambiguous: true,
		EffectivePrice: "6", Outcome: "ok", Alert: true, KeepLast: true, Retry: true, RetryAfter: 7, Fresh: true,
	}
	line := `{"id":"A","kind":"fetch","expect":{"strength":"must","price":1,"currency":"EUR","currency_ambiguous":true,"high":2,"list_price":3,
		"unit_price":4,"unit":"kg","quantity":5,"free":true,"tax_included":true,"price_kind":"from","alertable":true,"reject":"negative",
		"availability":"in_stock","ambiguous":true,"effective_price":6,"outcome":"ok","alert":true,"keep_last":true,"retry":true,"retry_after":7,"fresh":true}}`
	cases, err := corpustest.Read(strings.NewReader(strings.ReplaceAll(line, "\n", "")))
	if err != nil {
		t.Fatal(err)
	}
	if wrong := corpustest.Compare(cases[0].Expect, full); len(wrong) > 0 {
		t.Error(wrong)
	}
	if wrong := corpustest.Compare(cases[0].Expect, corpustest.Answer{}); len(wrong) != len(cases[0].Expect.Fields) || !slices.IsSorted(wrong) {
		t.Errorf("an empty answer was right in something: %q", wrong)
	}
}
