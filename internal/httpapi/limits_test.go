package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/lastlook/lastlook/device"
)

var start = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)

func TestBuckets(t *testing.T) {
	b := newBuckets(rate.Every(time.Second), 3)
	for i := range 5 {
		wait := b.take("a", start)
		if (wait > 0) != (i >= 3) || wait > time.Second {
			t.Errorf("%d: wait %s", i, wait)
		}
	}
	if b.take("b", start) != 0 || b.peek("b", start) != 0 {
		t.Error("another has to wait too")
	}
	if wait := b.peek("a", start); wait <= 0 || wait > time.Second {
		t.Errorf("peeked %s", wait)
	}
	if wait := b.take("a", start.Add(time.Second)); wait != 0 {
		t.Errorf("after a second: %s", wait)
	}
	for range 100 {
		if b.take("", start) != 0 {
			t.Fatal("this machine has to wait")
		}
	}
	// Memory is bounded, whoever comes.
	for i := range 3 * maxBuckets {
		b.take(fmt.Sprint(i), start)
	}
	if len(b.all) > maxBuckets {
		t.Errorf("%d buckets", len(b.all))
	}
}

func TestClient(t *testing.T) {
	for _, c := range []struct {
		remote, forwarded string
		proxied           bool
		want              string
	}{
		{"203.0.113.9:1", "", false, "203.0.113.9"},
		{"203.0.113.9:1", "198.51.100.1", true, "203.0.113.9"}, // no proxy of ours: anybody may say so
		{"127.0.0.1:1", "", true, ""},
		{"[::1]:1", "", false, ""},
		{"127.0.0.1:1", "198.51.100.1", false, ""},
		{"127.0.0.1:1", "198.51.100.1", true, "198.51.100.1"},
		{"127.0.0.1:1", "10.0.0.1, 198.51.100.1", true, "198.51.100.1"}, // the last is what the proxy itself saw
		{"127.0.0.1:1", "198.51.100.1:4711", true, "198.51.100.1"},      // some proxies name the port too
		{"127.0.0.1:1", "[2001:db8:1:2::9]:4711", true, "2001:db8:1:2::/64"},
		{"127.0.0.1:1", "[2001:db8:1:2::9]", true, "2001:db8:1:2::/64"},
		// Two proxies in a row on this machine.
		{"127.0.0.1:1", "10.0.0.1, 198.51.100.1, 127.0.0.1", true, "198.51.100.1"},
		{"127.0.0.1:1", "::1", true, ""},
		// What cannot be read is not this machine, which is not limited.
		{"127.0.0.1:1", "nonsense", true, unreadable},
		{"127.0.0.1:1", "unknown, 127.0.0.1", true, unreadable},
		{"127.0.0.1:1", ",", true, unreadable},
		{"[2001:db8:1:2:3:4:5:6]:1", "", false, "2001:db8:1:2::/64"},
		{"[2001:db8:1:2:ffff::1]:1", "", false, "2001:db8:1:2::/64"},
		{"[::ffff:203.0.113.9]:1", "", false, "203.0.113.9"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = c.remote
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-For", c.forwarded)
		}
		if got := client(r, c.proxied); got != c.want {
			t.Errorf("%s for %q, proxied %v: %q", c.remote, c.forwarded, c.proxied, got)
		}
	}
}

func TestParseBase(t *testing.T) {
	for text, want := range map[string]string{
		"https://lastlook.example": "https://lastlook.example", "https://LastLook.example/": "https://lastlook.example", "http://localhost:8080": "http://localhost:8080",
		"": "", "lastlook.example": "", "ftp://x": "", "https://x/path": "", "https://x?q": "", "https://x#f": "", "https://u@x": "", "https://": "",
	} {
		u, err := ParseBase(text)
		if (err == nil) != (want != "") || err == nil && u.String() != want {
			t.Errorf("%q: %v, %v", text, u, err)
		}
	}
}

// nobody knows no device and makes some.
type nobody struct{ Devices }

func (nobody) Authenticate(context.Context, device.Token) (device.Device, error) {
	return device.Device{}, device.ErrUnauthorized
}

func (nobody) Create(_ context.Context, name string) (device.Device, device.Token, error) {
	return device.Device{ID: "d_1", Name: name}, device.NewToken(), nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Who makes many devices, or shows many wrong tokens, has to wait; others do not.
func TestLimitsOfStrangers(t *testing.T) {
	mux := http.NewServeMux()
	now := start
	New(mux, Config{Devices: nobody{}, Arrivals: Arrivals{Open: true}, Clock: func() time.Time { return now }})
	g := &Guard{Handler: mux}
	call := func(from, method, path, body, token string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Host, r.RemoteAddr = "localhost", from+":1"
		r.Header.Set("Content-Type", "application/json")
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		return w
	}
	count := func(f func() *httptest.ResponseRecorder) (n int) {
		t.Helper()
		for range 200 {
			w := f()
			if w.Code != http.StatusTooManyRequests {
				n++
				continue
			}
			if w.Header().Get("Retry-After") == "" || w.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("refused with %v", w.Header())
			}
			break
		}
		return n
	}
	create := func() *httptest.ResponseRecorder {
		return call("203.0.113.9", http.MethodPost, "/api/v1/devices", `{"name":"x"}`, "")
	}
	guess := func() *httptest.ResponseRecorder {
		return call("203.0.113.9", http.MethodGet, "/api/v1/devices/self", "", device.NewToken().Reveal())
	}
	if n := count(create); n != 30 {
		t.Errorf("%d devices were made", n)
	}
	if n := count(guess); n != 20 {
		t.Errorf("%d tokens were guessed", n)
	}
	if w := call("203.0.113.10", http.MethodGet, "/api/v1/devices/self", "", device.NewToken().Reveal()); w.Code != http.StatusUnauthorized {
		t.Errorf("another client: HTTP %d", w.Code)
	}
	if n := count(func() *httptest.ResponseRecorder {
		return call("127.0.0.1", http.MethodGet, "/api/v1/devices/self", "", "x")
	}); n != 200 {
		t.Errorf("this machine is limited after %d", n)
	}
	// One site has many networks, each of which is a client.
	made, guessed := 0, 0
	for i := range 300 {
		from := fmt.Sprintf("[2001:db8:7:%x::1]", i)
		made += b2i(call(from, http.MethodPost, "/api/v1/devices", `{"name":"x"}`, "").Code == http.StatusCreated)
		guessed += b2i(call(from, http.MethodGet, "/api/v1/devices/self", "", device.NewToken().Reveal()).Code == http.StatusUnauthorized)
	}
	if made != 60 || guessed != 100 {
		t.Errorf("a site made %d devices, and guessed %d tokens", made, guessed)
	}
	if w := call("[2001:db8:8::1]", http.MethodPost, "/api/v1/devices", `{"name":"x"}`, ""); w.Code != http.StatusCreated {
		t.Errorf("another site: HTTP %d", w.Code)
	}
	now = now.Add(time.Minute)
	if w := create(); w.Code != http.StatusCreated {
		t.Errorf("after a minute: HTTP %d", w.Code)
	}
}
