package browser

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/lastlook/lastlook/source/internal/fetch"
	"github.com/lastlook/lastlook/watch"
)

// SourceName is what a listing of this source has in its Source field.
const SourceName = "browser"

// Defaults. A look of the dispatcher has 8 seconds; this is a little less.
const (
	DefaultTimeout = 7 * time.Second
	DefaultTabs    = 2
	startLimit     = 20 * time.Second
	maxTabs        = 16
)

type (
	// Error is why a look gave no observation.
	Error = fetch.Error
	// Doer sends a request, as *http.Client does.
	Doer = fetch.Doer
)

// Dialer connects, as *door.Dialer does.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Sandbox says whether Chromium confines its pages.
type Sandbox string

// The ways to run.
const (
	// SandboxAuto confines pages unless this process is root's, for which
	// Chromium's sandbox cannot work.
	SandboxAuto Sandbox = ""
	// SandboxAlways fails rather than run without.
	SandboxAlways Sandbox = "always"
)

// Config configures a [Source]. Path, Dialer and Client are required.
type Config struct {
	// Path is Chromium's program.
	Path string
	// Dialer and Client are the browser's only way out: those of internal/door for
	// public addresses. Client follows no redirects and adds nothing.
	Dialer Dialer
	Client Doer
	// Sandbox says whether pages are confined; see the package's documentation.
	Sandbox Sandbox
	// Tabs is how many pages are open at once, 2 by default.
	Tabs int
	// Timeout bounds a look, 7 s by default. Starting the browser, which only the
	// first look waits for, comes out of it.
	Timeout time.Duration
	// Clock is the source of now; nil means time.Now.
	Clock func() time.Time
}

// Validate reports what is wrong with the configuration.
func (c Config) Validate() error {
	info, err := os.Stat(c.Path)
	switch {
	case c.Path == "":
		return errors.New("browser: name Chromium's program, such as /usr/bin/chromium")
	case err != nil || info.IsDir():
		return fmt.Errorf("browser: there is no program %s: install Chromium, or name where it is", c.Path)
	case c.Dialer == nil || c.Client == nil:
		return errors.New("browser: the source needs a dialer and a client: give it those for public addresses")
	case c.Sandbox != SandboxAuto && c.Sandbox != SandboxAlways:
		return fmt.Errorf("browser: there is no sandbox mode %q: use %q or leave it out", c.Sandbox, SandboxAlways)
	case c.Sandbox == SandboxAlways && os.Geteuid() == 0:
		return errors.New("browser: Chromium's sandbox does not work for root: run lastlook as another user")
	case c.Tabs < 0 || c.Tabs > maxTabs:
		return fmt.Errorf("browser: %d tabs: use 1 to %d", c.Tabs, maxTabs)
	case c.Timeout < 0:
		return errors.New("browser: the time limit is negative: use 0 for the default")
	}
	return nil
}

// Source looks at pages with a browser. Make one with [New], and close it; it is
// safe for concurrent use.
type Source struct {
	cfg   Config
	proxy *proxy
	tabs  chan struct{}

	mu      sync.Mutex
	running *chromium
	closed  bool
	done    chan struct{} // closed with the source
}

var _ watch.Source = (*Source)(nil)

// New returns a source. The browser is started by the first look.
func New(c Config) (*Source, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Tabs == 0 {
		c.Tabs = DefaultTabs
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	p, err := startProxy(c)
	if err != nil {
		return nil, fmt.Errorf("browser: the browser's proxy cannot listen on this machine: %w", err)
	}
	return &Source{cfg: c, proxy: p, tabs: make(chan struct{}, c.Tabs), done: make(chan struct{})}, nil
}

// Close ends the browser with all its processes, and the looks that are under way.
func (s *Source) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.done)
	b := s.running
	s.running = nil
	s.mu.Unlock()
	if b != nil {
		b.close()
	}
	for range cap(s.tabs) { // looks that are ending
		s.tabs <- struct{}{}
	}
	s.proxy.close()
	return nil
}

var errClosed = errors.New("the browser is closed")

// Look opens a listing's page and reads what its scripts made of it. An error is
// an [*Error].
func (s *Source) Look(ctx context.Context, l watch.Listing) (watch.Observation, error) {
	bounded, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	began := s.cfg.Clock()
	o, status, err := s.look(bounded, l)
	if err == nil {
		o.At = began
		return o, nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return watch.Observation{}, e
	}
	if bounded.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("the page stated nothing within %s (%w)", s.cfg.Timeout, err)
	}
	return watch.Observation{}, &Error{Outcome: fetch.Failed, Status: status, Err: err}
}

func (s *Source) look(ctx context.Context, l watch.Listing) (o watch.Observation, status int, err error) {
	u, err := url.Parse(l.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return o, 0, errors.New("the address is no http or https address: correct it")
	}
	select {
	case s.tabs <- struct{}{}:
		defer func() { <-s.tabs }()
	case <-s.done:
		return o, 0, errClosed
	case <-ctx.Done():
		return o, 0, fmt.Errorf("all %d tabs of the browser were busy: %w", s.cfg.Tabs, ctx.Err())
	}
	b, err := s.browser(ctx)
	if err != nil {
		return o, 0, err
	}
	r, err := b.render(ctx, l)
	if err != nil {
		return o, r.status, err
	}
	// A check can come with any status; what nothing else has on it counts even
	// against a definite answer.
	if r.vendor != "" && r.status != http.StatusOK && r.status != http.StatusTooManyRequests {
		return o, r.status, r.blocked(r.vendor)
	}
	if err := fetch.ByStatus(fetch.Answer{Status: r.status, Header: r.header}, s.cfg.Clock()); err != nil {
		return o, r.status, err
	}
	return r.observation, r.status, r.unread()
}

// browser returns the running browser, and starts one if there is none.
func (s *Source) browser(ctx context.Context) (*chromium, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	if s.running != nil && s.running.alive() {
		return s.running, nil
	}
	if s.running != nil {
		s.running.close()
		s.running = nil
	}
	b, err := launch(ctx, s.cfg, s.proxy.address())
	if err != nil {
		return nil, fmt.Errorf("the browser does not start: %w", err)
	}
	s.running = b
	return b, nil
}

// header makes headers of what the browser says of them.
func header(m map[string]any) http.Header {
	h := http.Header{}
	for name, v := range m {
		if text, ok := v.(string); ok {
			h.Set(name, text)
		}
	}
	return h
}
