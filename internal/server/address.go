package server

import (
	"errors"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// address is a channel named as Apprise names it: tgram://token/chat. It is no
// URL to net/url, which would take a bot's token for a host and its port. All
// of it is a secret, so no error repeats any of it.
type address struct {
	scheme     string
	user, pass string
	host       string // with its port
	path       []string
	query      url.Values
}

var errAddress = errors.New("the address cannot be read: write it like tgram://token/chat; lastlook channel add --help names the forms, docs/channels.md explains them")

func parseAddress(s string) (address, error) {
	s = strings.TrimSpace(s)
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || scheme == "" || len(s) > 4096 || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return address{}, errAddress
	}
	a := address{scheme: strings.ToLower(scheme)}
	rest, query, _ := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		a.user, a.pass, _ = strings.Cut(authority[:at], ":")
		authority = authority[at+1:]
	}
	a.host = authority
	a.path = slices.DeleteFunc(strings.Split(path, "/"), func(p string) bool { return p == "" })
	for _, part := range append([]*string{&a.user, &a.pass, &a.host}, pointers(a.path)...) {
		plain, err := url.PathUnescape(*part)
		if err != nil {
			return address{}, errAddress
		}
		*part = plain
	}
	var err error
	if a.query, err = url.ParseQuery(query); err != nil || a.host == "" {
		return address{}, errAddress
	}
	return a, nil
}

func pointers(list []string) []*string {
	out := make([]*string, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

// part returns a part of the path, or nothing.
func (a *address) part(i int) string {
	if i < len(a.path) {
		return a.path[i]
	}
	return ""
}

// origin returns the address of the service's host.
func (a *address) origin(secure bool, path ...string) string {
	u := url.URL{Scheme: "http", Host: a.host}
	if secure {
		u.Scheme = "https"
	}
	if len(path) > 0 {
		u.Path = "/" + strings.Join(path, "/")
	}
	return u.String()
}

// yes reports whether an option is on.
func (a *address) yes(name string) bool {
	return slices.Contains([]string{"yes", "true", "1", "on"}, strings.ToLower(a.query.Get(name)))
}

// number reads an option that is a number; 0 if it is not given.
func (a *address) number(name string) (int, error) {
	s := a.query.Get(name)
	if s == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, errors.New("the option " + name + " must be a number")
	}
	return n, nil
}

// headers are options that begin with a plus.
func (a *address) headers() map[string][]string {
	out := map[string][]string{}
	for name, values := range a.query {
		if bare, ok := strings.CutPrefix(name, " "); ok || strings.HasPrefix(name, "+") {
			out[strings.TrimPrefix(bare, "+")] = values
		}
	}
	return out
}

// only reports an option that the kind does not have.
func (a *address) only(names ...string) error {
	for name := range a.query {
		if !slices.Contains(names, name) && !strings.HasPrefix(name, " ") && !strings.HasPrefix(name, "+") {
			return errors.New("there is no option " + strconv.Quote(plainName(name)) + " for " + a.scheme + "://")
		}
	}
	return nil
}

// plainName keeps what an option's name can have: a secret in its place does
// not get out whole.
func plainName(s string) string {
	return s[:min(len(s), 12)]
}

// splitHost returns a host and its port; 0 if it names none.
func splitHost(s string) (string, int, error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return s, 0, nil
	}
	n, err := strconv.Atoi(port)
	if err != nil || n < 1 || n > 65535 {
		return "", 0, errors.New("the port must be 1 to 65535")
	}
	return host, n, nil
}
