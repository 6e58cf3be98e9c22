// Package homeassistant delivers messages through a notify service of Home
// Assistant: to a phone with its app, a speaker, a group.
//
//	ch, err := homeassistant.New(homeassistant.Config{Server: "http://homeassistant.local:8123", Token: "…", Service: "mobile_app_pixel", Client: client})
//
// A message has a title, a text, the address that a touch opens, and the
// replace key as its tag, by which the app lets a newer one take the older
// one's place. A silent message has a low importance. What is too long is
// shortened.
//
// Errors are those of all HTTP channels. Nothing shows the token.
package homeassistant

import (
	"net/http"
	"strings"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/internal/chat"
	"github.com/lastlook/lastlook/channel/internal/httpcall"
	"github.com/lastlook/lastlook/channel/internal/text"
)

// Config says where messages go.
type Config struct {
	// Server is Home Assistant's address.
	Server string
	// Token is a long-lived access token.
	Token string
	// Service is the service of the domain notify; empty means notify, which
	// tells everybody.
	Service string
	// Client sends the requests; Clock is for dates in Retry-After.
	Client *http.Client
	Clock  func() time.Time
}

const (
	usual    = ""
	maxTitle = 250
	maxText  = 3000 // the push services behind it take 4 KB in all
)

// String shows the configuration without its secrets.
func (c Config) String() string { return "homeassistant(" + c.shown() + ")" }

// GoString is String: %#v shows no secrets either.
func (c Config) GoString() string { return c.String() }

// Validate reports the first thing that is wrong with the configuration, and
// what to do about it; the error wraps [lastlook.ErrInvalid].
func (c Config) Validate() error {
	_, err := New(c)
	return err
}

// Channel delivers to one service. It is safe for concurrent use.
type Channel struct{ *chat.Channel }

var _ lastlook.Channel = (*Channel)(nil)

func (c Config) shown() string {
	u, err := chat.Server("Home Assistant", c.Server, usual)
	if err != nil {
		return "no valid server"
	}
	return httpcall.Origin(u)
}

// New makes a channel. It reports what [Config.Validate] does, and calls
// nobody.
func New(c Config) (*Channel, error) {
	server, err := chat.Server("Home Assistant", c.Server, usual)
	if err != nil {
		return nil, err
	}
	if err := chat.CheckToken("Home Assistant's token", c.Token); err != nil {
		return nil, err
	}
	if c.Service == "" {
		c.Service = "notify"
	}
	if strings.Trim(c.Service, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return nil, chat.Invalid("Home Assistant's service must be small letters, digits and underscores, such as mobile_app_pixel")
	}
	to, header := chat.At(server, "api", "services", "notify", c.Service), http.Header{"Authorization": {"Bearer " + c.Token}}
	ch, err := chat.New(chat.Service{
		Name: "homeassistant", Client: c.Client, Clock: c.Clock, Shown: httpcall.Origin(server), Secrets: httpcall.Secrets{Strict: []string{c.Token}},
		Write: func(d lastlook.Delivery, w chat.Words, _ bool) (httpcall.Request, error) {
			return chat.JSON(to, header, write(d, w))
		},
	})
	if err != nil {
		return nil, err
	}
	return &Channel{ch}, nil
}

type message struct {
	Title   string `json:"title,omitzero"`
	Message string `json:"message"`
	Data    data   `json:"data"`
}

// data is what the app understands; other services leave it alone.
type data struct {
	Tag         string `json:"tag,omitzero"`
	URL         string `json:"url,omitzero"`         // iOS
	ClickAction string `json:"clickAction,omitzero"` // Android
	Importance  string `json:"importance,omitzero"`
}

func write(d lastlook.Delivery, w chat.Words) message {
	m := message{Title: text.Shorten(w.Title, maxTitle), Message: text.Shorten(w.Body, maxText), Data: data{Tag: text.Line(d.ReplaceKey), URL: w.URL, ClickAction: w.URL}}
	if w.Silent {
		m.Data.Importance = "low"
	}
	return m
}
