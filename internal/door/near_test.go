package door

import (
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"
)

func ipNet(t *testing.T, cidr string) net.Addr {
	t.Helper()
	ip, network, err := net.ParseCIDR(cidr)
	if err != nil {
		t.Fatal(err)
	}
	network.IP = ip
	return network
}

// A public address of this machine, or of a neighbour behind the same router, is
// no place to which a device or a page may send us.
func TestNear(t *testing.T) {
	now := time.Now()
	addrs := []net.Addr{
		ipNet(t, "127.0.0.1/8"), ipNet(t, "93.184.216.34/24"), ipNet(t, "2a02:8109:1:2::5/64"), ipNet(t, "2a02:8109:7::1/128"),
		ipNet(t, "2a02:8110::1/32"), &net.UnixAddr{},
	}
	var failure error
	n := &near{interfaces: func() ([]net.Addr, error) { return addrs, failure }, now: func() time.Time { return now }}
	g, op := newGuard(Config{}.defaults()), newGuard(Config{Trust: Operator}.defaults())
	g.near, op.near = n, n
	try := func(want map[string]bool) {
		t.Helper()
		for text, ok := range want {
			at := netip.AddrPortFrom(netip.MustParseAddr(text), 443)
			network := "tcp6"
			if at.Addr().Is4() {
				network = "tcp4"
			}
			err := g.control("shop.example")(network, at.String(), nil)
			if ok != (err == nil) || !ok && !errors.Is(err, ErrNotPublic) {
				t.Errorf("%s, for anybody: %v", text, err)
			}
			if err := op.control("shop.example")(network, at.String(), nil); err != nil {
				t.Errorf("%s, which the operator typed: %v", text, err)
			}
		}
	}
	try(map[string]bool{
		"93.184.216.34": false, "93.184.216.35": true,
		"2a02:8109:1:2::5": false, "2a02:8109:1:2::80": false, "2a02:8109:1:3::1": true,
		"2a02:8109:7::1": false, "2a02:8109:7::2": true,
		"2a02:8110::9": false, "2a02:8110:1::1": true,
	})
	// The machine moves to another network.
	addrs = []net.Addr{ipNet(t, "2a02:9999::5/64")}
	try(map[string]bool{"2a02:9999::1": true})
	now = now.Add(nearAge)
	try(map[string]bool{"2a02:9999::1": false, "2a02:8109:1:2::80": true})
	// What was known stands while the system does not say.
	addrs, failure = nil, errors.New("not permitted")
	now = now.Add(nearAge)
	try(map[string]bool{"2a02:9999::1": false})
}

// The real addresses are read without trouble.
func TestNearHere(t *testing.T) {
	n := newNear()
	if !n.contains(netip.MustParseAddr("127.0.0.1")) && !n.contains(netip.IPv6Loopback()) {
		t.Error("this machine does not know itself")
	}
}
