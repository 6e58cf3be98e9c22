package page

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/text/language"

	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/extract"
)

// SourceName is what a listing of this source has in its Source field.
const SourceName = "page"

// Defaults and limits.
const (
	DefaultTimeout  = 10 * time.Second
	DefaultRemember = 2000
	MaxRedirects    = 5
	// maxErrorBody is how much is read of an answer that is no page.
	maxErrorBody = 256 << 10
)

// Doer sends a request, as *http.Client does.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

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

// Validate reports what is wrong with the configuration.
func (c Config) Validate() error {
	printable := func(s string) bool {
		return strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) < 0
	}
	switch {
	case c.Client == nil:
		return errors.New("page: the source needs a client: give it the one for public addresses")
	case c.MaxBytes < 0 || c.MaxBytes > extract.MaxBody:
		return fmt.Errorf("page: MaxBytes is %d: use 0 for the default, or up to %d", c.MaxBytes, extract.MaxBody)
	case c.Timeout < 0:
		return errors.New("page: the time limit is negative: use 0 for the default")
	case !printable(c.UserAgent) || !printable(c.AcceptLanguage):
		return errors.New("page: the user agent or the languages have characters that a header cannot carry: use printable ASCII")
	}
	return nil
}

// Source looks at web pages. Make one with [New].
type Source struct {
	cfg  Config
	kept *memory
}

var _ watch.Source = (*Source)(nil)

// New returns a source.
func New(c Config) (*Source, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Private == nil {
		c.Private = c.Client
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = extract.MaxBody
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Remember == 0 {
		c.Remember = DefaultRemember
	}
	return &Source{c, newMemory(c.Remember)}, nil
}

// Look fetches a listing's page and reads it. An error is an [*Error].
func (s *Source) Look(ctx context.Context, l watch.Listing) (watch.Observation, error) {
	bounded, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	began := s.cfg.Clock()
	var before *kept
	if !watch.IsLastLook(ctx) {
		before = s.kept.get(l, began)
	}
	a, err := s.fetch(bounded, l, before)
	if err == nil {
		var o watch.Observation
		if o, err = s.understand(bounded, l, a, before, began); err == nil {
			return o, nil
		}
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return watch.Observation{}, e
	}
	if bounded.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("no whole answer within %s: the site is slow, it will be asked again", s.cfg.Timeout)
	}
	return watch.Observation{}, &Error{Outcome: Failed, Status: a.status, Err: err}
}

// understand makes an observation of an answer: of a page, or of the word that it
// is the one that is known.
func (s *Source) understand(ctx context.Context, l watch.Listing, a answer, before *kept, began time.Time) (watch.Observation, error) {
	if a.status == http.StatusNotModified && before != nil && a.conditional {
		o := before.again()
		o.At = asOf(began, a.header)
		return o, nil
	}
	o, err := a.read(ctx, l, began)
	if err != nil {
		return o, err
	}
	o.At = asOf(began, a.header)
	if !o.ValidUntil.IsZero() && began.Sub(o.ValidUntil) > leftStanding {
		o.ValidUntil = time.Time{}
	}
	s.kept.put(l, a, o, began)
	return o, nil
}

// leftStanding is how long a shop may leave a page as it is after the end of an
// offer. An older end is a template's that nobody maintains: the page still
// states the price.
const leftStanding = 7 * 24 * time.Hour

// answer is what a site answered in the end.
type answer struct {
	status int
	header http.Header
	body   []byte
	final  *url.URL // where the redirects ended
	// conditional says that the site was asked only for what has changed.
	conditional bool
}

// fetch asks for the page and follows redirects.
func (s *Source) fetch(ctx context.Context, l watch.Listing, before *kept) (a answer, err error) {
	first, err := url.Parse(l.URL)
	if err != nil || first.Host == "" || first.Scheme != "http" && first.Scheme != "https" {
		return a, errors.New("the address is no http or https address: correct it")
	}
	at := first
	seen := map[string]bool{}
	for hops := 0; ; hops++ {
		seen[at.String()] = true
		doer := s.cfg.Client
		if l.Private && sameHost(first, at) {
			doer = s.cfg.Private
		}
		req, err := s.request(ctx, at, l.Options.Locale)
		if err != nil {
			return a, withoutURL(err)
		}
		conditional := before.ask(req)
		resp, err := doer.Do(req)
		if err != nil {
			return a, withoutURL(err)
		}
		a = answer{status: resp.StatusCode, header: resp.Header, final: at, conditional: conditional}
		if resp.Request != nil && resp.Request.URL != nil {
			a.final = resp.Request.URL
		}
		next, err := redirect(a)
		if next == nil && err == nil {
			a.body, err = s.body(resp)
			return a, err
		}
		// What a redirect has for a body is for people; the connection is not
		// worth reading it.
		_ = resp.Body.Close()
		switch {
		case err != nil:
			return a, err
		case seen[next.String()]:
			return a, fmt.Errorf("the site redirects in a circle, at %s: it may insist on cookies", brief(next))
		case hops == MaxRedirects:
			return a, fmt.Errorf("more than %d redirects, the last one to %s: enter the final address", MaxRedirects, brief(next))
		}
		at = next
	}
}

// request asks for a page, for people, as it is now. What encodings are accepted
// is left to the transport: it decodes what it asks for.
func (s *Source) request(ctx context.Context, u *url.URL, locale string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.1")
	// RFC 9111, section 5.2.1.4: a stored copy will not do.
	r.Header.Set("Cache-Control", "no-cache")
	if s.cfg.UserAgent != "" {
		r.Header.Set("User-Agent", s.cfg.UserAgent)
	}
	if languages := s.languages(locale); languages != "" {
		r.Header.Set("Accept-Language", languages)
	}
	return r, nil
}

// languages are those to ask for: the listing's, before those of the source.
func (s *Source) languages(locale string) string {
	tag, err := language.Parse(locale)
	if locale == "" || err != nil {
		return s.cfg.AcceptLanguage
	}
	return tag.String()
}

// redirect returns where an answer leads to; nil if it is an answer.
func redirect(a answer) (*url.URL, error) {
	switch a.status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	ref, err := url.Parse(a.header.Get("Location"))
	if err != nil || a.header.Get("Location") == "" {
		return nil, fmt.Errorf("HTTP %d without an address to go to: the site is broken, it will be asked again", a.status)
	}
	next := a.final.ResolveReference(ref)
	next.Fragment, next.RawFragment = "", ""
	switch {
	case next.Scheme != "http" && next.Scheme != "https" || next.Host == "":
		return nil, errors.New("the site redirects to something that is no web page: enter the final address")
	case next.User != nil:
		return nil, errors.New("the site redirects to an address with a user name: refused")
	case a.final.Scheme == "https" && next.Scheme == "http":
		return nil, fmt.Errorf("the site redirects from https to http, at %s: refused; enter the final address", brief(next))
	}
	return next, nil
}

// sameHost reports whether a redirect stayed where the operator's address leads:
// the same name, on the same port or its scheme's own.
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

// withoutURL takes the address out of a client's error: it may hold what is not
// to be logged, and whoever reads the error knows the listing.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if strings.HasPrefix(err.Error(), "failed to parse Location header") {
		err = errors.New("it redirects to an address that is none")
	}
	return fmt.Errorf("the site did not answer: %w", err)
}

// body reads and closes an answer's body: the whole of a page, the beginning of
// anything else.
func (s *Source) body(resp *http.Response) ([]byte, error) {
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusNonAuthoritativeInfo {
		// Whatever it is, the status counts.
		b, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		return b, nil
	}
	if enc := resp.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return nil, fmt.Errorf("the answer is encoded as %.20q, which was not asked for", enc)
	}
	tooLarge := fmt.Errorf("the answer is larger than %d bytes: no product page is", s.cfg.MaxBytes)
	if resp.ContentLength > s.cfg.MaxBytes {
		return nil, tooLarge
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, s.cfg.MaxBytes+1))
	switch {
	case int64(len(b)) > s.cfg.MaxBytes:
		return nil, tooLarge
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("the answer was cut off after %d bytes: %w", len(b), err)
	case err != nil:
		return nil, fmt.Errorf("the answer broke off after %d bytes: %w", len(b), err)
	}
	return b, nil
}
