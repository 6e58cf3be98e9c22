package page_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook/source/page"
	"github.com/lastlook/lastlook/watch"
)

// now is the time at which every look of these tests begins.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const product = `<!doctype html><html lang="en"><head><title>Desk lamp</title><script type="application/ld+json">` +
	`{"@context":"https://schema.org","@type":"Product","name":"Desk lamp","offers":{"@type":"Offer","price":"75.00","priceCurrency":"EUR",` +
	`"availability":"https://schema.org/InStock"}}</script></head><body><h1>Desk lamp</h1></body></html>`

// client returns a client that connects to one address, whatever host is asked
// for, and follows no redirects.
func client(t *testing.T, addr string) *http.Client {
	t.Helper()
	tr := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func newSource(t *testing.T, c page.Config) *page.Source {
	t.Helper()
	if c.Clock == nil {
		c.Clock = func() time.Time { return now }
	}
	s, err := page.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// serve answers every request by the handler, and returns a source that asks it.
func serve(t *testing.T, c page.Config, h http.HandlerFunc) *page.Source {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	c.Client = client(t, srv.Listener.Addr().String())
	return newSource(t, c)
}

// raw answers every request with the bytes that write writes, and closes the
// connection.
func raw(t *testing.T, write func(w io.Writer, path string)) *page.Source {
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
			r, err := http.ReadRequest(bufio.NewReader(conn))
			if err == nil {
				write(conn, r.URL.Path)
			}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return newSource(t, page.Config{Client: client(t, l.Addr().String())})
}

// answer writes a whole raw answer: header lines, an empty line, a body.
func answer(w io.Writer, s string) {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	head, body, _ := strings.Cut(s, "\n\n")
	fmt.Fprintf(w, "%s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", strings.ReplaceAll(strings.TrimSpace(head), "\n", "\r\n"), len(body), body)
}

func look(t *testing.T, s *page.Source, url string) (watch.Observation, error) {
	t.Helper()
	return s.Look(t.Context(), watch.Listing{Source: page.SourceName, URL: url})
}
