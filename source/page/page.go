package page

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/text/language"

	"github.com/lastlook/lastlook/source/internal/fetch"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/extract"
)

// SourceName is what a listing of this source has in its Source field.
const SourceName = "page"

// Defaults and limits.
const (
	DefaultTimeout  = fetch.DefaultTimeout
	DefaultRemember = 2000
	MaxRedirects    = fetch.MaxRedirects
)

// Doer sends a request, as *http.Client does.
type Doer = fetch.Doer

// Config configures a [Source].
type Config struct {
	// Client sends requests to addresses that anybody may have chosen: those of
	// listings, and all that redirects lead to. It should follow no redirects
	// and keep no cookies; redirects that it follows all the same are its own
	// affair.
	Client Doer
	// Private sends requests for listings that an operator typed
	// (watch.Listing.Private), as long as redirects stay on their host; nil
	// means Client.
	Private Doer
	// UserAgent says honestly who asks; empty leaves that to the client.
	UserAgent string
	// AcceptLanguage is sent if it is not empty, such as "de-DE,de;q=0.8".
	AcceptLanguage string
	// MaxBytes bounds an answer, after decompression; 0 means, and no more is
	// possible than, extract.MaxBody.
	MaxBytes int64
	// Timeout bounds a look, reading the answer included; 0 means DefaultTimeout.
	Timeout time.Duration
	// Remember is how many listings' last answers are kept, so that the site can
	// say that nothing has changed; 0 means DefaultRemember, negative none.
	Remember int
	// Clock is the source of now; nil means time.Now.
	Clock func() time.Time
}

func (c Config) fetch() fetch.Config {
	return fetch.Config{Client: c.Client, Private: c.Private, UserAgent: c.UserAgent, MaxBytes: c.MaxBytes, Timeout: c.Timeout, Clock: c.Clock}
}

// Validate reports what is wrong with the configuration.
func (c Config) Validate() error {
	switch err := c.fetch().Validate("page"); {
	case err != nil:
		return err
	case c.MaxBytes > extract.MaxBody:
		return fmt.Errorf("page: MaxBytes is %d: use 0 for the default, or up to %d", c.MaxBytes, extract.MaxBody)
	case !fetch.Printable(c.AcceptLanguage):
		return errors.New("page: the languages have characters that a header cannot carry: use printable ASCII")
	}
	return nil
}

// Source looks at web pages. Make one with [New].
type Source struct {
	fetcher *fetch.Fetcher
	accept  string // the languages to ask for
	kept    *memory
}

var _ watch.Source = (*Source)(nil)

// New returns a source.
func New(c Config) (*Source, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Remember == 0 {
		c.Remember = DefaultRemember
	}
	return &Source{fetch.New(c.fetch()), c.AcceptLanguage, newMemory(c.Remember)}, nil
}

// Look fetches a listing's page and reads it. An error is an [*Error].
func (s *Source) Look(ctx context.Context, l watch.Listing) (watch.Observation, error) {
	var before *kept
	if !watch.IsLastLook(ctx) {
		before = s.kept.get(l, s.fetcher.Now())
	}
	return s.fetcher.Look(ctx, nil, func(ctx context.Context) (watch.Observation, fetch.Answer, error) {
		a, err := s.fetcher.Get(ctx, fetch.Request{
			URL: l.URL, Private: l.Private, Accept: "text/html,application/xhtml+xml;q=0.9,*/*;q=0.1", Languages: s.languages(l.Options.Locale), Ask: before.ask,
		})
		if err != nil {
			return watch.Observation{}, a, err
		}
		o, err := s.understand(ctx, l, a, before)
		return o, a, err
	})
}

// understand makes an observation of an answer: of a page, or of the word that it
// is the one that is known.
func (s *Source) understand(ctx context.Context, l watch.Listing, a fetch.Answer, before *kept) (watch.Observation, error) {
	if a.Status == http.StatusNotModified && before != nil && a.Asked {
		return before.again(), nil
	}
	o, err := read(ctx, l, a)
	if err != nil {
		return o, err
	}
	if !o.ValidUntil.IsZero() && a.Began.Sub(o.ValidUntil) > leftStanding {
		o.ValidUntil = time.Time{}
	}
	s.kept.put(l, a, o)
	return o, nil
}

// leftStanding is how long a shop may leave a page as it is after the end of an
// offer. An older end is a template's that nobody maintains: the page still
// states the price.
const leftStanding = 7 * 24 * time.Hour

// languages are those to ask for: the listing's, before those of the source.
func (s *Source) languages(locale string) string {
	tag, err := language.Parse(locale)
	if locale == "" || err != nil {
		return s.accept
	}
	return tag.String()
}
