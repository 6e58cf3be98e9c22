package door

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// Allow is what an operator's addresses may lead to although it is not public.
// The zero value is nothing. Make one with [ParseAllow] or [Loopback].
type Allow struct {
	prefixes []netip.Prefix
	hosts    []string
}

// hostName is a name of the local network, as DNS, mDNS or a container's
// resolver knows it.
var hostName = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_]([a-z0-9_-]{0,62}))*$`)

// ParseAllow reads what an operator lists: addresses (192.168.1.5), prefixes
// (192.168.0.0/16, fd00::/8) and names (ntfy.lan). Empty entries are skipped.
//
// A name opens the private networks to whatever it resolves to, but neither
// this machine nor what is link-local: those, and what lies in no network at
// all, are opened only by an entry that lies within them, and the metadata
// services of clouds only by their very address. So 0.0.0.0/0 does not open
// what an operator had not in mind.
func ParseAllow(entries ...string) (Allow, error) {
	var a Allow
	for _, entry := range entries {
		if entry = strings.ToLower(strings.TrimSpace(entry)); entry == "" {
			continue
		}
		if p, err := parsePrefix(entry); err == nil {
			if nobodysAll(p) {
				return Allow{}, fmt.Errorf("door: %s cannot be allowed: nobody can be called there", entry)
			}
			a.prefixes = append(a.prefixes, p)
			continue
		}
		name := strings.TrimSuffix(entry, ".")
		last := name[strings.LastIndex(name, ".")+1:]
		switch {
		case name == "localhost" || strings.HasSuffix(name, ".localhost"):
			return Allow{}, errors.New("door: a name does not open this machine: list 127.0.0.1 and ::1 instead of localhost")
		case len(name) > 253 || !hostName.MatchString(name) || strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x"):
			return Allow{}, fmt.Errorf("door: %.60q is no address, prefix or name: write 192.168.1.5, 192.168.0.0/16 or nas.lan", entry)
		}
		a.hosts = append(a.hosts, name)
	}
	return a, nil
}

// Loopback allows this machine: for tests and demonstrations that call servers
// of their own.
func Loopback() Allow { return Allow{prefixes: loopback} }

// IsZero reports whether nothing is allowed.
func (a Allow) IsZero() bool { return len(a.prefixes)+len(a.hosts) == 0 }

// String returns what is allowed, for logs.
func (a Allow) String() string {
	var out []string
	for _, p := range a.prefixes {
		if p.IsSingleIP() {
			out = append(out, p.Addr().String())
			continue
		}
		out = append(out, p.String())
	}
	return strings.Join(append(out, a.hosts...), ", ")
}

// host reports whether a name is listed.
func (a Allow) host(name string) bool {
	return slices.Contains(a.hosts, strings.TrimSuffix(strings.ToLower(name), "."))
}

// parsePrefix reads an address or a prefix. A v4-mapped one is the IPv4 one
// that it means.
func parsePrefix(s string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(s)
	if err != nil {
		addr, aerr := netip.ParseAddr(s)
		if aerr != nil || addr.Zone() != "" {
			return p, err
		}
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	if p.Addr().Is4In6() {
		if p.Bits() < 96 {
			return p, errors.New("door: a prefix across v4-mapped addresses")
		}
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p.Masked(), nil
}
