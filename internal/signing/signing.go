// Package signing makes the signatures of Standard Webhooks (v1), for whoever
// calls others in lastlook's name.
package signing

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// The headers of the specification.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
)

const (
	secretPrefix = "whsec_"
	// The specification's limits on a secret, in bytes.
	minKey, maxKey = 24, 64
	newKey         = 32
)

// NewSecret makes a random signing secret.
func NewSecret() string {
	key := make([]byte, newKey)
	_, _ = rand.Read(key) // never fails
	return secretPrefix + base64.StdEncoding.EncodeToString(key)
}

// Key signs.
type Key struct{ key []byte }

// ParseSecret reads a signing secret. Errors do not show it.
func ParseSecret(s string) (Key, error) {
	encoded, ok := strings.CutPrefix(s, secretPrefix)
	switch {
	case s == "":
		return Key{}, errors.New("is empty: make one, whsec_ followed by the output of: openssl rand -base64 32")
	case strings.HasPrefix(s, "whsk_"), strings.HasPrefix(s, "whpk_"):
		return Key{}, errors.New("is a key for v1a signatures: give one that begins with whsec_")
	case !ok:
		return Key{}, errors.New("must begin with whsec_: put that before the base64 text")
	}
	key, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil { // which would tell where, and so a part of it
		return Key{}, errors.New("is not base64 after whsec_: copy it again, with the = at its end")
	}
	if len(key) < minKey || len(key) > maxKey {
		return Key{}, fmt.Errorf("has %d bytes, but must have %d to %d: make one, whsec_ followed by the output of: openssl rand -base64 32", len(key), minKey, maxKey)
	}
	return Key{key}, nil
}

// Sign returns the signature header's value.
func (k Key) Sign(id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, k.key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// Encoded returns the key's text as it stands in a secret, for redacting.
func (k Key) Encoded() string { return base64.StdEncoding.EncodeToString(k.key) }

// String hides the key.
func (Key) String() string { return "[redacted]" }

// Format hides the key from every verb.
func (Key) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("[redacted]")) }
