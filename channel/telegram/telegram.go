// Package telegram delivers messages through a bot of Telegram's
// (https://core.telegram.org/bots/api): to a person who has talked to it, a
// group, a channel, or a topic of a group.
//
//	ch, err := telegram.New(telegram.Config{Token: "110201543:AAH…", Chat: "12345678", Client: client})
//
// A message is written as HTML, everything in it escaped; should Telegram refuse
// that, it is sent once more as plain text. It has at most 4096 UTF-16 units. A
// newer message takes the place of the older one with the same replace key:
// that one is deleted. A silent message makes no sound.
//
// Errors are those of all HTTP channels; besides, a chat whose owner blocked
// the bot, or that is gone, is [lastlook.Gone], a chat that the bot does not
// know is [lastlook.Misconfigured], and the wait that Telegram asks for is
// heeded. Nothing shows the token or the chat.
package telegram

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/internal/chat"
	"github.com/lastlook/lastlook/channel/internal/httpcall"
)

// Config says which bot writes to whom.
type Config struct {
	// Token is the bot's, as @BotFather gave it.
	Token string
	// Chat is the chat's number, or @name of a public channel.
	Chat string
	// Thread is the number of a topic in a group that has some; 0 is none.
	Thread int64
	// Server is another Bot API server; empty means https://api.telegram.org.
	Server string
	// Client sends the requests; Clock is for dates in Retry-After.
	Client *http.Client
	Clock  func() time.Time
}

const (
	usual    = "https://api.telegram.org"
	maxText  = 4096 // UTF-16 units
	maxTitle = 250
)

// String shows the configuration without its secrets.
func (c Config) String() string { return "telegram(" + c.shown() + ")" }

// GoString is String: %#v shows no secrets either.
func (c Config) GoString() string { return c.String() }

// Validate reports the first thing that is wrong with the configuration, and
// what to do about it; the error wraps [lastlook.ErrInvalid].
func (c Config) Validate() error {
	_, err := New(c)
	return err
}

// Channel delivers to one chat. It is safe for concurrent use.
type Channel struct{ *chat.Channel }

var _ lastlook.Channel = (*Channel)(nil)

func (c Config) shown() string {
	u, err := chat.Server("Telegram", c.Server, usual)
	if err != nil {
		return "no valid server"
	}
	return httpcall.Origin(u)
}

// New makes a channel. It reports what [Config.Validate] does, and calls
// nobody.
func New(c Config) (*Channel, error) {
	server, err := chat.Server("Telegram", c.Server, usual)
	if err != nil {
		return nil, err
	}
	if err := chat.CheckToken("the token of Telegram's bot", c.Token); err != nil {
		return nil, err
	}
	id, secret, ok := strings.Cut(c.Token, ":")
	if !ok || id == "" || secret == "" || strings.Trim(id, "0123456789") != "" {
		return nil, chat.Invalid("the token of Telegram's bot must look like 110201543:AAH…: copy it from @BotFather")
	}
	if err := chat.CheckToken("the number of Telegram's chat", c.Chat); err != nil {
		return nil, err
	}
	if c.Thread < 0 {
		return nil, chat.Invalid("the number of a topic in Telegram is negative")
	}
	at := func(method string) *url.URL { return chat.At(server, "bot"+c.Token, method) }
	ch, err := chat.New(chat.Service{
		Name: "telegram", Client: c.Client, Clock: c.Clock, Shown: httpcall.Origin(server),
		Secrets: httpcall.Secrets{Strict: []string{c.Token, secret}, Weak: []string{c.Chat}},
		Write: func(_ lastlook.Delivery, w chat.Words, plain bool) (httpcall.Request, error) {
			return chat.JSON(at("sendMessage"), nil, c.write(w, plain))
		},
		Judge: judge,
		Formatted: func(a httpcall.Answer) bool {
			return a.Status == http.StatusBadRequest && strings.Contains(read(a).Description, "can't parse entities")
		},
		Ref: func(a httpcall.Answer) string {
			if n := read(a).Result.ID; n > 0 {
				return strconv.FormatInt(n, 10)
			}
			return ""
		},
		Retract: func(ref string) httpcall.Request {
			n, _ := strconv.ParseInt(ref, 10, 64)
			r, _ := chat.JSON(at("deleteMessage"), nil, map[string]any{"chat_id": c.Chat, "message_id": n})
			return r
		},
	})
	if err != nil {
		return nil, err
	}
	return &Channel{ch}, nil
}

type message struct {
	Chat     string  `json:"chat_id"`
	Thread   int64   `json:"message_thread_id,omitzero"`
	Text     string  `json:"text"`
	Mode     string  `json:"parse_mode,omitzero"`
	Silent   bool    `json:"disable_notification,omitzero"`
	Previews preview `json:"link_preview_options"`
}

type preview struct {
	Disabled bool `json:"is_disabled"`
}

func (c Config) write(w chat.Words, plain bool) message {
	m := message{Chat: c.Chat, Thread: c.Thread, Silent: w.Silent, Mode: "HTML", Previews: preview{true}}
	form := func(w chat.Words) string {
		return join(wrap("<b>", html.EscapeString(w.Title), "</b>"), html.EscapeString(w.Body), html.EscapeString(w.URL))
	}
	if plain {
		m.Mode = ""
		form = func(w chat.Words) string { return join(w.Title, w.Body, w.URL) }
	}
	m.Text = chat.Fit(w, maxTitle, maxText, form, chat.UTF16)
	return m
}

func wrap(before, s, after string) string {
	if s == "" {
		return ""
	}
	return before + s + after
}

func join(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, "\n")
}

type answer struct {
	OK          bool   `json:"ok"`
	Description string `json:"description"`
	Result      struct {
		ID int64 `json:"message_id"`
	} `json:"result"`
	Parameters struct {
		RetryAfter json.Number `json:"retry_after"`
	} `json:"parameters"`
}

func read(a httpcall.Answer) answer {
	var out answer
	_ = json.Unmarshal(a.Body, &out) // what is not Telegram's is empty
	return out
}

func judge(a httpcall.Answer) *chat.Verdict {
	said := read(a)
	text := strings.ToLower(said.Description)
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(text, p) {
				return true
			}
		}
		return false
	}
	switch {
	case said.OK || said.Description == "":
		return nil
	case a.Status == http.StatusTooManyRequests:
		return &chat.Verdict{Class: lastlook.ClassTransient, After: chat.Seconds(said.Parameters.RetryAfter), Why: "too many messages: Telegram asks to wait"}
	case a.Status == http.StatusForbidden && has("blocked by the user", "user is deactivated", "was kicked"):
		return &chat.Verdict{Class: lastlook.ClassGone, Why: "the chat does not want the bot any more"}
	case a.Status == http.StatusBadRequest && has("chat not found", "thread not found", "not enough rights", "topic_closed", "chat_write_forbidden"):
		return &chat.Verdict{Class: lastlook.ClassMisconfigured, Why: "the bot cannot write there: check the chat, and talk to the bot first"}
	}
	return nil
}
