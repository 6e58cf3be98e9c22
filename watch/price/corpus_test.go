package price_test

import (
	"net/url"
	"testing"

	"github.com/lastlook/lastlook/watch/corpustest"
	"github.com/lastlook/lastlook/watch/price"
)

func readCase(c corpustest.Case) price.Reading {
	host := ""
	if u, err := url.Parse(c.Ctx.URL); err == nil {
		host = u.Host
	}
	return price.ReadText(c.Input, price.Context{Locale: c.Ctx.Locale, Currency: c.Ctx.Currency, Host: host})
}

func TestCorpus(t *testing.T) {
	for _, file := range []string{"../testdata/corpus/corpus.jsonl", "../testdata/corpus/own.jsonl"} {
		cases, err := corpustest.Load(file, corpustest.KindPriceText)
		if err != nil {
			t.Fatal(err)
		}
		if len(cases) == 0 {
			t.Fatalf("%s has no cases", file)
		}
		for _, c := range cases {
			t.Run(c.ID, func(t *testing.T) {
				r := readCase(c)
				for _, wrong := range corpustest.Compare(c.Expect, corpustest.FromReading(r)) {
					t.Errorf("%q %+v (%s): %s\n%+v", c.Input, c.Ctx, c.Expect.Strength, wrong, r)
				}
			})
		}
	}
}
