// Package webhook delivers messages as HTTP requests that the receiver can
// verify: a POST with a JSON body, signed as the Standard Webhooks
// specification 1.0.0 says (https://www.standardwebhooks.com, signature schemes
// v1, HMAC-SHA256, and v1a, Ed25519).
//
//	secret := webhook.NewSecret() // once; the receiver keeps it too
//	hook, err := webhook.New(webhook.Config{
//		URL:    "https://example.com/hooks/prices",
//		Secret: secret,
//		Client: &http.Client{Timeout: 15 * time.Second},
//	})
//	…
//	dispatcher, err := lastlook.NewDispatcher(outbox, lastlook.Config{
//		Channels: map[string]lastlook.Channel{"hook": hook}, …
//
// # Request
//
// Three headers come with each request:
//
//	webhook-id         the delivery key: the same for each resend of an assertion, and for nothing else
//	webhook-timestamp  when this attempt was made, in Unix seconds
//	webhook-signature  "v1," and the base64 of HMAC-SHA256(secret, id "." timestamp "." body), or
//	                   "v1a," and that of an Ed25519 signature of the same; one for each active secret
//
// A receiver verifies the signature over the body's very bytes, refuses
// timestamps more than a few minutes off, and takes an id that it has seen for
// a repetition. Libraries for that exist in many languages; a message whose
// trace context is a W3C traceparent carries it as such.
//
// # Body
//
// The body is an [Event], in JSON. Its schema is stable: fields may be added,
// none changes its meaning or goes.
//
//	{
//	  "type": "lastlook.alert",
//	  "timestamp": "2026-03-29T00:59:28Z",
//	  "data": {
//	    "id": 42,
//	    "topic": "price", "subject": "shop.example/espresso", "recipient": "kim", "channel": "hook",
//	    "title": "Espresso machine: 470.00 EUR",
//	    "body": "Below your 500.00 EUR. It was 520.00 EUR.",
//	    "url": "https://shop.example/espresso",
//	    "silent": false,
//	    "details": {"trigger": "below"},
//	    "value": {"price": "470.00", "currency": "EUR"},
//	    "delivery_key": "pVQ…", "replace_key": "x0f…", "attempt": 1,
//	    "looked_at": "2026-03-29T00:59:28Z", "expires_at": "2026-03-30T00:50:00Z"
//	  }
//	}
//
// With [Config.CloudEvents] it is a CloudEvent 1.0 in structured mode instead
// (application/cloudevents+json): id is the delivery key, type and time are the
// event's, subject is the notification's, and data is the same data.
//
// # Errors
//
// What an answer means is decided by the one table of all HTTP channels:
// statuses 2xx accept; 410 says that the endpoint is gone, and mutes the
// recipient on this channel; 401, 403, 404, 405 and redirects, which are never
// followed, say that the settings are wrong, and park the lane until somebody
// has corrected them; other 4xx refuse this message for good; 408, 429 and 5xx
// are tried again, after Retry-After if there is one. An answer that did not
// come after the request was written, and 504, leave the outcome unknown: the
// resend has the same webhook-id. Errors carry a [lastlook.Class].
//
// No error, receipt or printed channel shows the URL beyond its origin, the
// secret, the signature or a configured header, also if the receiver sends
// them back.
//
// A [Channel] is safe for concurrent use.
package webhook

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/internal/httpcall"
	"github.com/lastlook/lastlook/internal/signing"
)

// The headers of the specification.
const (
	HeaderID        = signing.HeaderID
	HeaderTimestamp = signing.HeaderTimestamp
	HeaderSignature = signing.HeaderSignature
)

// Config says where messages go and how they are signed.
type Config struct {
	// URL is the endpoint. It may hold a user and password, or a token: all
	// of it but the origin is treated as a secret.
	URL string
	// Secret is the signing secret: whsec_ and the base64 of 24 to 64 bytes.
	// Use one per endpoint. [NewSecret] makes one.
	Secret string
	// More are further active secrets: of the same kind, while a receiver
	// changes from one to the next, or whsk_… for v1a signatures (Ed25519),
	// which receivers verify with a key that cannot sign. [NewKeyPair] makes
	// one. Each request carries a signature of each.
	More []string
	// CloudEvents makes the body a CloudEvent 1.0 in structured mode, whose
	// data is what otherwise is the event's.
	CloudEvents bool
	// Source names this outbox in a CloudEvent: a URI or a part of one. Empty
	// means "/lastlook".
	Source string
	// Header is sent with each request, e.g. an Authorization. The values are
	// treated as secrets.
	Header http.Header
	// Client sends the requests. It needs no setting for redirects: none is
	// followed.
	Client *http.Client
	// Clock tells when an attempt is made; nil means time.Now.
	Clock func() time.Time
}

// String shows the configuration without its secrets.
func (c Config) String() string {
	u, err := httpcall.ParseURL("url", c.URL)
	if err != nil {
		return "webhook(no valid URL)"
	}
	return "webhook(" + httpcall.Origin(u) + ")"
}

// GoString is String: %#v shows no secrets either.
func (c Config) GoString() string { return c.String() }

// Validate reports the first thing that is wrong with the configuration, and
// what to do about it; the error wraps [lastlook.ErrInvalid].
func (c Config) Validate() error {
	_, err := New(c)
	return err
}

// Channel delivers to one endpoint.
type Channel struct {
	url    *url.URL
	header http.Header
	signer signers
	// source is a CloudEvent's; without one, bodies are our own.
	source string
	clock  func() time.Time
	caller *httpcall.Caller
}

var _ lastlook.Channel = (*Channel)(nil)

// New makes a channel. It reports what [Config.Validate] does, and calls
// nobody.
func New(c Config) (*Channel, error) {
	u, err := httpcall.ParseURL("the webhook's url", c.URL)
	if err != nil {
		return nil, err
	}
	all, secrets := signers{}, httpcall.HeaderSecrets(c.Header)
	for _, text := range append([]string{c.Secret}, c.More...) {
		one, err := parseSecret(text)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
		secrets.Strict = append(secrets.Strict, text, one.encoded)
	}
	if len(all) > maxSecrets {
		return nil, fmt.Errorf("%w: the webhook has %d secrets, at most %d are active at a time: remove the oldest", lastlook.ErrInvalid, len(all), maxSecrets)
	}
	source := ""
	if c.CloudEvents {
		source = cmp.Or(c.Source, "/lastlook")
		if _, err := url.Parse(source); err != nil || strings.ContainsFunc(source, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return nil, fmt.Errorf("%w: the webhook's source is no URI: write it like /lastlook or https://lastlook.example", lastlook.ErrInvalid)
		}
	}
	if err := httpcall.CheckHeaders(c.Header, HeaderID, HeaderTimestamp, HeaderSignature); err != nil {
		return nil, err
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	caller, err := httpcall.New(httpcall.Config{Name: "webhook", Client: c.Client, Clock: c.Clock, Secrets: secrets})
	if err != nil {
		return nil, err
	}
	return &Channel{url: u, header: c.Header.Clone(), signer: all, source: source, clock: c.Clock, caller: caller}, nil
}

// String shows where the channel delivers to.
func (c *Channel) String() string { return "webhook(" + httpcall.Origin(c.url) + ")" }

// GoString is String: %#v shows no secrets either.
func (c *Channel) GoString() string { return c.String() }

// maxSecrets bounds the active secrets.
const maxSecrets = 8

// signatures returns what of a signature header must not be seen.
func signatures(header string) []string {
	out := []string{header}
	for one := range strings.SplitSeq(header, " ") {
		_, bare, _ := strings.Cut(one, ",")
		out = append(out, one, bare)
	}
	return out
}

// Deliver implements [lastlook.Channel].
func (c *Channel) Deliver(ctx context.Context, d lastlook.Delivery) (lastlook.Receipt, error) {
	if !visible(d.DeliveryKey) {
		return lastlook.Receipt{}, lastlook.Permanent(fmt.Errorf("webhook: the delivery key %.40q cannot be a webhook-id: it must be 1 to 256 letters, digits, hyphens or underscores", d.DeliveryKey))
	}
	body, kind, err := c.encode(d)
	if err != nil {
		return lastlook.Receipt{}, lastlook.Permanent(fmt.Errorf("webhook: cannot write the body: %w", err))
	}
	at := strconv.FormatInt(c.clock().Unix(), 10)
	signature := c.signer.sign(d.DeliveryKey, at, body)
	h := c.header.Clone()
	if h == nil {
		h = http.Header{}
	}
	h.Set("Content-Type", kind)
	h.Set(HeaderID, d.DeliveryKey)
	h.Set(HeaderTimestamp, at)
	h.Set(HeaderSignature, signature)
	if traceparent(d.Trace) {
		h.Set("Traceparent", d.Trace)
	}
	answer, err := c.caller.Do(ctx, httpcall.Request{
		URL: c.url, Header: h, Body: body,
		Secrets: httpcall.Secrets{Weak: signatures(signature)},
	})
	if err != nil {
		return lastlook.Receipt{}, err
	}
	return answer.Receipt(""), nil
}
