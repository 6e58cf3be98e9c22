package watch_test

import (
	"strings"
	"testing"

	"github.com/lastlook/lastlook/source/jsonapi"
	"github.com/lastlook/lastlook/source/rakuten"
	"github.com/lastlook/lastlook/source/shopify"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/corpustest"
)

// jsonCase has a case read by the source of its form.
func jsonCase(t *testing.T, c corpustest.Case) []string {
	var o watch.Observation
	switch format := c.Ctx.Format; {
	case strings.HasPrefix(format, "shopify"):
		o, _ = shopify.Read([]byte(c.Input), c.Ctx.Options(), c.Ctx.URL)
	case format == "rakuten":
		o, _ = rakuten.Read([]byte(c.Input), c.Ctx.Options(), c.Ctx.URL, fetched)
	default:
		o, _ = jsonapi.Read(t.Context(), []byte(c.Input), c.Ctx.Options(), hostOf(c.Ctx.URL))
	}
	a := corpustest.OfObservation(o)
	if p, why := watch.EffectivePrice(&o); why == "" && !p.IsZero() {
		a.EffectivePrice = p.Amount().String()
	}
	return corpustest.Compare(c.Expect, a)
}
