package httpcall

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptrace"
	"sync"
)

// progress follows one request through the transport, to tell afterwards
// whether the other side can have received it whole.
//
// The proof rests on the body: the transport cannot have sent what it has not
// read from here. Once sealed, no more is handed out, so that a body which
// was not read to its end by then never arrives whole, whatever goroutine of
// the transport still holds the request. What httptrace tells (was there a
// connection at all, did writing fail) sharpens this, and only ever says "not
// delivered" where that is certain.
//
// net/http sends a request a second time by itself only if the first try
// cannot have been processed: nothing of it was written, or the server said so
// (HTTP/2: GOAWAY, REFUSED_STREAM). Each try asks for a connection, which is
// where counting starts anew.
type progress struct {
	mu       sync.Mutex
	traced   bool // the transport reports to httptrace
	conn     bool // this try has a connection
	http2    bool
	failed   bool // writing this try failed
	current  *payload
	sealed   bool
	contents []byte
}

func newProgress(body []byte) *progress { return &progress{contents: body} }

// trace returns the hooks to put into the request's context.
func (p *progress) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) { p.try(nil, false) },
		GotConn: func(info httptrace.GotConnInfo) { p.try(info.Conn, true) },
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.failed = info.Err != nil
		},
	}
}

func (p *progress) try(c net.Conn, connected bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.traced, p.conn, p.failed = true, connected, false
	if t, ok := c.(*tls.Conn); ok {
		p.http2 = t.ConnectionState().NegotiatedProtocol == "h2"
	}
}

// body hands the contents out from their beginning, for a new try.
func (p *progress) body() (io.ReadCloser, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sealed {
		return nil, errSealed
	}
	p.current = &payload{of: p}
	return p.current, nil
}

// seal ends the handing out, and reports whether the request may have been
// delivered, given the error with which the transport gave it up.
func (p *progress) seal(err error) (maybe bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sealed = true
	if !p.traced {
		// A transport that tells nothing: only the error can know.
		return !dialing(err)
	}
	unread := p.current == nil || p.current.off < len(p.contents)
	return p.conn && !unread && !p.failed && (p.http2 || !writing(err))
}

// dialing reports whether err says that there was no connection.
func dialing(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Op == "dial"
	}
	_, ok := errors.AsType[*net.DNSError](err)
	return ok
}

// writing reports whether err says that a write failed. With HTTP/1 that was
// the last one of this request, and the system did not take all of it. With
// HTTP/2 it may have been another request's.
func writing(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "write"
}

var errSealed = errors.New("the call has ended")

// payload is the body of one try.
type payload struct {
	of     *progress
	off    int
	closed bool
}

func (b *payload) Read(to []byte) (int, error) {
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	switch {
	case b.closed || b.of.sealed:
		return 0, errSealed
	case b.off == len(b.of.contents):
		return 0, io.EOF
	}
	n := copy(to, b.of.contents[b.off:])
	b.off += n
	return n, nil
}

func (b *payload) Close() error {
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	b.closed = true
	return nil
}
