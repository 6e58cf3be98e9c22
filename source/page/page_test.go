package page_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/source/page"
	"github.com/lastlook/lastlook/watch"
)

// TestStatus goes through every status that an answer can have.
func TestStatus(t *testing.T) {
	src := serve(t, page.Config{}, func(w http.ResponseWriter, r *http.Request) {
		var status int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &status)
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, product)
	})
	for status := 200; status < 600; status++ {
		o, err := look(t, src, fmt.Sprintf("http://shop.example/%d", status))
		want := page.Failed
		switch status {
		case 200, 203:
			want = page.OK
		case 401, 403, 407, 451:
			want = page.Blocked
		case 404, 410:
			want = page.Gone
		case 429:
			want = page.RateLimited
		}
		if got := page.OutcomeOf(err); got != want {
			t.Errorf("HTTP %d: %s (%v), want %s", status, got, err, want)
		}
		class, _ := lastlook.Classify(err)
		if (class == lastlook.ClassGone) != (status == 410) || errors.Is(err, watch.ErrMissing) != (status == 404) {
			t.Errorf("HTTP %d is %s: %v", status, class, err)
		}
		if (err == nil) == o.Price.IsZero() {
			t.Errorf("HTTP %d: %+v, %v", status, o, err)
		}
		if e, ok := errors.AsType[*page.Error](err); err != nil && (!ok || e.Status != status) {
			t.Errorf("HTTP %d: status %+v", status, err)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	date := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for _, c := range []struct {
		status            int
		after, date, body string
		want              time.Duration
		outcome           page.Outcome
	}{
		{429, "120", date(0), "", 2 * time.Minute, page.RateLimited},
		{503, "30", date(0), "", 30 * time.Second, page.Failed},
		{503, "30", date(0), "Verify you are human", 30 * time.Second, page.Blocked},
		{403, "30", date(0), "", 30 * time.Second, page.Blocked},
		{503, date(time.Hour), date(0), "", time.Hour, page.Failed},
		{503, date(time.Hour), date(time.Hour - time.Minute), "", time.Minute, page.Failed}, // its clock is ahead
		{503, date(-time.Hour), date(0), "", 0, page.Failed},
		{503, "soon", date(0), "", 0, page.Failed},
		{503, "-5", date(0), "", 0, page.Failed},
		{429, "99999999999999999999", date(0), "", 366 * 24 * time.Hour, page.RateLimited},
		{200, "30", date(0), "Verify you are human", 0, page.Blocked},
	} {
		src := serve(t, page.Config{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", c.after)
			w.Header().Set("Date", c.date)
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body+" ")
		})
		_, err := look(t, src, "http://shop.example/p")
		class, after := lastlook.Classify(err)
		if class != lastlook.ClassTransient || after != c.want || page.OutcomeOf(err) != c.outcome {
			t.Errorf("HTTP %d, Retry-After %q: %s, %s (%v), want %s, %s", c.status, c.after, page.OutcomeOf(err), after, err, c.outcome, c.want)
		}
	}
	// Without a Date the wait counts from our own clock.
	src := raw(t, func(w io.Writer, _ string) { answer(w, "HTTP/1.1 503 x\nRetry-After: "+date(time.Minute)+"\n\n") })
	if _, err := look(t, src, "http://shop.example/"); true {
		if _, after := lastlook.Classify(err); after != time.Minute {
			t.Errorf("%s, %v", after, err)
		}
	}
}

// TestFresh: an answer is as old as the cache that it came from says.
func TestFresh(t *testing.T) {
	date := func(d time.Duration) string { return "Date: " + now.Add(d).Format(http.TimeFormat) }
	for _, c := range []struct {
		headers string
		want    time.Duration
	}{
		{date(0), 0},
		{date(-50 * time.Second), 0}, // a clock that is behind
		{date(+time.Hour), 0},
		{date(-time.Hour), time.Hour},
		{date(-50*time.Second) + "\nX-Cache: HIT from edge", 50 * time.Second},
		{date(-50*time.Second) + "\nCF-Cache-Status: STALE", 50 * time.Second},
		{date(-50*time.Second) + "\nX-Cache: MISS", 0},
		{date(0) + "\nAge: 43000", 43000 * time.Second},
		{date(-time.Hour) + "\nAge: 10", time.Hour},
		{"Age: 10\nAge: 20", 20 * time.Second},
		{"Age: x", 0},
		{"Age: -5", 0},
		{"Date: yesterday", 0},
	} {
		src := raw(t, func(w io.Writer, _ string) {
			answer(w, "HTTP/1.1 200 OK\nContent-Type: text/html\n"+c.headers+"\n\n"+product)
		})
		o, err := look(t, src, "http://shop.example/p")
		if err != nil || now.Sub(o.At) != c.want {
			t.Errorf("%q: %s old (%v), want %s", c.headers, now.Sub(o.At), err, c.want)
		}
	}
}

// TestNastyAnswers: what comes in pieces, or wrong, is never an observation.
func TestNastyAnswers(t *testing.T) {
	zipped := func(b []byte) []byte {
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		_, _ = w.Write(b)
		_ = w.Close()
		return z.Bytes()
	}
	const ok = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n"
	bomb := zipped(make([]byte, 6<<20))
	page1 := zipped([]byte(product))
	for name, c := range map[string]struct{ answer, says string }{
		"nothing":              {"", "did not answer"},
		"no HTTP":              {"SSH-2.0-x\r\n", "did not answer"},
		"half a header":        {"HTTP/1.1 200 OK\r\nContent-", "did not answer"},
		"cut off":              {ok + "Content-Length: 9999\r\n\r\n" + product, "cut off after"},
		"cut chunk":            {ok + "Transfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\n%s", len(product)+9, product), "cut off after"},
		"no last chunk":        {ok + "Transfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n", len(product), product), "cut off after"},
		"no chunk":             {ok + "Transfer-Encoding: chunked\r\n\r\nhello\r\n", "broke off"},
		"empty":                {ok + "Content-Length: 0\r\n\r\n", "empty"},
		"declared too large":   {ok + "Content-Length: 99999999\r\n\r\n", "larger than"},
		"too large":            {ok + "\r\n" + product + strings.Repeat("x", 6<<20), "larger than"},
		"gzip bomb":            {ok + "Content-Encoding: gzip\r\n" + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(bomb), bomb), "larger than"},
		"gzip cut off":         {ok + "Content-Encoding: gzip\r\n\r\n" + string(page1[:len(page1)-9]), "cut off after"},
		"no gzip":              {ok + "Content-Encoding: gzip\r\n\r\n" + product, "broke off"},
		"brotli":               {ok + "Content-Encoding: br\r\n\r\n" + product, `encoded as "br"`},
		"PDF":                  {"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n\r\n%PDF-1.7", `leads to "application/pdf"`},
		"PDF that says page":   {ok + "\r\n%PDF-1.7", `leads to "application/pdf"`},
		"image, undeclared":    {"HTTP/1.1 200 OK\r\n\r\n\x89PNG\r\n\x1a\n", `leads to "image/png"`},
		"JSON":                 {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{}", `leads to "application/json"`},
		"broken content type":  {"HTTP/1.1 200 OK\r\nContent-Type: video; =\r\n\r\n{}", `leads to "video"`},
		"redirect to nowhere":  {"HTTP/1.1 302 x\r\n\r\n", "without an address"},
		"redirect to a file":   {"HTTP/1.1 302 x\r\nLocation: file:///etc/passwd\r\n\r\n", "no web address"},
		"redirect with a user": {"HTTP/1.1 302 x\r\nLocation: http://a:b@shop.example/\r\n\r\n", "user name"},
		"redirect to itself":   {"HTTP/1.1 307 x\r\nLocation: ?token=secret#top\r\n\r\n", "in a circle, at shop.example/p"},
		"redirect to nonsense": {"HTTP/1.1 302 x\r\nLocation: http://[::1?secret\r\n\r\n", "an address that is none"},
	} {
		t.Run(name, func(t *testing.T) {
			src := raw(t, func(w io.Writer, _ string) { _, _ = io.WriteString(w, c.answer) })
			o, err := look(t, src, "http://shop.example/p?token=secret")
			if page.OutcomeOf(err) != page.Failed || !strings.Contains(fmt.Sprint(err), c.says) || !o.Price.IsZero() {
				t.Errorf("%s: %v, want an error that says %q; %+v", page.OutcomeOf(err), err, c.says, o)
			}
			if class, _ := lastlook.Classify(err); class != lastlook.ClassTransient || strings.Contains(fmt.Sprint(err), "secret") {
				t.Errorf("%s: %v", class, err)
			}
		})
	}
	for name, answer := range map[string]string{
		"whole gzip":    ok + "Content-Encoding: gzip\r\n\r\n" + string(page1),
		"no type":       "HTTP/1.1 200 OK\r\n\r\n" + product,
		"plain text":    "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n" + product,
		"wrong charset": "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-16\r\n\r\n" + product,
		"no charset":    "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset\r\n\r\n" + product,
		"identity":      ok + "Content-Encoding: identity\r\n\r\n" + product,
	} {
		src := raw(t, func(w io.Writer, _ string) { _, _ = io.WriteString(w, answer) })
		if o, err := look(t, src, "http://shop.example/p"); name != "wrong charset" && (err != nil || o.Price.String() != "75.00 EUR") {
			t.Errorf("%s: %+v, %v", name, o, err)
		}
	}
}

// TestSlowAnswers: neither silence nor a drip keeps a look beyond its limit.
func TestSlowAnswers(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"silent": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"drip": func(w http.ResponseWriter, r *http.Request) {
			tick := time.NewTicker(2 * time.Millisecond)
			defer tick.Stop()
			for i := 0; ; i++ {
				select {
				case <-r.Context().Done():
					return
				case <-tick.C:
					_, _ = w.Write([]byte{product[i%len(product)]})
					w.(http.Flusher).Flush()
				}
			}
		},
		"redirects": func(w http.ResponseWriter, r *http.Request) {
			if strings.Count(r.URL.Path, "/") > 3 {
				<-r.Context().Done()
			}
			http.Redirect(w, r, r.URL.Path+"/x", http.StatusFound)
		},
	} {
		src := serve(t, page.Config{Timeout: 50 * time.Millisecond}, h)
		_, err := look(t, src, "http://shop.example/p")
		if page.OutcomeOf(err) != page.Failed || !strings.Contains(fmt.Sprint(err), "no whole answer within 50ms") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	src := serve(t, page.Config{}, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	if _, err := src.Look(ctx, watch.Listing{URL: "http://shop.example/p?token=secret"}); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}

func TestRequest(t *testing.T) {
	var got http.Header
	src := serve(t, page.Config{UserAgent: "lastlook/1 (+https://example.org)", AcceptLanguage: "de"}, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		http.SetCookie(w, &http.Cookie{Name: "id", Value: "1"})
		if r.URL.Path == "/p" {
			http.Redirect(w, r, "/q", http.StatusMovedPermanently)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, product)
	})
	if _, err := look(t, src, "http://shop.example/p"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"User-Agent": "lastlook/1 (+https://example.org)", "Accept-Language": "de", "Cache-Control": "no-cache", "Accept-Encoding": "gzip", "Cookie": "", "Referer": "",
	} {
		if got.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, got.Get(name), want)
		}
	}
	if !strings.HasPrefix(got.Get("Accept"), "text/html") {
		t.Errorf("Accept is %q", got.Get("Accept"))
	}
}

func TestRedirects(t *testing.T) {
	src := serve(t, page.Config{}, func(w http.ResponseWriter, r *http.Request) {
		switch n := 0; {
		case r.URL.Path == "/old":
			http.Redirect(w, r, "/", http.StatusFound)
		case r.URL.Path == "/queue":
			http.Redirect(w, r, "http://shop.queue-it.net/?c=shop", http.StatusFound)
		case strings.HasPrefix(r.URL.Path, "/hops/"):
			_, _ = fmt.Sscanf(r.URL.Path, "/hops/%d", &n)
			if n > 0 {
				http.Redirect(w, r, fmt.Sprintf("/hops/%d", n-1), http.StatusPermanentRedirect)
				return
			}
			fallthrough
		default:
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, product)
		}
	})
	for path, want := range map[string]page.Outcome{
		"/hops/5": page.OK, "/hops/6": page.Failed, "/old": page.NotProduct, "/": page.OK, "/queue": page.Blocked,
	} {
		if _, err := look(t, src, "http://shop.example"+path); page.OutcomeOf(err) != want {
			t.Errorf("%s: %s (%v), want %s", path, page.OutcomeOf(err), err, want)
		}
	}
}

// hop is a client that answers from a table, and notes what it was asked.
type hop struct {
	asked   []string
	answers map[string]string // the address that a request leads to
	follows bool
}

func (h *hop) Do(r *http.Request) (*http.Response, error) {
	h.asked = append(h.asked, r.URL.String())
	resp := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/html"}}, Body: io.NopCloser(strings.NewReader(product))}
	if to := h.answers[r.URL.String()]; to != "" && h.follows {
		next := r.Clone(r.Context())
		next.URL, _ = r.URL.Parse(to)
		resp.Request = next
	} else if to != "" {
		resp.StatusCode = 302
		resp.Header.Set("Location", to)
	}
	return resp, nil
}

// TestPrivate: only an operator's address goes through the client that may call
// into the private network, and only as long as it stays on its host.
func TestPrivate(t *testing.T) {
	answers := map[string]string{
		"http://nas:8080/a": "http://nas:8080/b", "http://nas:8080/b": "https://nas/c", "https://nas/c": "https://NAS/d",
		"http://nas:8080/e": "http://nas:9090/admin", "http://nas:8080/f": "http://router/",
		"https://shop.example/g": "http://shop.example/h",
	}
	for _, c := range []struct {
		url             string
		private         bool
		viaPub, viaPriv int
		outcome         page.Outcome
	}{
		{"http://nas:8080/a", true, 0, 4, page.OK},
		{"http://nas:8080/a", false, 4, 0, page.OK},
		{"http://nas:8080/e", true, 1, 1, page.OK},
		{"http://nas:8080/f", true, 1, 1, page.NotProduct}, // a home page
		{"https://shop.example/g", false, 1, 0, page.Failed},
		{"ftp://shop.example/", true, 0, 0, page.Failed},
		{"::", true, 0, 0, page.Failed},
	} {
		pub, priv := &hop{answers: answers}, &hop{answers: answers}
		src := newSource(t, page.Config{Client: pub, Private: priv})
		_, err := src.Look(t.Context(), watch.Listing{URL: c.url, Private: c.private})
		if page.OutcomeOf(err) != c.outcome || len(pub.asked) != c.viaPub || len(priv.asked) != c.viaPriv {
			t.Errorf("%s, private %v: %s (%v), public %v, private %v", c.url, c.private, page.OutcomeOf(err), err, pub.asked, priv.asked)
		}
	}
	// A client that follows by itself says where it arrived.
	src := newSource(t, page.Config{Client: &hop{answers: map[string]string{"http://shop.example/p": "/"}, follows: true}})
	if _, err := look(t, src, "http://shop.example/p"); page.OutcomeOf(err) != page.NotProduct {
		t.Error(err)
	}
}

func TestConfig(t *testing.T) {
	for name, c := range map[string]page.Config{
		"no client": {}, "bytes": {Client: &hop{}, MaxBytes: 6 << 20}, "negative": {Client: &hop{}, MaxBytes: -1}, "timeout": {Client: &hop{}, Timeout: -1},
		"agent": {Client: &hop{}, UserAgent: "a\r\nb"}, "language": {Client: &hop{}, AcceptLanguage: "é"},
	} {
		if _, err := page.New(c); err == nil || !strings.HasPrefix(err.Error(), "page: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	src, err := page.New(page.Config{Client: &hop{}})
	if err != nil {
		t.Fatal(err)
	}
	o, err := look(t, src, "http://shop.example/p")
	if err != nil || time.Since(o.At) > time.Minute {
		t.Errorf("%+v, %v", o, err)
	}
	if page.OutcomeOf(errors.New("x")) != page.Failed || page.OutcomeOf(nil) != page.OK {
		t.Error("outcomes of other errors")
	}
}
