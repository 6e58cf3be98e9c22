// Package apprise delivers messages through an Apprise API server
// (https://github.com/caronc/apprise-api), which knows a hundred services more.
//
//	ch, err := apprise.New(apprise.Config{Server: "http://apprise.lan:8000", Key: "kim", Client: client})
//
// The server keeps, under the key, which services are told. A message has a
// title and a text, of at most 8 KB. Apprise recognizes no resends.
//
// Errors are those of all HTTP channels; besides, 204 says that the server has
// no such key, which parks the lane, and 424 that at least one service was not
// told: the outcome is unknown, since others may have been. Nothing shows the
// key.
package apprise

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
	// Server is the server's address.
	Server string
	// Key is the configuration's.
	Key string
	// Tag selects some of its services; empty means all.
	Tag string
	// Client sends the requests; Clock is for dates in Retry-After.
	Client *http.Client
	Clock  func() time.Time
}

const (
	usual    = ""
	maxTitle = 250
	maxText  = 8 << 10
)

// String shows the configuration without its secrets.
func (c Config) String() string { return "apprise(" + c.shown() + ")" }

// GoString is String: %#v shows no secrets either.
func (c Config) GoString() string { return c.String() }

// Validate reports the first thing that is wrong with the configuration, and
// what to do about it; the error wraps [lastlook.ErrInvalid].
func (c Config) Validate() error {
	_, err := New(c)
	return err
}

// Channel delivers to one configuration. It is safe for concurrent use.
type Channel struct{ *chat.Channel }

var _ lastlook.Channel = (*Channel)(nil)

func (c Config) shown() string {
	u, err := chat.Server("the Apprise server", c.Server, usual)
	if err != nil {
		return "no valid server"
	}
	return httpcall.Origin(u)
}

// New makes a channel. It reports what [Config.Validate] does, and calls
// nobody.
func New(c Config) (*Channel, error) {
	server, err := chat.Server("the Apprise server", c.Server, usual)
	if err != nil {
		return nil, err
	}
	if err := chat.CheckToken("Apprise's key", c.Key); err != nil {
		return nil, err
	}
	if strings.ContainsAny(c.Key, "/?#") || len(c.Key) > 128 {
		return nil, chat.Invalid("Apprise's key must be letters, digits, hyphens and underscores")
	}
	to := chat.At(server, "notify", c.Key)
	ch, err := chat.New(chat.Service{
		Name: "apprise", Client: c.Client, Clock: c.Clock, Shown: httpcall.Origin(server), Secrets: httpcall.Secrets{Weak: []string{c.Key}},
		Statuses: map[int]httpcall.Meaning{
			http.StatusNoContent:        {Class: lastlook.ClassMisconfigured, Why: "the server has nothing under this key: check it, and add services to it"},
			http.StatusFailedDependency: {Class: lastlook.ClassUnknown, Why: "at least one service was not told"},
		},
		Write: func(_ lastlook.Delivery, w chat.Words, _ bool) (httpcall.Request, error) {
			return chat.JSON(to, nil, c.write(w))
		},
	})
	if err != nil {
		return nil, err
	}
	return &Channel{ch}, nil
}

type message struct {
	Title  string `json:"title,omitzero"`
	Body   string `json:"body"`
	Type   string `json:"type"`
	Format string `json:"format"`
	Tag    string `json:"tag,omitzero"`
}

func (c Config) write(w chat.Words) message {
	m := message{Title: text.Shorten(w.Title, maxTitle), Type: "info", Format: "text", Tag: c.Tag}
	m.Body = chat.Fit(w, maxTitle, maxText, func(w chat.Words) string { return strings.TrimSpace(w.Body + "\n" + w.URL) }, chat.Bytes)
	return m
}
