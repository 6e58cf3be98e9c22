package httpcall

import (
	"bufio"
	"context"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/door"
)

// answering is a client whose every connection answers a request with raw
// bytes, and ends.
func answering(t *testing.T, raw string) *http.Client {
	return transport(t, func(context.Context) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			r, err := http.ReadRequest(bufio.NewReader(server))
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(server, raw)
		}()
		return client, nil
	})
}

func TestAnswers(t *testing.T) {
	const secret = "verysecretpath"
	u := mustParse(t, "http://shop.example/hook/"+secret)
	for name, tt := range map[string]struct {
		raw      string
		accepted bool
		class    lastlook.Class
		part     string
	}{
		"nothing":           {raw: "", class: unknown},
		"cut status":        {raw: "HTTP/1.1 20", class: unknown},
		"cut header":        {raw: "HTTP/1.1 200 OK\r\nContent-Len", class: unknown},
		"no HTTP":           {raw: "SSH-2.0-" + secret + "\r\n", class: unknown, part: "malformed"},
		"no number":         {raw: "HTTP/1.1 " + secret + "\r\n\r\n", class: unknown, part: Redacted},
		"bad length":        {raw: "HTTP/1.1 200 OK\r\nContent-Length: " + secret + "\r\n\r\n", class: unknown},
		"cut body":          {raw: "HTTP/1.1 202 Fine\r\nContent-Length: 100\r\n\r\nhalf", accepted: true},
		"cut error":         {raw: "HTTP/1.1 400 No\r\nContent-Length: 100\r\n\r\nhalf", class: permanent, part: "half"},
		"cut chunk":         {raw: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz", accepted: true},
		"interim":           {raw: "HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 204 No\r\n\r\n", accepted: true},
		"only interim":      {raw: "HTTP/1.1 103 Early\r\n\r\n", class: unknown},
		"switch":            {raw: "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", class: unknown, part: "interim"},
		"bad location":      {raw: "HTTP/1.1 302 Found\r\nLocation: http://[" + secret + "\r\n\r\n", class: misconfigured, part: "final URL"},
		"no location":       {raw: "HTTP/1.1 307 X\r\n\r\n", class: misconfigured, part: "HTTP 307"},
		"secret reason":     {raw: "HTTP/1.1 500 " + secret + "\r\n\r\n", class: transient},
		"secret everywhere": {raw: "HTTP/1.1 429 X\r\nRetry-After: " + secret + "\r\nX-Y: " + secret + "\r\n\r\n/hook/" + secret, class: transient, part: Redacted},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := caller(t, answering(t, tt.raw)).Do(t.Context(), Request{URL: u, Body: []byte("x")})
			if tt.accepted {
				if err != nil {
					t.Errorf("error %v", err)
				}
			} else {
				expect(t, err, tt.class, "http://shop.example", tt.part)
				if strings.Contains(err.Error(), secret) {
					t.Errorf("error %v", err)
				}
			}
			if strings.Contains(a.Shown, secret) {
				t.Errorf("shown %q", a.Shown)
			}
		})
	}
}

func TestTLS(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/abort" {
			_, _ = io.Copy(io.Discard, r.Body)
			panic(http.ErrAbortHandler)
		}
	}))
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = discard()
	srv.StartTLS()
	defer srv.Close()
	_, err := caller(t, doorway(t)).Do(t.Context(), Request{URL: mustParse(t, srv.URL)})
	expect(t, err, transient, "not delivered", "check the certificate")

	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	client, err := door.New(door.Config{Trust: door.Operator, Allow: door.Loopback(), RootCAs: roots})
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	c := caller(t, client)
	if _, err := c.Do(t.Context(), Request{URL: mustParse(t, srv.URL), Body: []byte("x")}); err != nil {
		t.Error(err)
	}
	_, err = c.Do(t.Context(), Request{URL: mustParse(t, srv.URL+"/abort"), Body: []byte("x")})
	expect(t, err, unknown)

	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	_, err = c.Do(t.Context(), Request{URL: mustParse(t, strings.Replace(plain.URL, "http:", "https:", 1))})
	expect(t, err, transient, "try http://")
}

// TestEarlyAnswer: once a call has returned, its body is the caller's again,
// although the server answered before it was read.
func TestEarlyAnswer(t *testing.T) {
	body := []byte(strings.Repeat("b", 8<<20))
	c := caller(t, transport(t, func(context.Context) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			_, _ = io.CopyN(io.Discard, server, 1000)
			_, _ = io.WriteString(server, "HTTP/1.1 413 X\r\nContent-Length: 0\r\n\r\n")
			_, _ = io.Copy(io.Discard, server)
		}()
		return client, nil
	}))
	_, err := c.Do(t.Context(), Request{URL: mustParse(t, "http://shop.example/"), Body: body})
	expect(t, err, permanent, "HTTP 413")
	clear(body) // the race detector watches
}

// TestSlowBody: an answer whose body does not come is taken for its status.
func TestSlowBody(t *testing.T) {
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()
		<-release
	}))
	defer srv.Close()
	defer close(release)
	c, err := New(Config{Name: "test", Client: doorway(t), AnswerWait: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.Do(t.Context(), Request{URL: mustParse(t, srv.URL)})
	if err != nil || a.Shown != "half" || a.Complete {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestProgressAcrossTries: a transport may try again; only the last try counts.
func TestProgressAcrossTries(t *testing.T) {
	p := newProgress([]byte("body"))
	tr := p.trace()
	tr.GetConn("")
	if p.seal(nil) {
		t.Error("without a connection")
	}
	p = newProgress([]byte("body"))
	tr = p.trace()
	tr.GetConn("")
	p.try(nil, true)
	b, err := p.body()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(b); err != nil {
		t.Fatal(err)
	}
	// The first try was written, but the transport knows that it was not
	// processed, and tries again.
	_ = b.Close()
	if _, err := b.Read(make([]byte, 1)); err == nil {
		t.Error("a closed body was read")
	}
	tr.GetConn("")
	if _, err := p.body(); err != nil {
		t.Fatal(err)
	}
	p.try(nil, true)
	if p.seal(nil) {
		t.Error("the second try was not written")
	}
	if _, err := p.body(); err == nil {
		t.Error("a body was handed out after the end")
	}
}

func discard() *log.Logger { return log.New(io.Discard, "", 0) }
