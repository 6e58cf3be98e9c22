package httpcall

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/internal/text"
	"github.com/lastlook/lastlook/internal/door"
)

// failure classifies a call that came to no answer.
func (c *Caller) failure(r Request, err error, maybe bool) error {
	safe := c.redactor(r).cause(err)
	where := Origin(r.URL)
	switch {
	case strings.Contains(inner(err).Error(), "failed to parse Location header"):
		// net/http reads the address even of a redirect that it is not to follow.
		m := MeaningOf(300)
		return &lastlook.Error{Class: m.Class, Err: fmt.Errorf("%s: %s redirects to an address that cannot be read: %s", c.cfg.Name, where, m.Why)}
	case maybe:
		return lastlook.Unknown(fmt.Errorf("%s: %s: outcome unknown, for the request was sent and not answered: %w", c.cfg.Name, where, safe))
	case door.Refused(err):
		return lastlook.Misconfigured(fmt.Errorf("%s: %s: not called: %w", c.cfg.Name, where, safe))
	}
	return lastlook.RetryAfter(0, fmt.Errorf("%s: %s: not delivered%s: %w", c.cfg.Name, where, advice(err), safe))
}

// advice says what to look at, if the error is of a known kind.
func advice(err error) string {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return " (check the host's name, and the name servers)"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return " (check the certificate, and the host in the URL)"
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return " (check that the receiver runs, and the port)"
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") {
		return " (the server does not speak TLS there: try http://)"
	}
	return ""
}

// inner returns err without the layers that repeat the URL.
func inner(err error) error {
	for {
		u, ok := errors.AsType[*url.Error](err)
		if !ok {
			return err
		}
		err = u.Err
	}
}

// maxCause bounds the text of a cause, in bytes.
const maxCause = 300

// cause returns an error with the text of err, scrubbed, and nothing of err
// itself in its chain but causes whose text is fixed.
func (r *Redactor) cause(err error) error {
	out := &cause{}
	for _, known := range []error{
		context.DeadlineExceeded, context.Canceled, io.ErrUnexpectedEOF, io.EOF, door.ErrNotPublic, door.ErrPort,
	} {
		if errors.Is(err, known) {
			out.known = append(out.known, known)
		}
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		out.known = append(out.known, errno)
	}
	if r.mute && !dialing(err) && len(out.known) == 0 {
		out.text = "no answer that can be shown" // it may quote the other side
		return out
	}
	out.text = text.Shorten(r.Scrub(text.Line(r.Scrub(inner(err).Error()))), maxCause)
	return out
}

// cause is why there is no answer.
type cause struct {
	text  string
	known []error
}

func (c *cause) Error() string   { return c.text }
func (c *cause) Unwrap() []error { return c.known }
