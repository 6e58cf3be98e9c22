// Package gotify delivers messages to a Gotify server (https://gotify.net), a
// push server of one's own.
//
//	ch, err := gotify.New(gotify.Config{Server: "https://gotify.example", Token: "A…", Client: client})
//
// Title, message, priority, and the address that a click opens. What is too
// long is shortened. Gotify recognizes no resends, and its applications cannot
// take a message back: a newer one stands beside the older one.
//
// Errors are those of all HTTP channels. Nothing shows the token.
package gotify

import (
	"net/http"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/internal/chat"
	"github.com/lastlook/lastlook/channel/internal/httpcall"
	"github.com/lastlook/lastlook/channel/internal/text"
)

// Config says where messages go.
type Config struct {
	// Server is the server's address, with its path if it has one.
	Server string
	// Token is an application's.
	Token string
	// Priority is that of messages that are not silent, 1 to 10; 0 means 5.
	Priority int
	// Client sends the requests; Clock is for dates in Retry-After.
	Client *http.Client
	Clock  func() time.Time
}

const (
	usual           = ""
	maxTitle        = 250
	maxText         = 16 << 10
	defaultPriority = 5
	silentPriority  = 1 // which makes no sound
)

// String shows the configuration without its secrets.
func (c Config) String() string { return "gotify(" + c.shown() + ")" }

// GoString is String: %#v shows no secrets either.
func (c Config) GoString() string { return c.String() }

// Validate reports the first thing that is wrong with the configuration, and
// what to do about it; the error wraps [lastlook.ErrInvalid].
func (c Config) Validate() error {
	_, err := New(c)
	return err
}

// Channel delivers to one application. It is safe for concurrent use.
type Channel struct{ *chat.Channel }

var _ lastlook.Channel = (*Channel)(nil)

func (c Config) shown() string {
	u, err := chat.Server("the Gotify server", c.Server, usual)
	if err != nil {
		return "no valid server"
	}
	return httpcall.Origin(u)
}

// New makes a channel. It reports what [Config.Validate] does, and calls
// nobody.
func New(c Config) (*Channel, error) {
	server, err := chat.Server("the Gotify server", c.Server, usual)
	if err != nil {
		return nil, err
	}
	if err := chat.CheckToken("Gotify's application token", c.Token); err != nil {
		return nil, err
	}
	if c.Priority < 0 || c.Priority > 10 {
		return nil, chat.Invalid("Gotify's priority must be 1 to 10, or 0 for %d", defaultPriority)
	}
	if c.Priority == 0 {
		c.Priority = defaultPriority
	}
	to, header := chat.At(server, "message"), http.Header{"X-Gotify-Key": {c.Token}}
	ch, err := chat.New(chat.Service{
		Name: "gotify", Client: c.Client, Clock: c.Clock, Shown: httpcall.Origin(server), Secrets: httpcall.Secrets{Strict: []string{c.Token}},
		Write: func(_ lastlook.Delivery, w chat.Words, _ bool) (httpcall.Request, error) {
			return chat.JSON(to, header, c.write(w))
		},
	})
	if err != nil {
		return nil, err
	}
	return &Channel{ch}, nil
}

type message struct {
	Title    string         `json:"title,omitzero"`
	Message  string         `json:"message"`
	Priority int            `json:"priority"`
	Extras   map[string]any `json:"extras"`
}

func (c Config) write(w chat.Words) message {
	m := message{
		Title: text.Shorten(w.Title, maxTitle), Message: text.Shorten(w.Body, maxText), Priority: c.Priority,
		// A shop's title is text, whatever it looks like.
		Extras: map[string]any{"client::display": map[string]string{"contentType": "text/plain"}},
	}
	if w.Silent {
		m.Priority = min(m.Priority, silentPriority)
	}
	if w.URL != "" {
		m.Extras["client::notification"] = map[string]any{"click": map[string]string{"url": w.URL}}
	}
	return m
}
