package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook/internal/config"
)

// serving starts Serve, and returns the page's address and what ends it.
func serving(t *testing.T, s *Server) (page string, stop func() error) {
	t.Helper()
	pages := make(chan string, 1)
	s.opt.HTTP.Listening = func(page string) { pages <- page }
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	select {
	case page = <-pages:
	case err := <-ended:
		cancel()
		t.Fatalf("it did not serve: %v", err)
	}
	return page, func() error {
		cancel()
		return <-ended
	}
}

func fetch(t *testing.T, url string) (status int, body string, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Timeout: time.Minute}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

// The first start makes the keys; the page is served until the end, and not a
// moment longer.
func TestServeShowsThePage(t *testing.T) {
	f := open(t)
	f.opt.HTTP.Listen = "127.0.0.1:0"
	page, stop := serving(t, f.Server)
	status, body, err := fetch(t, page)
	if err != nil || status != http.StatusOK || !strings.Contains(body, `data-action="allow-push"`) {
		t.Errorf("the page: HTTP %d, %v: %s", status, err, body)
	}
	if status, body, err := fetch(t, page+"api/v1/push"); err != nil || status != http.StatusOK || f.PushKey() == "" || !strings.Contains(body, f.PushKey()) {
		t.Errorf("the key: HTTP %d, %v: %s", status, err, body)
	}
	if err := stop(); err != nil {
		t.Errorf("it stopped with %v", err)
	}
	if _, _, err := fetch(t, page); err == nil {
		t.Error("the page is served after the end")
	}
	info, err := os.Stat(f.opt.Dir.VAPIDFile())
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the keys' file: %v, %v", info, err)
	}
	// The next start has the same keys.
	key := f.PushKey()
	if _, stop = serving(t, f.Server); f.PushKey() != key {
		t.Error("the keys were made anew")
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	info, err = os.Stat(f.opt.Dir.Database())
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("subscriptions stand in a file of the mode %v, %v", info.Mode(), err)
	}
}

func TestServeWithoutThePage(t *testing.T) {
	f := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Serve(ctx); err != nil {
		t.Error(err)
	}
	if v, err := f.opt.Dir.VAPID(); err != nil || v != nil {
		t.Errorf("keys were made for nobody: %v, %v", v, err)
	}
}

// Whoever listens where others reach it says so; what is wrong is said at once,
// with what to do.
func TestListen(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for name, c := range map[string]struct {
		o    HTTPOptions
		want string
	}{
		"all addresses": {HTTPOptions{Listen: ":8080"}, "--public"}, "all of IPv4": {HTTPOptions{Listen: "0.0.0.0:8080"}, "--public"},
		"all of IPv6": {HTTPOptions{Listen: "[::]:8080"}, "--public"}, "the network": {HTTPOptions{Listen: "192.168.1.5:8080"}, "--public"},
		"a name": {HTTPOptions{Listen: "lastlook.example:8080"}, "--public"}, "no port": {HTTPOptions{Listen: "127.0.0.1"}, "a host and a port"},
		"taken":     {HTTPOptions{Listen: taken.Addr().String()}, "--listen"},
		"base path": {HTTPOptions{BaseURL: "https://example.com/lastlook"}, "a host of its own"}, "base scheme": {HTTPOptions{BaseURL: "example.com"}, "a scheme and a host"},
		"base secret": {HTTPOptions{BaseURL: "https://u:p@example.com"}, "a scheme and a host"},
	} {
		f := open(t)
		f.opt.HTTP = c.o
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := f.Serve(ctx)
		cancel()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if name != "taken" && !errors.Is(err, config.ErrInvalid) {
			t.Errorf("%s: it is no error of the command line: %v", name, err)
		}
	}
	for _, o := range []HTTPOptions{{Listen: "127.0.0.1:0"}, {Listen: "localhost:0"}, {Listen: "[::1]:0"}, {Listen: "0.0.0.0:0", Public: true}, {}, {BaseURL: "https://lastlook.example/"}} {
		if _, err := o.check(false); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestContact(t *testing.T) {
	for want, o := range map[string]Options{
		"mailto:you@example.com":   {Push: PushOptions{Contact: "mailto:you@example.com"}, HTTP: HTTPOptions{BaseURL: "https://lastlook.example"}},
		"https://lastlook.example": {HTTP: HTTPOptions{BaseURL: "https://lastlook.example"}},
		projectPage:                {HTTP: HTTPOptions{BaseURL: "http://lastlook.lan"}},
	} {
		if got := o.contact(); got != want {
			t.Errorf("%+v: %s", o, got)
		}
	}
	f := open(t)
	f.opt.HTTP.Listen, f.opt.Push.Contact = "127.0.0.1:0", "you"
	if err := f.Serve(t.Context()); !errors.Is(err, config.ErrInvalid) || !strings.Contains(fmt.Sprint(err), "mailto:") {
		t.Errorf("a contact that is none: %v", err)
	}
}

// The keys are changed while it serves.
func TestServeTakesUpKeys(t *testing.T) {
	f := open(t)
	f.opt.HTTP.Listen = "127.0.0.1:0"
	page, stop := serving(t, f.Server)
	before := f.PushKey()
	v, err := f.opt.Dir.RotateVAPID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := v.Current().Public()
	every, patience := time.NewTicker(20*time.Millisecond), time.NewTimer(time.Minute)
	defer every.Stop()
	defer patience.Stop()
	for f.PushKey() != want {
		select {
		case <-every.C:
		case <-patience.C:
			t.Fatalf("it serves %s instead of %s; before %s", f.PushKey(), want, before)
		}
	}
	if _, body, err := fetch(t, page); err != nil || !strings.Contains(body, want) {
		t.Errorf("the page has another key: %v", err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
