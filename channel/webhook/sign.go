package webhook

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/signing"
)

const (
	privatePrefix = "whsk_"
	publicPrefix  = "whpk_"
)

// NewSecret makes a random signing secret.
func NewSecret() string { return signing.NewSecret() }

func encode(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// NewKeyPair makes a random pair of keys for v1a signatures: the private one,
// whsk_…, which signs, and the public one, whpk_…, which verifies.
func NewKeyPair() (private, public string, err error) {
	pub, priv, err := ed25519.GenerateKey(nil)
	if err != nil {
		return "", "", fmt.Errorf("webhook: make keys: %w", err)
	}
	return privatePrefix + encode(priv), publicPrefix + encode(pub), nil
}

// signer makes the signature of one secret.
type signer struct {
	// sign returns the signature with its scheme's name before it.
	sign func(id, timestamp string, body []byte) string
	// encoded is the key as it stands in the secret.
	encoded string
}

// parseSecret reads a signing secret: whsec_ for v1, whsk_ for v1a. Errors do
// not show it.
func parseSecret(s string) (signer, error) {
	bad := func(format string, args ...any) (signer, error) {
		return signer{}, fmt.Errorf("%w: the webhook's secret "+format, append([]any{lastlook.ErrInvalid}, args...)...)
	}
	encoded, private := strings.CutPrefix(s, privatePrefix)
	switch {
	case strings.HasPrefix(s, publicPrefix):
		return bad("is a public key, which cannot sign: give the private one, which begins with whsk_")
	case !private:
		key, err := signing.ParseSecret(s)
		if err != nil {
			return bad("%w", err)
		}
		return signer{key.Sign, key.Encoded()}, nil
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil { // which would tell where, and so a part of it
		return bad("is not base64 after whsk_: copy it again, with the = at its end")
	}
	if len(raw) != ed25519.SeedSize && len(raw) != ed25519.PrivateKeySize {
		return bad("has %d bytes, but an Ed25519 key has %d or %d", len(raw), ed25519.SeedSize, ed25519.PrivateKeySize)
	}
	key := ed25519.NewKeyFromSeed(raw[:ed25519.SeedSize])
	if len(raw) == ed25519.PrivateKeySize && !bytes.Equal(key, raw) {
		return bad("is no Ed25519 key: its two halves do not belong together")
	}
	return signer{func(id, timestamp string, body []byte) string {
		return "v1a," + encode(ed25519.Sign(key, slices.Concat([]byte(id+"."+timestamp+"."), body)))
	}, encode(raw)}, nil
}

// signers sign with every active secret: while a receiver changes from one to
// the next, it finds the one it knows.
type signers []signer

func (all signers) sign(id, timestamp string, body []byte) string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = s.sign(id, timestamp, body)
	}
	return strings.Join(out, " ")
}

// visible reports whether an id can stand in a header, and cannot be mistaken
// for more than the id in what is signed.
func visible(id string) bool {
	return id != "" && len(id) <= 256 && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_'
	})
}

// traceparent reports whether s is a W3C trace context, version 00.
func traceparent(s string) bool {
	parts := strings.Split(s, "-")
	if len(parts) != 4 || len(s) != 55 || parts[0] != "00" || len(parts[1]) != 32 || len(parts[2]) != 16 {
		return false
	}
	for _, p := range parts {
		if strings.Trim(p, "0123456789abcdef") != "" {
			return false
		}
	}
	return strings.Trim(parts[1], "0") != "" && strings.Trim(parts[2], "0") != ""
}
