package device

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"
)

// tokenBytes is the length of a token: 256 bits.
const tokenBytes = 32

// Token is what a device shows to prove that it is the one. It is never
// printed, logged or encoded: [Token.Reveal] gives the text.
type Token struct{ text string }

// NewToken makes a token.
func NewToken() Token {
	var b [tokenBytes]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	return Token{base64.RawURLEncoding.EncodeToString(b[:])}
}

// ParseToken reads a token's text. The error repeats nothing of it.
func ParseToken(text string) (Token, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) != tokenBytes || strings.ContainsAny(text, "\r\n") {
		return Token{}, fmt.Errorf("%w: it is not even in the form of one", ErrUnauthorized)
	}
	return Token{text}, nil
}

// Reveal returns the token's text, to be given to the device alone.
func (t Token) Reveal() string { return t.text }

// Hash returns what is kept of a token.
func (t Token) Hash() Hash { return sha256.Sum256([]byte(t.text)) }

// Hash is the SHA-256 of a token's text.
type Hash [sha256.Size]byte

const redacted = "[redacted]"

// String hides the token.
func (t Token) String() string { return redacted }

// Format hides the token from every verb.
func (t Token) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// MarshalText hides the token.
func (t Token) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue implements [slog.LogValuer] and hides the token.
func (t Token) LogValue() slog.Value { return slog.StringValue(redacted) }
