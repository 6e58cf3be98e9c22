// Package yahoo is the source of listings that are items of Yahoo! Shopping
// (Japan): it asks the item search API, version 3, with the operator's own
// client ID.
//
//	src, err := yahoo.New(yahoo.Config{Client: operator, AppID: id})
//	o, err := src.Look(ctx, watch.Listing{URL: "https://store.shopping.yahoo.co.jp/seller/item.html"})
//
// The item is the one of the code in Options.SKU ("seller_item"), or else of the
// listing's address. The price is in JPY; the one for premium members is never
// the price. The points that everybody gets are confirmed; those of campaigns and
// of members are conditional.
//
// An item that the search does not list may still be there: that is unknown, not
// gone. Outcomes, errors and limits are those of package fetch below
// source/internal. The client ID appears in no error.
package yahoo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/lastlook/lastlook/source/internal/fetch"
	"github.com/lastlook/lastlook/watch"
)

// SourceName is what a listing of this source has in its Source field.
const SourceName = "yahoo"

// DefaultEndpoint is the service's address.
const DefaultEndpoint = "https://shopping.yahooapis.jp/ShoppingWebService/V3/itemSearch"

type (
	// Error is why a look gave no observation.
	Error = fetch.Error
	// Doer sends a request, as *http.Client does.
	Doer = fetch.Doer
)

// Config configures a [Source]. Client and AppID are required.
type Config struct {
	// Client sends the requests. It follows no redirects.
	Client Doer
	// AppID is the client ID that Yahoo! JAPAN gave the operator.
	AppID string
	// Endpoint is the service's address; empty means DefaultEndpoint.
	Endpoint  string
	UserAgent string
	// MaxBytes bounds an answer, 5 MB by default and at most.
	MaxBytes int64
	// Timeout bounds a look, 10 s by default.
	Timeout time.Duration
	// Clock is the source of now; nil means time.Now.
	Clock func() time.Time
}

func (c Config) fetch() fetch.Config {
	return fetch.Config{Client: c.Client, UserAgent: c.UserAgent, MaxBytes: c.MaxBytes, Timeout: c.Timeout, Clock: c.Clock}
}

// Validate reports what is wrong with the configuration.
func (c Config) Validate() error {
	u, err := url.Parse(c.Endpoint)
	switch {
	case c.AppID == "":
		return errors.New("yahoo: the client ID is missing: get one at developer.yahoo.co.jp")
	case c.Endpoint != "" && (err != nil || u.Host == "" || u.RawQuery != ""):
		return errors.New("yahoo: the endpoint is no address: leave it out for the usual one")
	}
	return c.fetch().Validate("yahoo")
}

// Source looks at items. Make one with [New]; it is safe for concurrent use.
type Source struct {
	cfg     Config
	fetcher *fetch.Fetcher
}

var _ watch.Source = (*Source)(nil)

// New returns a source.
func New(c Config) (*Source, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Endpoint == "" {
		c.Endpoint = DefaultEndpoint
	}
	return &Source{c, fetch.New(c.fetch())}, nil
}

// Look asks for a listing's item. An error is an [*Error].
func (s *Source) Look(ctx context.Context, l watch.Listing) (watch.Observation, error) {
	secrets := []string{s.cfg.AppID, url.QueryEscape(s.cfg.AppID)}
	return s.fetcher.Look(ctx, secrets, func(ctx context.Context) (o watch.Observation, a fetch.Answer, err error) {
		code, err := Code(l)
		if err != nil {
			return o, a, err
		}
		seller, item, _ := strings.Cut(code, "_")
		q := url.Values{"appid": {s.cfg.AppID}, "seller_id": {seller}, "query": {item}, "results": {"50"}}
		a, err = s.fetcher.Get(ctx, fetch.Request{URL: s.cfg.Endpoint + "?" + q.Encode(), Accept: "application/json", Secrets: secrets})
		if err == nil {
			err = answered(a)
		}
		if err != nil {
			return o, a, err
		}
		o, err = Read(a.Body, code)
		return o, a, err
	})
}

// Code returns the code of a listing's item, "seller_item". It wraps
// [watch.ErrInvalid].
func Code(l watch.Listing) (string, error) {
	if seller, item, ok := strings.Cut(l.Options.SKU, "_"); ok && seller != "" && item != "" {
		return l.Options.SKU, nil
	}
	if u, err := url.Parse(l.URL); err == nil {
		seller, rest, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
		item := strings.TrimSuffix(rest, ".html")
		if seller != "" && item != "" && !strings.Contains(item, "/") {
			return seller + "_" + item, nil
		}
	}
	return "", fmt.Errorf("%w: name the item's code, such as seller_item, as SKU, or its address, such as https://store.shopping.yahoo.co.jp/seller/item.html", watch.ErrInvalid)
}

// answered says what an answer means that is none, with what the service says.
func answered(a fetch.Answer) error {
	err := fetch.ByStatus(a, a.Began)
	e, ok := errors.AsType[*fetch.Error](err)
	if !ok {
		return err
	}
	var said struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
		Message string `json:"message"`
	}
	_ = json.Unmarshal(a.Body, &said) // whatever it says, the status counts
	text := strings.TrimSpace(said.Error.Message + " " + said.Message)
	if text == "" {
		return err
	}
	return &fetch.Error{Outcome: e.Outcome, Status: e.Status, Err: fmt.Errorf("%w; it says %.100q", e.Err, text)}
}
