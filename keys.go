package lastlook

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// DeliveryKey identifies an assertion to the receiver: a resend of the same
// assertion has the same key, also when another row makes it; the next
// assertion of the same key has another. 32 base64url characters.
func DeliveryKey(k Key, seq int64) string {
	return digest("delivery", binary.BigEndian.AppendUint64(nil, uint64(seq)), 24, k.Topic, k.Subject, k.Recipient, k.Channel)
}

// ReplaceKey identifies what a newer message takes the place of, such as a
// push Topic (RFC 8030, section 5.4: at most 32 base64url characters) or a
// notification's tag. 24 base64url characters.
func ReplaceKey(k Key) string {
	return digest("replace", nil, 18, k.Subject, k.Recipient, k.Channel)
}

func digest(kind string, extra []byte, size int, parts ...string) string {
	// Each part is preceded by its length, so that no two lists of parts are
	// hashed alike.
	b := make([]byte, 0, 256)
	for _, p := range append([]string{"lastlook", kind}, parts...) {
		b = binary.BigEndian.AppendUint32(b, uint32(len(p)))
		b = append(b, p...)
	}
	sum := sha256.Sum256(append(b, extra...))
	return base64.RawURLEncoding.EncodeToString(sum[:size])
}

func sortPrepared(p []Prepared) {
	slices.SortStableFunc(p, func(a, b Prepared) int { return a.Compare(b.Key) })
}

func quoteAll(names []string) string {
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(q, ", ")
}
