package door

import (
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func mustNew(t *testing.T, cfg Config) *http.Client {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func get(t *testing.T, c *http.Client, url string, header ...string) (status int, body string, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if len(req.Header) != len(header)/2 {
		t.Errorf("the request's headers were changed: %v", req.Header)
	}
	return resp.StatusCode, string(b), nil
}

func TestConfig(t *testing.T) {
	for name, cfg := range map[string]Config{
		"trust":      {Trust: 7},
		"timeout":    {DialTimeout: -1},
		"limit":      {MaxRedirects: -1},
		"user agent": {UserAgent: "two\r\nlines"},
		"allow":      {Allow: Loopback()},
	} {
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "use") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v does not say what to do, on one line", name, err)
		}
	}
	if s := Public.String() + " " + Operator.String(); s != "public operator" {
		t.Error(s)
	}
	var zero Config
	if zero.Trust != Public {
		t.Error("the zero configuration trusts")
	}
}

func TestEnvironmentProxyIsIgnored(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	c := mustNew(t, Config{})
	tr := c.Transport.(*named).next
	if tr.Proxy != nil {
		t.Error("the transport asks for a proxy")
	}
	if tr.TLSHandshakeTimeout <= 0 || tr.ResponseHeaderTimeout <= 0 || tr.IdleConnTimeout <= 0 || c.Timeout <= 0 ||
		tr.MaxIdleConns <= 0 || tr.MaxIdleConnsPerHost <= 0 || tr.MaxResponseHeaderBytes <= 0 {
		t.Errorf("something is unbounded: %+v", tr)
	}
}

func TestHeaderTimeout(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer srv.Close()
	_, _, err := get(t, mustNew(t, Config{Trust: Operator, Allow: Loopback(), HeaderTimeout: time.Millisecond}), srv.URL)
	if ne, ok := errors.AsType[net.Error](err); !ok || !ne.Timeout() {
		t.Errorf("error %v, want a timeout", err)
	}
}

func TestRedirects(t *testing.T) {
	var seen http.Header
	last := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/again" {
			http.Redirect(w, r, "/end", http.StatusFound)
			return
		}
		seen = r.Header
		_, _ = io.WriteString(w, "arrived")
	}))
	defer last.Close()
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/here":
			http.Redirect(w, r, "/there", http.StatusFound)
		case "/there":
			_, _ = io.WriteString(w, r.Header.Get("X-Api-Key"))
		default:
			http.Redirect(w, r, last.URL+r.URL.Path, http.StatusFound)
		}
	}))
	defer first.Close()

	status, _, err := get(t, mustNew(t, Config{Trust: Operator, Allow: Loopback()}), first.URL)
	if err != nil || status != http.StatusFound {
		t.Errorf("without asking: %v, %v", status, err)
	}
	two := mustNew(t, Config{Trust: Operator, Allow: Loopback(), MaxRedirects: 2})
	_, body, err := get(t, two, first.URL+"/again?token=hush", "X-Api-Key", "hush", "Accept-Language", "de")
	if err != nil || body != "arrived" {
		t.Fatalf("two redirects: %q, %v", body, err)
	}
	if seen.Get("X-Api-Key") != "" || seen.Get("Referer") != "" || seen.Get("Accept-Language") != "de" {
		t.Errorf("the other host was sent %v", seen)
	}
	if _, body, err = get(t, two, first.URL+"/here", "X-Api-Key", "hush"); err != nil || body != "hush" {
		t.Errorf("the same host was sent %q, %v", body, err)
	}
	if _, _, err = get(t, mustNew(t, Config{Trust: Operator, Allow: Loopback(), MaxRedirects: 1}), first.URL+"/again"); err == nil || !strings.Contains(err.Error(), "more than 1 redirects") {
		t.Errorf("one redirect too many: %v", err)
	}
}

func TestDowngradeIsRefused(t *testing.T) {
	var plain atomic.Int32
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { plain.Add(1) }))
	defer target.Close()
	srv := httptest.NewTLSServer(http.RedirectHandler(target.URL, http.StatusFound))
	defer srv.Close()
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	_, _, err := get(t, mustNew(t, Config{Trust: Operator, Allow: Loopback(), MaxRedirects: 3, RootCAs: roots}), srv.URL)
	if err == nil || !strings.Contains(err.Error(), "https to http") || plain.Load() > 0 {
		t.Errorf("error %v, %d plain requests", err, plain.Load())
	}
}

func TestUserAgent(t *testing.T) {
	for _, tt := range []struct{ version, contact, want string }{
		{"", "", "lastlook (+https://github.com/lastlook/lastlook)"},
		{"v1.2.3", "mailto:me@example.com", "lastlook/v1.2.3 (+mailto:me@example.com)"},
		{"1\r\nX: y", "https://example.com/\r\nevil: ü(1)", "lastlook/1Xy (+https://example.com/evil:1)"},
	} {
		if got := UserAgent(tt.version, tt.contact); got != tt.want {
			t.Errorf("UserAgent(%q, %q) = %q, want %q", tt.version, tt.contact, got, tt.want)
		}
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.UserAgent())
	}))
	defer srv.Close()
	c := mustNew(t, Config{Trust: Operator, Allow: Loopback(), UserAgent: "lastlook/9"})
	if _, body, err := get(t, c, srv.URL); err != nil || body != "lastlook/9" {
		t.Errorf("sent %q, %v", body, err)
	}
	if _, body, err := get(t, c, srv.URL, "User-Agent", "mine"); err != nil || body != "mine" {
		t.Errorf("sent %q, %v", body, err)
	}
}
