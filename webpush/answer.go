package webpush

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

const (
	// maxShown is how much of an answer is shown, in bytes.
	maxShown = 200
	// maxWord is the length from which a word counts as a token.
	maxWord = 24
	// minSecret is the length from which a word of the endpoint counts as
	// secret.
	minSecret = 4
)

// words returns the beginning of a foreign text on one line, with "…" for each
// word that is long enough to be a token, or of which a part occurs in a
// secret. A word is a run of letters, digits, hyphens and underscores, so that
// an endpoint which is repeated goes part by part, however it is escaped.
func words(text []byte, secrets []string) string {
	var out strings.Builder
	inWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' }
	rest := strings.ToValidUTF8(string(text[:min(len(text), maxAnswer)]), "\uFFFD")
	for rest != "" && out.Len() < maxShown {
		n := strings.IndexFunc(rest, func(r rune) bool { return !inWord(r) })
		if n < 0 {
			n = len(rest)
		}
		if n > 0 {
			out.WriteString(shown(rest[:n], secrets))
			rest = rest[n:]
			continue
		}
		r, size := utf8.DecodeRuneInString(rest)
		if unicode.IsPrint(r) {
			out.WriteRune(r)
		} else {
			out.WriteByte(' ')
		}
		rest = rest[size:]
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

func shown(word string, secrets []string) string {
	if len(word) >= maxWord {
		return "…"
	}
	if len(word) < minSecret {
		return word
	}
	// Piece by piece: an escape such as %2F sticks to what follows it.
	low, piece := strings.ToLower(word), min(len(word), 6)
	for at := 0; at+piece <= len(low); at++ {
		for _, s := range secrets {
			if strings.Contains(s, low[at:at+piece]) {
				return "…"
			}
		}
	}
	return word
}

// secretsOf are the secret parts of a request, in lower case: all of the
// endpoint but its host, the browser's secret, and our token.
func secretsOf(sub Subscription, p Request) []string {
	keys, err := sub.MarshalJSON()
	if err != nil {
		return nil
	}
	_, both, _ := strings.Cut(string(keys), `"keys"`)
	return []string{strings.ToLower(p.URL.RequestURI()), strings.ToLower(p.URL.Path), strings.ToLower(both), strings.ToLower(p.Token())}
}

// unanswered makes an error of one that came instead of an answer. Nothing of
// err itself stays in the chain but causes of fixed text: it may hold the URL.
func unanswered(host string, err error, secrets []string) *Error {
	e := &Error{Kind: Unknown, Host: host}
	for _, known := range []error{context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, known) {
			e.known = append(e.known, known)
		}
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		e.known = append(e.known, errno)
	}
	for {
		u, ok := errors.AsType[*url.Error](err)
		if !ok {
			break
		}
		err = u.Err
	}
	prefix := "no answer, and the message may have been taken: "
	if unsent(err) {
		e.Kind, prefix = Retry, "not delivered: "
	}
	e.text = prefix + words([]byte(err.Error()), secrets)
	return e
}

// unsent reports whether err says that there never was a connection.
func unsent(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return true
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return true
	}
	_, ok := errors.AsType[tls.RecordHeaderError](err)
	return ok
}
