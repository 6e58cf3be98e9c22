// Package line delivers messages through a LINE official account
// (https://developers.line.biz/en/reference/messaging-api/#send-push-message).
//
//	ch, err := line.New(line.Config{Token: "…", To: "U4af4980629…", Client: client})
//
// A message is plain text of at most 5000 UTF-16 units. Its retry key is made of
// the delivery key: LINE itself takes a resend of the same assertion for what
// it is, for a day. A silent message makes no sound. LINE takes nothing back.
//
// Errors are those of all HTTP channels; besides, 409 says that LINE has the
// message already. Nothing shows the token or the recipient's id.
package line

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/internal/chat"
	"github.com/lastlook/lastlook/channel/internal/httpcall"
)

// Config says where messages go.
type Config struct {
	// Token is a channel access token.
	Token string
	// To is the id of a user, a group or a room.
	To string
	// Server is another server; empty means https://api.line.me.
	Server string
	// Client sends the requests; Clock is for dates in Retry-After.
	Client *http.Client
	Clock  func() time.Time
}

const (
	usual    = "https://api.line.me"
	maxTitle = 250
	maxText  = 5000 // UTF-16 units
)

// String shows the configuration without its secrets.
func (c Config) String() string { return "line(" + c.shown() + ")" }

// GoString is String: %#v shows no secrets either.
func (c Config) GoString() string { return c.String() }

// Validate reports the first thing that is wrong with the configuration, and
// what to do about it; the error wraps [lastlook.ErrInvalid].
func (c Config) Validate() error {
	_, err := New(c)
	return err
}

// Channel delivers to one account. It is safe for concurrent use.
type Channel struct{ *chat.Channel }

var _ lastlook.Channel = (*Channel)(nil)

func (c Config) shown() string {
	u, err := chat.Server("LINE", c.Server, usual)
	if err != nil {
		return "no valid server"
	}
	return httpcall.Origin(u)
}

// New makes a channel. It reports what [Config.Validate] does, and calls
// nobody.
func New(c Config) (*Channel, error) {
	server, err := chat.Server("LINE", c.Server, usual)
	if err != nil {
		return nil, err
	}
	for what, s := range map[string]string{"LINE's channel access token": c.Token, "the id of LINE's recipient": c.To} {
		if err := chat.CheckToken(what, s); err != nil {
			return nil, err
		}
	}
	to := chat.At(server, "v2", "bot", "message", "push")
	ch, err := chat.New(chat.Service{
		Name: "line", Client: c.Client, Clock: c.Clock, Shown: httpcall.Origin(server),
		Secrets:  httpcall.Secrets{Strict: []string{c.Token}, Weak: []string{c.To}},
		Statuses: map[int]httpcall.Meaning{http.StatusConflict: {Accepted: true}}, // the retry key was taken before
		Write: func(d lastlook.Delivery, w chat.Words, _ bool) (httpcall.Request, error) {
			return chat.JSON(to, http.Header{"Authorization": {"Bearer " + c.Token}, "X-Line-Retry-Key": {retryKey(d.DeliveryKey)}}, c.write(w))
		},
	})
	if err != nil {
		return nil, err
	}
	return &Channel{ch}, nil
}

// retryKey makes a UUID (version 8, RFC 9562) of the delivery key.
func retryKey(deliveryKey string) string {
	b := sha256.Sum256([]byte("line " + deliveryKey))
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}

type message struct {
	To       string `json:"to"`
	Messages []part `json:"messages"`
	Silent   bool   `json:"notificationDisabled"`
}

type part struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func (c Config) write(w chat.Words) message {
	text := chat.Fit(w, maxTitle, maxText, func(w chat.Words) string {
		return strings.TrimSpace(w.Title + "\n" + w.Body + "\n" + w.URL)
	}, chat.UTF16)
	return message{To: c.To, Messages: []part{{"text", text}}, Silent: w.Silent}
}
