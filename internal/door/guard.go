package door

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"syscall"

	"code.dny.dev/ssrf"
)

// What a client refuses before it connects. [Refused] knows both.
var (
	// ErrNotPublic says that a name or address leads to a place that only the
	// operator may send us to: this machine, the local network, a cloud's
	// metadata service.
	ErrNotPublic = errors.New("door: not a public address")
	// ErrPort says that an address names a port that is not for what is called.
	ErrPort = errors.New("door: port not permitted")
)

// Refused reports whether an error says that a client refused to connect.
// Trying again does not help: somebody must change the address, or allow it.
func Refused(err error) bool { return errors.Is(err, ErrNotPublic) || errors.Is(err, ErrPort) }

// guard decides, after name resolution, about the very address that is about to
// be connected to. It asks two: its own rules, and an independent package's
// ([ssrf.Guardian]). What either refuses is refused, so that one of them may
// lag behind the registries, or be wrong.
type guard struct {
	trust Trust
	allow Allow
	ports func(uint16) bool
	// second is asked about names that are not listed, secondListed about those
	// that are.
	second, secondListed *ssrf.Guardian
	// near knows what is public, and yet not for whoever sends us there.
	near *near
}

func newGuard(cfg Config) *guard {
	g := &guard{trust: cfg.Trust, allow: cfg.Allow, ports: cfg.permitted(), near: newNear()}
	build := func(more ...netip.Prefix) *ssrf.Guardian {
		var v4, v6 []netip.Prefix
		for _, p := range slices.Concat(g.allow.prefixes, more) {
			if p.Addr().Is4() {
				v4 = append(v4, p)
			} else {
				v6 = append(v6, p)
			}
		}
		return ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...))
	}
	g.second, g.secondListed = build(), build(private...)
	return g
}

// control returns a [net.Dialer.Control] for connections to a host, which is
// called with each address that the host's name resolved to.
func (g *guard) control(host string) func(network, address string, _ syscall.RawConn) error {
	listed := g.allow.host(host)
	second := g.second
	if listed {
		second = g.secondListed
	}
	return func(network, address string, c syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("%w: %q cannot be read", ErrNotPublic, address)
		}
		if !g.ports(at.Port()) {
			return fmt.Errorf("%w: %d: use an address on a usual port", ErrPort, at.Port())
		}
		if !g.admits(at.Addr(), listed) {
			return g.refusal(at.Addr())
		}
		if err := second.Safe(network, netip.AddrPortFrom(at.Addr().WithZone(""), at.Port()).String(), c); err != nil {
			return fmt.Errorf("%w (%w)", g.refusal(at.Addr()), err)
		}
		return nil
	}
}

// refusal says what is refused, and, to an operator, how it can be allowed.
func (g *guard) refusal(a netip.Addr) error {
	a = a.Unmap().WithZone("")
	switch {
	case g.trust == Public:
		// Not which: whoever chose the name reads this.
		return fmt.Errorf("%w: only an address that the operator has entered may be private", ErrNotPublic)
	case nobodys(a):
		return fmt.Errorf("%w: %s: nobody can be called there: correct the operator's address", ErrNotPublic, a)
	}
	return fmt.Errorf("%w: %s: an operator may allow it: --allow-private %s, or the line %s in allow-private.txt of the data directory", ErrNotPublic, a, a, a)
}

// admits reports whether an address may be connected to; listed says that the
// name which led there is on the list.
func (g *guard) admits(a netip.Addr, listed bool) bool {
	a = a.Unmap().WithZone("")
	if nobodys(a) {
		return false
	}
	if inner, ok := embedded(a); ok && !g.admits(inner, listed) {
		return false
	}
	if public(a) {
		return g.trust != Public || !g.near.contains(a)
	}
	if g.trust == Public {
		return false
	}
	for _, class := range closed {
		if !class.Contains(a) {
			continue
		}
		// Only an entry within the class opens it: not one that merely
		// surrounds it.
		return slices.ContainsFunc(g.allow.prefixes, func(p netip.Prefix) bool {
			return p.Bits() >= class.Bits() && class.Contains(p.Addr()) && p.Contains(a)
		})
	}
	return listed && containsAny(private, a) || containsAny(g.allow.prefixes, a)
}

// public reports whether an address is reachable by everybody and leads to
// whoever it names. Of IPv6, only what is assigned for global use (2000::/3)
// is, and of that nothing that wraps an IPv4 address.
func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if a.Is4() {
		return !containsAny(special4, a)
	}
	return global6.Contains(a) && !containsAny(special6, a)
}

// nobodys reports whether an address is nobody's: whoever connects to it
// reaches this machine, or many at once.
func nobodys(a netip.Addr) bool { return containsAny(nobody, a) }

// nobodysAll reports whether a prefix holds nothing but such addresses.
func nobodysAll(p netip.Prefix) bool {
	return slices.ContainsFunc(nobody, func(n netip.Prefix) bool { return n.Bits() <= p.Bits() && n.Contains(p.Addr()) })
}

// embedded returns the IPv4 address that an IPv6 one stands for, or is carried
// to: it must be admitted as well.
func embedded(a netip.Addr) (netip.Addr, bool) {
	if !a.Is6() {
		return a, false
	}
	b := a.As16()
	at := func(i int) (netip.Addr, bool) { return netip.AddrFrom4([4]byte(b[i : i+4])), true }
	switch {
	case sixToFour.Contains(a):
		return at(2)
	case nat64.Contains(a), compatible.Contains(a) && a != netip.IPv6Loopback():
		return at(12)
	case nat64Local.Contains(a): // RFC 6052: a /96 of the operator's within it
		return at(12)
	case teredo.Contains(a): // RFC 4380: the client's, with its bits inverted
		return netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}), true
	case b[8]&^3 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe: // ISATAP, RFC 5214
		return at(12)
	}
	return a, false
}

func containsAny(list []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
}

// The special-purpose registries of IANA (RFC 6890 and its updates), as far as
// they are not for everybody.
var (
	global6  = netip.MustParsePrefix("2000::/3")
	special6 = prefixes(
		"2001::/23",         // IETF protocols; Teredo
		"2001:db8::/32",     // documentation
		"2002::/16",         // 6to4
		"2620:4f:8000::/48", // AS112: answers for private networks' names
		"3fff::/20",         // documentation
	)
	special4 = prefixes(
		"0.0.0.0/8",        // this network
		"10.0.0.0/8",       // private
		"100.64.0.0/10",    // behind carriers' NAT
		"127.0.0.0/8",      // loopback
		"168.63.129.16/32", // a cloud's host, for its guests (Azure)
		"169.254.0.0/16",   // link-local; metadata services
		"172.16.0.0/12",    // private
		"192.0.0.0/24",     // IETF protocols
		"192.0.2.0/24",     // documentation
		"192.31.196.0/24",  // AS112
		"192.52.193.0/24",  // AMT
		"192.88.99.0/24",   // 6to4 relays
		"192.168.0.0/16",   // private
		"192.175.48.0/24",  // AS112
		"198.18.0.0/15",    // benchmarks
		"198.51.100.0/24",  // documentation
		"203.0.113.0/24",   // documentation
		"224.0.0.0/4",      // multicast
		"240.0.0.0/4",      // reserved; broadcast
	)

	// nobody is what cannot be allowed.
	nobody = prefixes("0.0.0.0/8", "224.0.0.0/4", "255.255.255.255/32", "::/128", "ff00::/8")

	loopback = prefixes("127.0.0.0/8", "::1/128")

	// closed are the classes that only an entry within them opens, the
	// narrowest first.
	closed = slices.Concat(prefixes(
		// Metadata services: whoever reads them gets a machine's credentials.
		"169.254.169.254/32", "169.254.170.2/32", "169.254.170.23/32", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32",
		"fd00:ec2::254/128", "fd00:ec2::23/128", "fd20:ce::254/128", "fd00:42::42/128",
	), loopback, prefixes("169.254.0.0/16", "fe80::/10"))

	// private is what a listed name may lead to.
	private = prefixes("10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")

	sixToFour  = netip.MustParsePrefix("2002::/16")
	teredo     = netip.MustParsePrefix("2001::/32")
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	nat64Local = netip.MustParsePrefix("64:ff9b:1::/48")
	compatible = netip.MustParsePrefix("::/96")
)

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		out[i] = netip.MustParsePrefix(t)
	}
	return out
}
