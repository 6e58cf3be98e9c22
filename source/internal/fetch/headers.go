package fetch

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// clockSkew is how far a server's clock may be behind before its Date is taken
// to say that the answer is a stored one.
const clockSkew = time.Minute

// maxDelta bounds the seconds that headers can speak of.
const maxDelta = 366 * 24 * time.Hour

// asOf returns the time at which an answer was true: when the look began, less
// the time that the answer has spent in caches (RFC 9111, section 4.2.3). Date
// counts where a cache says that the answer is its own, and where it is further
// back than clocks usually are.
func asOf(began time.Time, h http.Header) time.Time {
	at := began
	earlier := func(t time.Time) {
		if t.Before(at) {
			at = t
		}
	}
	for _, v := range h.Values("Age") {
		if d, ok := seconds(v); ok {
			earlier(began.Add(-d))
		}
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		if apart := began.Sub(date); apart > clockSkew || apart > 0 && fromCache(h) {
			earlier(date)
		}
	}
	return at
}

// fromCache reports whether a cache says that it did not ask the origin.
func fromCache(h http.Header) bool {
	for _, name := range []string{"X-Cache", "CF-Cache-Status", "X-Cache-Status", "X-Proxy-Cache"} {
		for _, v := range h.Values(name) {
			if strings.Contains(strings.ToUpper(v), "HIT") || strings.EqualFold(v, "STALE") {
				return true
			}
		}
	}
	return false
}

// RetryAfter returns how long the site asks to wait, 0 if it does not: seconds,
// or a date (RFC 9110, section 10.2.3), which counts from the site's own clock
// where it tells it.
func RetryAfter(now time.Time, h http.Header) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if d, ok := seconds(v); ok {
		return d
	}
	until, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return min(max(until.Sub(now), 0), maxDelta)
}

// seconds reads a number of seconds.
func seconds(s string) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > int64(maxDelta/time.Second) {
		return maxDelta, true
	}
	return time.Duration(n) * time.Second, true
}

// challenged names the robot check that an answer's header speaks of, "" if none.
func challenged(h http.Header) string {
	switch {
	case strings.EqualFold(h.Get("Cf-Mitigated"), "challenge"):
		return "a Cloudflare challenge"
	case h.Get("X-Amzn-Waf-Action") != "":
		return "an AWS WAF challenge"
	}
	return ""
}
