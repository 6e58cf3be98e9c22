package door

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// names is a resolver that answers each lookup from its list; the last answer
// stays.
type names struct {
	mu      sync.Mutex
	answers [][]string
	asked   int
}

func (n *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go n.serve(server)
		return client, nil
	}}
}

// next returns the IPv4 addresses of an answer.
func (n *names) next() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	out := n.answers[0]
	if len(n.answers) > 1 {
		n.answers = n.answers[1:]
	}
	return out
}

// serve answers questions over a stream (RFC 1035, section 4.2.2).
func (n *names) serve(c net.Conn) {
	defer c.Close()
	for {
		var size [2]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		q := make([]byte, int(size[0])<<8|int(size[1]))
		if _, err := io.ReadFull(c, q); err != nil {
			return
		}
		end := 12
		for q[end] != 0 {
			end += int(q[end]) + 1
		}
		end += 5
		answer := append([]byte{q[0], q[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, q[12:end]...)
		if q[end-3] == 1 { // type A
			for _, text := range n.next() {
				answer[7]++
				answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
				answer = append(answer, netip.MustParseAddr(text).AsSlice()...)
			}
		}
		if _, err := c.Write(append([]byte{byte(len(answer) >> 8), byte(len(answer))}, answer...)); err != nil {
			return
		}
	}
}

// watched is a client that notes what the guard admitted, and connects to
// nothing.
type watched struct {
	mu       sync.Mutex
	admitted []string
}

var errSeen = errors.New("admitted, and not connected to")

func (w *watched) note(address string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.admitted = append(w.admitted, address)
	return errSeen
}

// TestRebinding: a name that leads to a public address first and to a private
// one the next time, or to both at once. What is dialled is what was checked.
func TestRebinding(t *testing.T) {
	for _, trust := range []Trust{Public, Operator} {
		n, w := &names{answers: [][]string{{"1.1.1.1"}, {"127.0.0.1"}, {"192.168.1.1", "169.254.169.254"}, {"8.8.8.8", "10.0.0.1"}}}, &watched{}
		c := mustNew(t, Config{Trust: trust, Resolver: n.resolver(), admitted: w.note})
		for i, want := range []error{errSeen, ErrNotPublic, ErrNotPublic, errSeen} {
			if _, _, err := get(t, c, "http://shop.example./"); !errors.Is(err, want) {
				t.Errorf("%s, %d: error %v, want %v", trust, i, err, want)
			}
		}
		if !slices.Equal(w.admitted, []string{"1.1.1.1:80", "8.8.8.8:80"}) {
			t.Errorf("%s: connected to %v", trust, w.admitted)
		}
		// One lookup for each request: what was checked is not asked again.
		if n.asked != 4 {
			t.Errorf("%s: %d lookups", trust, n.asked)
		}
	}
}

// A name that a resolver reads as a number, as the C library's does.
func TestNumbersAsNames(t *testing.T) {
	for _, host := range []string{"127.1", "2130706433", "0x7f000001", "017700000001", "0"} {
		n, w := &names{answers: [][]string{{"127.0.0.1"}}}, &watched{}
		_, _, err := get(t, mustNew(t, Config{Resolver: n.resolver(), admitted: w.note}), "http://"+host+"/")
		if err == nil || len(w.admitted) > 0 || n.asked > 0 && !errors.Is(err, ErrNotPublic) {
			t.Errorf("%s: %v, connected to %v", host, err, w.admitted)
		}
	}
}

// TestRedirectInside: a public page redirects into the private network.
func TestRedirectInside(t *testing.T) {
	var hits atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer inside.Close()
	target := inside.URL
	outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, target, http.StatusFound)
	}))
	defer outside.Close()
	at := netip.MustParseAddrPort(inside.Listener.Addr().String())
	via := map[string]string{"shop.example:80": outside.Listener.Addr().String()}
	c := mustNew(t, Config{MaxRedirects: 3, Ports: []uint16{80, at.Port()}, Via: via})
	if _, _, err := get(t, c, "http://shop.example/"); !errors.Is(err, ErrNotPublic) || hits.Load() > 0 {
		t.Errorf("redirected into: %v, %d requests", err, hits.Load())
	}
	// The operator's own list does open the way, for this address alone.
	c = mustNew(t, Config{Trust: Operator, Allow: Loopback(), MaxRedirects: 3, Via: via})
	if _, _, err := get(t, c, "http://shop.example/"); err != nil || hits.Load() != 1 {
		t.Errorf("redirected where the operator allows: %v", err)
	}
	target = "http://169.254.169.254/latest/meta-data/"
	if _, _, err := get(t, c, "http://shop.example/"); !errors.Is(err, ErrNotPublic) {
		t.Errorf("redirected to a metadata service: %v", err)
	}
}

// A stand-in takes the place of one host and port; everything else is guarded
// as ever.
func TestVia(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Host) }))
	defer srv.Close()
	c := mustNew(t, Config{Via: map[string]string{"push.example:80": srv.Listener.Addr().String()}})
	if _, body, err := get(t, c, "http://push.example/send"); err != nil || body != "push.example" {
		t.Errorf("%q, %v", body, err)
	}
	if _, _, err := get(t, c, "http://push.example:8080/send"); err == nil {
		t.Error("another port was connected to")
	}
}

func TestDialer(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	port := netip.MustParseAddrPort(ln.Addr().String()).Port()
	for _, c := range []struct {
		cfg  Config
		want error
	}{
		{Config{Trust: Operator, Allow: Loopback(), Ports: []uint16{port}}, nil},
		{Config{Trust: Operator, Allow: Loopback(), Ports: []uint16{25}}, ErrPort},
		{Config{Trust: Operator, Ports: []uint16{port}}, ErrNotPublic},
	} {
		d, err := NewDialer(c.cfg)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := d.DialContext(t.Context(), "tcp", ln.Addr().String())
		if !errors.Is(err, c.want) {
			t.Errorf("%+v: %v", c.cfg, err)
		}
		if err == nil {
			_ = conn.Close()
		}
	}
	if _, err := NewDialer(Config{Trust: 7}); err == nil {
		t.Error("a dialer without trust")
	}
	d, err := NewDialer(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.DialContext(t.Context(), "tcp", "shop.example"); err == nil {
		t.Error("connected to no port")
	}
}

// Whoever chose a name reads the error: not what the name means in a private
// network, nor which name server said so. An operator needs to know.
func TestErrorsTellStrangersNoAddresses(t *testing.T) {
	n := &names{answers: [][]string{{"10.11.12.13"}}}
	for trust, shown := range map[Trust]bool{Public: false, Operator: true} {
		client, err := New(Config{Trust: trust, Resolver: n.resolver()})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Get("http://intranet.example/")
		if err == nil {
			_ = resp.Body.Close()
		}
		if !errors.Is(err, ErrNotPublic) || strings.Contains(err.Error(), "10.11.12.13") != shown {
			t.Errorf("%s: %v", trust, err)
		}
	}
	err := withoutAddresses(&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "intranet.example", Server: "10.0.0.53:53", IsNotFound: true}})
	if got, want := err.Error(), "dial tcp: lookup intranet.example: no such host"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if dns, ok := errors.AsType[*net.DNSError](err); !ok || !dns.IsNotFound {
		t.Errorf("it is no such error any more: %v", err)
	}
}
