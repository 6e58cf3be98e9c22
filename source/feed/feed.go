// Package feed is the source of listings that are feeds: RSS 2.0, RSS 1.0 (RDF)
// and Atom, with the product fields of Google Merchant feeds.
//
//	src, err := feed.New(feed.Config{Client: public, Private: operator})
//	o, err := src.Look(ctx, watch.Listing{URL: "https://deals.example/rss", Options: watch.Options{Variant: "desk lamp"}})
//
// # Which entry
//
// Options.SKU selects the entry of that id (g:id, guid, id, g:mpn, g:gtin);
// Options.Variant those whose title has all its words, of which the newest
// counts; without either it is the newest entry of all. The newest one has the
// latest date; where there are no dates, it is the first.
//
// # What comes out
//
// Observation.Value is the entry: {"id":…,"title":…,"link":…,"date":…}, or null if
// there is none that the words match, which a trigger on values can tell. The
// price and the availability are those of the entry: g:sale_price while it lasts,
// g:price, or else, if the options select the entry, the price in its title, read
// by the options' locale and currency.
//
// A document that is cut off or no feed is an error, never an empty feed.
// Outcomes, errors and limits are those of package fetch below source/internal.
package feed

import (
	"context"
	"time"

	"github.com/lastlook/lastlook/source/internal/fetch"
	"github.com/lastlook/lastlook/watch"
)

// SourceName is what a listing of this source has in its Source field.
const SourceName = "feed"

type (
	// Error is why a look gave no observation.
	Error = fetch.Error
	// Doer sends a request, as *http.Client does.
	Doer = fetch.Doer
)

// Config configures a [Source]. Only Client is required.
type Config struct {
	// Client sends requests to addresses that anybody may have chosen; Private
	// those of listings that an operator typed, as long as redirects stay on their
	// host. Neither follows redirects. A nil Private means Client.
	Client, Private Doer
	UserAgent       string
	// MaxBytes bounds an answer, 5 MB by default and at most.
	MaxBytes int64
	// Timeout bounds a look, 10 s by default.
	Timeout time.Duration
	// Clock is the source of now; nil means time.Now.
	Clock func() time.Time
}

func (c Config) fetch() fetch.Config {
	return fetch.Config{Client: c.Client, Private: c.Private, UserAgent: c.UserAgent, MaxBytes: c.MaxBytes, Timeout: c.Timeout, Clock: c.Clock}
}

// Validate reports what is wrong with the configuration.
func (c Config) Validate() error { return c.fetch().Validate("feed") }

// Source looks at feeds. Make one with [New]; it is safe for concurrent use.
type Source struct{ fetcher *fetch.Fetcher }

var _ watch.Source = (*Source)(nil)

// New returns a source.
func New(c Config) (*Source, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Source{fetch.New(c.fetch())}, nil
}

const accept = "application/atom+xml, application/rss+xml, application/rdf+xml, application/xml;q=0.9, text/xml;q=0.9, */*;q=0.1"

// Look fetches a feed and reads it. An error is an [*Error].
func (s *Source) Look(ctx context.Context, l watch.Listing) (watch.Observation, error) {
	return s.fetcher.Look(ctx, nil, func(ctx context.Context) (watch.Observation, fetch.Answer, error) {
		a, err := s.fetcher.Get(ctx, fetch.Request{URL: l.URL, Private: l.Private, Accept: accept, Conditional: true})
		if err == nil {
			err = fetch.ByStatus(a, a.Began)
		}
		if err != nil {
			return watch.Observation{}, a, err
		}
		o, err := Read(ctx, a.Body, a.Header.Get("Content-Type"), l.Options, a.Final.Hostname(), a.Began)
		return o, a, err
	})
}
