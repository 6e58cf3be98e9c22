// Package email delivers messages as mail, through an SMTP server that takes
// mail for others: one's provider's, or one's own.
//
//	mail, err := email.New(email.Config{
//		Host: "smtp.example.com", Username: "kim", Password: "…",
//		From: "lastlook <alerts@example.com>", To: "kim@example.com",
//		Dial: dialer.DialContext,
//	})
//	…
//	dispatcher, err := lastlook.NewDispatcher(outbox, lastlook.Config{
//		Channels: map[string]lastlook.Channel{"mail": mail}, …
//
// # Connection
//
// With [STARTTLS], the default, on port 587, and with [TLS] on port 465, the
// server's certificate must be good, and credentials are never sent without
// encryption. A server that has no STARTTLS is refused, not talked to in the
// clear; [Plain] is for one on this machine. Each delivery makes one
// connection, which ends with the call's context.
//
// # Message
//
// A mail has a text and an HTML part, saying the same. Its Message-ID is made of
// the delivery key, so that a resend of the same assertion is recognized, and it
// refers to the replace key, so that mail programs show what is about one thing
// as one conversation. It says that it was generated (RFC 3834), and how not
// to get more (RFC 2369, and RFC 8058's one click, if [Config.Unsubscribe] is
// set). Nothing in a message can add a header, or another recipient.
//
// # Errors
//
// What the server answers is judged by its enhanced status code (RFC 3463), and
// without one by the reply code and what it answers. 4.x.x, such as grey-
// listing, is tried again; 5.1.1, 5.1.6 and 5.1.10 for the recipient say that
// it is gone; credentials, a sender or a client that is refused, a missing
// STARTTLS and a bad certificate park the lane; all other refusals are of this
// message. A connection that dies after the message was sent and before the
// answer to it leaves the outcome unknown. Errors carry a [lastlook.Class],
// and never the password.
//
// A [Channel] is safe for concurrent use.
package email

import (
	"context"
	"fmt"
	"net"
	"net/mail"
	"strings"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/internal/httpcall"
)

// Security is how a connection is encrypted.
type Security uint8

// The ways to encrypt.
const (
	// STARTTLS begins in the clear, and goes on only encrypted.
	STARTTLS Security = iota
	// TLS is encrypted from the first byte.
	TLS
	// Plain is not encrypted at all.
	Plain
)

// Config says where mail goes and who sends it.
type Config struct {
	// Host is the server's name, as its certificate has it.
	Host string
	// Port is its port; 0 means 587, 465 or 25, as Security says.
	Port     int
	Security Security
	// Username and Password authenticate, if there are any.
	Username, Password string
	// From is the sender, e.g. "lastlook <alerts@example.com>".
	From string
	// To is who gets the mail. Empty means the notification's recipient, which
	// must be a mail address then.
	To string
	// Unsubscribe, if set, returns an https address: a POST to it ends this
	// kind of mail to this recipient. An empty one leaves the header out.
	Unsubscribe func(k lastlook.Key) string
	// HELO is how the client names itself; empty means the host of From.
	HELO string
	// Dial connects, such as a door.Dialer's DialContext. Required.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// TLS adjusts how the server's certificate is checked; nil means the
	// system's authorities.
	TLS TLSRoots
	// Clock is for the mail's date; nil means time.Now.
	Clock func() time.Time
}

// String shows the configuration without its secrets.
func (c Config) String() string { return "email(" + c.address() + ")" }

// GoString is String: %#v shows no secrets either.
func (c Config) GoString() string { return c.String() }

func (c Config) address() string {
	return net.JoinHostPort(c.Host, fmt.Sprint(c.port()))
}

func (c Config) port() int {
	switch {
	case c.Port != 0:
		return c.Port
	case c.Security == TLS:
		return 465
	case c.Security == Plain:
		return 25
	}
	return 587
}

// Validate reports the first thing that is wrong with the configuration, and
// what to do about it; the error wraps [lastlook.ErrInvalid].
func (c Config) Validate() error {
	_, err := New(c)
	return err
}

// Channel sends mail through one server.
type Channel struct {
	cfg      Config
	from     *mail.Address
	to       *mail.Address // nil: the recipient
	redactor *httpcall.Redactor
}

var _ lastlook.Channel = (*Channel)(nil)

// New makes a channel. It reports what [Config.Validate] does, and calls
// nobody.
func New(c Config) (*Channel, error) {
	bad := func(format string, args ...any) (*Channel, error) {
		return nil, fmt.Errorf("%w: mail's "+format, append([]any{lastlook.ErrInvalid}, args...)...)
	}
	from, err := parseAddress(c.From)
	if err != nil {
		return bad("sender %w: write it as alerts@example.com", err)
	}
	out := &Channel{from: from}
	if c.To != "" {
		if out.to, err = parseAddress(c.To); err != nil {
			return bad("recipient %w: write it as kim@example.com", err)
		}
	}
	switch {
	case c.Host == "" || strings.ContainsFunc(c.Host, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("/@[]", r) }):
		return bad("server must be a name such as smtp.example.com")
	case c.Port < 0 || c.Port > 65535:
		return bad("port must be 1 to 65535, or 0 for the usual one")
	case c.Security > Plain:
		return bad("security must be STARTTLS, TLS or Plain")
	case c.Password != "" && c.Username == "":
		return bad("password has no username with it: give both, or none")
	case c.Username != "" && c.Password == "":
		return bad("username has no password with it: give both, or none")
	case c.Username != "" && c.Security == Plain:
		return bad("password would go out in the clear: use STARTTLS or TLS, or no username")
	case strings.ContainsAny(c.Username+c.Password, "\r\n\x00"):
		return bad("username and password cannot have control characters: copy them again")
	case c.Dial == nil:
		return bad("connection needs a dialer: give a door.Dialer's DialContext")
	}
	if c.HELO == "" {
		c.HELO = domainOf(from)
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	c.Port = c.port()
	secrets := httpcall.BasicSecrets(c.Username, c.Password)
	secrets.Weak = append(secrets.Weak, "\x00"+c.Username+"\x00"+c.Password)
	out.cfg, out.redactor = c, httpcall.NewRedactor(secrets)
	return out, nil
}

// parseAddress reads one mail address. What is not ASCII needs servers that
// few have.
func parseAddress(s string) (*mail.Address, error) {
	a, err := mail.ParseAddress(s)
	if err != nil || strings.ContainsAny(s, "\r\n") {
		return nil, fmt.Errorf("%.60q is no mail address", s)
	}
	if strings.ContainsFunc(a.Address, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, fmt.Errorf("%.60q is an address that is not ASCII", s)
	}
	return a, nil
}

func domainOf(a *mail.Address) string { return a.Address[strings.LastIndexByte(a.Address, '@')+1:] }

// String shows where the channel delivers to.
func (c *Channel) String() string { return c.cfg.String() }

// GoString is String: %#v shows no secrets either.
func (c *Channel) GoString() string { return c.String() }

// Deliver implements [lastlook.Channel].
func (c *Channel) Deliver(ctx context.Context, d lastlook.Delivery) (lastlook.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return lastlook.Receipt{}, lastlook.RetryAfter(0, fmt.Errorf("email: not called: %w", err))
	}
	to := c.to
	if to == nil {
		var err error
		if to, err = parseAddress(d.Key.Recipient); err != nil {
			return lastlook.Receipt{}, lastlook.Permanent(fmt.Errorf("email: the recipient %w, and the channel names no other", err))
		}
	}
	m, err := c.compose(d, to)
	if err != nil {
		return lastlook.Receipt{}, lastlook.Permanent(fmt.Errorf("email: cannot write the message: %w", err))
	}
	answer, err := c.send(ctx, m)
	if err != nil {
		return lastlook.Receipt{}, err
	}
	return lastlook.Receipt{Answer: answer}, nil
}
