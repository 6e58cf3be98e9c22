package channeltest

import (
	"bufio"
	"context"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/door"
)

var networkClauses = []Clause{
	{Name: "network/nobody listens", Promise: "known not delivered is transient", run: nobodyListens},
	{Name: "network/no TLS", Promise: "known not delivered is transient", run: noTLS},
	{Name: "network/cancelled before", Promise: "known not delivered is transient", run: cancelledBefore},
	{Name: "network/cancelled while waiting", Promise: "C6: after the request was written, unknown", run: cancelledWhileWaiting},
	{Name: "network/deadline while waiting", Promise: "C6: after the request was written, unknown", run: deadlineWhileWaiting},
	{Name: "network/client's own timeout", Promise: "C6: after the request was written, unknown", run: clientTimeout},
	{Name: "network/reset", Promise: "C6: after the request was written, unknown", run: resets},
	{Name: "network/half an answer", Promise: "C6: after the request was written, unknown", run: halfAnswers},
	{Name: "network/endless header", Promise: "bounded", run: endlessHeader},
	{Name: "network/stale connection", Promise: "G7: one call is at most one request", run: staleConnection},
	{Name: "network/HTTP 2", Promise: "C6, with HTTP/2", run: http2},
}

func nobodyListens(f *fixture) {
	f.class(f.deliver(f.Context(), f.channel(f.nobody()), message()), "connection refused", lastlook.ClassTransient)
}

// noTLS: a handshake that fails, for lack of trust and for lack of TLS.
func noTLS(f *fixture) {
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	f.Cleanup(srv.Close)
	f.class(f.deliver(f.Context(), f.channel(srv.URL), message()), "an untrusted certificate", lastlook.ClassTransient)

	plain := f.serve(http.NotFound)
	f.class(f.deliver(f.Context(), f.channel("https"+plain[len("http"):]), message()), "a server without TLS", lastlook.ClassTransient)

	deaf := f.listen(func(c *net.TCPConn) { reset(c) })
	f.class(f.deliver(f.Context(), f.channel("https"+deaf[len("http"):]), message()), "a handshake that was reset", lastlook.ClassTransient)
}

func cancelledBefore(f *fixture) {
	var seen counter
	ch := f.channel(f.serve(seen.handler(http.StatusOK)))
	ctx, cancel := context.WithCancel(f.Context())
	cancel()
	// An unclassified context error would count as maybe delivered.
	f.class(f.deliver(ctx, ch, message()), "a cancelled context", lastlook.ClassTransient)
	late := f.expiring()
	late.expire()
	f.class(f.deliver(late, ch, message()), "a deadline that has passed", lastlook.ClassTransient)
	if n := seen.n.Load(); n != 0 {
		f.Errorf("the server saw %d requests", n)
	}
}

func cancelledWhileWaiting(f *fixture) {
	url, got := f.silence()
	ctx, cancel := context.WithCancel(f.Context())
	done := f.start(ctx, f.channel(url), message())
	f.wait(got, "the request")
	cancel()
	f.class(f.await(done), "cancelled while the answer was awaited", lastlook.ClassUnknown)
}

func deadlineWhileWaiting(f *fixture) {
	url, got := f.silence()
	ctx := f.expiring()
	done := f.start(ctx, f.channel(url), message())
	f.wait(got, "the request")
	ctx.expire()
	f.class(f.await(done), "the deadline passed while the answer was awaited", lastlook.ClassUnknown)
}

func clientTimeout(f *fixture) {
	url, got := f.silence()
	hasty := *f.client
	hasty.Timeout = 100 * time.Millisecond
	o := f.deliver(f.Context(), f.channelWith(url, &hasty), message())
	select {
	case <-got:
		f.class(o, "the client's timeout, while the answer was awaited", lastlook.ClassUnknown)
	default: // a slow machine: it passed before
		f.class(o, "the client's timeout", lastlook.ClassTransient, lastlook.ClassUnknown)
	}
}

func resets(f *fixture) {
	// Before anything was read, the channel cannot know how much arrived.
	early := f.listen(reset)
	f.class(f.deliver(f.Context(), f.channel(early), message()), "a reset at once", lastlook.ClassTransient, lastlook.ClassUnknown)
	half := f.listen(func(c *net.TCPConn) {
		_, _ = io.ReadFull(c, make([]byte, 20))
		reset(c)
	})
	f.class(f.deliver(f.Context(), f.channel(half), message()), "a reset in the middle", lastlook.ClassTransient, lastlook.ClassUnknown)
	late := f.listen(func(c *net.TCPConn) {
		_, _, _ = readRequest(bufio.NewReader(c))
		reset(c)
	})
	f.class(f.deliver(f.Context(), f.channel(late), message()), "a reset after the request", lastlook.ClassUnknown)
	closed := f.listen(func(c *net.TCPConn) { _, _, _ = readRequest(bufio.NewReader(c)) })
	f.class(f.deliver(f.Context(), f.channel(closed), message()), "a connection closed after the request", lastlook.ClassUnknown)
}

func halfAnswers(f *fixture) {
	for _, raw := range []string{
		"H", "HTTP/1.1 20", "HTTP/1.1 200 OK", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n",
		"HTTP/1.1 2x0 OK\r\n\r\n", "SSH-2.0-OpenSSH_9\r\n", "\x15\x03\x01\x00\x02\x02\x46", "<html>", "\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
	} {
		f.class(f.deliver(f.Context(), f.channel(f.raw(raw)), message()), raw, lastlook.ClassUnknown)
	}
}

func endlessHeader(f *fixture) {
	url := f.listen(func(c *net.TCPConn) {
		if _, _, err := readRequest(bufio.NewReader(c)); err != nil {
			return
		}
		_, err := io.WriteString(c, "HTTP/1.1 200 OK\r\n")
		for err == nil {
			_, err = io.WriteString(c, "X-More: and more and more and more and more\r\n")
		}
	})
	f.class(f.deliver(f.Context(), f.channel(url), message()), "a header without end", lastlook.ClassUnknown)
}

// staleConnection: a connection that was kept and dies under the next request.
// Whoever sends that again may have it delivered twice.
func staleConnection(f *fixture) {
	var requests atomic.Int64
	url := f.listen(func(c *net.TCPConn) {
		r := bufio.NewReader(c)
		for i := 0; ; i++ {
			if _, _, err := readRequest(r); err != nil {
				return
			}
			requests.Add(1)
			if i == 1 {
				return
			}
			if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"); err != nil {
				return
			}
		}
	})
	ch := f.channel(url)
	f.accepted(f.deliver(f.Context(), ch, message()), "the first request")
	o := f.deliver(f.Context(), ch, message())
	f.class(o, "the connection died under the second request", lastlook.ClassUnknown)
	if n := requests.Load(); n != 2 {
		f.Errorf("two calls led to %d requests", n)
	}
}

func http2(f *fixture) {
	var requests atomic.Int64
	got, release := make(chan struct{}, 1), make(chan struct{})
	var mode atomic.Value
	mode.Store("accept")
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		requests.Add(1)
		switch {
		case r.ProtoMajor != 2:
			w.WriteHeader(http.StatusHTTPVersionNotSupported)
		case mode.Load() == "hang":
			got <- struct{}{}
			<-release
		case mode.Load() == "abort":
			panic(http.ErrAbortHandler)
		}
	}))
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	f.Cleanup(srv.Close)
	defer close(release)

	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	client, err := door.New(door.Config{Trust: door.Operator, Allow: door.Loopback(), RootCAs: roots})
	if err != nil {
		f.Fatalf("client: %v", err)
	}
	f.Cleanup(client.CloseIdleConnections)
	ch := f.channelWith(srv.URL, client)
	f.accepted(f.deliver(f.Context(), ch, message()), "HTTP/2")

	mode.Store("abort")
	f.class(f.deliver(f.Context(), ch, message()), "a stream that was reset", lastlook.ClassUnknown)

	mode.Store("hang")
	ctx, cancel := context.WithCancel(f.Context())
	done := f.start(ctx, ch, message())
	f.wait(got, "the request")
	cancel()
	f.class(f.await(done), "cancelled while the answer was awaited", lastlook.ClassUnknown)
	if n := requests.Load(); n != 3 {
		f.Errorf("three calls led to %d requests", n)
	}
}
