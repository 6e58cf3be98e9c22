// Package discord delivers messages through a webhook of a Discord channel
// (https://discord.com/developers/docs/resources/webhook#execute-webhook).
//
//	ch, err := discord.New(discord.Config{ID: "1100…", Token: "…", Client: client})
//
// A message is an embed: title, description, address; Markdown in it is
// escaped, and nobody is mentioned by it. The title has at most 256 characters,
// the description 4096. Should Discord refuse the embed, the message is sent
// once more as plain content. A newer message takes the place of the older one
// with the same replace key: that one is deleted. A silent message makes no
// sound.
//
// Errors are those of all HTTP channels; the wait that Discord asks for is
// heeded. Nothing shows the webhook's id or token.
package discord

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/internal/chat"
	"github.com/lastlook/lastlook/channel/internal/httpcall"
	"github.com/lastlook/lastlook/channel/internal/text"
)

// Config says which webhook is used. Its address is
// https://discord.com/api/webhooks/ID/TOKEN.
type Config struct {
	ID, Token string
	// Thread is the id of a thread of the channel; empty is none.
	Thread string
	// Server is another server; empty means https://discord.com.
	Server string
	// Client sends the requests; Clock is for dates in Retry-After.
	Client *http.Client
	Clock  func() time.Time
}

const (
	usual          = "https://discord.com"
	maxTitle       = 256
	maxDescription = 4096
	maxContent     = 2000
	// suppressNotifications is a message's flag.
	suppressNotifications = 1 << 12
)

// String shows the configuration without its secrets.
func (c Config) String() string { return "discord(" + c.shown() + ")" }

// GoString is String: %#v shows no secrets either.
func (c Config) GoString() string { return c.String() }

// Validate reports the first thing that is wrong with the configuration, and
// what to do about it; the error wraps [lastlook.ErrInvalid].
func (c Config) Validate() error {
	_, err := New(c)
	return err
}

// Channel delivers to one webhook. It is safe for concurrent use.
type Channel struct{ *chat.Channel }

var _ lastlook.Channel = (*Channel)(nil)

func (c Config) shown() string {
	u, err := chat.Server("Discord", c.Server, usual)
	if err != nil {
		return "no valid server"
	}
	return httpcall.Origin(u)
}

// New makes a channel. It reports what [Config.Validate] does, and calls
// nobody.
func New(c Config) (*Channel, error) {
	server, err := chat.Server("Discord", c.Server, usual)
	if err != nil {
		return nil, err
	}
	if err := chat.CheckToken("the token of Discord's webhook", c.Token); err != nil {
		return nil, err
	}
	if !digits(c.ID) || c.Thread != "" && !digits(c.Thread) {
		return nil, chat.Invalid("the id of Discord's webhook, and of a thread, are numbers: copy the webhook's address again")
	}
	hook := func(query url.Values, more ...string) *url.URL {
		if c.Thread != "" {
			query.Set("thread_id", c.Thread)
		}
		u := chat.At(server, append([]string{"api", "webhooks", c.ID, c.Token}, more...)...)
		u.RawQuery = query.Encode()
		return u
	}
	ch, err := chat.New(chat.Service{
		Name: "discord", Client: c.Client, Clock: c.Clock, Shown: httpcall.Origin(server),
		Secrets: httpcall.Secrets{Strict: []string{c.Token}, Weak: []string{c.ID, c.Thread}},
		Write: func(_ lastlook.Delivery, w chat.Words, plain bool) (httpcall.Request, error) {
			return chat.JSON(hook(url.Values{"wait": {"true"}}), nil, write(w, plain))
		},
		Judge: func(a httpcall.Answer) *chat.Verdict {
			if wait := chat.Seconds(read(a).RetryAfter); a.Status == http.StatusTooManyRequests && wait > 0 {
				return &chat.Verdict{Class: lastlook.ClassTransient, After: wait, Why: "too many messages: Discord asks to wait"}
			}
			return nil
		},
		Formatted: func(a httpcall.Answer) bool {
			return a.Status == http.StatusBadRequest && (read(a).Code == invalidForm || strings.Contains(string(a.Body), "\"embeds\""))
		},
		Ref: func(a httpcall.Answer) string {
			if id := read(a).ID; digits(id) {
				return id
			}
			return ""
		},
		Retract: func(ref string) httpcall.Request {
			return httpcall.Request{Method: http.MethodDelete, URL: hook(url.Values{}, "messages", ref)}
		},
	})
	if err != nil {
		return nil, err
	}
	return &Channel{ch}, nil
}

// invalidForm is Discord's code of a body that it cannot take.
const invalidForm = 50035

func digits(s string) bool { return s != "" && len(s) <= 20 && strings.Trim(s, "0123456789") == "" }

type message struct {
	Content  string   `json:"content,omitzero"`
	Embeds   []embed  `json:"embeds,omitzero"`
	Mentions mentions `json:"allowed_mentions"`
	Flags    int      `json:"flags,omitzero"`
}

type mentions struct {
	Parse []string `json:"parse"`
}

type embed struct {
	Title       string `json:"title,omitzero"`
	Description string `json:"description"`
	URL         string `json:"url,omitzero"`
}

func write(w chat.Words, plain bool) message {
	m := message{Mentions: mentions{[]string{}}}
	if w.Silent {
		m.Flags = suppressNotifications
	}
	if plain {
		m.Content = chat.Fit(w, maxTitle, maxContent, func(w chat.Words) string {
			return strings.TrimSpace(w.Title + "\n" + w.Body + "\n" + w.URL)
		}, chat.UTF16)
		return m
	}
	e := embed{URL: w.URL, Description: chat.Fit(w, maxTitle, maxDescription, func(w chat.Words) string { return escape(w.Body) }, chat.UTF16)}
	if e.Title = escape(w.Title); chat.UTF16(e.Title) > maxTitle {
		e.Title = text.Shorten(strings.ReplaceAll(escape(text.Shorten(w.Title, maxTitle/2)), "\n", " "), maxTitle)
	}
	if e.Title == "" && e.URL != "" {
		e.Title = e.URL[:min(len(e.URL), maxTitle)] // an address stands under a title only
	}
	m.Embeds = []embed{e}
	return m
}

// escape takes the meaning from what Markdown, mentions and Discord's own marks
// begin with.
func escape(s string) string { return escaper().Replace(s) }

func escaper() *strings.Replacer {
	var pairs []string
	for _, c := range "\\*_~`|>#[]()<@:-" {
		pairs = append(pairs, string(c), "\\"+string(c))
	}
	return strings.NewReplacer(pairs...)
}

type answer struct {
	ID         string      `json:"id"`
	Code       int         `json:"code"`
	RetryAfter json.Number `json:"retry_after"`
}

func read(a httpcall.Answer) answer {
	var out answer
	_ = json.Unmarshal(a.Body, &out) // what is not Discord's is empty
	return out
}
