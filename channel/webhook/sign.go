package webhook

import (
	"fmt"
	"strings"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/signing"
)

// NewSecret makes a random signing secret.
func NewSecret() string { return signing.NewSecret() }

// parseSecret reads a signing secret. Errors do not show it.
func parseSecret(s string) (signing.Key, error) {
	key, err := signing.ParseSecret(s)
	if err != nil {
		return key, fmt.Errorf("%w: the webhook's secret %w", lastlook.ErrInvalid, err)
	}
	return key, nil
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
