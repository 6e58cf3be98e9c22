package webpush

import (
	"bytes"
	"crypto/ecdh"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// ErrInvalid says that a subscription, a key, a subject or a message cannot be
// used as it is. It is returned wrapped, with what is wrong in its text.
var ErrInvalid = errors.New("webpush: invalid")

// maxEndpoint bounds an endpoint, in bytes. Real ones have about 200.
const maxEndpoint = 2048

// Subscription is where to send to: what a browser's pushManager.subscribe
// returned. It decodes from and encodes to the JSON that browsers make of it
// (PushSubscription.toJSON), and is checked when it is made: a key that is a
// point on P-256, an auth secret of 16 bytes, an https endpoint (or an http
// one on a loopback address, for tests; whether such a one is called is up to
// the [Doer]). It never changes. The zero value is no subscription.
//
// It prints as its push service's host alone. Copies are cheap; compare with
// [Subscription.Equal].
type Subscription struct {
	// p is a pointer to a pointer, for fmt looks behind a single one where a
	// field of the caller's struct is printed, and no method can keep it out.
	p **subscription
}

type subscription struct {
	endpoint string
	url      *url.URL
	origin   string
	key      *ecdh.PublicKey
	point    [pointLen]byte
	auth     [authLen]byte
}

const (
	pointLen = 65 // an uncompressed point on P-256
	authLen  = 16
)

// NewSubscription makes a subscription of its parts: the endpoint, the
// browser's public key (65 bytes, an uncompressed point on P-256) and its
// authentication secret (16 bytes). Errors wrap [ErrInvalid] and repeat
// nothing of the endpoint.
func NewSubscription(endpoint string, p256dh, auth []byte) (Subscription, error) {
	u, origin, err := parseEndpoint(endpoint)
	if err != nil {
		return Subscription{}, err
	}
	key, err := ecdh.P256().NewPublicKey(p256dh)
	if err != nil || len(p256dh) != pointLen {
		return Subscription{}, fmt.Errorf("%w subscription: its key p256dh is no uncompressed point on P-256: send what the browser's toJSON gives", ErrInvalid)
	}
	if len(auth) != authLen {
		return Subscription{}, fmt.Errorf("%w subscription: its auth secret has %d bytes instead of 16: send what the browser's toJSON gives", ErrInvalid, len(auth))
	}
	s := &subscription{endpoint: endpoint, url: u, origin: origin, key: key}
	copy(s.point[:], p256dh)
	copy(s.auth[:], auth)
	return Subscription{&s}, nil
}

// parts returns what is behind it, or nil.
func (s Subscription) parts() *subscription {
	if s.p == nil {
		return nil
	}
	return *s.p
}

// wire is the form that browsers give a subscription.
type wire struct {
	Endpoint string `json:"endpoint"`
	Keys     struct {
		P256dh string `json:"p256dh"`
		Auth   string `json:"auth"`
	} `json:"keys"`
}

// UnmarshalJSON decodes what a browser's JSON.stringify(subscription) gives.
// The keys may be in either form of base64, padded or not; other members, such
// as expirationTime, are ignored.
func (s *Subscription) UnmarshalJSON(b []byte) error {
	var w wire
	if bytes.Equal(b, []byte("null")) {
		return fmt.Errorf("%w subscription: null", ErrInvalid)
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return fmt.Errorf("%w subscription: it is not the JSON that browsers give", ErrInvalid) // whose text could hold a secret
	}
	p256dh, err := decode64(w.Keys.P256dh)
	if err != nil {
		return fmt.Errorf("%w subscription: keys.p256dh is not base64url", ErrInvalid)
	}
	auth, err := decode64(w.Keys.Auth)
	if err != nil {
		return fmt.Errorf("%w subscription: keys.auth is not base64url", ErrInvalid)
	}
	made, err := NewSubscription(w.Endpoint, p256dh, auth)
	if err != nil {
		return err
	}
	*s = made
	return nil
}

// MarshalJSON returns the subscription as browsers write it. It is a secret.
func (s Subscription) MarshalJSON() ([]byte, error) {
	if s.p == nil {
		return nil, fmt.Errorf("%w subscription: none was given", ErrInvalid)
	}
	var w wire
	w.Endpoint = s.parts().endpoint
	w.Keys.P256dh = base64.RawURLEncoding.EncodeToString(s.parts().point[:])
	w.Keys.Auth = base64.RawURLEncoding.EncodeToString(s.parts().auth[:])
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // endpoints may have a &
	if err := enc.Encode(w); err != nil {
		return nil, fmt.Errorf("webpush: subscription: %w", err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// decode64 reads base64 in either alphabet, padded or not.
func decode64(s string) ([]byte, error) {
	s = strings.TrimRight(s, "=")
	if strings.ContainsAny(s, "+/") {
		return base64.RawStdEncoding.DecodeString(s)
	}
	return base64.RawURLEncoding.DecodeString(s)
}

// IsZero reports whether it is the zero value.
func (s Subscription) IsZero() bool { return s.p == nil }

// Equal reports whether two subscriptions are the same in all parts.
func (s Subscription) Equal(o Subscription) bool {
	a, b := s.parts(), o.parts()
	if a == nil || b == nil {
		return a == b
	}
	return a.endpoint == b.endpoint && a.point == b.point && a.auth == b.auth
}

// Endpoint returns the URL that messages are posted to. It is a secret.
func (s Subscription) Endpoint() string {
	if s.p == nil {
		return ""
	}
	return s.parts().endpoint
}

// Host returns the push service's host, with the port if it is not the
// scheme's own. It may be shown, and names what can be slow or broken on its
// own.
func (s Subscription) Host() string {
	_, host, _ := strings.Cut(s.Origin(), "://")
	return host
}

// Origin returns the push service's origin, as VAPID's audience wants it.
func (s Subscription) Origin() string {
	if s.p == nil {
		return ""
	}
	return s.parts().origin
}

// P256dh returns a copy of the browser's public key.
func (s Subscription) P256dh() []byte {
	if s.p == nil {
		return nil
	}
	return bytes.Clone(s.parts().point[:])
}

// Auth returns a copy of the authentication secret.
func (s Subscription) Auth() []byte {
	if s.p == nil {
		return nil
	}
	return bytes.Clone(s.parts().auth[:])
}

// String returns the push service's host.
func (s Subscription) String() string {
	if s.p == nil {
		return "no subscription"
	}
	return "subscription(" + s.Host() + ")"
}

// GoString is String: %#v shows no secrets either.
func (s Subscription) GoString() string { return s.String() }

// parseEndpoint reads an endpoint, and makes its origin (RFC 6454, section
// 6.2) in the one form that push services compare with: in lower case, the
// scheme's own port left out.
func parseEndpoint(raw string) (*url.URL, string, error) {
	bad := func(why string) (*url.URL, string, error) {
		return nil, "", fmt.Errorf("%w subscription: its endpoint %s", ErrInvalid, why)
	}
	if len(raw) > maxEndpoint {
		return bad(fmt.Sprintf("has %d bytes, more than %d", len(raw), maxEndpoint))
	}
	if strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return bad("has characters that a URL does not have")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return bad("is no URL") // the error repeats it
	}
	scheme, host, port := strings.ToLower(u.Scheme), strings.ToLower(u.Hostname()), u.Port()
	if scheme != "https" && (scheme != "http" || !loopback(host)) {
		return bad("is not an https URL")
	}
	switch {
	case host == "" || u.Opaque != "":
		return bad("names no host")
	case u.User != nil:
		return bad("has a user in it")
	case u.Fragment != "" || strings.HasSuffix(raw, "#"):
		return bad("has a fragment")
	}
	if strings.Contains(host, ":") {
		if strings.Contains(host, "%") {
			return bad("names a host with a zone")
		}
		host = "[" + host + "]"
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return bad("has an impossible port")
		}
		if scheme == "https" && n != 443 || scheme == "http" && n != 80 {
			host += ":" + strconv.FormatUint(n, 10)
		}
	}
	return u, scheme + "://" + host, nil
}

// loopback reports whether a host is an address of this machine, without
// asking any name server.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}
