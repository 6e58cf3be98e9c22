package httpapi

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Guard stands in front of everything that a server answers, pages included:
//
//   - A request for a host that is not this server's is refused. Otherwise a
//     foreign page could have its own name resolve to this machine (DNS
//     rebinding), and would be our origin.
//   - What changes something and comes from another origin is refused.
//   - No answer is to be guessed at, framed, or leave its address elsewhere.
type Guard struct {
	// Base is the address that people use; nil if only this machine does.
	Base *url.URL
	// Login takes the word of a proxy for who calls; nil takes nobody's.
	Login *Login
	// Handler is what is guarded.
	Handler http.Handler

	origins http.CrossOriginProtection
}

// ParseBase reads the address that people use: a scheme and a host, nothing
// below it.
func ParseBase(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%w: the base URL is a scheme and a host, such as https://lastlook.example", ErrInvalid)
	}
	if u.Path != "" && u.Path != "/" {
		return nil, fmt.Errorf("%w: the base URL has a path: lastlook needs a host of its own, since a service worker serves a whole host", ErrInvalid)
	}
	return &url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host)}, nil
}

// ServeHTTP implements [http.Handler].
func (g *Guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY")
	if g.Base != nil && g.Base.Scheme == "https" {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
	if strings.HasPrefix(r.URL.Path, "/api/") {
		h.Set("Cache-Control", "no-store")
	}
	if !g.ours(r.Host) {
		Problem(w, http.StatusMisdirectedRequest, "this server does not answer for that host: name it with --base-url, or use http://localhost")
		return
	}
	if err := g.origins.Check(r); err != nil {
		Problem(w, http.StatusForbidden, "the request comes from another site: refused")
		return
	}
	user, err := g.Login.of(r)
	if err != nil {
		Problem(w, http.StatusForbidden, err.Error())
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, 2*maxBatchBody)
	ctx := context.WithValue(r.Context(), clientKey{}, client(r, g.Base != nil))
	if user != "" {
		ctx = context.WithValue(ctx, loginKey{}, user)
	}
	g.Handler.ServeHTTP(w, r.WithContext(ctx))
}

// ours reports whether a host is this server's: the one that people use, or
// this machine by a name or address that nobody else can give to it. An address
// is nobody's name, so that any will do.
func (g *Guard) ours(host string) bool {
	host = strings.ToLower(host)
	if g.Base != nil && host == g.Base.Host {
		return true
	}
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.Trim(name, "[]"), ".")
	if name == "localhost" {
		return true
	}
	_, err := netip.ParseAddr(name)
	return err == nil
}
