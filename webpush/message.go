package webpush

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Urgency says how much of its battery a device may spend on a message
// (RFC 8030, section 5.3). The zero value means normal.
type Urgency string

// The urgencies, and when a device that saves its battery gets the message.
const (
	VeryLow Urgency = "very-low" // on power and Wi-Fi
	Low     Urgency = "low"      // on power or Wi-Fi
	Normal  Urgency = "normal"   // on neither
	High    Urgency = "high"     // with a low battery, too
)

// MaxTTL is the longest time that a message is asked to be kept. Push services
// keep none for longer.
const MaxTTL = 28 * 24 * time.Hour

// Message is what to send, and how.
type Message struct {
	// Payload is what the service worker gets, at most [MaxPayload] bytes. It
	// may be empty.
	Payload []byte
	// Short, if not nil, is sent instead, once, if the push service answers
	// that the message is too large.
	Short []byte
	// TTL is how long the push service keeps the message for a browser that
	// it cannot reach: whole seconds, rounded down, at most [MaxTTL]. 0 means
	// now or never.
	TTL     time.Duration
	Urgency Urgency
	// Topic, if not empty, lets the message replace one of the same topic that
	// is still waiting: at most 32 base64url characters (RFC 8030, section
	// 5.4).
	Topic string
}

// Check reports what is wrong with a message. Errors wrap [ErrInvalid] or
// [ErrTooLong].
func (m Message) Check() error {
	switch m.Urgency {
	case "", VeryLow, Low, Normal, High:
	default:
		return fmt.Errorf("%w message: urgency %.32q: use very-low, low, normal or high", ErrInvalid, string(m.Urgency))
	}
	switch {
	case m.TTL < 0:
		return fmt.Errorf("%w message: its TTL is negative: use 0 for now or never", ErrInvalid)
	case !topical(m.Topic):
		return fmt.Errorf("%w message: its topic is not of at most 32 letters, digits, hyphens and underscores", ErrInvalid)
	case len(m.Payload) > MaxPayload:
		return tooLong(len(m.Payload))
	}
	return nil
}

func tooLong(n int) error {
	return fmt.Errorf("%w: it has %d bytes, and at most %d fit into a push message: shorten it", ErrTooLong, n, MaxPayload)
}

// topical reports whether s can be a topic, or none.
func topical(s string) bool {
	return len(s) <= 32 && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_'
	})
}

// Request is a message ready to be posted. URL and header hold secrets.
type Request struct {
	URL    *url.URL
	Header http.Header
	Body   []byte
}

// Token returns the VAPID token that the request carries, for who keeps it out
// of what is shown.
func (r Request) Token() string {
	jwt, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "vapid t="), ",")
	return jwt
}

// String shows where the request goes.
func (r Request) String() string {
	if r.URL == nil {
		return "no push request"
	}
	return "push request(" + r.URL.Host + ")"
}

// GoString is String: %#v shows no secrets either.
func (r Request) GoString() string { return r.String() }

// Prepare makes the request that delivers a message: encrypted anew, with a
// VAPID token for the subscription's push service. It is for who posts by
// other means than [Client.Send], and ignores m.Short.
func (c *Client) Prepare(sub Subscription, m Message) (Request, error) {
	if sub.IsZero() {
		return Request{}, fmt.Errorf("%w subscription: none was given", ErrInvalid)
	}
	if err := m.Check(); err != nil {
		return Request{}, err
	}
	k, err := c.tokens.get(sub.Origin(), c.clock())
	if err != nil {
		return Request{}, err
	}
	body, err := Encrypt(make([]byte, 0, bodyLen(len(m.Payload))), sub, m.Payload)
	if err != nil {
		return Request{}, err
	}
	return Request{URL: new(*sub.parts().url), Header: c.header(k, m), Body: body}, nil
}

// header makes the header of a request; all values share one piece of memory.
func (c *Client) header(k *token, m Message) http.Header {
	const most = 7
	h, values := make(http.Header, most), make([]string, 0, most)
	set := func(name, value string) {
		values = append(values, value)
		h[name] = values[len(values)-1 : len(values) : len(values)]
	}
	set("Authorization", k.header)
	set("Content-Type", "application/octet-stream")
	set("Content-Encoding", "aes128gcm")
	set("Ttl", strconv.FormatInt(int64(min(m.TTL, MaxTTL)/time.Second), 10))
	if m.Urgency != "" && m.Urgency != Normal { // which is the default
		set("Urgency", string(m.Urgency))
	}
	if m.Topic != "" {
		set("Topic", m.Topic)
	}
	if c.agent != "" {
		set("User-Agent", c.agent)
	}
	return h
}
