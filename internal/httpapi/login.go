package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/lastlook/lastlook/access"
)

// Login is how a proxy says whom it has let in: by a header of its own, which
// counts only if the connection comes from the proxy itself.
type Login struct {
	// Header is the header's name, such as X-Forwarded-User.
	Header string
	// Proxies are where the proxy calls from.
	Proxies []netip.Prefix
}

// ParseLogin reads how a proxy says whom it has let in; nil if header is "".
func ParseLogin(header string, proxies []string) (*Login, error) {
	if header == "" {
		if len(proxies) > 0 {
			return nil, fmt.Errorf("%w: --trusted-proxy is for --login-header: name the header that the proxy sets", ErrInvalid)
		}
		return nil, nil
	}
	name := http.CanonicalHeaderKey(header)
	if strings.Trim(header, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") != "" || slices.Contains([]string{"Authorization", "Cookie", "Host", "X-Forwarded-For"}, name) {
		return nil, fmt.Errorf("%w: %q is no header to take a login from: use one such as X-Forwarded-User", ErrInvalid, header)
	}
	if len(proxies) == 0 {
		return nil, fmt.Errorf("%w: whoever sends the header %s could be anybody: name where your proxy calls from with --trusted-proxy, such as 127.0.0.1", ErrInvalid, name)
	}
	l := &Login{Header: name}
	for _, text := range proxies {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			var a netip.Addr
			if a, err = netip.ParseAddr(text); err == nil {
				p = netip.PrefixFrom(a, a.BitLen())
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %q is no address or prefix of a proxy, such as 127.0.0.1 or 10.0.0.0/24", ErrInvalid, text)
		}
		l.Proxies = append(l.Proxies, p.Masked())
	}
	return l, nil
}

// loginKey is under which a request's context holds whom the proxy has let in.
type loginKey struct{}

func loginOf(r *http.Request) string {
	user, _ := r.Context().Value(loginKey{}).(string)
	return user
}

// of returns whom the proxy has let in, and takes the header out of the request:
// nobody behind us is to believe it.
func (l *Login) of(r *http.Request) (string, error) {
	if l == nil {
		return "", nil
	}
	values := r.Header.Values(l.Header)
	r.Header.Del(l.Header)
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || len(values) == 0 || !slices.ContainsFunc(l.Proxies, func(p netip.Prefix) bool { return p.Contains(at.Addr().Unmap().WithZone("")) }) {
		return "", nil
	}
	user := strings.ToLower(strings.TrimSpace(values[0]))
	switch {
	case len(values) > 1:
		return "", errors.New("the proxy names two logins: let it replace the header that clients send, not add to it")
	case user == "":
		return "", nil
	case access.CheckOwner(user) != nil:
		return "", errors.New("the proxy's login cannot be an owner here: use up to 63 letters, digits, dots, dashes, underscores and @")
	}
	return user, nil
}
