package extract_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/govalues/decimal"

	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/extract"
)

// testdata/corpus.jsonl holds the html cases that JSON-LD alone answers, as the
// corpus writes them. These need what the full extractor will read, and come
// with it:
//
//	H016        "$1,150" in lowPrice, in the watch's currency: prices as text
//	H028, H030  microdata
//	H033, H035  product: meta elements
//	H036        itemprop meta elements without a scope
//	H060, H085  visible stock and price
//	H061, H062, H067, H084  the user's selectors
//	H068        a visible price beside a stale JSON-LD one

// testCase is a line of the corpus.
type testCase struct {
	ID     string
	Kind   string
	Input  string
	Note   string
	Ctx    struct{ URL, Currency, SKU string }
	Expect map[string]any
}

func readCorpus(t testing.TB) []testCase {
	t.Helper()
	f, err := os.Open("testdata/corpus.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []testCase
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c testCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	if lines.Err() != nil || len(cases) == 0 {
		t.Fatal("no corpus", lines.Err())
	}
	return cases
}

func TestCorpus(t *testing.T) {
	for _, c := range readCorpus(t) {
		t.Run(c.ID, func(t *testing.T) {
			o, err := extract.Observe(t.Context(), extract.Page{
				URL: cmp.Or(c.Ctx.URL, "https://shop.example/p"), ContentType: "text/html; charset=utf-8",
				Body: []byte(c.Input), Hint: extract.Hint{Currency: c.Ctx.Currency, SKU: c.Ctx.SKU},
			})
			if err != nil && !errors.Is(err, extract.ErrNotProduct) {
				t.Error(err)
			}
			for field, want := range c.Expect {
				if got := judged(t, field, o, err); !same(field, got, want) {
					t.Errorf("%s: got %v, want %v (%s)\n%s\nerror: %v\nevidence: %+v", field, got, want, c.Note, c.Input, err, o.Evidence)
				}
			}
		})
	}
}

// judged returns what a field of the corpus' vocabulary is in an observation.
func judged(t *testing.T, field string, o watch.Observation, err error) any {
	switch field {
	case "price":
		if o.Price.IsZero() {
			return nil
		}
		return o.Price.Amount().String()
	case "currency":
		if cur := cmp.Or(o.Price.Currency(), strings.ToUpper(fact(o, extract.FactCurrency))); cur != "" {
			return cur
		}
		return nil
	case "availability":
		return string(cmp.Or(o.Availability, watch.Unknown))
	case "tax_included":
		return fact(o, extract.FactTaxIncluded) == "true"
	case "high", "list_price":
		return fact(o, field)
	case "ambiguous":
		return fact(o, extract.FactAmbiguous) != ""
	case "reject":
		if n, ok := errors.AsType[*extract.NotProductError](err); ok {
			return string(n.Reason)
		}
		return nil
	case "strength":
		return nil
	}
	t.Fatalf("the corpus expects %q, which nothing here knows", field)
	return nil
}

func same(field string, got, want any) bool {
	switch field {
	case "strength":
		return true
	case "price", "high", "list_price":
		g, ok1 := got.(string)
		w, ok2 := want.(string)
		if !ok1 || !ok2 {
			return got == want
		}
		return decimal.MustParse(g).Cmp(decimal.MustParse(w)) == 0
	}
	return got == want
}

// fact returns the first evidence of a fact.
func fact(o watch.Observation, name string) string {
	for _, e := range o.Evidence {
		if e.Fact == name {
			return e.Text
		}
	}
	return ""
}
