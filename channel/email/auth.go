package email

import (
	"errors"
	"slices"

	"github.com/wneessen/go-mail/smtp"
)

// credentials authenticate by PLAIN, or by LOGIN where there is no PLAIN, and
// only over an encrypted connection: what a stranger in between offers decides
// nothing.
type credentials struct {
	username, password string
	next               int // of LOGIN's questions
	login              bool
}

var errNoAuth = errors.New("no way to authenticate")

// Start implements [smtp.Auth].
func (c *credentials) Start(server *smtp.ServerInfo) (string, []byte, error) {
	if !server.TLS {
		return "", nil, errNoAuth
	}
	if slices.Contains(server.Auth, "PLAIN") {
		return "PLAIN", []byte("\x00" + c.username + "\x00" + c.password), nil
	}
	if slices.Contains(server.Auth, "LOGIN") {
		c.login = true
		return "LOGIN", nil, nil
	}
	return "", nil, errNoAuth
}

// Next implements [smtp.Auth].
func (c *credentials) Next(_ []byte, more bool) ([]byte, error) {
	if !more {
		return nil, nil
	}
	c.next++
	switch {
	case c.login && c.next == 1:
		return []byte(c.username), nil
	case c.login && c.next == 2:
		return []byte(c.password), nil
	}
	return nil, errNoAuth
}
