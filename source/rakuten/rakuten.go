// Package rakuten is the source of listings that are items of Rakuten Ichiba: it
// asks the Ichiba Item Search API, with the operator's own keys.
//
//	src, err := rakuten.New(rakuten.Config{Client: operator, ApplicationID: id, AccessKey: key})
//	o, err := src.Look(ctx, watch.Listing{URL: "https://item.rakuten.co.jp/shop/item/", Options: watch.Options{SKU: "shop:10000001"}})
//
// The item is the one of the item code in Options.SKU ("shop:10000001"), or else
// the one of the shop's whose address the listing has. The price is in JPY and as
// displayed: taxFlag tells whether tax is in it. Points that everybody gets (1 for
// each full 100, times pointRate while that lasts) are confirmed; those of
// campaigns that one has to join are not in the API, and none are assumed.
//
// An item code that the service does not know is a definite answer once it is
// given twice. Outcomes, errors and limits are those of package fetch below
// source/internal. The keys appear in no error.
package rakuten

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/lastlook/lastlook/source/internal/fetch"
	"github.com/lastlook/lastlook/watch"
)

// SourceName is what a listing of this source has in its Source field.
const SourceName = "rakuten"

// DefaultEndpoint is the service's address, with the version of its answers.
const DefaultEndpoint = "https://openapi.rakuten.co.jp/ichibams/api/IchibaItem/Search/20260401"

type (
	// Error is why a look gave no observation.
	Error = fetch.Error
	// Doer sends a request, as *http.Client does.
	Doer = fetch.Doer
)

// Config configures a [Source]. Client, ApplicationID and AccessKey are required.
type Config struct {
	// Client sends the requests. It follows no redirects.
	Client Doer
	// ApplicationID and AccessKey are what Rakuten gave the operator.
	ApplicationID, AccessKey string
	// Site is the web site that was registered with the keys, if Rakuten asks for
	// it: it is sent as Referer and Origin.
	Site string
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
	case c.ApplicationID == "" || c.AccessKey == "":
		return errors.New("rakuten: the application ID or the access key is missing: get them at webservice.rakuten.co.jp")
	case !fetch.Printable(c.ApplicationID + c.AccessKey + c.Site):
		return errors.New("rakuten: the keys have characters that a header cannot carry: copy them anew")
	case c.Endpoint != "" && (err != nil || u.Host == "" || u.RawQuery != ""):
		return errors.New("rakuten: the endpoint is no address: leave it out for the usual one")
	}
	return c.fetch().Validate("rakuten")
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
	secrets := []string{s.cfg.ApplicationID, s.cfg.AccessKey, url.QueryEscape(s.cfg.ApplicationID)}
	return s.fetcher.Look(ctx, secrets, func(ctx context.Context) (o watch.Observation, a fetch.Answer, err error) {
		q, err := query(l)
		if err != nil {
			return o, a, err
		}
		q.Set("applicationId", s.cfg.ApplicationID)
		h := http.Header{"Accesskey": {s.cfg.AccessKey}}
		if s.cfg.Site != "" {
			h.Set("Referer", s.cfg.Site)
			h.Set("Origin", strings.TrimRight(s.cfg.Site, "/"))
		}
		a, err = s.fetcher.Get(ctx, fetch.Request{URL: s.cfg.Endpoint + "?" + q.Encode(), Accept: "application/json", Header: h, Secrets: secrets})
		if err == nil {
			err = answered(a)
		}
		if err != nil {
			return o, a, err
		}
		o, err = Read(a.Body, l.Options, l.URL, a.Began)
		return o, a, err
	})
}

// ValidateListing reports, wrapping [watch.ErrInvalid], that a listing names no
// item.
func ValidateListing(l watch.Listing) error {
	_, err := query(l)
	return err
}

// query asks for the item: by its code, or among those of its shop by the name
// in its address.
func query(l watch.Listing) (url.Values, error) {
	q := url.Values{"format": {"json"}, "formatVersion": {"2"}, "hits": {"30"}, "availability": {"0"}, "field": {"0"}}
	if strings.Contains(l.Options.SKU, ":") {
		q.Set("itemCode", l.Options.SKU)
		return q, nil
	}
	shop, item := split(l.URL)
	if item == "" {
		return nil, fmt.Errorf("%w: name the item's code, such as shop:10000001, as SKU, or its address, such as https://item.rakuten.co.jp/shop/item/", watch.ErrInvalid)
	}
	q.Set("shopCode", shop)
	q.Set("keyword", item)
	return q, nil
}

// split returns the shop and the item in an address.
func split(address string) (shop, item string) {
	u, err := url.Parse(address)
	if err != nil {
		return "", ""
	}
	shop, rest, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	item, _, _ = strings.Cut(rest, "/")
	return shop, item
}

// answered says what an answer means that is none. The service says in its body
// what it wants.
func answered(a fetch.Answer) error {
	err := fetch.ByStatus(a, a.Began)
	if err == nil {
		return nil
	}
	var said struct {
		Error  string `json:"error"`
		Errors struct {
			Code    json.Number `json:"errorCode"`
			Message string      `json:"errorMessage"`
		} `json:"errors"`
		Description string `json:"error_description"`
	}
	_ = json.Unmarshal(a.Body, &said) // whatever it says, the status counts
	e, ok := errors.AsType[*fetch.Error](err)
	text := strings.TrimSpace(said.Error + " " + said.Description + " " + said.Errors.Message)
	if !ok || text == "" {
		return err
	}
	return &fetch.Error{Outcome: e.Outcome, Status: e.Status, Err: fmt.Errorf("%w; it says %.100q", e.Err, text)}
}
