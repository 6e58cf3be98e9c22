package rakuten_test

import (
	"testing"

	"github.com/lastlook/lastlook/source/internal/fetch"
	"github.com/lastlook/lastlook/source/rakuten"
	"github.com/lastlook/lastlook/source/sourcetest"
	"github.com/lastlook/lastlook/watch"
)

func TestConformance(t *testing.T) {
	sourcetest.Run(t, sourcetest.Harness{
		New: func(c sourcetest.Config) (watch.Source, error) {
			return rakuten.New(rakuten.Config{Client: c.Client, Timeout: c.Timeout, Clock: c.Clock, ApplicationID: "open sesame", AccessKey: "pk_abracadabra", Endpoint: "http://api.example/search"})
		},
		Outcome: func(err error) string { return string(fetch.OutcomeOf(err)) },
		Listing: watch.Listing{Source: rakuten.SourceName, URL: "https://item.rakuten.co.jp/shop/cup/", Options: watch.Options{SKU: "shop:1"}},
		Secrets: []string{"open sesame", "open+sesame", "pk_abracadabra"}, ContentType: "application/json", Price: "2980 JPY",
		Answer: `{"Items":[{"itemName":"Cup","itemCode":"shop:1","itemPrice":2980,"availability":1,"pointRate":1}],"count":1}`,
		Broken: `{"items":[]}`, NoRedirects: true,
	})
}
