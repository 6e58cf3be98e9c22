package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/internal/httpapi"
	"github.com/lastlook/lastlook/internal/webui"
)

// HTTPOptions say where the page and the API are served.
type HTTPOptions struct {
	// Listen is a host and port; "" serves nothing. Port 0 takes any.
	Listen string
	// Public allows an address that others than this machine can reach.
	Public bool
	// BaseURL is the address that people use, if it is another; "" if not.
	BaseURL string
	// Listening, if set, is called with the page's address once it is served.
	Listening func(page string)
	// NewOperator, if set, is called with the operator's token when it is made,
	// at the first start; it is shown to nobody else.
	NewOperator func(token string)
	// InviteCode lets whoever knows it make a device where not anybody may.
	InviteCode string
	// LoginHeader is where the proxies at TrustedProxies say whom they have let
	// in; LoginOperators are those who may do all.
	LoginHeader                    string
	TrustedProxies, LoginOperators []string
}

// arrivals say who may make a device: anybody, unless the operator has said how
// people come in, or others than this machine reach it and that was not said to
// be meant.
func (o HTTPOptions) arrivals() httpapi.Arrivals {
	host, _, _ := net.SplitHostPort(o.Listen)
	known := o.InviteCode != "" || o.LoginHeader != ""
	return httpapi.Arrivals{Open: !known && (o.Public || o.Listen == "" || onThisMachine(host)), Invite: o.InviteCode}
}

// home returns the page's address, if it is known to others than this machine.
func (o HTTPOptions) home() string {
	if base, err := httpapi.ParseBase(o.BaseURL); err == nil {
		return base.String() + "/"
	}
	return ""
}

// check reports what is wrong with the options.
func (o HTTPOptions) check(hasOperator bool) (base *url.URL, err error) {
	if o.BaseURL != "" {
		if base, err = httpapi.ParseBase(o.BaseURL); err != nil {
			return nil, fmt.Errorf("%w: %w", config.ErrInvalid, err)
		}
	}
	if o.Listen == "" {
		return base, nil
	}
	host, _, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return nil, fmt.Errorf("%w: %q is no address to listen on: write a host and a port, such as 127.0.0.1:8080", config.ErrInvalid, o.Listen)
	}
	if !o.Public && !onThisMachine(host) && !hasOperator {
		return nil, fmt.Errorf("%w: %s can be reached by others than this machine, and there is no operator's token yet: make one with lastlook token rotate; or listen on 127.0.0.1 behind a proxy with https; or say --public, if whoever reaches it may make devices and have pages looked at", config.ErrInvalid, o.Listen)
	}
	if n := len(o.InviteCode); n > 0 && n < minInvite {
		return nil, fmt.Errorf("%w: an invite code of %d characters is soon guessed: use %d or more", config.ErrInvalid, n, minInvite)
	}
	if len(o.LoginOperators) > 0 && o.LoginHeader == "" {
		return nil, fmt.Errorf("%w: --login-operator is for --login-header: name the header that the proxy sets", config.ErrInvalid)
	}
	if _, err := httpapi.ParseLogin(o.LoginHeader, o.TrustedProxies); err != nil {
		return nil, fmt.Errorf("%w: %w", config.ErrInvalid, err)
	}
	return base, nil
}

// minInvite is how long an invite code is at least.
const minInvite = 8

// checkHTTP reports what is wrong with the options, as things stand.
func (s *Server) checkHTTP(ctx context.Context) (*url.URL, error) {
	has, err := s.keys.HasOperator(ctx)
	if err != nil {
		return nil, err
	}
	return s.opt.HTTP.check(has)
}

// ensureOperator makes the operator's token at the first start of a server that
// can be reached, and has it shown.
func (s *Server) ensureOperator(ctx context.Context) error {
	if s.opt.HTTP.Listen == "" {
		return nil
	}
	t, made, err := s.keys.EnsureOperator(ctx)
	if err == nil && made && s.opt.HTTP.NewOperator != nil {
		s.opt.HTTP.NewOperator(t.Reveal())
	}
	return err
}

// onThisMachine reports whether only this machine reaches what listens there.
func onThisMachine(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// Limits of the HTTP server. What it answers is small and at hand, but for a
// first look at a page.
const (
	httpHeaderTimeout = 5 * time.Second
	httpReadTimeout   = 15 * time.Second
	httpWriteTimeout  = lookLimit + 15*time.Second
	httpIdleTimeout   = 2 * time.Minute
	httpMaxHeader     = 32 << 10
	httpDrain         = 5 * time.Second
)

// Handler returns what is served: the page, the service worker and the API.
func (s *Server) Handler(ctx context.Context) (http.Handler, error) {
	base, err := s.checkHTTP(ctx)
	if err != nil {
		return nil, err
	}
	login, err := httpapi.ParseLogin(s.opt.HTTP.LoginHeader, s.opt.HTTP.TrustedProxies)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	api := httpapi.New(mux, httpapi.Config{
		Devices: s.devices, Keys: s.keys, Arrivals: s.opt.HTTP.arrivals(), LoginOperators: s.opt.HTTP.LoginOperators, Backend: s, Logger: s.log, Version: s.opt.Version, Clock: s.opt.Clock, Secure: base != nil && base.Scheme == "https",
	})
	page, err := webui.New(webui.Config{State: func(w http.ResponseWriter, r *http.Request) (webui.State, error) { return s.pageState(api, w, r) }, Logger: s.log, Clock: s.opt.Clock})
	if err != nil {
		return nil, err
	}
	page.Register(mux)
	return &httpapi.Guard{Base: base, Login: login, Handler: mux}, nil
}

// pageState is what the page shows to whoever asks.
func (s *Server) pageState(api *httpapi.API, w http.ResponseWriter, r *http.Request) (webui.State, error) {
	st := webui.State{Key: s.PushKey(), Version: s.opt.Version}
	d, ok, err := api.Device(w, r)
	if err != nil || !ok {
		return st, err
	}
	view, err := api.Describe(r.Context(), d)
	if err != nil {
		return st, err
	}
	st.Device = &view
	st.Watches, err = s.WatchesOf(r.Context(), httpapi.AsDevice(d))
	return st, err
}

// httpServer is a server that runs.
type httpServer struct {
	events *events
	srv    *http.Server
	ended  chan error
}

// listen begins to serve.
func (s *Server) listen(ctx context.Context) (*httpServer, error) {
	if s.opt.HTTP.Listen == "" {
		return nil, nil
	}
	handler, err := s.Handler(ctx)
	if err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", s.opt.HTTP.Listen)
	if err != nil {
		return nil, fmt.Errorf("cannot serve the page: %w: choose another address with --listen, or none with --listen none", err)
	}
	s.events.begin()
	h := &httpServer{
		events: s.events,
		srv: &http.Server{
			Handler: handler, ReadHeaderTimeout: httpHeaderTimeout, ReadTimeout: httpReadTimeout, WriteTimeout: httpWriteTimeout,
			IdleTimeout: httpIdleTimeout, MaxHeaderBytes: httpMaxHeader, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		},
		ended: make(chan error, 1),
	}
	go func() { // stop waits for it
		err := h.srv.Serve(ln)
		if !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("the page is served no more; looking and telling go on", "error", err)
		}
		h.ended <- err
	}()
	page := s.opt.HTTP.home()
	if page == "" {
		page = "http://" + ln.Addr().String() + "/"
	}
	s.log.Info("the page is served", "url", page)
	if s.opt.HTTP.Listening != nil {
		s.opt.HTTP.Listening(page)
	}
	return h, nil
}

// stop lets requests end, for a while, and waits until nothing is served any
// more.
func (h *httpServer) stop() error {
	if h == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), httpDrain)
	defer cancel()
	h.events.end() // or streams would hold the stop up
	err := h.srv.Shutdown(ctx)
	if err != nil {
		err = h.srv.Close() // who has not ended by now is cut off
	}
	if served := <-h.ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
