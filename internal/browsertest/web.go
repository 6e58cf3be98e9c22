package browsertest

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
)

// web is the internet of a rig: a few hosts, each a handler of the test's.
// Browsers reach it as an HTTP proxy, which it is for everything but this
// machine, so that nothing which they do by themselves gets anywhere; a server
// under test connects to it in the hosts' place.
type web struct {
	server *httptest.Server

	mu    sync.Mutex
	hosts map[string]http.Handler
}

func newWeb() *web {
	w := &web{hosts: map[string]http.Handler{}}
	w.server = httptest.NewServer(w)
	return w
}

// address is where it listens.
func (w *web) address() string { return w.server.Listener.Addr().String() }

func (w *web) close() error {
	w.server.Close()
	return nil
}

func (w *web) host(name string, h http.Handler) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hosts[name] = h
}

// ServeHTTP implements [http.Handler]. Whether a request came to a proxy or to
// its host, Host names that. There is no https.
func (w *web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	name := r.Host
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	w.mu.Lock()
	h := w.hosts[name]
	w.mu.Unlock()
	if h == nil || r.Method == http.MethodConnect {
		http.Error(rw, fmt.Sprintf("there is no %s here", r.Host), http.StatusBadGateway)
		return
	}
	h.ServeHTTP(rw, r)
}

// Host has a host exist, at port 80 without TLS, for the rig's browser and for
// whoever connects by [Rig.Via].
func (r *Rig) Host(name string, h http.Handler) { r.web.host(name, h) }

// Via says where a server under test must connect to for each "host:port" of
// the hosts named, and of the push service.
func (r *Rig) Via(hosts ...string) map[string]string {
	via := r.Push.Via()
	for _, h := range hosts {
		via[net.JoinHostPort(h, "80")] = r.web.address()
	}
	return via
}
