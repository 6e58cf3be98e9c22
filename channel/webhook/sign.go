package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/lastlook/lastlook"
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
	return secretPrefix + encode(key)
}

func encode(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// parseSecret reads a signing secret. Errors do not show it.
func parseSecret(s string) ([]byte, error) {
	bad := func(why string) ([]byte, error) {
		return nil, fmt.Errorf("%w: the webhook's secret %s", lastlook.ErrInvalid, why)
	}
	encoded, ok := strings.CutPrefix(s, secretPrefix)
	switch {
	case s == "":
		return bad("is empty: make one, whsec_ followed by the output of: openssl rand -base64 32")
	case strings.HasPrefix(s, "whsk_"), strings.HasPrefix(s, "whpk_"):
		return bad("is a key for v1a signatures: give one that begins with whsec_")
	case !ok:
		return bad("must begin with whsec_: put that before the base64 text")
	}
	key, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil { // which would tell where, and so a part of it
		return bad("is not base64 after whsec_: copy it again, with the = at its end")
	}
	if len(key) < minKey || len(key) > maxKey {
		return bad(fmt.Sprintf("has %d bytes, but must have %d to %d: make one, whsec_ followed by the output of: openssl rand -base64 32", len(key), minKey, maxKey))
	}
	return key, nil
}

// signer makes v1 signatures. Further secrets and schemes have their place
// here: the header is a list, separated by spaces.
type signer struct{ key []byte }

func (s signer) sign(id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	return "v1," + encode(mac.Sum(nil))
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
