package httpcall

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/lastlook/lastlook"
)

// DefaultAnswerWait is how long the text of an answer is waited for.
const DefaultAnswerWait = time.Second

// Agent is the User-Agent of calls whose channel does not set one.
const Agent = "lastlook (+https://github.com/lastlook/lastlook)"

// Config is what a channel's calls have in common.
type Config struct {
	// Name is the channel's kind; it begins every error.
	Name string
	// Client sends. It is copied; whatever it does about redirects, calls
	// follow none.
	Client *http.Client
	// Clock is for dates in Retry-After; nil means time.Now.
	Clock func() time.Time
	// Secrets are scrubbed from whatever is shown, with those of the request.
	Secrets Secrets
	// Statuses are this channel's exceptions from the table.
	Statuses map[int]Meaning
	// AnswerWait bounds the wait for an answer's text, once its header is
	// there; 0 means [DefaultAnswerWait].
	AnswerWait time.Duration
}

// Caller makes calls. It is safe for concurrent use.
type Caller struct {
	cfg    Config
	client *http.Client
	last   atomic.Pointer[lastURL]
}

// lastURL is the redactor for the URL that was called last: most channels
// call one.
type lastURL struct {
	url      string
	redactor *Redactor
}

// New returns a caller. Errors wrap [lastlook.ErrInvalid].
func New(cfg Config) (*Caller, error) {
	if cfg.Client == nil {
		return nil, fmt.Errorf("%w: the %s channel has no client: give an *http.Client with a timeout", lastlook.ErrInvalid, cfg.Name)
	}
	if cfg.AnswerWait < 0 {
		return nil, fmt.Errorf("%w: the wait for an answer is negative: use 0 for the default", lastlook.ErrInvalid)
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.AnswerWait == 0 {
		cfg.AnswerWait = DefaultAnswerWait
	}
	client := *cfg.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Caller{cfg: cfg, client: &client}, nil
}

// Request is one call.
type Request struct {
	// Method is POST (also if empty), PUT, PATCH or DELETE: the methods that
	// net/http does not repeat by itself.
	Method string
	URL    *url.URL
	Header http.Header
	Body   []byte
	// Secrets are those of this request alone. Those in its URL need not be
	// named.
	Secrets Secrets
}

// Do makes one call and says what came of it: nil if the message was
// accepted, else an error with a class (see the package's description). The
// answer is returned as far as there is one, also with an error.
func (c *Caller) Do(ctx context.Context, r Request) (Answer, error) {
	if err := ctx.Err(); err != nil {
		return Answer{}, lastlook.RetryAfter(0, fmt.Errorf("%s: not called: %w", c.cfg.Name, err))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := newProgress(r.Body)
	defer p.seal(nil) // an early answer: the transport may still be reading
	req, err := c.request(httptrace.WithClientTrace(ctx, p.trace()), r, p)
	if err != nil {
		return Answer{}, lastlook.Permanent(fmt.Errorf("%s: %w", c.cfg.Name, err))
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return Answer{}, c.failure(r, err, p.seal(err))
	}
	// The status has decided. Its text is worth a moment, not more.
	timer := time.AfterFunc(c.cfg.AnswerWait, cancel)
	defer timer.Stop()
	defer resp.Body.Close()
	a := read(resp)
	if len(a.Body) > 0 {
		a.Shown = c.redactor(r).shown(&a)
	}
	return a, c.verdict(r.URL, &a)
}

func (c *Caller) request(ctx context.Context, r Request, p *progress) (*http.Request, error) {
	switch r.Method {
	case "":
		r.Method = http.MethodPost
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		return nil, fmt.Errorf("method %q may be repeated on the way: use POST, PUT, PATCH or DELETE", r.Method)
	}
	if r.URL == nil {
		return nil, errors.New("the request has no URL")
	}
	u := *r.URL
	req := (&http.Request{Method: r.Method, URL: &u, Header: http.Header{}, Host: u.Host}).WithContext(ctx)
	for name, values := range r.Header {
		name = http.CanonicalHeaderKey(name)
		// Under these very names, net/http takes the request for repeatable,
		// and does repeat it after a lost connection. The wire does not mind.
		switch name {
		case "Idempotency-Key":
			name = "idempotency-key"
		case "X-Idempotency-Key":
			name = "x-idempotency-key"
		}
		req.Header[name] = append(req.Header[name], values...)
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", Agent)
	}
	if len(r.Body) > 0 {
		req.ContentLength = int64(len(r.Body))
		req.GetBody = p.body
		var err error
		req.Body, err = p.body()
		if err != nil {
			return nil, err
		}
	}
	return req, nil
}

// verdict is what an answer's status means.
func (c *Caller) verdict(to *url.URL, a *Answer) error {
	m, excepted := c.cfg.Statuses[a.Status]
	if !excepted {
		m = MeaningOf(a.Status)
	}
	if m.Accepted {
		return nil
	}
	said := ""
	if a.Shown != "" {
		said = ": " + strconv.Quote(a.Shown)
	}
	err := fmt.Errorf("%s: %s answered HTTP %d: %s%s", c.cfg.Name, Origin(to), a.Status, m.Why, said)
	e := &lastlook.Error{Class: m.Class, Err: err}
	if m.Class == lastlook.ClassTransient || m.Class == lastlook.ClassUnknown {
		e.After = ParseRetryAfter(a.Header.Get("Retry-After"), c.cfg.Clock())
	}
	return e
}

// Receipt is what a channel returns of an accepted message. note, if not
// empty, stands for the answer's text: it must hold no secret.
func (a Answer) Receipt(note string) lastlook.Receipt {
	s := "HTTP " + strconv.Itoa(a.Status)
	if note == "" {
		note = a.Shown
	}
	if note != "" {
		s += ": " + note
	}
	return lastlook.Receipt{Answer: s}
}

func (c *Caller) redactor(r Request) *Redactor {
	to := ""
	if r.URL != nil {
		to = r.URL.String()
	}
	last := c.last.Load()
	if last == nil || last.url != to {
		last = &lastURL{to, NewRedactor(c.cfg.Secrets).With(URLSecrets(r.URL))}
		c.last.Store(last)
	}
	return last.redactor.With(r.Secrets)
}
