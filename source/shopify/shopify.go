// Package shopify is the source of listings that are products of a shop that runs
// on Shopify: it asks for the product's own data, beside its page.
//
//	src, err := shopify.New(shopify.Config{Client: public, Private: operator})
//	o, err := src.Look(ctx, watch.Listing{URL: "https://shop.example/products/mug?variant=42"})
//
// A listing's address is that of the product's page (/products/HANDLE, also below
// a collection or a language), or of its data (the same with .js or .json).
// Amounts in the .js form are hundredths, also of currencies that have none. Of
// several variants the one counts that Options.Variant ("42", "Blue / M"),
// Options.SKU or ?variant= names; without any, variants of different prices are
// ambiguous, and no price is taken. The currency is the one that the product
// states; else Options.Currency; else the one of the shop's cart.
//
// Outcomes, errors and limits are those of package fetch below source/internal.
package shopify

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
	"github.com/lastlook/lastlook/watch/price"
)

// SourceName is what a listing of this source has in its Source field.
const SourceName = "shopify"

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
func (c Config) Validate() error { return c.fetch().Validate("shopify") }

// Source looks at products. Make one with [New]; it is safe for concurrent use.
type Source struct{ fetcher *fetch.Fetcher }

var _ watch.Source = (*Source)(nil)

// New returns a source.
func New(c Config) (*Source, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Source{fetch.New(c.fetch())}, nil
}

const acceptJSON = "application/json, text/javascript;q=0.9, */*;q=0.1"

// Look fetches a product's data and reads it. An error is an [*Error].
func (s *Source) Look(ctx context.Context, l watch.Listing) (watch.Observation, error) {
	return s.fetcher.Look(ctx, nil, func(ctx context.Context) (o watch.Observation, a fetch.Answer, err error) {
		address, err := DataURL(l.URL)
		if err != nil {
			return o, a, err
		}
		a, err = s.fetcher.Get(ctx, fetch.Request{URL: address, Private: l.Private, Accept: acceptJSON, Conditional: true})
		if err == nil {
			err = fetch.ByStatus(a, a.Began)
		}
		if err != nil {
			return o, a, err
		}
		o, err = Read(a.Body, l.Options, l.URL)
		if !errors.Is(err, ErrNoCurrency) {
			return o, a, err
		}
		opt := l.Options
		if opt.Currency, err = s.cart(ctx, a.Final, l.Private); err != nil {
			return o, a, err
		}
		o, err = Read(a.Body, opt, l.URL)
		return o, a, err
	})
}

// cart asks for the currency in which the shop sells to us: the product's data
// may leave it out, and the cart, which is made for the same visitor, states it.
func (s *Source) cart(ctx context.Context, at *url.URL, private bool) (string, error) {
	u := url.URL{Scheme: at.Scheme, Host: at.Host, Path: "/cart.js"}
	a, err := s.fetcher.Get(ctx, fetch.Request{URL: u.String(), Private: private, Accept: acceptJSON})
	if err != nil {
		return "", err
	}
	if a.Status == 429 {
		return "", fetch.ByStatus(a, a.Began)
	}
	var c struct {
		Currency string `json:"currency"`
	}
	err = json.Unmarshal(a.Body, &c)
	if _, perr := price.New("1", c.Currency); err != nil || a.Status != 200 || perr != nil || c.Currency == "" {
		return "", errors.New("the shop does not say its currency: name it in the options")
	}
	return c.Currency, nil
}

// DataURL returns where a product's data is, from the address of its page. It
// wraps [watch.ErrInvalid].
func DataURL(page string) (string, error) {
	u, err := url.Parse(page)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("%w: that is no address of a product", watch.ErrInvalid)
	}
	parts := strings.Split(strings.Trim(u.EscapedPath(), "/"), "/")
	for i, p := range parts {
		if p != "products" || i+1 >= len(parts) {
			continue
		}
		handle := parts[i+1]
		form := ".js"
		if h, ok := strings.CutSuffix(handle, ".json"); ok {
			handle, form = h, ".json"
		}
		if handle = strings.TrimSuffix(handle, ".js"); handle == "" {
			break
		}
		prefix := parts[:i]
		for j, q := range prefix {
			if q == "collections" { // the same product, by way of a collection
				prefix = prefix[:j]
				break
			}
		}
		var out strings.Builder
		out.WriteString(u.Scheme + "://" + u.Host)
		for _, q := range prefix {
			out.WriteString("/" + q)
		}
		return out.String() + "/products/" + handle + form, nil
	}
	return "", fmt.Errorf("%w: %.80q is no address of a product: it has /products/ and a name in it", watch.ErrInvalid, u.EscapedPath())
}
