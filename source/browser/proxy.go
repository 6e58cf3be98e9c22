package browser

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"
)

// proxy is the browser's only way out. It listens on the loopback interface and
// connects through the guarded dialer and client.
type proxy struct {
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
	client Doer

	listener net.Listener
	server   *http.Server
	serving  sync.WaitGroup
	tunnels  sync.WaitGroup
	ctx      context.Context // ends with the proxy, and with it every tunnel
	cancel   context.CancelFunc
}

// hopHeaders are those that concern one connection only (RFC 9110, section 7.6.1).
var hopHeaders = []string{"Connection", "Proxy-Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Proxy-Authorization", "Proxy-Authenticate"}

func startProxy(c Config) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{dial: c.Dialer.DialContext, client: c.Client, listener: l}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
	p.serving.Go(func() { _ = p.server.Serve(l) }) // ends with close
	return p, nil
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) close() {
	p.cancel()
	_ = p.server.Close()
	p.serving.Wait()
	p.tunnels.Wait()
}

// ServeHTTP implements [http.Handler]: CONNECT for what is encrypted, plain
// requests for what is not.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodConnect:
		p.connect(w, r)
	case r.URL.IsAbs() && r.URL.Scheme == "http":
		p.forward(w, r)
	default:
		http.Error(w, "this is a proxy of lastlook's browser", http.StatusBadRequest)
	}
}

func (p *proxy) connect(w http.ResponseWriter, r *http.Request) {
	there, err := p.dial(r.Context(), "tcp", r.Host)
	if err != nil {
		http.Error(w, "refused, or not there", http.StatusBadGateway)
		return
	}
	defer func() { _ = there.Close() }()
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	p.tunnels.Add(1) // the server forgets what was taken from it
	defer p.tunnels.Done()
	defer func() { _ = here.Close() }()
	stop := context.AfterFunc(p.ctx, func() { _ = here.Close(); _ = there.Close() })
	defer stop()
	if _, err := io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(there, buffered)
		_ = there.Close()
		_ = here.Close()
	})
	_, _ = io.Copy(here, there)
	_ = there.Close()
	_ = here.Close()
	both.Wait()
}

func (p *proxy) forward(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	out := r.Clone(ctx)
	out.RequestURI = ""
	for _, h := range hopHeaders {
		out.Header.Del(h)
	}
	resp, err := p.client.Do(out)
	if err != nil {
		http.Error(w, "refused, or not there", http.StatusBadGateway)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	for _, h := range hopHeaders {
		resp.Header.Del(h)
	}
	maps.Copy(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body)
}
