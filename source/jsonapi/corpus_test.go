package jsonapi_test

import (
	"os"
	"testing"

	"github.com/lastlook/lastlook/source/jsonapi"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/corpustest"
)

// answer says in the corpus' words what was observed.
func answer(o watch.Observation) corpustest.Answer {
	a := corpustest.Answer{Availability: string(watch.Unknown), Ambiguous: o.Ambiguous}
	if o.Availability != "" {
		a.Availability = string(o.Availability)
	}
	if !o.Price.IsZero() {
		a.Price, a.Currency = o.Price.Amount().String(), o.Price.Currency()
	}
	if !o.High.IsZero() {
		a.High = o.High.Amount().String()
	}
	for _, e := range o.Evidence {
		if e.Fact == "amount" && a.Price == "" {
			a.Price = e.Text
		}
	}
	return a
}

// TestCorpus reads every case of the corpora that is plain JSON.
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
			if c.Ctx.Format != "" {
				continue // shops' own forms have sources of their own
			}
			n++
			t.Run(c.ID, func(t *testing.T) {
				opt := watch.Options{Locale: c.Ctx.Locale, Currency: c.Ctx.Currency, PricePath: c.Ctx.PricePath, StockPath: c.Ctx.StockPath}
				o, err := jsonapi.Read(t.Context(), []byte(c.Input), opt, "shop.example")
				if err != nil && !o.Price.IsZero() {
					t.Errorf("a price beside an error: %v", err)
				}
				for _, wrong := range corpustest.Compare(c.Expect, answer(o)) {
					t.Errorf("%s (%s; %v; %+v)", wrong, c.Note, err, o.Evidence)
				}
			})
		}
	}
	if n == 0 {
		t.Fatal("no cases")
	}
}
