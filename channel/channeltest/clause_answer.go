package channeltest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
)

var answerClauses = []Clause{
	{Name: "answer/slow", Promise: "honour the deadline, not more", run: slowAnswer},
	{Name: "answer/body cut off", Promise: "the status decides", run: cutBody},
	{Name: "answer/body without end", Promise: "bounded", run: endlessBody},
	{Name: "answer/body that does not come", Promise: "bounded", run: hangingBody},
	{Name: "answer/deadline during the body", Promise: "the status decides", run: deadlineDuringBody},
	{Name: "answer/connection kept", Promise: "connections are used again", run: connectionKept},
}

// slowAnswer comes byte by byte.
func slowAnswer(f *fixture) {
	url := f.listen(func(c *net.TCPConn) {
		if _, _, err := readRequest(bufio.NewReader(c)); err != nil {
			return
		}
		for _, b := range []byte("HTTP/1.1 202 Accepted\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}") {
			if _, err := c.Write([]byte{b}); err != nil {
				return
			}
		}
	})
	f.status(f.deliver(f.Context(), f.channel(url), message()), http.StatusAccepted)
}

// statuses of each kind, to try with odd bodies.
var statuses = []int{200, 202, 302, 400, 403, 410, 429, 500}

func cutBody(f *fixture) {
	for _, c := range statuses {
		for _, body := range []string{
			"Content-Length: 100\r\n\r\n{\"half\":", "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"a\"", "Transfer-Encoding: chunked\r\n\r\nno chunk\r\n",
			"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope",
		} {
			url := f.raw(fmt.Sprintf("HTTP/1.1 %d X\r\nContent-Type: application/json\r\n%s", c, body))
			f.status(f.deliver(f.Context(), f.channel(url), message()), c)
		}
	}
}

// maxDrain is how much of an answer a channel may let the server send, what
// lies in the system's buffers included.
const maxDrain = 32 << 20

func endlessBody(f *fixture) {
	for _, c := range []int{200, 400, 500} {
		var sent atomic.Int64
		ended := make(chan struct{})
		chunk := strings.Repeat("more and ", 4<<10)
		url := f.listen(func(conn *net.TCPConn) {
			defer close(ended)
			if _, _, err := readRequest(bufio.NewReader(conn)); err != nil {
				return
			}
			_, err := fmt.Fprintf(conn, "HTTP/1.1 %d X\r\nContent-Type: text/plain\r\n\r\n", c)
			for err == nil && sent.Load() <= maxDrain {
				var n int
				n, err = io.WriteString(conn, chunk)
				sent.Add(int64(n))
			}
		})
		f.status(f.deliver(f.Context(), f.channel(url), message()), c)
		f.wait(ended, "the end of the connection")
		if n := sent.Load(); n > maxDrain {
			f.Errorf("HTTP %d: the server could send %d bytes, and more", c, n)
		}
	}
}

// stuckBody serves headers and a part of the body, and then nothing.
func (f *fixture) stuckBody(c int) (url string) {
	f.Helper()
	return f.listen(func(conn *net.TCPConn) {
		r := bufio.NewReader(conn)
		if _, _, err := readRequest(r); err != nil {
			return
		}
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"half\":", c)
		_, _ = io.Copy(io.Discard, r)
	})
}

// hangingBody: no deadline but the channel's own patience.
func hangingBody(f *fixture) {
	type call struct {
		code int
		done <-chan outcome
	}
	var calls []call
	for _, c := range []int{200, 400, 500} {
		url := f.stuckBody(c)
		calls = append(calls, call{c, f.start(f.Context(), f.channel(url), message())})
	}
	for _, c := range calls {
		f.status(f.await(c.done), c.code)
	}
}

func deadlineDuringBody(f *fixture) {
	for _, c := range []int{200, 400, 500} {
		url := f.stuckBody(c)
		answered := make(chan struct{}, 1)
		client := *f.client
		client.Transport = announcing{f.client.Transport, answered}
		ctx := f.expiring()
		done := f.start(ctx, f.channelWith(url, &client), message())
		f.wait(answered, "the answer's beginning")
		ctx.expire()
		f.status(f.await(done), c)
	}
}

// announcing says when an answer's header is there.
type announcing struct {
	next     http.RoundTripper
	answered chan<- struct{}
}

func (a announcing) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := a.next.RoundTrip(r)
	a.answered <- struct{}{}
	return resp, err
}

// connectionKept: an answer of ordinary size leaves the connection usable.
func connectionKept(f *fixture) {
	var connections atomic.Int64
	body := strings.Repeat(`{"k":"v"}`, 100)
	url := f.listen(func(c *net.TCPConn) {
		connections.Add(1)
		r := bufio.NewReader(c)
		for {
			if _, _, err := readRequest(r); err != nil {
				return
			}
			if _, err := fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
				return
			}
		}
	})
	ch := f.channel(url)
	for range 5 {
		f.accepted(f.deliver(f.Context(), ch, message()), "one of five")
	}
	if n := connections.Load(); n != 1 {
		f.Errorf("five calls, one after the other, made %d connections", n)
	}
}
