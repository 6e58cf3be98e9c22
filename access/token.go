package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"
)

// tokenBytes is the length of a token's random part: 256 bits.
const tokenBytes = 32

// What tokens begin with, so that whoever finds one knows what it opens.
const (
	operatorPrefix = "llo_"
	keyPrefix      = "llk_"
)

// Token is what a caller shows. It is never printed, logged or encoded:
// [Token.Reveal] gives the text.
type Token struct{ text string }

func newToken(prefix string) Token {
	var b [tokenBytes]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	return Token{prefix + base64.RawURLEncoding.EncodeToString(b[:])}
}

// LooksLikeToken reports whether a text begins as tokens of this package do, and
// so is not a device's.
func LooksLikeToken(text string) bool {
	return strings.HasPrefix(text, operatorPrefix) || strings.HasPrefix(text, keyPrefix)
}

// ParseToken reads a token's text. The error repeats nothing of it.
func ParseToken(text string) (Token, error) {
	bad := fmt.Errorf("%w: it is not even in the form of one", ErrUnauthorized)
	if !LooksLikeToken(text) {
		return Token{}, bad
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text[len(keyPrefix):])
	if err != nil || len(b) != tokenBytes || strings.ContainsAny(text, "\r\n") {
		return Token{}, bad
	}
	return Token{text}, nil
}

// Reveal returns the token's text, to be shown once to whom it is for.
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
