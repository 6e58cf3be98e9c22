// Package sourcetest is what every source that asks over HTTP must pass: what
// each status means, waits, limits, broken and slow answers, redirects, secrets,
// cancelling, and use by many at once.
//
//	func TestConformance(t *testing.T) {
//		sourcetest.Run(t, sourcetest.Harness{New: …, Listing: …, Answer: …})
//	}
package sourcetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/watch"
)

// Doer sends a request, as *http.Client does.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// Now is the time at which every look of the suite begins.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Config is what the suite asks a source to be made of.
type Config struct {
	Client  Doer
	Timeout time.Duration
	Clock   func() time.Time
}

// Harness is a source under test.
type Harness struct {
	// New makes the source.
	New func(Config) (watch.Source, error)
	// Outcome is what came of a look in one word, from its error.
	Outcome func(error) string
	// Listing is what is looked at, by http at some host that isn't there. Its
	// address, or the source's configuration, holds the secrets.
	Listing watch.Listing
	// Secrets may stand in no error.
	Secrets []string
	// Answer is a good one, of which the price is Price, such as "75.00 EUR".
	Answer, ContentType, Price string
	// Broken is one that no longer reads.
	Broken string
	// NoRedirects says that the source refuses to be redirected.
	NoRedirects bool
}

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*testing.T, Harness)
	}{
		{"Status", status}, {"RetryAfter", retryAfter}, {"Age", age}, {"Nasty", nasty}, {"Slow", slow},
		{"Redirects", redirects}, {"Cancel", cancelled}, {"Concurrent", concurrent}, {"Unreachable", unreachable}, {"Secrets", secrets},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, h) })
	}
}

// doer answers requests by a function.
type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

// reply is a whole answer.
func reply(r *http.Request, status int, header http.Header, body string) *http.Response {
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{
		StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
}

func (h Harness) source(t *testing.T, c Config) watch.Source {
	t.Helper()
	if c.Clock == nil {
		c.Clock = func() time.Time { return now }
	}
	s, err := h.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// serve makes a source all of whose requests go to a handler, over a real
// connection.
func (h Harness) serve(t *testing.T, timeout time.Duration, f http.HandlerFunc) watch.Source {
	t.Helper()
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	return h.source(t, Config{Client: dialing(t, srv.Listener.Addr().String()), Timeout: timeout})
}

// dialing is a client that connects to one address, whatever host is asked for.
func dialing(t *testing.T, addr string) *http.Client {
	tr := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// look looks once, and checks what holds of every look.
func (h Harness) look(t *testing.T, s watch.Source) (watch.Observation, error) {
	t.Helper()
	o, err := s.Look(t.Context(), h.Listing)
	h.check(t, o, err)
	return o, err
}

func (h Harness) check(t *testing.T, o watch.Observation, err error) {
	t.Helper()
	if err == nil {
		if o.Price.String() != h.Price || o.At.IsZero() {
			t.Errorf("the price is %q at %s, want %q", o.Price, o.At, h.Price)
		}
		return
	}
	if !o.Price.IsZero() || o.Availability != "" || o.Title != "" || o.Value != nil {
		t.Errorf("an observation beside an error: %+v, %v", o, err)
	}
	for _, secret := range h.Secrets {
		if text := fmt.Sprintf("%v %+v %q", err, err, err); strings.Contains(text, secret) {
			t.Errorf("an error shows a secret: %s", text)
		}
	}
	if strings.ContainsAny(err.Error(), "\r\n") || err.Error() == "" {
		t.Errorf("an error is no line: %q", err)
	}
}

func (h Harness) header() http.Header { return http.Header{"Content-Type": {h.ContentType}} }

// status goes through every status that there can be. The body is that of a good
// answer, which must not make one of a bad status.
func status(t *testing.T, h Harness) {
	for code := 100; code < 600; code++ {
		s := h.source(t, Config{Client: doer(func(r *http.Request) (*http.Response, error) { return reply(r, code, h.header(), h.Answer), nil })})
		o, err := h.look(t, s)
		want := "error"
		switch code {
		case 200, 203:
			want = "ok"
		case 401, 403, 407, 451:
			want = "blocked"
		case 404, 410:
			want = "gone"
		case 429:
			want = "rate_limited"
		}
		if got := h.Outcome(err); got != want {
			t.Errorf("HTTP %d: %s (%v), want %s", code, got, err, want)
		}
		class, _ := lastlook.Classify(err)
		if (class == lastlook.ClassGone) != (code == 410) || errors.Is(err, watch.ErrMissing) != (code == 404) {
			t.Errorf("HTTP %d is %s: %v", code, class, err)
		}
		if (err == nil) == o.Price.IsZero() {
			t.Errorf("HTTP %d: %+v, %v", code, o, err)
		}
	}
}

func retryAfter(t *testing.T, h Harness) {
	date := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for _, c := range []struct {
		status      int
		after, date string
		want        time.Duration
	}{
		{429, "120", "", 2 * time.Minute},
		{503, "30", "", 30 * time.Second},
		{403, "30", "", 30 * time.Second},
		{500, date(time.Hour), "", time.Hour},
		{503, date(time.Hour), date(time.Hour - time.Minute), time.Minute}, // its clock is ahead
		{503, date(-time.Hour), "", 0},
		{503, "soon", "", 0},
		{503, "-5", "", 0},
		{429, "99999999999999999999", "", 366 * 24 * time.Hour},
	} {
		header := h.header()
		header.Set("Retry-After", c.after)
		if c.date != "" {
			header.Set("Date", c.date)
		}
		s := h.source(t, Config{Client: doer(func(r *http.Request) (*http.Response, error) { return reply(r, c.status, header, ""), nil })})
		_, err := h.look(t, s)
		if class, after := lastlook.Classify(err); class != lastlook.ClassTransient || after != c.want {
			t.Errorf("HTTP %d, Retry-After %q: %s, %s (%v), want %s", c.status, c.after, class, after, err, c.want)
		}
	}
}

// age: an answer is as old as the cache that it came from says.
func age(t *testing.T, h Harness) {
	header := h.header()
	header.Set("Age", "43000")
	s := h.source(t, Config{Client: doer(func(r *http.Request) (*http.Response, error) { return reply(r, 200, header.Clone(), h.Answer), nil })})
	o, err := h.look(t, s)
	if err != nil || now.Sub(o.At) != 43000*time.Second {
		t.Errorf("%s old (%v), want 43000s", now.Sub(o.At), err)
	}
}
