package server

import (
	"fmt"
	"strings"

	"github.com/lastlook/lastlook/source/feed"
	"github.com/lastlook/lastlook/source/jsonapi"
	"github.com/lastlook/lastlook/source/shopify"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/extract"
)

// ReadOptions say how a listing is read.
type ReadOptions = watch.Options

// sourceNames are the sources that a listing can name.
func sourceNames() []string {
	return []string{pageSource, jsonapi.SourceName, shopify.SourceName, feed.SourceName}
}

// readBy names the source that a listing is read by, and checks that it can read
// by the listing's options. An empty source is that of web pages.
func readBy(l *watch.Listing, source string) error {
	switch l.Source = source; source {
	case "", pageSource:
		l.Source = pageSource
		if err := extract.ValidateOptions(l.Options); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	case jsonapi.SourceName:
		return jsonapi.ValidateOptions(l.Options)
	case shopify.SourceName:
		_, err := shopify.DataURL(l.URL)
		return err
	case feed.SourceName:
	default:
		return fmt.Errorf("%w: there is no source %.40q: known are %s", ErrInvalid, source, strings.Join(sourceNames(), ", "))
	}
	return nil
}
