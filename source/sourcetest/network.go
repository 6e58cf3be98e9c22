package sourcetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
)

// raw makes a source whose requests are answered with bytes as they are.
func (h Harness) raw(t *testing.T, answer string) error {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				_, _ = io.WriteString(conn, answer)
			}
			_ = conn.Close()
		}
	}()
	defer func() { _ = l.Close(); <-done }()
	_, err = h.look(t, h.source(t, Config{Client: dialing(t, l.Addr().String())}))
	return err
}

// nasty: what comes in pieces, or wrong, is never an observation.
func nasty(t *testing.T, h Harness) {
	ok := "HTTP/1.1 200 OK\r\nContent-Type: " + h.ContentType + "\r\nConnection: close\r\n"
	for name, answer := range map[string]string{
		"nothing":            "",
		"no HTTP":            "SSH-2.0-x\r\n",
		"half a header":      "HTTP/1.1 200 OK\r\nContent-",
		"cut off":            ok + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(h.Answer)+1, h.Answer),
		"no last chunk":      ok + fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(h.Answer), h.Answer),
		"empty":              ok + "Content-Length: 0\r\n\r\n",
		"declared too large": ok + "Content-Length: 99999999\r\n\r\n",
		"too large":          ok + "\r\n" + h.Answer + strings.Repeat(" ", 6<<20),
		"brotli":             ok + "Content-Encoding: br\r\n\r\n" + h.Answer,
		"broken":             ok + "\r\n" + h.Broken,
		"half":               ok + "\r\n" + h.Answer[:len(h.Answer)/2],
		"nowhere":            "HTTP/1.1 302 x\r\n\r\n",
		"to a file":          "HTTP/1.1 302 x\r\nLocation: file:///etc/passwd\r\n\r\n",
		"with a user":        "HTTP/1.1 302 x\r\nLocation: http://a:b@shop.example/\r\n\r\n",
		"to nonsense":        "HTTP/1.1 302 x\r\nLocation: http://[::1?x\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			err := h.raw(t, answer)
			got := h.Outcome(err)
			if got == "ok" || got == "gone" || got == "rate_limited" {
				t.Errorf("%s: %v", got, err)
			}
			if class, _ := lastlook.Classify(err); class != lastlook.ClassTransient {
				t.Errorf("%s: %v", class, err)
			}
		})
	}
	if err := h.raw(t, ok+"\r\n"+h.Answer); err != nil {
		t.Errorf("a good answer: %v", err)
	}
}

// slow: neither silence nor a drip keeps a look beyond its limit.
func slow(t *testing.T, h Harness) {
	for name, f := range map[string]http.HandlerFunc{
		"silent": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"drip": func(w http.ResponseWriter, r *http.Request) {
			tick := time.NewTicker(2 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-r.Context().Done():
					return
				case <-tick.C:
					_, _ = w.Write([]byte{' '})
					_ = http.NewResponseController(w).Flush()
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := h.look(t, h.serve(t, 50*time.Millisecond, f))
			if h.Outcome(err) != "error" || !strings.Contains(fmt.Sprint(err), "within 50ms") {
				t.Errorf("%v", err)
			}
		})
	}
}

// redirects: where a redirect leads, headers with secrets do not; https never
// turns into http; and there is an end.
func redirects(t *testing.T, h Harness) {
	hops := func(n int) error {
		asked := 0
		s := h.source(t, Config{Client: doer(func(r *http.Request) (*http.Response, error) {
			if asked++; asked > n {
				return reply(r, 200, h.header(), h.Answer), nil
			}
			next := *r.URL
			next.Path = fmt.Sprintf("%s/%d", next.Path, asked)
			return reply(r, 302, http.Header{"Location": {next.String()}}, ""), nil
		})})
		_, err := h.look(t, s)
		return err
	}
	if err := hops(2); (err != nil) != h.NoRedirects {
		t.Errorf("two redirects: %v", err)
	}
	if err := hops(20); h.Outcome(err) != "error" {
		t.Errorf("twenty redirects: %v", err)
	}
	s := h.source(t, Config{Client: doer(func(r *http.Request) (*http.Response, error) {
		return reply(r, 307, http.Header{"Location": {r.URL.String()}}, ""), nil
	})})
	if _, err := h.look(t, s); h.Outcome(err) != "error" {
		t.Errorf("a circle: %v", err)
	}
	secure := h
	secure.Listing.URL = strings.Replace(h.Listing.URL, "http:", "https:", 1)
	s = h.source(t, Config{Client: doer(func(r *http.Request) (*http.Response, error) {
		if r.URL.Scheme == "http" && r.URL.Host == "elsewhere.example" {
			return reply(r, 200, h.header(), h.Answer), nil
		}
		return reply(r, 301, http.Header{"Location": {"http://elsewhere.example/p"}}, ""), nil
	})})
	if _, err := secure.look(t, s); h.Outcome(err) != "error" {
		t.Errorf("from https to http: %v", err)
	}
}

func cancelled(t *testing.T, h Harness) {
	ctx, cancel := context.WithCancel(t.Context())
	s := h.serve(t, time.Minute, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	o, err := s.Look(ctx, h.Listing)
	if h.check(t, o, err); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// concurrent: one source serves many at once, each with its own answer.
func concurrent(t *testing.T, h Harness) {
	s := h.serve(t, time.Minute, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", h.ContentType)
		w.Header().Set("Etag", `"1"`)
		_, _ = io.WriteString(w, h.Answer)
	})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 4 {
				o, err := s.Look(t.Context(), h.Listing)
				if h.check(t, o, err); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func unreachable(t *testing.T, h Harness) {
	s := h.source(t, Config{Client: doer(func(*http.Request) (*http.Response, error) {
		return nil, errors.New("connection refused")
	})})
	if _, err := h.look(t, s); h.Outcome(err) != "error" {
		t.Error(err)
	}
}

// secrets: a service that quotes what it was asked with does not get it into an
// error; nor does a client that shows the address.
func secrets(t *testing.T, h Harness) {
	quote := func(r *http.Request) string {
		return fmt.Sprintf(`{"error":"bad request","error_description":%q,"message":%q}`, r.URL.String(), strings.Join(h.Secrets, " "))
	}
	for _, code := range []int{200, 302, 400, 401, 403, 404, 429, 500} {
		s := h.source(t, Config{Client: doer(func(r *http.Request) (*http.Response, error) {
			header := http.Header{"Content-Type": {"application/json"}}
			if code == 302 {
				header.Set("Location", "http://elsewhere.example/?to="+strings.Join(h.Secrets, "+"))
			}
			return reply(r, code, header, quote(r)), nil
		})})
		if _, err := h.look(t, s); err == nil {
			t.Errorf("HTTP %d: no error", code)
		}
	}
	tr := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("refused") }}
	if _, err := h.look(t, h.source(t, Config{Client: &http.Client{Transport: tr}})); err == nil {
		t.Error("no error")
	}
}
