// Package matrix delivers messages to a room of Matrix, as a user that has
// joined it (Client-Server API v1.11, PUT …/send/m.room.message).
//
//	ch, err := matrix.New(matrix.Config{Server: "https://matrix.example", Token: "syt_…", Room: "!abc:example", Client: client})
//
// A message has a plain body and an HTML one, everything in it escaped, of at
// most 16 KB each. The delivery key is the transaction's id: the server itself
// takes a resend of the same assertion for what it is. A newer message takes
// the place of the older one with the same replace key: that one is redacted.
// A silent message is a notice.
//
// Errors are those of all HTTP channels; the wait that the server asks for is
// heeded. Nothing shows the token or the room.
package matrix

import (
	"cmp"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/internal/chat"
	"github.com/lastlook/lastlook/channel/internal/httpcall"
)

// Config says where messages go.
type Config struct {
	// Server is the homeserver's address.
	Server string
	// Token is the user's access token, Room the room's id (!…:…).
	Token, Room string
	// Client sends the requests; Clock is for dates in Retry-After.
	Client *http.Client
	Clock  func() time.Time
}

const (
	usual    = ""
	maxTitle = 250
	maxText  = 16 << 10 // an event has 64 KB in all
)

// String shows the configuration without its secrets.
func (c Config) String() string { return "matrix(" + c.shown() + ")" }

// GoString is String: %#v shows no secrets either.
func (c Config) GoString() string { return c.String() }

// Validate reports the first thing that is wrong with the configuration, and
// what to do about it; the error wraps [lastlook.ErrInvalid].
func (c Config) Validate() error {
	_, err := New(c)
	return err
}

// Channel delivers to one room. It is safe for concurrent use.
type Channel struct{ *chat.Channel }

var _ lastlook.Channel = (*Channel)(nil)

func (c Config) shown() string {
	u, err := chat.Server("the Matrix server", c.Server, usual)
	if err != nil {
		return "no valid server"
	}
	return httpcall.Origin(u)
}

// New makes a channel. It reports what [Config.Validate] does, and calls
// nobody.
func New(c Config) (*Channel, error) {
	server, err := chat.Server("the Matrix server", c.Server, usual)
	if err != nil {
		return nil, err
	}
	if err := chat.CheckToken("Matrix's access token", c.Token); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(c.Room, "!") || chat.CheckToken("room", c.Room) != nil {
		return nil, chat.Invalid("Matrix's room must be its id, which begins with !: the room's settings show it under Advanced")
	}
	header := http.Header{"Authorization": {"Bearer " + c.Token}}
	at := func(parts ...string) *url.URL {
		return chat.At(server, append([]string{"_matrix", "client", "v3", "rooms", c.Room}, parts...)...)
	}
	ch, err := chat.New(chat.Service{
		Name: "matrix", Client: c.Client, Clock: c.Clock, Shown: httpcall.Origin(server),
		Secrets: httpcall.Secrets{Strict: []string{c.Token}, Weak: []string{c.Room}},
		Write: func(d lastlook.Delivery, w chat.Words, _ bool) (httpcall.Request, error) {
			r, err := chat.JSON(at("send", "m.room.message", cmp.Or(d.DeliveryKey, "none")), header, write(w))
			r.Method = http.MethodPut
			return r, err
		},
		Judge: func(a httpcall.Answer) *chat.Verdict {
			if said := read(a); a.Status == http.StatusTooManyRequests && said.Wait > 0 {
				return &chat.Verdict{Class: lastlook.ClassTransient, After: time.Duration(min(said.Wait, 1e9)) * time.Millisecond, Why: "too many messages: the server asks to wait"}
			}
			return nil
		},
		Ref: func(a httpcall.Answer) string {
			if id := read(a).Event; strings.HasPrefix(id, "$") {
				return id
			}
			return ""
		},
		Retract: func(ref string) httpcall.Request {
			r, _ := chat.JSON(at("redact", ref, "after-"+ref), header, map[string]string{"reason": "a newer message has taken its place"})
			r.Method = http.MethodPut
			return r
		},
	})
	if err != nil {
		return nil, err
	}
	return &Channel{ch}, nil
}

type message struct {
	Type   string `json:"msgtype"`
	Body   string `json:"body"`
	Format string `json:"format"`
	HTML   string `json:"formatted_body"`
}

func write(w chat.Words) message {
	m := message{Type: "m.text", Format: "org.matrix.custom.html"}
	if w.Silent {
		m.Type = "m.notice"
	}
	m.Body = chat.Fit(w, maxTitle, maxText, func(w chat.Words) string { return strings.TrimSpace(w.Title + "\n" + w.Body + "\n" + w.URL) }, chat.Bytes)
	m.HTML = chat.Fit(w, maxTitle, maxText, func(w chat.Words) string {
		out := strings.ReplaceAll(html.EscapeString(w.Body), "\n", "<br>")
		if w.Title != "" {
			out = "<b>" + html.EscapeString(w.Title) + "</b><br>" + out
		}
		if w.URL != "" {
			u := html.EscapeString(w.URL)
			out += `<br><a href="` + u + `">` + u + `</a>`
		}
		return out
	}, chat.Bytes)
	return m
}

type answer struct {
	Event string `json:"event_id"`
	Wait  int64  `json:"retry_after_ms"`
}

func read(a httpcall.Answer) answer {
	var out answer
	_ = json.Unmarshal(a.Body, &out) // what is not Matrix's is empty
	return out
}
