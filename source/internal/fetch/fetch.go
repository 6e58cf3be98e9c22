package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/lastlook/lastlook/watch"
)

// Defaults and limits.
const (
	DefaultTimeout = 10 * time.Second
	MaxRedirects   = 5
	MaxBody        = 5 << 20
	// maxErrorBody is how much is read of an answer that states nothing.
	maxErrorBody = 256 << 10
)

// Doer sends a request, as *http.Client does.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// Config says how requests are sent; every source's own configuration has these
// fields.
type Config struct {
	// Client sends requests to addresses that anybody may have chosen. It follows
	// no redirects and keeps no cookies.
	Client Doer
	// Private sends requests for listings that an operator typed, as long as
	// redirects stay on their host; nil means Client.
	Private   Doer
	UserAgent string
	MaxBytes  int64
	Timeout   time.Duration
	Clock     func() time.Time
}

// Validate reports what is wrong with the configuration; source begins the text.
func (c Config) Validate(source string) error {
	switch {
	case c.Client == nil:
		return fmt.Errorf("%s: the source needs a client: give it the one for public addresses", source)
	case c.MaxBytes < 0 || c.MaxBytes > MaxBody:
		return fmt.Errorf("%s: MaxBytes is %d: use 0 for the default, or up to %d", source, c.MaxBytes, MaxBody)
	case c.Timeout < 0:
		return fmt.Errorf("%s: the time limit is negative: use 0 for the default", source)
	case !Printable(c.UserAgent):
		return fmt.Errorf("%s: the user agent has characters that a header cannot carry: use printable ASCII", source)
	}
	return nil
}

// Printable reports whether a header can carry a text.
func Printable(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// Fetcher asks for documents. Make one with [New].
type Fetcher struct {
	cfg   Config
	store cache
}

// New returns a fetcher for a configuration that is valid.
func New(c Config) *Fetcher {
	if c.Private == nil {
		c.Private = c.Client
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = MaxBody
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	return &Fetcher{cfg: c}
}

// Request is what is asked for.
type Request struct {
	URL string
	// Private says that an operator typed the address.
	Private bool
	Accept  string
	Header  http.Header
	// Secrets stand in the address or the header: no error shows them, and the
	// request goes to no other place than this.
	Secrets []string
	// Languages is the Accept-Language of requests to every host, "" for none.
	Languages string
	// Conditional lets the other side answer that nothing has changed.
	Conditional bool
	// Ask makes a request to an address conditional for a source that keeps what
	// it knows itself, and reports whether it has; nil for none.
	Ask func(at *url.URL, h http.Header) bool
}

// Answer is what was answered in the end.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	Final  *url.URL // where the redirects ended
	Began  time.Time
	// Asked says that [Request.Ask] has made the last request conditional: a 304
	// is an answer to it.
	Asked bool
}

// Look bounds a look in time and says what came of it: read makes an observation
// of answers, which it gets with [Fetcher.Get]. Every error is an [*Error].
func (f *Fetcher) Look(ctx context.Context, secrets []string, read func(context.Context) (watch.Observation, Answer, error)) (watch.Observation, error) {
	bounded, cancel := context.WithTimeout(ctx, f.cfg.Timeout)
	defer cancel()
	o, a, err := read(bounded)
	if err == nil && bounded.Err() == nil {
		o.At = asOf(a.Began, a.Header)
		return o, nil
	}
	if err == nil {
		err = bounded.Err()
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		e = &Error{Outcome: Failed, Status: a.Status, Err: err}
	}
	if bounded.Err() != nil && ctx.Err() == nil {
		e = &Error{Outcome: Failed, Status: a.Status, Err: fmt.Errorf("no whole answer within %s: the site is slow, it will be asked again", f.cfg.Timeout)}
	}
	return watch.Observation{}, &Error{Outcome: e.Outcome, Status: e.Status, Err: redact(e.Err, secrets)}
}

// Get asks for a document and follows redirects. Answers of any status come
// back; see [ByStatus].
func (f *Fetcher) Get(ctx context.Context, r Request) (a Answer, err error) {
	a.Began = f.cfg.Clock()
	first, err := url.Parse(r.URL)
	if err != nil || first.Host == "" || first.Scheme != "http" && first.Scheme != "https" {
		return a, errors.New("the address is no http or https address: correct it")
	}
	at := first
	seen := map[string]bool{}
	for hops := 0; ; hops++ {
		seen[at.String()] = true
		doer := f.cfg.Client
		if r.Private && sameHost(first, at) {
			doer = f.cfg.Private
		}
		old := f.store.get(r, at)
		req, err := f.request(ctx, at, r, sameHost(first, at), old)
		if err != nil {
			return a, withoutURL(err)
		}
		a.Asked = r.Ask != nil && r.Ask(at, req.Header)
		resp, err := doer.Do(req)
		if err != nil {
			return a, withoutURL(err)
		}
		a.Status, a.Header, a.Final = resp.StatusCode, resp.Header, at
		if resp.Request != nil && resp.Request.URL != nil {
			a.Final = resp.Request.URL
		}
		next, err := redirect(a)
		if next == nil && err == nil {
			return f.finish(r, resp, a, old)
		}
		_ = resp.Body.Close()
		switch {
		case err != nil:
			return a, err
		case len(r.Secrets) > 0:
			return a, fmt.Errorf("the service redirects to %s: refused, for the key is meant for it alone", brief(next))
		case seen[next.String()]:
			return a, fmt.Errorf("the site redirects in a circle, at %s: it may insist on cookies", brief(next))
		case hops == MaxRedirects:
			return a, fmt.Errorf("more than %d redirects, the last one to %s: enter the final address", MaxRedirects, brief(next))
		}
		at = next
	}
}

// Now is the fetcher's time.
func (f *Fetcher) Now() time.Time { return f.cfg.Clock() }

// finish reads an answer's body, or takes what is known if nothing has changed.
func (f *Fetcher) finish(r Request, resp *http.Response, a Answer, old *stored) (Answer, error) {
	if a.Status == http.StatusNotModified && old != nil {
		_ = resp.Body.Close()
		a.Status, a.Body = http.StatusOK, old.body
		h := a.Header.Clone()
		h.Set("Content-Type", old.contentType)
		a.Header = h
		return a, nil
	}
	body, err := f.body(resp)
	a.Body = body
	if err == nil {
		f.store.put(r, a)
	}
	return a, err
}

func (f *Fetcher) request(ctx context.Context, u *url.URL, r Request, own bool, old *stored) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	if own {
		maps.Copy(req.Header, r.Header)
	}
	req.Header.Set("Accept", r.Accept)
	// RFC 9111, section 5.2.1.4: a stored copy will not do.
	req.Header.Set("Cache-Control", "no-cache")
	if f.cfg.UserAgent != "" {
		req.Header.Set("User-Agent", f.cfg.UserAgent)
	}
	if r.Languages != "" {
		req.Header.Set("Accept-Language", r.Languages)
	}
	old.ask(req.Header)
	return req, nil
}

// redirect returns where an answer leads to; nil if it is an answer.
func redirect(a Answer) (*url.URL, error) {
	switch a.Status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	ref, err := url.Parse(a.Header.Get("Location"))
	if err != nil || a.Header.Get("Location") == "" {
		return nil, fmt.Errorf("HTTP %d without an address to go to: the site is broken, it will be asked again", a.Status)
	}
	next := a.Final.ResolveReference(ref)
	next.Fragment, next.RawFragment = "", ""
	switch {
	case next.Scheme != "http" && next.Scheme != "https" || next.Host == "":
		return nil, errors.New("the site redirects to something that is no web address: enter the final address")
	case next.User != nil:
		return nil, errors.New("the site redirects to an address with a user name: refused")
	case a.Final.Scheme == "https" && next.Scheme == "http":
		return nil, fmt.Errorf("the site redirects from https to http, at %s: refused; enter the final address", brief(next))
	}
	return next, nil
}

// sameHost reports whether a redirect stayed where the first address leads: the
// same name, on the same port or its scheme's own.
func sameHost(a, b *url.URL) bool {
	return strings.EqualFold(a.Hostname(), b.Hostname()) && (a.Port() == b.Port() || b.Port() == "")
}

// brief is an address without what it may keep to itself.
func brief(u *url.URL) string {
	const limit = 80
	s := u.Host + u.EscapedPath()
	if len(s) > limit {
		s = s[:limit] + "…"
	}
	return s
}

// withoutURL takes the address out of a client's error.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if strings.HasPrefix(err.Error(), "failed to parse Location header") {
		err = errors.New("it redirects to an address that is none")
	}
	return fmt.Errorf("the site did not answer: %w", err)
}

// body reads and closes an answer's body: the whole of a document, the beginning
// of anything else.
func (f *Fetcher) body(resp *http.Response) ([]byte, error) {
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusNonAuthoritativeInfo {
		b, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		return b, nil // whatever it is, the status counts
	}
	if enc := resp.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return nil, fmt.Errorf("the answer is encoded as %.20q, which was not asked for", enc)
	}
	tooLarge := fmt.Errorf("the answer is larger than %d bytes: it is refused whole", f.cfg.MaxBytes)
	if resp.ContentLength > f.cfg.MaxBytes {
		return nil, tooLarge
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, f.cfg.MaxBytes+1))
	switch {
	case int64(len(b)) > f.cfg.MaxBytes:
		return nil, tooLarge
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("the answer was cut off after %d bytes: %w", len(b), err)
	case err != nil:
		return nil, fmt.Errorf("the answer broke off after %d bytes: %w", len(b), err)
	}
	return b, nil
}
