// Package pushover delivers messages to phones through Pushover
// (https://pushover.net/api).
//
//	ch, err := pushover.New(pushover.Config{Token: "azGDORePK8gMaC0QOYAMyEEuzJnyUi", User: "uQiRzpo4DXghDmr9QzzfQu27cmVRsG", Client: client})
//
// A message is plain text: a title of 250 characters, a text of 1024, an
// address of 512; what is longer is shortened, an address left out. It expires
// with its row. A silent message comes without a sound. Pushover recognizes no
// resends and takes nothing back.
//
// Errors are those of all HTTP channels; besides, a user or an application that
// Pushover does not know is [lastlook.Misconfigured], and so is a quota that
// is used up. Nothing shows the token or the user's key.
package pushover

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/internal/chat"
	"github.com/lastlook/lastlook/channel/internal/httpcall"
	"github.com/lastlook/lastlook/channel/internal/text"
)

// Config says where messages go.
type Config struct {
	// Token is the application's, User the key of a user or a group.
	Token, User string
	// Device is one of the user's devices; empty means all.
	Device string
	// Server is another server; empty means https://api.pushover.net.
	Server string
	// Client sends the requests; Clock is for dates in Retry-After.
	Client *http.Client
	Clock  func() time.Time
}

const (
	usual    = "https://api.pushover.net"
	maxTitle = 250 // characters, all of them
	maxText  = 1024
	maxURL   = 512
	// maxTTL is the longest life that Pushover takes.
	maxTTL = 31 * 24 * time.Hour
)

// String shows the configuration without its secrets.
func (c Config) String() string { return "pushover(" + c.shown() + ")" }

// GoString is String: %#v shows no secrets either.
func (c Config) GoString() string { return c.String() }

// Validate reports the first thing that is wrong with the configuration, and
// what to do about it; the error wraps [lastlook.ErrInvalid].
func (c Config) Validate() error {
	_, err := New(c)
	return err
}

// Channel delivers to one user. It is safe for concurrent use.
type Channel struct{ *chat.Channel }

var _ lastlook.Channel = (*Channel)(nil)

func (c Config) shown() string {
	u, err := chat.Server("Pushover", c.Server, usual)
	if err != nil {
		return "no valid server"
	}
	return httpcall.Origin(u)
}

// New makes a channel. It reports what [Config.Validate] does, and calls
// nobody.
func New(c Config) (*Channel, error) {
	server, err := chat.Server("Pushover", c.Server, usual)
	if err != nil {
		return nil, err
	}
	for what, s := range map[string]string{"Pushover's application token": c.Token, "Pushover's user key": c.User} {
		if err := chat.CheckToken(what, s); err != nil {
			return nil, err
		}
	}
	if c.Device != "" {
		if err := chat.CheckToken("the name of Pushover's device", c.Device); err != nil {
			return nil, err
		}
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	to := chat.At(server, "1", "messages.json")
	ch, err := chat.New(chat.Service{
		Name: "pushover", Client: c.Client, Clock: c.Clock, Shown: httpcall.Origin(server),
		Secrets: httpcall.Secrets{Strict: []string{c.Token, c.User}},
		Write: func(d lastlook.Delivery, w chat.Words, _ bool) (httpcall.Request, error) {
			return chat.JSON(to, nil, c.write(d, w))
		},
		Judge: judge,
	})
	if err != nil {
		return nil, err
	}
	return &Channel{ch}, nil
}

type message struct {
	Token    string `json:"token"`
	User     string `json:"user"`
	Device   string `json:"device,omitzero"`
	Title    string `json:"title,omitzero"`
	Message  string `json:"message"`
	URL      string `json:"url,omitzero"`
	Priority int    `json:"priority"`
	// TTL is in seconds.
	TTL int64 `json:"ttl,omitzero"`
}

func (c Config) write(d lastlook.Delivery, w chat.Words) message {
	m := message{Token: c.Token, User: c.User, Device: c.Device, Title: text.Shorten(w.Title, maxTitle)}
	m.Message = chat.Fit(w, maxTitle, maxText, func(w chat.Words) string { return w.Body }, chat.Runes)
	if len(w.URL) <= maxURL {
		m.URL = w.URL
	}
	if w.Silent {
		m.Priority = -1
	}
	if life := min(d.ExpiresAt.Sub(c.Clock()), maxTTL); life > 0 && !d.ExpiresAt.IsZero() {
		m.TTL = max(int64(life/time.Second), 1)
	}
	return m
}

func judge(a httpcall.Answer) *chat.Verdict {
	var said struct {
		Status *int            `json:"status"`
		Token  string          `json:"token"`
		User   string          `json:"user"`
		Errors []string        `json:"errors"`
		Other  json.RawMessage `json:"message"`
	}
	if json.Unmarshal(a.Body, &said) != nil || said.Status == nil || *said.Status == 1 || a.Status >= 500 {
		return nil
	}
	switch {
	case said.Token == "invalid" || said.User == "invalid":
		return &chat.Verdict{Class: lastlook.ClassMisconfigured, Why: "the application token or the user key is unknown: check them"}
	case slices.ContainsFunc(said.Errors, func(s string) bool { return s == "application is over its quota" }) || a.Status == http.StatusTooManyRequests:
		return &chat.Verdict{Class: lastlook.ClassMisconfigured, Why: "the application's messages of this month are used up"}
	case a.Status == http.StatusOK:
		return &chat.Verdict{Class: lastlook.ClassPermanent, Why: "the message is refused"}
	}
	return nil
}
