package door

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// near knows which public addresses are this machine's own, or its neighbours'.
// IPv6 gives every machine of a home a public address, and what keeps others
// away from it is the router, which we are behind: so for us such an address is
// as private as 192.168.0.1. Of IPv4, only the machine's own are near: a public
// network there has as many strangers as neighbours.
type near struct {
	// interfaces reads the addresses of this machine, with their networks.
	interfaces func() ([]net.Addr, error)
	now        func() time.Time

	mu   sync.Mutex
	list []netip.Prefix
	read time.Time
}

// nearAge is how old what is known may be: addresses change as one moves from
// network to network.
const nearAge = 30 * time.Second

func newNear() *near { return &near{interfaces: net.InterfaceAddrs, now: time.Now} }

// contains reports whether an address is near. If the system does not say, what
// it said last stands.
func (n *near) contains(a netip.Addr) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now := n.now(); n.read.IsZero() || now.Sub(n.read) >= nearAge || now.Before(n.read) {
		n.read = now
		if addrs, err := n.interfaces(); err == nil {
			n.list = nearOf(addrs)
		}
	}
	return containsAny(n.list, a)
}

// minNetwork is the length of the widest IPv6 network that counts as near: one
// link's.
const minNetwork = 64

func nearOf(addrs []net.Addr) (out []netip.Prefix) {
	for _, addr := range addrs {
		at, ok := addr.(*net.IPNet)
		if !ok {
			continue
		}
		a, ok := netip.AddrFromSlice(at.IP)
		if !ok {
			continue
		}
		a = a.Unmap()
		bits := a.BitLen()
		if ones, all := at.Mask.Size(); a.Is6() && all == bits {
			bits = max(ones, minNetwork)
		}
		if p, err := a.Prefix(bits); err == nil {
			out = append(out, p)
		}
	}
	return out
}
