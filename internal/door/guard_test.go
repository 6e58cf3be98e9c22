package door

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"code.dny.dev/ssrf"
)

// addresses says of each address whether everybody may be sent there.
var addresses = map[string]bool{
	"1.1.1.1": true, "8.8.8.8": true, "172.15.255.255": true, "172.32.0.1": true, "100.63.0.1": true, "100.128.0.1": true,
	"168.63.129.15": true, "169.253.255.255": true, "11.0.0.1": true, "126.255.255.255": true, "128.0.0.1": true, "192.167.1.1": true,
	"2606:4700:4700::1111": true, "2a00:1450::1": true, "::ffff:8.8.8.8": true, "2001:200::1": true,

	// This machine, in IPv4 and wrapped.
	"127.0.0.1": false, "127.8.8.8": false, "127.255.255.255": false, "::1": false, "::127.0.0.1": false, "::ffff:127.0.0.1": false,
	"::ffff:0:127.0.0.1": false, "0.0.0.0": false, "0.1.2.3": false, "::": false, "::ffff:0.0.0.0": false,
	"64:ff9b::7f00:1": false, "64:ff9b::127.0.0.1": false, "64:ff9b:1::7f00:1": false, "64:ff9b:1:fffe::127.0.0.1": false,
	"2002:7f00:1::": false, "2002:7f00:0001::1": false, "2001:0:4136:e378:8000:63bf:80ff:fffe": false,
	"2606:4700::5efe:7f00:1": false, "2606:4700::200:5efe:7f00:1": false, // ISATAP
	// Local networks.
	"10.1.2.3": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false, "100.64.0.1": false, "100.127.255.255": false,
	"fc00::1": false, "fd12:3456::1": false, "fec0::1": false, "::ffff:192.168.1.1": false, "64:ff9b::c0a8:101": false, "2002:c0a8:101::1": false,
	"2606:4700::5efe:c0a8:101": false,
	// Link-local, and the metadata services of clouds.
	"169.254.0.1": false, "169.254.169.254": false, "169.254.170.2": false, "::ffff:169.254.169.254": false, "fe80::1": false, "fe80::1%eth0": false,
	"64:ff9b::a9fe:a9fe": false, "2002:a9fe:a9fe::": false, "fd00:ec2::254": false, "100.100.100.200": false, "192.0.0.192": false, "168.63.129.16": false,
	// Nobody in particular.
	"192.0.0.8": false, "192.0.2.1": false, "198.18.0.1": false, "198.51.100.7": false, "203.0.113.9": false, "192.88.99.1": false, "192.175.48.1": false,
	"224.0.0.1": false, "239.255.255.250": false, "240.0.0.1": false, "255.255.255.255": false, "ff02::1": false, "2001:db8::1": false, "100::1": false,
	"2001:0:4136::1": false, "2001:2::1": false, "3fff::1": false, "5f00::1": false, "2002:808:808::1": false, "64:ff9b::808:808": false,
	"4000::1": false, "2620:4f:8000::1": false,
}

func TestAddresses(t *testing.T) {
	g := newGuard(Config{}.defaults())
	second := ssrf.New()
	for text, want := range addresses {
		a := netip.MustParseAddr(text)
		if got := g.admits(a, false); got != want {
			t.Errorf("%s: admitted %v", text, got)
		}
		for _, at := range []string{netip.AddrPortFrom(a, 443).String(), netip.AddrPortFrom(a.Unmap(), 443).String()} {
			network := "tcp4"
			if netip.MustParseAddrPort(at).Addr().Is6() {
				network = "tcp6"
			}
			err := g.control("shop.example")(network, at, nil)
			switch {
			case !want && !errors.Is(err, ErrNotPublic):
				t.Errorf("%s: %v", at, err)
			case want && err != nil && !a.Is4In6():
				t.Errorf("%s: %v", at, err)
			}
		}
		// Ours must never be the weaker of the two.
		if err := second.SafeAddr(a.WithZone("")); err != nil && want && !a.Is4In6() {
			t.Errorf("%s: the second guard refuses what ours admits: %v", text, err)
		}
	}
	for _, nonsense := range []string{"nonsense", "1.1.1.1", ":443", "shop.example:443"} {
		if err := g.control("x")("tcp4", nonsense, nil); !errors.Is(err, ErrNotPublic) {
			t.Errorf("%q: %v", nonsense, err)
		}
	}
}

// Either of the two guards alone refuses.
func TestTheSecondGuardIsAsked(t *testing.T) {
	g := newGuard(Config{}.defaults())
	g.second = ssrf.New(ssrf.WithAnyPort(), ssrf.WithDeniedV4Prefixes(netip.MustParsePrefix("1.1.1.0/24")))
	if err := g.control("shop.example")("tcp4", "1.1.1.1:443", nil); !errors.Is(err, ErrNotPublic) || !errors.Is(err, ssrf.ErrProhibitedIP) {
		t.Errorf("only the second guard refuses, and: %v", err)
	}
	if err := g.control("shop.example")("udp4", "8.8.8.8:443", nil); !errors.Is(err, ErrNotPublic) {
		t.Errorf("over UDP: %v", err)
	}
}

func TestAllow(t *testing.T) {
	for _, c := range []struct {
		list, host string
		yes, no    string
	}{
		{"", "", "1.1.1.1", "192.168.1.5 127.0.0.1 10.0.0.1 fd00::1"},
		{"192.168.1.5", "", "192.168.1.5 ::ffff:192.168.1.5 8.8.8.8", "192.168.1.6 127.0.0.1"},
		{"192.168.0.0/16, fd00::/8", "", "192.168.9.9 fd00::1 fd12::1", "10.0.0.1 fc00::1 fd00:ec2::254 169.254.169.254"},
		{"::ffff:10.0.0.0/104", "", "10.1.2.3", "11.0.0.0.x 192.168.1.1"},
		{"0.0.0.0/0,::/0", "", "10.0.0.1 192.168.1.1 fc00::1 100.64.0.1 198.18.0.1", "127.0.0.1 ::1 169.254.1.1 169.254.169.254 fe80::1 fd00:ec2::254 0.0.0.0 :: 224.0.0.1 ff02::1 255.255.255.255 100.100.100.200 168.63.129.16"},
		{"127.0.0.1", "", "127.0.0.1 ::ffff:127.0.0.1", "127.0.0.2 ::1 0.0.0.0"},
		{"127.0.0.0/8 ::1", "", "127.0.0.1 127.9.9.9 ::1", "169.254.169.254"},
		{"126.0.0.0/7", "", "", "127.0.0.1"},
		{"169.254.0.0/16 fe80::/10", "", "169.254.1.1 fe80::1 fe80::1%eth0", "169.254.169.254 169.254.170.2"},
		{"169.254.169.254", "", "169.254.169.254", "169.254.169.253"},
		{"169.254.169.254/31", "", "", "169.254.169.254"},
		{"fd00:ec2::254", "", "fd00:ec2::254", "fd00:ec2::253"},
		{"64:ff9b::/96", "", "64:ff9b::8.8.8.8", "64:ff9b::127.0.0.1 64:ff9b::192.168.1.1 64:ff9b::169.254.169.254"},
		{"64:ff9b::/96 192.168.0.0/16", "", "64:ff9b::192.168.1.1", "64:ff9b::10.0.0.1"},
		{"2002::/16", "", "2002:808:808::1", "2002:7f00:1::1 2002:c0a8:101::1"},
		{"nas.lan", "nas.lan", "192.168.1.5 10.0.0.1 fd00::1 8.8.8.8", "127.0.0.1 169.254.169.254 fe80::1 198.18.0.1 0.0.0.0 100.100.100.200"},
		{"NAS.lan.", "nas.LAN.", "192.168.1.5", "127.0.0.1"},
		{"nas.lan", "shop.example", "8.8.8.8", "192.168.1.5"},
		{"nas.lan", "evil.nas.lan", "", "192.168.1.5"},
		{"nas", "nas", "172.18.0.3", ""},
	} {
		allow, err := ParseAllow(strings.FieldsFunc(c.list, func(r rune) bool { return r == ',' || r == ' ' })...)
		if err != nil {
			t.Errorf("%s: %v", c.list, err)
			continue
		}
		check := newGuard(Config{Trust: Operator, Allow: allow}.defaults()).control(c.host)
		try := func(text string, want bool) {
			a, err := netip.ParseAddr(text)
			if err != nil {
				return
			}
			network := "tcp4"
			if a.Is6() && !a.Is4In6() {
				network = "tcp6"
			}
			err = check(network, netip.AddrPortFrom(a.Unmap(), 8000).String(), nil)
			if want != (err == nil) {
				t.Errorf("%q allows %s for %q: %v", c.list, text, c.host, err)
			}
			if err != nil && (!errors.Is(err, ErrNotPublic) || !strings.Contains(err.Error(), "operator")) {
				t.Errorf("%s: %v", text, err)
			}
		}
		for text := range strings.FieldsSeq(c.yes) {
			try(text, true)
		}
		for text := range strings.FieldsSeq(c.no) {
			try(text, false)
		}
	}
}

// What cannot be listed is said at once, and the error of what is refused says
// how to list it.
func TestParseAllow(t *testing.T) {
	for _, bad := range []string{
		"localhost", "a.localhost", "127.1", "2130706433", "0x7f000001", "017700000001", "0x7f.0.0.1", "10.0.0.0/33", "a b", "http://nas.lan", "nas.lan:80", "*.lan",
		"0.0.0.0", "::", "224.0.0.0/4", "ff02::1", "255.255.255.255", "fe80::1%eth0", "::ffff:0:0/95", "-x", strings.Repeat("a", 300),
	} {
		if a, err := ParseAllow(bad); err == nil {
			t.Errorf("%q was taken as %s", bad, a)
		}
	}
	a, err := ParseAllow(" 192.168.1.77/16", "", "Nas.LAN ", "::1")
	if err != nil || a.String() != "192.168.0.0/16, ::1, nas.lan" || a.IsZero() {
		t.Errorf("%s, %v", a, err)
	}
	err = newGuard(Config{Trust: Operator}.defaults()).control("nas.lan")("tcp4", "192.168.1.5:80", nil)
	if err == nil || !strings.Contains(err.Error(), "--allow-private 192.168.1.5") || !strings.Contains(err.Error(), "allow-private.txt") {
		t.Errorf("the error does not say how to allow it: %v", err)
	}
}

func TestPorts(t *testing.T) {
	for _, c := range []struct {
		cfg     Config
		yes, no []int
	}{
		{Config{}, []int{80, 443, 8080, 8443}, []int{0, 22, 25, 81, 6379, 5432, 11211, 65535}},
		{Config{Trust: Operator}, []int{80, 443, 1024, 6379, 65535}, []int{0, 22, 25, 53, 1023}},
		{Config{Trust: Operator, Ports: []uint16{25, 465, 587}}, []int{25, 465, 587}, []int{80, 443, 2525}},
	} {
		check := newGuard(c.cfg.defaults()).control("shop.example")
		for _, p := range c.yes {
			if err := check("tcp4", fmt.Sprintf("1.1.1.1:%d", p), nil); err != nil {
				t.Errorf("%+v: %v", c.cfg, err)
			}
		}
		for _, p := range c.no {
			if err := check("tcp4", fmt.Sprintf("1.1.1.1:%d", p), nil); !errors.Is(err, ErrPort) || !Refused(err) {
				t.Errorf("%+v: port %d: %v", c.cfg, p, err)
			}
		}
	}
}

// TestPublicTrust tries every way to write loopback, and what else leads to
// this machine or its neighbours. Whether the machine's resolver takes a form
// for an address or for a name that does not exist: nothing is reached.
func TestPublicTrust(t *testing.T) {
	var hits atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer srv.Close()
	_, port, err := net.SplitHostPort(srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	number := netip.MustParseAddrPort("1.1.1.1:" + port).Port()
	c := mustNew(t, Config{Ports: []uint16{number}})
	for host, refused := range map[string]bool{
		"127.0.0.1": true, "localhost": true, "[::1]": true, "[::ffff:127.0.0.1]": true, "0.0.0.0": true, "[::]": true, "[::ffff:7f00:1]": true,
		"[0:0:0:0:0:0:0:1]": true, "[64:ff9b::7f00:1]": true, "[2002:7f00:1::]": true, "[::127.0.0.1]": true,
		"127.1": false, "127.0.1": false, "2130706433": false, "0x7f000001": false, "0x7f.0.0.1": false, "0x7f.1": false, "017700000001": false,
		"0177.0.0.1": false, "127.0.0.01": false, "0": false, "0x0": false, "127.0.0.1.": false, "１２７.０.０.１": false, "①②⑦.⓪.⓪.①": false,
		"localhost.": false, "[fe80::1%25lo]": false, "[::1%25lo]": false, "127.0.0.1%00.shop.example": false,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+":"+port, nil)
		if err != nil {
			continue // no address at all
		}
		resp, err := c.Do(req)
		if err == nil {
			_ = resp.Body.Close()
			t.Errorf("%s was called", host)
		}
		if refused && (!errors.Is(err, ErrNotPublic) || !strings.Contains(err.Error(), "operator")) {
			t.Errorf("%s: %v", host, err)
		}
	}
	if hits.Load() > 0 {
		t.Error("a private server was reached")
	}
	if _, _, err := get(t, mustNew(t, Config{Trust: Operator}), srv.URL); !errors.Is(err, ErrNotPublic) {
		t.Errorf("an operator's address that is not listed: %v", err)
	}
	if _, _, err := get(t, mustNew(t, Config{Trust: Operator, Allow: Loopback()}), srv.URL); err != nil || hits.Load() != 1 {
		t.Errorf("an operator's address: %v", err)
	}
}
