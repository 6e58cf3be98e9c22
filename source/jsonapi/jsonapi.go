package jsonapi

import (
	"context"
	"time"

	"github.com/lastlook/lastlook/source/internal/fetch"
	"github.com/lastlook/lastlook/watch"
)

// SourceName is what a listing of this source has in its Source field.
const SourceName = "json"

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
func (c Config) Validate() error { return c.fetch().Validate("jsonapi") }

// Source looks at JSON documents. Make one with [New]; it is safe for concurrent
// use.
type Source struct{ fetcher *fetch.Fetcher }

var _ watch.Source = (*Source)(nil)

// New returns a source.
func New(c Config) (*Source, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Source{fetch.New(c.fetch())}, nil
}

// Look fetches a listing's document and reads it. An error is an [*Error].
func (s *Source) Look(ctx context.Context, l watch.Listing) (watch.Observation, error) {
	return s.fetcher.Look(ctx, nil, func(ctx context.Context) (watch.Observation, fetch.Answer, error) {
		a, err := s.fetcher.Get(ctx, fetch.Request{URL: l.URL, Private: l.Private, Accept: "application/json, */*;q=0.1", Conditional: true})
		if err == nil {
			err = fetch.ByStatus(a, a.Began)
		}
		if err != nil {
			return watch.Observation{}, a, err
		}
		o, err := Read(ctx, a.Body, l.Options, a.Final.Hostname())
		return o, a, err
	})
}
