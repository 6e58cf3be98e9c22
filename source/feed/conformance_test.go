package feed_test

import (
	"testing"

	"github.com/lastlook/lastlook/source/feed"
	"github.com/lastlook/lastlook/source/internal/fetch"
	"github.com/lastlook/lastlook/source/sourcetest"
	"github.com/lastlook/lastlook/watch"
)

func TestConformance(t *testing.T) {
	sourcetest.Run(t, sourcetest.Harness{
		New: func(c sourcetest.Config) (watch.Source, error) {
			return feed.New(feed.Config{Client: c.Client, Timeout: c.Timeout, Clock: c.Clock})
		},
		Outcome: func(err error) string { return string(fetch.OutcomeOf(err)) },
		Listing: watch.Listing{Source: feed.SourceName, URL: "http://shop.example/feed.xml?token=sesame", Options: watch.Options{SKU: "A1"}},
		Secrets: []string{"sesame"}, ContentType: "application/rss+xml", Price: "75.00 EUR",
		Answer: `<?xml version="1.0"?><rss version="2.0" xmlns:g="http://base.google.com/ns/1.0"><channel><title>Shop</title>` +
			`<item><title>Lamp</title><g:id>A1</g:id><g:price>75.00 EUR</g:price><g:availability>in stock</g:availability></item></channel></rss>`,
		Broken: `<?xml version="1.0"?><rss version="2.0"><channel><item><title>Lamp</channel></rss>`,
	})
}
