package channeltest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"time"
)

// serve runs a well-behaved server and returns its address.
func (f *fixture) serve(h http.HandlerFunc) string {
	f.Helper()
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.Start()
	f.Cleanup(func() {
		srv.CloseClientConnections() // a handler may still wait for its request to end
		srv.Close()
	})
	return srv.URL
}

// listen runs a server that does with its connections whatever handle does,
// and returns its address. Connections are closed when handle returns.
func (f *fixture) listen(handle func(c *net.TCPConn)) string {
	f.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.Fatalf("listen: %v", err)
	}
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		open  = map[net.Conn]bool{}
		ended bool
	)
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			if ended {
				_ = c.Close()
			}
			open[c] = true
			mu.Unlock()
			wg.Go(func() {
				defer func() {
					_ = c.Close()
					mu.Lock()
					delete(open, c)
					mu.Unlock()
				}()
				handle(c.(*net.TCPConn))
			})
		}
	})
	f.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		ended = true
		for c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return "http://" + l.Addr().String()
}

// answers runs a server that reads each request whole, and then writes the
// raw bytes that reply gives, and ends the connection.
func (f *fixture) answers(reply func(r *http.Request, body []byte) string) string {
	f.Helper()
	return f.listen(func(c *net.TCPConn) {
		r, body, err := readRequest(bufio.NewReader(c))
		if err == nil {
			_, _ = io.WriteString(c, reply(r, body))
		}
	})
}

// conversation is answers on connections that are kept: replies say where they
// end.
func (f *fixture) conversation(reply func(r *http.Request, body []byte) string) string {
	f.Helper()
	return f.listen(func(c *net.TCPConn) {
		from := bufio.NewReader(c)
		for {
			r, body, err := readRequest(from)
			if err != nil {
				return
			}
			if _, err := io.WriteString(c, reply(r, body)); err != nil {
				return
			}
		}
	})
}

// raw is answers with always the same reply.
func (f *fixture) raw(reply string) string {
	f.Helper()
	return f.answers(func(*http.Request, []byte) string { return reply })
}

func readRequest(from *bufio.Reader) (*http.Request, []byte, error) {
	r, err := http.ReadRequest(from)
	if err != nil {
		return nil, nil, err
	}
	body, err := io.ReadAll(r.Body)
	return r, body, err
}

// reset ends a connection with RST instead of FIN.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}

// nobody returns an address at which nobody listens.
func (f *fixture) nobody() string {
	f.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.Fatalf("listen: %v", err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

// counter counts the requests that a server has read whole.
type counter struct{ n atomic.Int64 }

func (c *counter) handler(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		c.n.Add(1)
		w.WriteHeader(status)
	}
}

// silence is a server that reads requests whole and never answers. got
// receives one value per request.
func (f *fixture) silence() (url string, got <-chan struct{}) {
	f.Helper()
	seen := make(chan struct{}, 100)
	return f.listen(func(c *net.TCPConn) {
		r := bufio.NewReader(c)
		if _, _, err := readRequest(r); err != nil {
			return
		}
		seen <- struct{}{}
		_, _ = io.Copy(io.Discard, r) // until the other side ends it
	}), seen
}

// expiring is a context whose deadline passes when the test says so.
type expiring struct {
	context.Context
	done   chan struct{}
	passed atomic.Bool
}

func (f *fixture) expiring() *expiring {
	return &expiring{Context: f.Context(), done: make(chan struct{})}
}

func (e *expiring) expire() {
	if e.passed.CompareAndSwap(false, true) {
		close(e.done)
	}
}

func (e *expiring) Deadline() (time.Time, bool) { return time.Now().Add(time.Hour), true }
func (e *expiring) Done() <-chan struct{}       { return e.done }

func (e *expiring) Err() error {
	if e.passed.Load() {
		return context.DeadlineExceeded
	}
	return nil
}

// recording accepts all requests, and keeps them.
type recording struct {
	mu       sync.Mutex
	requests []*http.Request
	bodies   [][]byte
}

func (r *recording) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil && !errors.Is(err, io.EOF) {
		return
	}
	r.mu.Lock()
	r.requests = append(r.requests, req)
	r.bodies = append(r.bodies, bytes.Clone(body))
	r.mu.Unlock()
	_, _ = io.WriteString(w, "{}")
}

// take returns what has come since the last take.
func (r *recording) take() ([]*http.Request, [][]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	reqs, bodies := r.requests, r.bodies
	r.requests, r.bodies = nil, nil
	return reqs, bodies
}
