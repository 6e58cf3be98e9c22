package httpcall

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter bounds a hint, so that no arithmetic on it overflows; the core
// caps what it heeds much lower.
const maxRetryAfter = 365 * 24 * time.Hour

// ParseRetryAfter reads a Retry-After field (RFC 9110, section 10.2.3): whole
// seconds, or a date in one of HTTP's three forms, relative to now. What is
// neither, or in the past, asks for no wait.
func ParseRetryAfter(field string, now time.Time) time.Duration {
	field = strings.TrimSpace(field)
	if field == "" {
		return 0
	}
	if strings.Trim(field, "0123456789") == "" {
		seconds, err := strconv.ParseInt(field, 10, 64)
		if err != nil || seconds > int64(maxRetryAfter/time.Second) {
			return maxRetryAfter // digits only: too many of them
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(field)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}
