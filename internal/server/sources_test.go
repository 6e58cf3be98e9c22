package server

import (
	"errors"
	"testing"

	"github.com/lastlook/lastlook/source/jsonapi"
	"github.com/lastlook/lastlook/watch"
)

// TestReadBy: a listing is checked by the source that will read it, and each one
// that can be named is there.
func TestReadBy(t *testing.T) {
	made, err := newSources(Options{}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range sourceNames() {
		if made[name] == nil {
			t.Errorf("the source %q is not made", name)
		}
	}
	for _, c := range []struct {
		source, url string
		opt         watch.Options
		ok          bool
	}{
		{"", "https://shop.example/p", watch.Options{}, true},
		{"page", "https://shop.example/p", watch.Options{PriceSelector: "#price"}, true},
		{"page", "https://shop.example/p", watch.Options{PriceSelector: "p["}, false},
		{"json", "https://shop.example/p", watch.Options{PricePath: ".price"}, true},
		{"json", "https://shop.example/p", watch.Options{}, false},
		{"json", "https://shop.example/p", watch.Options{PricePath: "env"}, false},
		{"shopify", "https://shop.example/products/mug", watch.Options{}, true},
		{"shopify", "https://shop.example/mug", watch.Options{}, false},
		{"feed", "https://shop.example/rss", watch.Options{}, true},
		{"telepathy", "https://shop.example/", watch.Options{}, false},
	} {
		l := watch.Listing{URL: c.url, Options: c.opt}
		if err := readBy(&l, c.source); (err == nil) != c.ok || err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("%q, %+v: %v", c.source, c.opt, err)
		}
	}
	if got := outcomeOf(&jsonapi.Error{Outcome: "rate_limited"}); got != OutcomeRateLimited {
		t.Errorf("an outcome of another source than that of pages is %s", got)
	}
}
