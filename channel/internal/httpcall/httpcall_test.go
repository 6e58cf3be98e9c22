package httpcall

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/door"
)

func TestMeaningOf(t *testing.T) {
	special := map[int]lastlook.Class{
		401: misconfigured, 402: misconfigured, 403: misconfigured, 404: misconfigured, 405: misconfigured, 407: misconfigured,
		408: transient, 410: gone, 414: misconfigured, 415: misconfigured, 421: transient, 423: transient, 425: transient,
		426: misconfigured, 429: transient, 431: misconfigured, 504: unknown, 524: unknown,
	}
	families := map[int]lastlook.Class{0: transient, 1: unknown, 3: misconfigured, 4: permanent, 5: transient, 6: transient, 9: transient}
	for code := range 1000 {
		m := MeaningOf(code)
		want, ok := special[code]
		if !ok {
			want, ok = families[code/100]
		}
		switch {
		case code/100 == 2:
			if !m.Accepted {
				t.Errorf("%d is not accepted", code)
			}
		case m.Accepted || m.Why == "":
			t.Errorf("%d: %+v", code, m)
		case ok && m.Class != want:
			t.Errorf("%d is %s, want %s", code, m.Class, want)
		}
	}
}

func TestParseRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 29, 0, 59, 30, 0, time.UTC)
	for field, want := range map[string]time.Duration{
		"":                               0,
		"0":                              0,
		"120":                            2 * time.Minute,
		" 7 ":                            7 * time.Second,
		"99999999999999999999999":        maxRetryAfter,
		"9223372036854775807":            maxRetryAfter,
		"31536001":                       maxRetryAfter,
		"-1":                             0,
		"+1":                             0,
		"1.5":                            0,
		"1e3":                            0,
		"soon":                           0,
		"Sun, 29 Mar 2026 01:00:00 GMT":  30 * time.Second,
		"Sunday, 29-Mar-26 01:00:00 GMT": 30 * time.Second,
		"Sun Mar 29 01:00:00 2026":       30 * time.Second,
		"Sun, 29 Mar 2026 00:00:00 GMT":  0,
		"Fri, 31 Dec 9999 23:59:59 GMT":  maxRetryAfter,
		"Sun, 29 Mar 2026 01:00:00 CEST": 0,
	} {
		if got := ParseRetryAfter(field, now); got != want {
			t.Errorf("ParseRetryAfter(%q) = %s, want %s", field, got, want)
		}
	}
}

// transport is a client on a connection of the test's making.
func transport(t *testing.T, dial func(ctx context.Context) (net.Conn, error)) *http.Client {
	t.Helper()
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func caller(t *testing.T, c *http.Client) *Caller {
	t.Helper()
	out, err := New(Config{Name: "test", Client: c})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func doorway(t *testing.T) *http.Client {
	t.Helper()
	c, err := door.New(door.Config{Trust: door.Operator, Allow: door.Loopback()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func mustParse(t *testing.T, raw string) *url.URL {
	t.Helper()
	u, err := ParseURL("url", raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// expect checks an error's class, that it was given on purpose, and its text.
func expect(t *testing.T, err error, class lastlook.Class, parts ...string) {
	t.Helper()
	e, ok := errors.AsType[*lastlook.Error](err)
	if !ok || e.Class != class {
		t.Errorf("error %v is not classified %s", err, class)
		return
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q does not say %q", err, p)
		}
	}
}

func TestNotConnected(t *testing.T) {
	u := mustParse(t, "http://shop.example/hook/verysecretpath")
	for name, tt := range map[string]struct {
		err  error
		part string
	}{
		"name":    {&net.DNSError{Err: "no such host", Name: "shop.example", IsNotFound: true}, "name servers"},
		"refused": {&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}, "receiver runs"},
		"timeout": {&net.OpError{Op: "dial", Net: "tcp", Err: context.DeadlineExceeded}, "deadline"},
	} {
		_, err := caller(t, transport(t, func(context.Context) (net.Conn, error) { return nil, tt.err })).
			Do(t.Context(), Request{URL: u, Body: []byte("x")})
		expect(t, err, transient, "test: http://shop.example: not delivered", tt.part)
		if strings.Contains(err.Error(), "verysecret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The call's time runs out while connecting.
	ctx, cancel := context.WithCancel(t.Context())
	_, err := caller(t, transport(t, func(ctx context.Context) (net.Conn, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	})).Do(ctx, Request{URL: u, Body: []byte("x")})
	expect(t, err, transient, "not delivered")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the cause is lost: %v", err)
	}
	_, err = caller(t, doorway(t)).Do(ctx, Request{URL: u})
	expect(t, err, transient, "not called")

	// A guarded client refuses: that is nothing that waiting mends.
	guarded, err := door.New(door.Config{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = caller(t, guarded).Do(t.Context(), Request{URL: mustParse(t, "http://127.0.0.1:8080/")})
	expect(t, err, misconfigured, "not called", "operator")
}

// TestPartlyWritten has a connection without buffers, which ends after a
// given number of bytes.
func TestPartlyWritten(t *testing.T) {
	body := []byte(strings.Repeat("b", 20<<10))
	u := mustParse(t, "http://shop.example/")
	for _, take := range []int64{0, 1, 100, 5000, 19 << 10} {
		_, err := caller(t, transport(t, func(context.Context) (net.Conn, error) {
			client, server := net.Pipe()
			go func() {
				_, _ = io.CopyN(io.Discard, server, take)
				_ = server.Close()
			}()
			return client, nil
		})).Do(t.Context(), Request{URL: u, Body: body})
		expect(t, err, transient, "not delivered")
	}
	// Cancelled in the middle of writing.
	ctx, cancel := context.WithCancel(t.Context())
	_, err := caller(t, transport(t, func(context.Context) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			_, _ = io.CopyN(io.Discard, server, 5000)
			cancel()
			_, _ = io.Copy(io.Discard, server)
		}()
		return client, nil
	})).Do(ctx, Request{URL: u, Body: []byte(strings.Repeat("b", 1<<20))})
	expect(t, err, transient, "not delivered")

	// Written whole, and no answer.
	_, err = caller(t, transport(t, func(context.Context) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			r, err := http.ReadRequest(bufio.NewReader(server))
			if err == nil {
				_, _ = io.Copy(io.Discard, r.Body)
			}
			_ = server.Close()
		}()
		return client, nil
	})).Do(t.Context(), Request{URL: u, Body: body})
	expect(t, err, unknown, "outcome unknown")
}

// silent is a transport that tells httptrace nothing.
type silent struct{ err error }

func (s silent) RoundTrip(*http.Request) (*http.Response, error) { return nil, s.err }

func TestForeignTransport(t *testing.T) {
	u := mustParse(t, "http://shop.example/")
	for _, tt := range []struct {
		err   error
		class lastlook.Class
	}{
		{context.DeadlineExceeded, unknown},
		{io.EOF, unknown},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, unknown},
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, transient},
		{&net.DNSError{Err: "no such host"}, transient},
	} {
		_, err := caller(t, &http.Client{Transport: silent{tt.err}}).Do(t.Context(), Request{URL: u})
		expect(t, err, tt.class)
	}
}

func TestStaleConnection(t *testing.T) {
	var requests atomic.Int32
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { // answers the first request of each connection, and drops it at the second
				defer c.Close()
				r := bufio.NewReader(c)
				for i := range 2 {
					req, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, req.Body)
					requests.Add(1)
					if i == 0 {
						_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
					}
				}
			}()
		}
	}()
	c := caller(t, doorway(t))
	// With this header, net/http would send the second request again.
	r := Request{URL: mustParse(t, "http://"+l.Addr().String()), Body: []byte("x"), Header: http.Header{"Idempotency-Key": {"k"}, "X-Idempotency-Key": {"k"}}}
	if _, err := c.Do(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	_, err = c.Do(t.Context(), r)
	expect(t, err, unknown)
	if n := requests.Load(); n != 2 {
		t.Errorf("the server saw %d requests, want 2", n)
	}
}

func TestRequest(t *testing.T) {
	var got *http.Request
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r }))
	defer srv.Close()
	c := caller(t, doorway(t))
	u := mustParse(t, srv.URL+"/a%2Fb?c=d")
	header := http.Header{"X-One": {"1"}, "idempotency-key": {"k"}}
	a, err := c.Do(t.Context(), Request{Method: http.MethodPut, URL: u, Header: header, Body: []byte("x")})
	if err != nil || a.Status != 200 || a.Receipt("").Answer != "HTTP 200" || a.Receipt("taken").Answer != "HTTP 200: taken" {
		t.Errorf("%+v, %v", a, err)
	}
	if got.Method != http.MethodPut || got.RequestURI != "/a%2Fb?c=d" || got.Header.Get("X-One") != "1" ||
		got.Header.Get("Idempotency-Key") != "k" || got.UserAgent() != Agent || got.ContentLength != 1 {
		t.Errorf("sent %v %v %v", got.Method, got.RequestURI, got.Header)
	}
	if len(header) != 2 {
		t.Errorf("the caller's headers were changed: %v", header)
	}
	if _, err = c.Do(t.Context(), Request{URL: u, Header: http.Header{"User-Agent": {"mine"}}}); err != nil || got.UserAgent() != "mine" || got.Method != http.MethodPost {
		t.Errorf("%v: %v %v", err, got.Method, got.UserAgent())
	}
	_, err = c.Do(t.Context(), Request{Method: http.MethodGet, URL: u})
	expect(t, err, permanent, "use POST")
	_, err = c.Do(t.Context(), Request{})
	expect(t, err, permanent, "no URL")
}

func TestNew(t *testing.T) {
	if _, err := New(Config{}); !errors.Is(err, lastlook.ErrInvalid) || !strings.Contains(err.Error(), "*http.Client") {
		t.Error(err)
	}
	if _, err := New(Config{Client: &http.Client{}, AnswerWait: -1}); !errors.Is(err, lastlook.ErrInvalid) {
		t.Error(err)
	}
	follow := &http.Client{}
	caller(t, follow)
	if follow.CheckRedirect != nil {
		t.Error("the given client was changed")
	}
}

func TestStatuses(t *testing.T) {
	var answer atomic.Value
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "60")
		w.Header().Set("Content-Type", r.URL.Query().Get("type"))
		code, _ := strconv.Atoi(r.URL.Query().Get("code"))
		w.WriteHeader(code)
		_, _ = io.WriteString(w, answer.Load().(string))
	}))
	defer srv.Close()
	c, err := New(Config{Name: "test", Client: doorway(t), Statuses: map[int]Meaning{
		404: {Class: gone, Why: "unsubscribed"}, 409: {Accepted: true}, 200: {Class: permanent, Why: "no"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	do := func(code int, kind, body string) (Answer, error) {
		answer.Store(body)
		return c.Do(t.Context(), Request{URL: mustParse(t, fmt.Sprintf("%s/?code=%d&type=%s", srv.URL, code, kind))})
	}
	_, err = do(404, "", "")
	expect(t, err, gone, "HTTP 404: unsubscribed")
	_, err = do(200, "", "")
	expect(t, err, permanent)
	if _, err = do(409, "", ""); err != nil {
		t.Error(err)
	}
	for code, want := range map[int]time.Duration{503: time.Minute, 504: time.Minute, 400: 0, 403: 0, 302: 0} {
		_, err := do(code, "", "")
		if _, after := lastlook.Classify(err); after != want {
			t.Errorf("%d: wait %s, want %s", code, after, want)
		}
	}
	a, err := do(500, "text/html", "<html><title>Down</title>\n<p class='x'>for\tnow")
	expect(t, err, transient, `: "Down for now"`)
	if a.Status != 500 || !a.Complete || a.Header.Get("Retry-After") != "60" {
		t.Errorf("%+v", a)
	}
	a, err = do(201, "text/plain", strings.Repeat("long \x00\xff", 2000))
	if err != nil || a.Complete || len(a.Body) != maxAnswer || len(a.Shown) > maxShown || !utf8.ValidString(a.Shown) || strings.Contains(a.Shown, "\x00") {
		t.Errorf("%d bytes, shown %q, %v", len(a.Body), a.Shown, err)
	}
}
