package config

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/url"
)

const redacted = "[redacted]"

// Secret is text that is never printed, logged or encoded. Only the code that
// signs or authenticates converts it back to a string.
type Secret string

// String implements [fmt.Stringer] and hides the secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// Format implements [fmt.Formatter] and hides the secret from every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// MarshalText implements [encoding.TextMarshaler] and hides the secret.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue implements [slog.LogValuer] and hides the secret.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// RedactURL returns where an address leads without what may be secret in it:
// the path of a webhook, or the topic of a push service, is often all that
// anybody needs to know in order to send.
func RedactURL(address string) string {
	if address == "" {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return redacted
	}
	short := u.Scheme + "://" + u.Host
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" {
		return short + "/…"
	}
	return short + "/"
}

// secretPrefix is what secrets of Standard Webhooks begin with.
const secretPrefix = "whsec_"

// NewWebhookSecret makes a secret to sign webhooks with: 32 random bytes, in
// the form of Standard Webhooks.
func NewWebhookSecret() Secret {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails, see crypto/rand
	return Secret(secretPrefix + base64.StdEncoding.EncodeToString(key))
}
