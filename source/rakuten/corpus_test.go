package rakuten_test

import (
	"os"
	"testing"
	"time"

	"github.com/lastlook/lastlook/source/rakuten"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/corpustest"
)

// effective is the price less the confirmed points, each kind rounded down.
func effective(t *testing.T, o *watch.Observation) string {
	t.Helper()
	left := o.Price.Amount()
	for _, p := range o.Points {
		if p.Conditional {
			continue
		}
		back, err := o.Price.Amount().Mul(p.Rate)
		if err != nil {
			t.Fatal(err)
		}
		if left, err = left.Sub(back.Trunc(0)); err != nil {
			t.Fatal(err)
		}
	}
	return left.String()
}

// TestCorpus reads every case of the corpora that is an answer of the service.
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
			if c.Ctx.Format != "rakuten" {
				continue
			}
			n++
			t.Run(c.ID, func(t *testing.T) {
				now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
				o, err := rakuten.Read([]byte(c.Input), watch.Options{SKU: c.Ctx.SKU}, c.Ctx.URL, now)
				a := corpustest.Answer{Availability: string(watch.Unknown), Ambiguous: o.Ambiguous}
				if o.Availability != "" {
					a.Availability = string(o.Availability)
				}
				if !o.Price.IsZero() {
					a.Price, a.Currency, a.EffectivePrice = o.Price.Amount().String(), o.Price.Currency(), effective(t, &o)
				}
				for _, e := range o.Evidence {
					if e.Fact == "tax_included" {
						included := e.Text == "true"
						a.TaxIncluded = &included
					}
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
