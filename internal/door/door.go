// Package door makes the HTTP client through which every request of lastlook
// leaves the process: sources look through it, channels deliver through it.
// A test fails if any other package of the module makes a client of its own.
//
//	client, err := door.New(door.Config{Trust: door.Operator})
//	hook, err := webhook.New(webhook.Config{URL: "https://…", Client: client, …})
//
// What the client does, whoever uses it:
//
//   - It takes no proxy from the environment and keeps no cookies.
//   - Every phase has a limit: connecting, the TLS handshake, waiting for the
//     answer's header, the whole exchange. The caller's context comes on top.
//   - It follows no redirects unless [Config.MaxRedirects] asks for it. If it
//     does, each step is dialled, and so checked, anew; https never turns into
//     http; and what the caller put into headers stays with the host that it
//     was meant for.
//   - Idle connections, and the size of an answer's header, are bounded.
//   - It names itself: see [UserAgent].
//
// # Trust
//
// [Config.Trust] says where the addresses come from. [Public], the zero value,
// is for those that anybody may have chosen, be they read from a page or sent
// by a device: only public addresses, on the ports of the web (80, 443, 8080,
// 8443), and of those neither this machine's own nor, of IPv6, the ones on its
// own network, which a router may keep everybody else away from. [Operator] is for those that whoever runs the server typed: public
// ones, and what [Config.Allow] lists besides, on 80, 443 and the ports from
// 1024 on. [Config.Ports] names others.
//
// The check is made after DNS, at the moment of connecting, of the very address
// that is connected to, so that neither a redirect nor a name that resolves
// differently the second time (DNS rebinding) gets past. What is refused is
// [ErrNotPublic] or [ErrPort].
//
// # Errors and concurrency
//
// [New] reports impossible limits. A client is safe for concurrent use, and
// meant to be shared: make one per trust, not one per request.
package door

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Trust says where the addresses that a client calls come from.
type Trust uint8

const (
	// Public is for addresses that anybody may have chosen: pages, devices,
	// redirects. Only public addresses are connected to.
	Public Trust = iota
	// Operator is for addresses that whoever runs the server typed. They may be
	// private as far as [Config.Allow] says so.
	Operator
)

// String returns the name of the trust.
func (t Trust) String() string {
	switch t {
	case Public:
		return "public"
	case Operator:
		return "operator"
	}
	return fmt.Sprintf("trust(%d)", uint8(t))
}

// Config holds a client's limits. A zero field means the default.
type Config struct {
	Trust Trust
	// Allow is what an operator's addresses may lead to besides public ones.
	Allow Allow
	// Ports are the ports that may be called; nil means those of the trust.
	Ports []uint16
	// UserAgent is sent with requests that do not have one; empty means
	// UserAgent("", "").
	UserAgent string

	// DialTimeout bounds connecting, name resolution included (5 s).
	DialTimeout time.Duration
	// TLSTimeout bounds the TLS handshake (5 s).
	TLSTimeout time.Duration
	// HeaderTimeout bounds the wait for the answer's header, counted from
	// when the request was written (30 s).
	HeaderTimeout time.Duration
	// Timeout bounds the whole exchange, reading the answer included (60 s).
	Timeout time.Duration
	// IdleTimeout is how long an unused connection is kept (60 s).
	IdleTimeout time.Duration

	// MaxIdle and MaxIdlePerHost bound the unused connections (64, 4).
	MaxIdle, MaxIdlePerHost int
	// MaxHeaderBytes bounds the size of an answer's header (64 KiB).
	MaxHeaderBytes int64
	// MaxRedirects is how many redirects are followed: by default none, and
	// the answer that redirects is returned as it is.
	MaxRedirects int

	// RootCAs are the authorities trusted for TLS; nil means the system's.
	RootCAs *x509.CertPool
	// Resolver resolves names; nil means the system's.
	Resolver *net.Resolver
	// Via names where to connect to for certain "host:port", unchecked: it puts
	// a test's stand-in in the place of a public service. Nothing else changes;
	// with https the stand-in needs a certificate of [Config.RootCAs].
	Via map[string]string

	admitted func(address string) error
}

// defaults returns the configuration with every zero field filled in.
func (c Config) defaults() Config {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&c.DialTimeout, 5 * time.Second},
		{&c.TLSTimeout, 5 * time.Second},
		{&c.HeaderTimeout, 30 * time.Second},
		{&c.Timeout, 60 * time.Second},
		{&c.IdleTimeout, 60 * time.Second},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if c.MaxIdle == 0 {
		c.MaxIdle = 64
	}
	if c.MaxIdlePerHost == 0 {
		c.MaxIdlePerHost = 4
	}
	if c.MaxHeaderBytes == 0 {
		c.MaxHeaderBytes = 64 << 10
	}
	if c.UserAgent == "" {
		c.UserAgent = UserAgent("", "")
	}
	return c
}

// Validate reports what is wrong with the configuration.
func (c Config) Validate() error {
	if c.Trust > Operator {
		return fmt.Errorf("door: %s is no trust: use door.Public or door.Operator", c.Trust)
	}
	if c.Trust == Public && !c.Allow.IsZero() {
		return errors.New("door: addresses that anybody may have chosen are never private: use door.Operator with an allow-list")
	}
	if min(c.DialTimeout, c.TLSTimeout, c.HeaderTimeout, c.Timeout, c.IdleTimeout) < 0 {
		return errors.New("door: a timeout is negative: use 0 for the default")
	}
	if min(int64(c.MaxIdle), int64(c.MaxIdlePerHost), int64(c.MaxRedirects), c.MaxHeaderBytes) < 0 {
		return errors.New("door: a limit is negative: use 0 for the default")
	}
	if i := strings.IndexFunc(c.UserAgent, func(r rune) bool { return r < ' ' || r > '~' }); i >= 0 {
		return errors.New("door: the user agent has characters that a header cannot carry: use printable ASCII")
	}
	return nil
}

// New makes a client. What it returns is shared by all that are to call with
// the same trust; nothing needs to be closed.
func New(cfg Config) (*http.Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.defaults()
	transport := &http.Transport{
		Proxy:                  nil, // never the environment's
		DialContext:            newDialer(cfg).DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: cfg.RootCAs, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    cfg.TLSTimeout,
		ResponseHeaderTimeout:  cfg.HeaderTimeout,
		IdleConnTimeout:        cfg.IdleTimeout,
		MaxIdleConns:           cfg.MaxIdle,
		MaxIdleConnsPerHost:    cfg.MaxIdlePerHost,
		MaxResponseHeaderBytes: cfg.MaxHeaderBytes,
		// A dead HTTP/2 connection must not take every later call with it.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second},
	}
	return &http.Client{
		Transport:     &named{next: transport, agent: cfg.UserAgent},
		CheckRedirect: redirects(cfg.MaxRedirects),
		Timeout:       cfg.Timeout,
	}, nil
}

// named says who is calling, where the caller has not.
type named struct {
	next  *http.Transport
	agent string
}

func (n *named) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, set := r.Header["User-Agent"]; set {
		return n.next.RoundTrip(r)
	}
	c := *r // a RoundTripper must not change its request
	c.Header = r.Header.Clone()
	if c.Header == nil {
		c.Header = http.Header{}
	}
	c.Header.Set("User-Agent", n.agent)
	return n.next.RoundTrip(&c)
}

// CloseIdleConnections serves [http.Client.CloseIdleConnections].
func (n *named) CloseIdleConnections() { n.next.CloseIdleConnections() }

// homepage is where those whose servers we call can read who we are.
const homepage = "https://github.com/lastlook/lastlook"

// UserAgent names lastlook honestly: product, version, and where to read about
// it or complain. An empty contact means the project's page; what cannot stand
// in a header is left out.
func UserAgent(version, contact string) string {
	keep := func(extra string) func(rune) rune {
		return func(r rune) rune {
			switch {
			case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune(extra, r):
				return r
			}
			return -1
		}
	}
	agent := "lastlook"
	if v := strings.Map(keep(".-+_~"), version); v != "" {
		agent += "/" + v
	}
	where := strings.Map(keep(".-+_~:/@?=&%#"), contact)
	if where == "" {
		where = homepage
	}
	return agent + " (+" + where + ")"
}

// travels are the headers that a redirect may carry to another host: nothing
// that says who we are to the first one.
var travels = []string{"Accept", "Accept-Encoding", "Accept-Language", "Range", "User-Agent"}

// redirects returns the policy that follows up to limit redirects.
func redirects(limit int) func(*http.Request, []*http.Request) error {
	return func(r *http.Request, via []*http.Request) error {
		if limit == 0 {
			return http.ErrUseLastResponse
		}
		if len(via) > limit {
			return fmt.Errorf("door: more than %d redirects: enter the final address", limit)
		}
		first, last := via[0].URL, via[len(via)-1].URL
		if last.Scheme == "https" && r.URL.Scheme != "https" {
			return errors.New("door: redirected from https to http: refused")
		}
		r.Header.Del("Referer") // it may hold what the address was to keep
		if r.URL.Scheme != first.Scheme || r.URL.Host != first.Host {
			for name := range r.Header {
				if !slices.Contains(travels, name) {
					delete(r.Header, name)
				}
			}
		}
		return nil
	}
}
