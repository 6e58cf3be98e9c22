package door

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
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
	_, _, err := get(t, mustNew(t, Config{Trust: Operator, HeaderTimeout: time.Millisecond}), srv.URL)
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

	status, _, err := get(t, mustNew(t, Config{Trust: Operator}), first.URL)
	if err != nil || status != http.StatusFound {
		t.Errorf("without asking: %v, %v", status, err)
	}
	two := mustNew(t, Config{Trust: Operator, MaxRedirects: 2})
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
	if _, _, err = get(t, mustNew(t, Config{Trust: Operator, MaxRedirects: 1}), first.URL+"/again"); err == nil || !strings.Contains(err.Error(), "more than 1 redirects") {
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
	_, _, err := get(t, mustNew(t, Config{Trust: Operator, MaxRedirects: 3, RootCAs: roots}), srv.URL)
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
	c := mustNew(t, Config{Trust: Operator, UserAgent: "lastlook/9"})
	if _, body, err := get(t, c, srv.URL); err != nil || body != "lastlook/9" {
		t.Errorf("sent %q, %v", body, err)
	}
	if _, body, err := get(t, c, srv.URL, "User-Agent", "mine"); err != nil || body != "mine" {
		t.Errorf("sent %q, %v", body, err)
	}
}

func TestPublic(t *testing.T) {
	for text, want := range map[string]bool{
		"1.1.1.1": true, "8.8.8.8": true, "172.15.255.255": true, "172.32.0.1": true, "100.63.0.1": true,
		"2606:4700:4700::1111": true, "2a00:1450::1": true, "::ffff:8.8.8.8": true,

		"0.0.0.0": false, "10.1.2.3": false, "100.64.0.1": false, "127.0.0.1": false, "127.8.8.8": false,
		"169.254.169.254": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false,
		"192.0.0.8": false, "198.18.0.1": false, "203.0.113.9": false, "224.0.0.1": false, "255.255.255.255": false,
		"::": false, "::1": false, "::127.0.0.1": false, "::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false,
		"fe80::1%eth0": false, "fc00::1": false, "fd00:ec2::254": false, "ff02::1": false, "fec0::1": false,
		"64:ff9b::7f00:1": false, "2002:7f00:1::": false, "2001:0:4136::1": false, "2001:db8::1": false, "100::1": false,
	} {
		if got := public(netip.MustParseAddr(text)); got != want {
			t.Errorf("public(%s) = %v", text, got)
		}
	}
	if err := refuseNonPublic("tcp", "[2606:4700::1]:443", nil); err != nil {
		t.Error(err)
	}
	if err := refuseNonPublic("tcp", "nonsense", nil); !errors.Is(err, ErrNotPublic) {
		t.Error(err)
	}
}

// TestPublicTrust tries every way to write loopback, and a redirect into it.
func TestPublicTrust(t *testing.T) {
	var hits atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer srv.Close()
	_, port, err := net.SplitHostPort(srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := mustNew(t, Config{})
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]"} {
		_, _, err := get(t, c, "http://"+host+":"+port)
		if !errors.Is(err, ErrNotPublic) || !strings.Contains(err.Error(), "operator") {
			t.Errorf("%s: %v", host, err)
		}
	}
	if hits.Load() > 0 {
		t.Error("a private server was reached")
	}
	if _, _, err := get(t, mustNew(t, Config{Trust: Operator}), srv.URL); err != nil || hits.Load() != 1 {
		t.Errorf("an operator's address: %v", err)
	}
}

// TestRebinding has a resolver that answers with loopback whatever it is asked.
func TestRebinding(t *testing.T) {
	resolver := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go answerDNS(server)
		return client, nil
	}}
	_, _, err := get(t, mustNew(t, Config{Resolver: resolver}), "http://shop.example./")
	if !errors.Is(err, ErrNotPublic) {
		t.Errorf("error %v", err)
	}
}

// answerDNS answers every question over a stream (RFC 1035, section 4.2.2)
// with 127.0.0.1.
func answerDNS(c net.Conn) {
	defer c.Close()
	for {
		var size [2]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		q := make([]byte, int(size[0])<<8|int(size[1]))
		if _, err := io.ReadFull(c, q); err != nil {
			return
		}
		end := 12
		for q[end] != 0 {
			end += int(q[end]) + 1
		}
		end += 5
		answer := append([]byte{q[0], q[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, q[12:end]...)
		if q[end-3] == 1 { // type A
			answer[7] = 1
			answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1)
		}
		if _, err := c.Write(append([]byte{byte(len(answer) >> 8), byte(len(answer))}, answer...)); err != nil {
			return
		}
	}
}
