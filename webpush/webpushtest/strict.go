package webpushtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Refusal is why a strict push service refuses a request, and with which
// status.
type Refusal struct {
	Status int
	Why    string
}

// Error returns why.
func (r *Refusal) Error() string { return "webpushtest: HTTP " + strconv.Itoa(r.Status) + ": " + r.Why }

func refuse(status int, format string, args ...any) error {
	return &Refusal{status, fmt.Sprintf(format, args...)}
}

// Claims is what a verified VAPID token says.
type Claims struct {
	Audience string    // aud
	Expires  time.Time // exp
	Subject  string    // sub
	// Key is the public key that signed it, in base64url.
	Key string
	// Token is the token itself.
	Token string
}

var authorization = regexp.MustCompile(`^vapid t=([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+), ?k=([A-Za-z0-9_-]+)$`)

// VerifyVAPID verifies an Authorization field as strictly as any push service
// does (RFC 8292): the form, the algorithm, the signature, that the token is
// for this audience (the push service's origin), that it has not expired at
// now and will within 24 hours, and that it names a subject. The error is a
// [*Refusal]: 401 without a token, 403 with one that is not good.
func VerifyVAPID(field, audience string, now time.Time) (Claims, error) {
	var c Claims
	if field == "" {
		return c, refuse(http.StatusUnauthorized, "no Authorization: VAPID is required")
	}
	m := authorization.FindStringSubmatch(field)
	if m == nil {
		return c, refuse(http.StatusUnauthorized, "Authorization is not of the form vapid t=…, k=…")
	}
	var header struct{ Typ, Alg string }
	var claims struct {
		Aud json.RawMessage `json:"aud"`
		Exp json.RawMessage `json:"exp"`
		Sub string          `json:"sub"`
	}
	if err := part(m[1], &header); err != nil || header.Alg != "ES256" || header.Typ != "JWT" {
		return c, refuse(http.StatusForbidden, "the JWT's header is not that of an ES256 JWT")
	}
	if err := part(m[2], &claims); err != nil {
		return c, refuse(http.StatusForbidden, "the JWT's claims cannot be read")
	}
	if !signed(m[1]+"."+m[2], m[3], m[4]) {
		return c, refuse(http.StatusForbidden, "the JWT's signature is not that of the key k")
	}
	c = Claims{Subject: claims.Sub, Key: m[4], Token: m[1] + "." + m[2] + "." + m[3]}
	seconds, err := strconv.ParseInt(string(claims.Exp), 10, 64)
	if err != nil {
		return c, refuse(http.StatusForbidden, "the JWT's exp is not whole seconds")
	}
	c.Expires = time.Unix(seconds, 0).UTC()
	switch {
	case json.Unmarshal(claims.Aud, &c.Audience) != nil || c.Audience != audience:
		return c, refuse(http.StatusForbidden, "the JWT's aud is %s, not %q", claims.Aud, audience)
	case !c.Expires.After(now):
		return c, refuse(http.StatusForbidden, "the JWT has expired")
	case c.Expires.After(now.Add(24 * time.Hour)):
		return c, refuse(http.StatusForbidden, "the JWT expires in more than 24 hours")
	case !subject(claims.Sub):
		return c, refuse(http.StatusForbidden, "the JWT's sub is neither mailto: nor https:")
	}
	return c, nil
}

func subject(s string) bool {
	address, isMail := strings.CutPrefix(s, "mailto:")
	if isMail {
		return strings.Count(address, "@") == 1 && !strings.ContainsAny(address, ": <>")
	}
	host, isURL := strings.CutPrefix(s, "https://")
	return isURL && host != ""
}

func part(s string, v any) error {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}

// signed verifies a signature of ES256: r and s, 32 bytes each (RFC 7518,
// section 3.4).
func signed(text, signature, key string) bool {
	point, err := base64.RawURLEncoding.DecodeString(key)
	if err != nil {
		return false
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		return false
	}
	sig, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil || len(sig) != 64 {
		return false
	}
	sum := sha256.Sum256([]byte(text))
	return ecdsa.Verify(public, sum[:], new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:]))
}

// Options is how a request asks to be delivered.
type Options struct {
	TTL     time.Duration
	Urgency string // "normal" if the request names none
	Topic   string
}

var topics = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// CheckRequest checks a push request's method, headers and size as strictly as
// any push service does (RFC 8030, RFC 8291); VAPID is [VerifyVAPID]'s. The
// error is a [*Refusal].
func CheckRequest(r *http.Request, body []byte) (Options, error) {
	o := Options{Urgency: "normal"}
	if r.Method != http.MethodPost {
		return o, refuse(http.StatusMethodNotAllowed, "method %s, not POST", r.Method)
	}
	for _, name := range []string{"Authorization", "Ttl", "Urgency", "Topic", "Content-Encoding", "Content-Type"} {
		if len(r.Header[name]) > 1 {
			return o, refuse(http.StatusBadRequest, "%s is there %d times", name, len(r.Header[name]))
		}
	}
	seconds, err := strconv.ParseUint(r.Header.Get("TTL"), 10, 31)
	if err != nil {
		return o, refuse(http.StatusBadRequest, "TTL %q is not whole seconds", r.Header.Get("TTL"))
	}
	o.TTL = time.Duration(seconds) * time.Second
	if _, there := r.Header["Urgency"]; there {
		o.Urgency = r.Header.Get("Urgency")
	}
	switch o.Urgency {
	case "very-low", "low", "normal", "high":
	default:
		return o, refuse(http.StatusBadRequest, "urgency %q", o.Urgency)
	}
	if _, there := r.Header["Topic"]; there {
		if o.Topic = r.Header.Get("Topic"); !topics.MatchString(o.Topic) {
			return o, refuse(http.StatusBadRequest, "topic %q is not of 1 to 32 base64url characters", o.Topic)
		}
	}
	switch {
	case r.ContentLength != int64(len(body)):
		return o, refuse(http.StatusLengthRequired, "Content-Length %d, body %d bytes", r.ContentLength, len(body))
	case len(body) > 4096:
		return o, refuse(http.StatusRequestEntityTooLarge, "the body has %d bytes, more than 4096", len(body))
	case len(body) > 0 && r.Header.Get("Content-Encoding") != "aes128gcm":
		return o, refuse(http.StatusBadRequest, "content encoding %q, not aes128gcm", r.Header.Get("Content-Encoding"))
	case len(body) > 0 && len(body) < 16+4+1+65+17:
		return o, refuse(http.StatusBadRequest, "a body of %d bytes is no aes128gcm", len(body))
	}
	return o, nil
}
