package webpush

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/mail"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	// tokenLife is how long a token is valid. At most 24 hours are allowed
	// (RFC 8292, section 2); half of it leaves room for clocks that are wrong
	// in either direction.
	tokenLife = 12 * time.Hour
	// tokenRest is how long before its end a token is used no more.
	tokenRest = time.Hour
	// maxTokens bounds the tokens kept. There are about five push services;
	// endpoints that a stranger invents must not fill the memory.
	maxTokens = 64
)

// CheckSubject reports what is wrong with a subject: the address at which a
// push service reaches the operator, mailto:… or https://…. Errors wrap
// [ErrInvalid].
func CheckSubject(subject string) error {
	bad := func(why string) error {
		return fmt.Errorf("%w VAPID subject: it %s: give mailto:you@example.com or https://example.com, at which a push service can reach you", ErrInvalid, why)
	}
	if subject == "" {
		return bad("is empty")
	}
	if len(subject) > 512 || strings.ContainsFunc(subject, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return bad("is too long, or has spaces or characters outside ASCII")
	}
	var host string
	if address, isMail := strings.CutPrefix(subject, "mailto:"); isMail {
		a, err := mail.ParseAddress(address)
		if err != nil || a.Address != address {
			return bad("holds no mail address by itself after mailto:")
		}
		_, host, _ = strings.Cut(address, "@")
	} else {
		u, err := url.Parse(subject)
		if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
			return bad("is neither a mailto: nor an https: URL")
		}
		host = u.Hostname()
	}
	if !strings.Contains(strings.Trim(host, "."), ".") {
		return bad("names a host without a domain, which Apple's service refuses")
	}
	return nil
}

// tokens signs, keeps and renews one token for each origin.
type tokens struct {
	keys    *Keys
	subject string
	suffix  string // ", k=…"

	mu  sync.RWMutex
	all map[string]*token
}

// token is a value of the Authorization header.
type token struct {
	header string
	issued time.Time
}

func newTokens(keys *Keys, subject string) *tokens {
	return &tokens{keys: keys, subject: subject, suffix: ", k=" + keys.public, all: map[string]*token{}}
}

// get returns a token for an origin.
func (t *tokens) get(origin string, now time.Time) (*token, error) {
	t.mu.RLock()
	known := t.all[origin]
	t.mu.RUnlock()
	if known.usable(now) {
		return known, nil
	}
	t.mu.Lock() // while it signs, others wait for what it makes
	defer t.mu.Unlock()
	if known = t.all[origin]; known.usable(now) {
		return known, nil
	}
	made, err := t.sign(origin, now)
	if err != nil {
		return nil, err
	}
	if t.all[origin] == nil && len(t.all) >= maxTokens {
		t.evict()
	}
	t.all[origin] = made
	return made, nil
}

// usable reports whether a token is good at now: not near its end, and not
// from the future, which a clock that was set back would make it.
func (k *token) usable(now time.Time) bool {
	if k == nil {
		return false
	}
	age := now.Sub(k.issued)
	return age >= 0 && age < tokenLife-tokenRest
}

// evict drops the oldest token.
func (t *tokens) evict() {
	var oldest string
	for origin, k := range t.all {
		if oldest == "" || k.issued.Before(t.all[oldest].issued) {
			oldest = origin
		}
	}
	delete(t.all, oldest)
}

// jwtHeader is {"typ":"JWT","alg":"ES256"}.
const jwtHeader = "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9"

func (t *tokens) sign(origin string, now time.Time) (*token, error) {
	now = now.Truncate(time.Second)
	claims, err := json.Marshal(struct {
		Audience string `json:"aud"`
		Expires  int64  `json:"exp"`
		Subject  string `json:"sub"`
	}{origin, now.Add(tokenLife).Unix(), t.subject})
	if err != nil {
		return nil, fmt.Errorf("webpush: VAPID token: %w", err)
	}
	jwt := jwtHeader + "." + base64.RawURLEncoding.EncodeToString(claims)
	sum := sha256.Sum256([]byte(jwt))
	r, s, err := ecdsa.Sign(rand.Reader, t.keys.private, sum[:])
	if err != nil {
		return nil, fmt.Errorf("webpush: VAPID token: %w", err)
	}
	var signature [64]byte
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	jwt += "." + base64.RawURLEncoding.EncodeToString(signature[:])
	return &token{header: "vapid t=" + jwt + t.suffix, issued: now}, nil
}
