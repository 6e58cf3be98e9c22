package shopify_test

import (
	"testing"

	"github.com/lastlook/lastlook/source/internal/fetch"
	"github.com/lastlook/lastlook/source/shopify"
	"github.com/lastlook/lastlook/source/sourcetest"
	"github.com/lastlook/lastlook/watch"
)

func TestConformance(t *testing.T) {
	sourcetest.Run(t, sourcetest.Harness{
		New: func(c sourcetest.Config) (watch.Source, error) {
			return shopify.New(shopify.Config{Client: c.Client, Timeout: c.Timeout, Clock: c.Clock})
		},
		Outcome: func(err error) string { return string(fetch.OutcomeOf(err)) },
		Listing: watch.Listing{
			Source: shopify.SourceName, URL: "http://shop.example/collections/all/products/mug?token=sesame", Options: watch.Options{Currency: "EUR"},
		},
		Secrets: []string{"sesame"}, ContentType: "text/javascript", Price: "75.00 EUR",
		Answer: `{"id":1,"title":"Mug","price":7500,"available":true,"variants":[{"id":11,"title":"Default Title","price":7500,"available":true}]}`,
		Broken: `{"id":1,"title":"Mug"}`,
	})
}
