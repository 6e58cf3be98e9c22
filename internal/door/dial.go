package door

import (
	"context"
	"errors"
	"net"
	"slices"
	"syscall"
	"time"
)

// Dialer connects for protocols that are not HTTP, mail for one, under the same
// guard. It is safe for concurrent use.
type Dialer struct {
	guard  *guard
	dialer net.Dialer
	via    map[string]string
	// admitted, if set, is called with what the guard admitted, and may still
	// refuse it: tests see so what would be connected to without connecting.
	admitted func(address string) error
}

// NewDialer makes a dialer. Its configuration says which ports it may call.
func NewDialer(cfg Config) (*Dialer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return newDialer(cfg.defaults()), nil
}

func newDialer(cfg Config) *Dialer {
	return &Dialer{
		guard:    newGuard(cfg),
		dialer:   net.Dialer{Timeout: cfg.DialTimeout, KeepAlive: 30 * time.Second, Resolver: cfg.Resolver},
		via:      cfg.Via,
		admitted: cfg.admitted,
	}
}

// DialContext connects to a host and port over TCP. The name is resolved once:
// the addresses that are checked are those that are connected to.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	own := d.dialer // each host has its own rules
	if there, ok := d.via[address]; ok {
		return own.DialContext(ctx, network, there)
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	check := d.guard.control(host)
	own.Control = func(network, address string, c syscall.RawConn) error {
		if err := check(network, address, c); err != nil || d.admitted == nil {
			return err
		}
		return d.admitted(address)
	}
	conn, err := own.DialContext(ctx, network, address)
	if err != nil && d.guard.trust == Public {
		err = withoutAddresses(err)
	}
	return conn, err
}

// withoutAddresses takes out of an error what a stranger did not know: what a
// name means to the local name server, and where that is. Errors are shown to
// whoever chose the address, who could else read a private network's names.
func withoutAddresses(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		plain := *op
		plain.Source, plain.Addr, plain.Err = nil, nil, withoutAddresses(op.Err)
		return &plain
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		plain := *dns
		plain.Server = ""
		return &plain
	}
	return err
}

// publicPorts are those of the web, and the two that development servers use.
var publicPorts = []uint16{80, 443, 8080, 8443}

// firstUserPort is the first of the ports that are not reserved for a protocol
// of the system's.
const firstUserPort = 1024

// permitted returns which ports may be called.
func (c Config) permitted() func(uint16) bool {
	switch {
	case len(c.Ports) > 0:
		ports := slices.Clone(c.Ports)
		return func(p uint16) bool { return slices.Contains(ports, p) }
	case c.Trust == Operator:
		return func(p uint16) bool { return p == 80 || p == 443 || p >= firstUserPort }
	}
	return func(p uint16) bool { return slices.Contains(publicPorts, p) }
}
