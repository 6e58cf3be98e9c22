package webpush

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Doer sends requests. [http.Client] is one. Another one must not follow
// redirects: the endpoint comes from a browser, and where it leads is decided
// when it is taken, not by who answers there.
type Doer interface {
	Do(r *http.Request) (*http.Response, error)
}

// Config is what all messages have in common.
type Config struct {
	// Keys says who is sending. Browsers subscribed with its public key.
	Keys *Keys
	// Subject is where a push service reaches the operator; see
	// [CheckSubject].
	Subject string
	// Doer sends; nil if only [Client.Prepare] is used. An [http.Client] is
	// copied, and follows no redirects. Endpoints come from browsers: whoever
	// takes them from strangers gives a client that does not call internal
	// hosts, and one with a timeout.
	Doer Doer
	// UserAgent, if not empty, is sent as such.
	UserAgent string
	// Clock is for tokens and dates in Retry-After; nil means time.Now.
	Clock func() time.Time
}

// Client sends messages. It is safe for concurrent use.
type Client struct {
	tokens *tokens
	doer   Doer
	agent  string
	clock  func() time.Time
}

// New makes a client. Errors wrap [ErrInvalid]. It calls nobody.
func New(cfg Config) (*Client, error) {
	if cfg.Keys == nil {
		return nil, fmt.Errorf("%w client: it has no VAPID keys: make some once, and keep them", ErrInvalid)
	}
	if err := CheckSubject(cfg.Subject); err != nil {
		return nil, err
	}
	if strings.ContainsFunc(cfg.UserAgent, func(r rune) bool { return r < ' ' || r > '~' }) {
		return nil, fmt.Errorf("%w client: its user agent has characters that a header cannot carry", ErrInvalid)
	}
	c := &Client{tokens: newTokens(cfg.Keys, cfg.Subject), doer: cfg.Doer, agent: cfg.UserAgent, clock: cfg.Clock}
	if hc, ok := cfg.Doer.(*http.Client); ok {
		if hc == nil {
			return nil, fmt.Errorf("%w client: its http.Client is nil", ErrInvalid)
		}
		still := *hc
		still.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		c.doer = &still
	}
	if c.clock == nil {
		c.clock = time.Now
	}
	return c, nil
}

// String shows the client without secrets.
func (c *Client) String() string { return "webpush(" + c.tokens.keys.String() + ")" }

// GoString is String: %#v shows no secrets either.
func (c *Client) GoString() string { return c.String() }

// Receipt is what a push service says of a message that it has taken.
type Receipt struct {
	// Status is 201, or another 2xx.
	Status int
}

// Send encrypts a message and posts it. A failure is an [*Error] with a
// [Kind], or wraps [ErrInvalid] or [ErrTooLong]; then nothing was sent. The
// caller's memory is neither kept nor changed.
func (c *Client) Send(ctx context.Context, sub Subscription, m Message) (Receipt, error) {
	if c.doer == nil {
		return Receipt{}, fmt.Errorf("%w client: it was made without a Doer: give one, or use Prepare", ErrInvalid)
	}
	r, err := c.send(ctx, sub, m)
	if e, ok := errors.AsType[*Error](err); ok && e.Kind == TooLarge && m.Short != nil {
		m.Payload = m.Short
		return c.send(ctx, sub, m)
	}
	return r, err
}

func (c *Client) send(ctx context.Context, sub Subscription, m Message) (Receipt, error) {
	p, err := c.Prepare(sub, m)
	if err != nil {
		return Receipt{}, err
	}
	host := sub.Host()
	if err := ctx.Err(); err != nil {
		return Receipt{}, &Error{Kind: Retry, Host: host, text: "not called: " + err.Error(), known: []error{err}}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := c.doer.Do(request(ctx, p))
	if err != nil {
		return Receipt{}, unanswered(host, err, secretsOf(sub, p))
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 && resp.ContentLength == 0 {
		return Receipt{Status: resp.StatusCode}, nil
	}
	// The status has decided. Its text is worth a moment, not more.
	timer := time.AfterFunc(time.Second, cancel)
	defer timer.Stop()
	var text []byte
	if resp.StatusCode >= 200 {
		text, _ = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	}
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		return Receipt{Status: resp.StatusCode}, nil
	}
	return Receipt{}, c.refusal(host, resp, text, secretsOf(sub, p))
}

// maxAnswer is how much of an answer is read, in bytes.
const maxAnswer = 4 << 10

func request(ctx context.Context, p Request) *http.Request {
	r := &http.Request{
		Method: http.MethodPost, URL: p.URL, Host: p.URL.Host, Header: p.Header,
		ContentLength: int64(len(p.Body)),
		Body:          io.NopCloser(bytes.NewReader(p.Body)),
		// Asked for when a kept connection turns out dead before anything was
		// written.
		GetBody: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(p.Body)), nil },
	}
	return r.WithContext(ctx)
}
