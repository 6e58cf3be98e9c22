package webpush

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Kind says what a failure means for who sends.
type Kind uint8

// The kinds.
const (
	// Retry: not delivered; send it again later, not before Error.After.
	Retry Kind = iota
	// Gone: the subscription has ended; forget it.
	Gone
	// TooLarge: the push service takes only shorter messages.
	TooLarge
	// Misconfigured: our keys, subject, clock or network are at fault, and
	// every message would be refused alike.
	Misconfigured
	// Rejected: this message is refused for good.
	Rejected
	// Unknown: the message may have been taken.
	Unknown
)

// String returns the name of the kind.
func (k Kind) String() string {
	switch k {
	case Retry:
		return "retry"
	case Gone:
		return "gone"
	case TooLarge:
		return "too large"
	case Misconfigured:
		return "misconfigured"
	case Rejected:
		return "rejected"
	case Unknown:
		return "unknown"
	}
	return "kind(" + strconv.Itoa(int(k)) + ")"
}

// Error says why a message was not taken, or why nobody knows.
type Error struct {
	Kind Kind
	// Status is the answer's, or 0 if there was none.
	Status int
	// After is how long the push service asked us to wait; 0 if it did not.
	After time.Duration
	// Host is the push service's.
	Host string

	text  string
	known []error
}

// Error returns what happened and what can be done, without secrets.
func (e *Error) Error() string { return "webpush: " + e.Host + ": " + e.text }

// Unwrap returns the causes that have no text of their own, such as
// [context.DeadlineExceeded].
func (e *Error) Unwrap() []error { return e.known }

// refusal is what an answer means that is not 2xx.
func (c *Client) refusal(host string, resp *http.Response, body []byte, secrets []string) *Error {
	code := resp.StatusCode
	kind, why := meaning(code, body)
	e := &Error{Kind: kind, Status: code, Host: host, text: fmt.Sprintf("HTTP %d: %s", code, why)}
	if said := words(body, secrets); said != "" {
		e.text += ": " + strconv.Quote(said)
	}
	if kind == Retry || kind == Unknown {
		e.After = retryAfter(resp.Header.Get("Retry-After"), c.clock())
	}
	return e
}

// meaning is the table of statuses that are not 2xx. The text of an answer
// counts only where services disagree about the status.
func meaning(code int, body []byte) (Kind, string) {
	switch code {
	case 400:
		if AboutVAPID(body) {
			return Misconfigured, "the push service refuses our VAPID credentials: check keys, subject and clock"
		}
	case 401, 403:
		return Misconfigured, "the push service refuses our VAPID credentials: check that the browser subscribed with this public key, the subject, and the clock"
	case 404, 410:
		return Gone, "the subscription has ended"
	case 413:
		return TooLarge, "the message is too large for the push service"
	case 402, 405, 407, 414, 415, 426, 431:
		return Misconfigured, "no push service answers like that: check the network, and proxies on the way"
	case 408, 421, 423, 425:
		return Retry, "the push service asks to try again"
	case 429:
		return Retry, "too many messages: the push service asks to slow down"
	case 504, 524:
		return Unknown, "a gateway passed the message on and got no answer in time"
	}
	switch code / 100 {
	case 1:
		return Unknown, "only an interim answer came"
	case 3:
		return Misconfigured, "redirects are not followed: check the network, and proxies on the way"
	case 4:
		return Rejected, "the push service refuses this message"
	}
	return Retry, "the push service has a problem of its own"
}

// AboutVAPID reports whether the text of an answer with status 400 is about
// VAPID: some push services use it for tokens that they do not like.
func AboutVAPID(answer []byte) bool {
	low := strings.ToLower(string(answer[:min(len(answer), maxAnswer)]))
	for _, word := range []string{"vapid", "jwt", "authorization", "authentication", "credential", "unauthorizedregistration", "crypto-key", "crypto key", "application server key", "applicationserverkey"} {
		if strings.Contains(low, word) {
			return true
		}
	}
	return false
}

// maxRetryAfter bounds a hint, so that no arithmetic on it overflows.
const maxRetryAfter = 365 * 24 * time.Hour

// retryAfter reads a Retry-After field (RFC 9110, section 10.2.3): seconds, or
// a date. What is neither, or in the past, asks for no wait.
func retryAfter(field string, now time.Time) time.Duration {
	field = strings.TrimSpace(field)
	if field == "" {
		return 0
	}
	if strings.Trim(field, "0123456789") == "" {
		seconds, err := strconv.ParseInt(field, 10, 64)
		if err != nil || seconds > int64(maxRetryAfter/time.Second) {
			return maxRetryAfter
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(field)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}
