package door

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
)

// ErrNotPublic says that a name or address leads to a place that only the
// operator may send us to: this machine, the local network, a cloud's
// metadata service.
var ErrNotPublic = errors.New("door: not a public address")

// refuseNonPublic is a [net.Dialer.Control]: it is called after name
// resolution, with the very address that is about to be connected to.
func refuseNonPublic(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %q cannot be read", ErrNotPublic, address)
	}
	if !public(at.Addr()) {
		return fmt.Errorf("%w: %s: only an address that the operator has entered may be private", ErrNotPublic, at.Addr())
	}
	return nil
}

// public reports whether an address is reachable by everybody and leads to
// whoever it names. Of IPv6, only what is assigned for global use (2000::/3)
// is, and of that nothing that wraps an IPv4 address.
func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	special := special6
	if a.Is4() {
		special = special4
	} else if !global6.Contains(a) {
		return false
	}
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// The special-purpose registries of IANA (RFC 6890 and its updates), as far as
// they are not for everybody.
var (
	global6  = netip.MustParsePrefix("2000::/3")
	special6 = prefixes(
		"2001::/23",     // IETF protocols; Teredo
		"2001:db8::/32", // documentation
		"2002::/16",     // 6to4
		"3fff::/20",     // documentation
	)
	special4 = prefixes(
		"0.0.0.0/8",       // this network
		"10.0.0.0/8",      // private
		"100.64.0.0/10",   // behind carriers' NAT
		"127.0.0.0/8",     // loopback
		"169.254.0.0/16",  // link-local; metadata services
		"172.16.0.0/12",   // private
		"192.0.0.0/24",    // IETF protocols
		"192.0.2.0/24",    // documentation
		"192.88.99.0/24",  // 6to4 relays
		"192.168.0.0/16",  // private
		"198.18.0.0/15",   // benchmarks
		"198.51.100.0/24", // documentation
		"203.0.113.0/24",  // documentation
		"224.0.0.0/4",     // multicast
		"240.0.0.0/4",     // reserved; broadcast
	)
)

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		out[i] = netip.MustParsePrefix(t)
	}
	return out
}
