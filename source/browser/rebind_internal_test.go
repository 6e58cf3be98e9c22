package browser

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/lastlook/lastlook/internal/door"
)

// resolver answers every name with this machine's own address, as an attacker's
// name server does once the page is loaded, and counts the questions.
func resolver(asked *atomic.Int32) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer func() { _ = server.Close() }()
			for {
				var size [2]byte
				if _, err := io.ReadFull(server, size[:]); err != nil {
					return
				}
				q := make([]byte, binary.BigEndian.Uint16(size[:]))
				if _, err := io.ReadFull(server, q); err != nil {
					return
				}
				var m dnsmessage.Message
				if m.Unpack(q) != nil || len(m.Questions) != 1 {
					return
				}
				m.Response = true
				if question := m.Questions[0]; question.Type == dnsmessage.TypeA {
					asked.Add(1)
					m.Answers = []dnsmessage.Resource{{
						Header: dnsmessage.ResourceHeader{Name: question.Name, Type: question.Type, Class: question.Class},
						Body:   &dnsmessage.AResource{A: netip.MustParseAddr("127.0.0.1").As4()},
					}}
				}
				out, err := m.Pack()
				if err != nil {
					return
				}
				if _, err := server.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(out))), out...)); err != nil {
					return
				}
			}
		}()
		return client, nil
	}}
}

// TestRebinding: the browser names hosts to its proxy and resolves nothing; each
// connection's address is checked when it is made. A page's own name that leads to
// this machine on the second request is refused then, encrypted or not.
func TestRebinding(t *testing.T) {
	var reached, asked atomic.Int32
	secret := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer secret.Close()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the page") }))
	defer site.Close()
	port := secret.URL[strings.LastIndex(secret.URL, ":")+1:]
	cfg := door.Config{Trust: door.Public, Resolver: resolver(&asked), Ports: []uint16{80, 443, parsePort(t, port)},
		Via: map[string]string{"shop.example:80": site.Listener.Addr().String()}}
	dialer, err := door.NewDialer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	client, err := door.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	p, err := startProxy(Config{Dialer: dialer, Client: client})
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	for i, c := range []struct {
		ask  string
		want int
	}{
		{"GET http://shop.example/ HTTP/1.1\r\nHost: shop.example\r\n\r\n", http.StatusOK},
		{"GET http://shop.example:" + port + "/secret HTTP/1.1\r\nHost: shop.example\r\n\r\n", http.StatusBadGateway},
		{"CONNECT shop.example:" + port + " HTTP/1.1\r\nHost: shop.example\r\n\r\n", http.StatusBadGateway},
		{"CONNECT shop.example:443 HTTP/1.1\r\nHost: shop.example\r\n\r\n", http.StatusBadGateway},
		{"GET http://other.example/ HTTP/1.1\r\nHost: other.example\r\n\r\n", http.StatusBadGateway},
		{"CONNECT 127.0.0.1:" + port + " HTTP/1.1\r\nHost: x\r\n\r\n", http.StatusBadGateway},
	} {
		if got := askProxy(t, p, c.ask); got != c.want {
			t.Errorf("%d: status %d, want %d", i, got, c.want)
		}
	}
	if reached.Load() > 0 {
		t.Errorf("what is private was reached %d times", reached.Load())
	}
	if asked.Load() < 4 {
		t.Errorf("%d names were resolved, want each time", asked.Load())
	}
}

func askProxy(t *testing.T, p *proxy, ask string) int {
	t.Helper()
	conn, err := net.Dial("tcp", p.address())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, ask); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func parsePort(t *testing.T, s string) (n uint16) {
	t.Helper()
	if _, err := fmt.Sscan(s, &n); err != nil {
		t.Fatal(err)
	}
	return n
}
