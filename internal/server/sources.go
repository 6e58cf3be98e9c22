package server

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/lastlook/lastlook/source/browser"
	"github.com/lastlook/lastlook/source/feed"
	"github.com/lastlook/lastlook/source/jsonapi"
	"github.com/lastlook/lastlook/source/rakuten"
	"github.com/lastlook/lastlook/source/shopify"
	"github.com/lastlook/lastlook/source/yahoo"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/extract"
)

// ReadOptions say how a listing is read.
type ReadOptions = watch.Options

// SourceInfo is a source that a listing can name.
type SourceInfo struct {
	Name string
	// Reads says what it looks at.
	Reads string
	// NeedsKey and NeedsBrowser say what it needs of the operator.
	NeedsKey, NeedsBrowser bool
}

// Sources returns all sources, that of web pages first.
func Sources() []SourceInfo {
	return []SourceInfo{
		{Name: pageSource, Reads: "web pages"},
		{Name: jsonapi.SourceName, Reads: "JSON APIs, by jq paths"},
		{Name: shopify.SourceName, Reads: "products of Shopify shops"},
		{Name: feed.SourceName, Reads: "RSS and Atom feeds"},
		{Name: rakuten.SourceName, Reads: "items of Rakuten Ichiba", NeedsKey: true},
		{Name: yahoo.SourceName, Reads: "items of Yahoo! Shopping (Japan)", NeedsKey: true},
		{Name: browser.SourceName, Reads: "web pages that scripts have to fill", NeedsBrowser: true},
	}
}

// SourceNames returns the names of all sources.
func SourceNames() []string {
	var out []string
	for _, s := range Sources() {
		out = append(out, s.Name)
	}
	return out
}

// readBy names the source that a listing is read by, and checks that it can read
// by the listing's options. An empty source is that of web pages.
func readBy(l *watch.Listing, source string) error {
	switch l.Source = source; source {
	case "", pageSource, browser.SourceName:
		l.Source = cmp.Or(source, pageSource)
		if err := extract.ValidateOptions(l.Options); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	case jsonapi.SourceName:
		return jsonapi.ValidateOptions(l.Options)
	case shopify.SourceName:
		_, err := shopify.DataURL(l.URL)
		return err
	case feed.SourceName:
	case rakuten.SourceName:
		return rakuten.ValidateListing(*l)
	case yahoo.SourceName:
		_, err := yahoo.Code(*l)
		return err
	default:
		return fmt.Errorf("%w: there is no source %.40q: known are %s", ErrInvalid, source, strings.Join(SourceNames(), ", "))
	}
	return nil
}
