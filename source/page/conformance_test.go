package page_test

import (
	"testing"

	"github.com/lastlook/lastlook/source/page"
	"github.com/lastlook/lastlook/source/sourcetest"
	"github.com/lastlook/lastlook/watch"
)

func TestConformance(t *testing.T) {
	sourcetest.Run(t, sourcetest.Harness{
		New: func(c sourcetest.Config) (watch.Source, error) {
			return page.New(page.Config{Client: c.Client, Timeout: c.Timeout, Clock: c.Clock})
		},
		Outcome: func(err error) string { return string(page.OutcomeOf(err)) },
		Listing: watch.Listing{Source: page.SourceName, URL: "http://shop.example/p?token=sesame"},
		Secrets: []string{"sesame"}, Answer: product, ContentType: "text/html", Price: "75.00 EUR", Broken: "<p>Lamp</p>",
	})
}
