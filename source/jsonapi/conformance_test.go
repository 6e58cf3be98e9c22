package jsonapi_test

import (
	"testing"

	"github.com/lastlook/lastlook/source/internal/fetch"
	"github.com/lastlook/lastlook/source/jsonapi"
	"github.com/lastlook/lastlook/source/sourcetest"
	"github.com/lastlook/lastlook/watch"
)

func TestConformance(t *testing.T) {
	sourcetest.Run(t, sourcetest.Harness{
		New: func(c sourcetest.Config) (watch.Source, error) {
			return jsonapi.New(jsonapi.Config{Client: c.Client, Timeout: c.Timeout, Clock: c.Clock})
		},
		Outcome: func(err error) string { return string(fetch.OutcomeOf(err)) },
		Listing: watch.Listing{
			Source: jsonapi.SourceName, URL: "http://shop.example/p?token=sesame",
			Options: watch.Options{PricePath: ".price", StockPath: ".stock", Currency: "EUR"},
		},
		Secrets: []string{"sesame"}, Answer: `{"price": 75.00, "stock": true}`, ContentType: "application/json", Price: "75.00 EUR",
		Broken: `{"offer": {"cost": 75}}`,
	})
}
