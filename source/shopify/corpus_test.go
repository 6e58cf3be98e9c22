package shopify_test

import (
	"os"
	"strings"
	"testing"

	"github.com/lastlook/lastlook/source/shopify"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/corpustest"
)

// TestCorpus reads every case of the corpora that is a shop's product.
func TestCorpus(t *testing.T) {
	n := 0
	for _, file := range []string{"corpus.jsonl", "own_json.jsonl"} {
		path := "../../watch/testdata/corpus/" + file
		if other := os.Getenv("CORPUS"); other != "" && file == "corpus.jsonl" {
			path = other
		}
		cases, err := corpustest.Load(path, corpustest.KindJSON)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			if !strings.HasPrefix(c.Ctx.Format, "shopify") {
				continue
			}
			n++
			t.Run(c.ID, func(t *testing.T) {
				opt := watch.Options{Currency: c.Ctx.Currency, Variant: c.Ctx.Variant, SKU: c.Ctx.SKU}
				o, err := shopify.Read([]byte(c.Input), opt, c.Ctx.URL)
				a := corpustest.Answer{Availability: string(watch.Unknown), Ambiguous: o.Ambiguous}
				if o.Availability != "" {
					a.Availability = string(o.Availability)
				}
				if !o.Price.IsZero() {
					a.Price, a.Currency = o.Price.Amount().String(), o.Price.Currency()
				}
				if !o.List.IsZero() {
					a.ListPrice = o.List.Amount().String()
				}
				for _, wrong := range corpustest.Compare(c.Expect, a) {
					t.Errorf("%s (%s; %v; %+v)", wrong, c.Note, err, o.Evidence)
				}
			})
		}
	}
	if n == 0 {
		t.Fatal("no cases")
	}
}
