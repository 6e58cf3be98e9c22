package yahoo_test

import (
	"testing"

	"github.com/lastlook/lastlook/source/internal/fetch"
	"github.com/lastlook/lastlook/source/sourcetest"
	"github.com/lastlook/lastlook/source/yahoo"
	"github.com/lastlook/lastlook/watch"
)

func TestConformance(t *testing.T) {
	sourcetest.Run(t, sourcetest.Harness{
		New: func(c sourcetest.Config) (watch.Source, error) {
			return yahoo.New(yahoo.Config{Client: c.Client, Timeout: c.Timeout, Clock: c.Clock, AppID: "open sesame", Endpoint: "http://api.example/search"})
		},
		Outcome: func(err error) string { return string(fetch.OutcomeOf(err)) },
		Listing: watch.Listing{Source: yahoo.SourceName, URL: "https://store.shopping.yahoo.co.jp/seller/cup.html"},
		Secrets: []string{"open sesame", "open+sesame"}, ContentType: "application/json", Price: "2980 JPY",
		Answer: `{"totalResultsReturned":1,"hits":[{"name":"Cup","code":"seller_cup","inStock":true,"price":2980,"premiumPriceStatus":true,"premiumPrice":2800,"point":{"amount":27}}]}`,
		Broken: `{"Error":{"Message":"x"}}`, NoRedirects: true,
	})
}
