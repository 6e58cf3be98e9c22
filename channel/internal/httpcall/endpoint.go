package httpcall

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"github.com/lastlook/lastlook"
)

// ParseURL reads the address of a service that an operator entered. Errors
// wrap [lastlook.ErrInvalid] and never repeat the address, for it may be a
// secret; what names the field, for people.
func ParseURL(what, raw string) (*url.URL, error) {
	bad := func(why string) (*url.URL, error) {
		return nil, fmt.Errorf("%w: %s %s", lastlook.ErrInvalid, what, why)
	}
	if raw == "" {
		return bad("is empty: give one that begins with https:// or http://")
	}
	if strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return bad("contains spaces or control characters: remove them")
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil: // its text shows parts of the address
		return bad("cannot be read: look for a wrong port, a stray %, or a password with characters that must be %-escaped")
	case u.Scheme != "http" && u.Scheme != "https":
		return bad("must begin with https:// or http://")
	case u.Hostname() == "":
		return bad("names no host: write it as https://host/path")
	case u.Fragment != "" || strings.HasSuffix(raw, "#"):
		return bad("has a fragment (#…), which is never sent: remove it")
	}
	return u, nil
}

// Origin is what may be shown of a URL: scheme, host and port.
func Origin(u *url.URL) string {
	if u == nil {
		return "no URL"
	}
	return u.Scheme + "://" + u.Host
}

// URLSecrets returns what may be secret in a URL: everything but its origin.
func URLSecrets(u *url.URL) Secrets {
	var s Secrets
	if u == nil || u.User == nil && strings.Trim(u.Path, "/") == "" && u.RawQuery == "" {
		return s
	}
	if u.User != nil {
		password, _ := u.User.Password()
		s = s.add(BasicSecrets(u.User.Username(), password))
		s.Weak = append(s.Weak, u.User.String())
	}
	s.Weak = append(s.Weak, u.String(), u.Host+u.RequestURI())
	if strings.Trim(u.Path, "/") != "" {
		s.Weak = append(s.Weak, u.Path, u.EscapedPath(), u.RequestURI())
		for part := range strings.SplitSeq(u.Path, "/") {
			if len(part) >= minPart {
				s.Weak = append(s.Weak, part)
			}
		}
	}
	if u.RawQuery != "" {
		s.Weak = append(s.Weak, u.RawQuery, u.RequestURI())
		for _, values := range u.Query() {
			s.Weak = append(s.Weak, values...)
		}
	}
	return s
}

// BasicSecrets returns what must not be seen of a name and password (RFC 7617).
// A name without a password is one: some services take a token there.
func BasicSecrets(name, password string) Secrets {
	pair := name + ":" + password
	s := Secrets{Strict: []string{password}, Weak: []string{pair, base64.StdEncoding.EncodeToString([]byte(pair))}}
	if password == "" {
		s.Strict[0] = name
	}
	return s
}

// HeaderSecrets returns what may be secret in configured headers. Every value
// may; those whose name says so are.
func HeaderSecrets(h http.Header) Secrets {
	var s Secrets
	for name, values := range h {
		for _, v := range values {
			v = strings.TrimSpace(v)
			_, credentials, _ := strings.Cut(v, " ") // "Bearer …"
			if confidential(name) {
				s.Strict = append(s.Strict, v)
				s.Weak = append(s.Weak, credentials)
				if pair, err := base64.StdEncoding.DecodeString(credentials); err == nil {
					_, password, _ := strings.Cut(string(pair), ":")
					s.Weak = append(s.Weak, string(pair), password)
				}
			} else {
				s.Weak = append(s.Weak, v, credentials)
			}
		}
	}
	return s
}

func confidential(name string) bool {
	return slices.ContainsFunc([]string{"auth", "cookie", "key", "pass", "secret", "sign", "token"},
		func(part string) bool { return strings.Contains(lower(name), part) })
}

// reserved are the headers that the HTTP client, or the protocol, sets.
var reserved = []string{
	"Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Proxy-Connection", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade", "Content-Encoding", "Content-Type",
}

// CheckHeaders reports what is wrong with headers that an operator configured;
// also names those that the channel sets itself. Errors wrap
// [lastlook.ErrInvalid] and show names, never values.
func CheckHeaders(h http.Header, also ...string) error {
	for name, values := range h {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case !token(name):
			return fmt.Errorf("%w: header name %q has characters that it cannot have: use letters, digits and hyphens", lastlook.ErrInvalid, name)
		case slices.Contains(reserved, canonical) || slices.Contains(also, canonical):
			return fmt.Errorf("%w: header %s is set by the channel itself: remove it", lastlook.ErrInvalid, canonical)
		}
		for _, v := range values {
			if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f || r == '\uFFFD' }) {
				return fmt.Errorf("%w: the value of header %s has control characters or is not UTF-8: write it on one line", lastlook.ErrInvalid, canonical)
			}
		}
	}
	return nil
}

// token reports whether s is a token of RFC 9110, section 5.6.2.
func token(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}
