// Package slack delivers messages to a Slack channel: through an incoming
// webhook, or as a bot.
//
//	ch, err := slack.New(slack.Config{Webhook: "https://hooks.slack.com/services/T…/B…/…", Client: client})
//	ch, err := slack.New(slack.Config{Token: "xoxb-…", Channel: "C012AB3CD", Client: client})
//
// What Slack gives a meaning to is escaped, and nobody is mentioned by it; a
// message has at most 3000 characters. Should Slack refuse the blocks, the
// message is sent once more as plain text. As a bot, a newer message takes the
// place of the older one with the same replace key: that one is deleted.
//
// Errors are those of all HTTP channels; of the bot's answers, which are 200
// whatever happened, the error in them decides. Nothing shows the token, or
// the webhook's address beyond its origin.
package slack

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/internal/chat"
	"github.com/lastlook/lastlook/channel/internal/httpcall"
)

// Config says where messages go: Webhook, or Token and Channel.
type Config struct {
	// Webhook is the address of an incoming webhook.
	Webhook string
	// Token is a bot's (xoxb-…), Channel the id of a channel it may write to.
	Token, Channel string
	// Server is another server for the bot; empty means https://slack.com.
	Server string
	// Client sends the requests; Clock is for dates in Retry-After.
	Client *http.Client
	Clock  func() time.Time
}

const (
	usual    = "https://slack.com"
	maxText  = 3000 // of a section block
	maxTitle = 250
)

// String shows the configuration without its secrets.
func (c Config) String() string { return "slack(" + c.shown() + ")" }

// GoString is String: %#v shows no secrets either.
func (c Config) GoString() string { return c.String() }

// Validate reports the first thing that is wrong with the configuration, and
// what to do about it; the error wraps [lastlook.ErrInvalid].
func (c Config) Validate() error {
	_, err := New(c)
	return err
}

// Channel delivers to one channel. It is safe for concurrent use.
type Channel struct{ *chat.Channel }

var _ lastlook.Channel = (*Channel)(nil)

func (c Config) shown() string {
	if c.Webhook != "" {
		u, err := httpcall.ParseURL("the address of Slack's webhook", c.Webhook)
		if err != nil {
			return "no valid webhook"
		}
		return httpcall.Origin(u)
	}
	u, err := chat.Server("Slack", c.Server, usual)
	if err != nil {
		return "no valid server"
	}
	return httpcall.Origin(u)
}

// New makes a channel. It reports what [Config.Validate] does, and calls
// nobody.
func New(c Config) (*Channel, error) {
	s := chat.Service{Name: "slack", Client: c.Client, Clock: c.Clock, Shown: c.shown(), Judge: judge, Formatted: formatted}
	var err error
	switch {
	case c.Webhook != "" && (c.Token != "" || c.Channel != ""):
		return nil, chat.Invalid("Slack's webhook and a bot's token exclude each other: give one of them")
	case c.Webhook != "":
		err = c.webhook(&s)
	default:
		err = c.bot(&s)
	}
	if err != nil {
		return nil, err
	}
	ch, err := chat.New(s)
	if err != nil {
		return nil, err
	}
	return &Channel{ch}, nil
}

func (c Config) webhook(s *chat.Service) error {
	to, err := httpcall.ParseURL("the address of Slack's webhook", c.Webhook)
	if err != nil {
		return err
	}
	s.Write = func(_ lastlook.Delivery, w chat.Words, plain bool) (httpcall.Request, error) {
		return chat.JSON(to, nil, write(w, "", plain))
	}
	return nil
}

func (c Config) bot(s *chat.Service) error {
	server, err := chat.Server("Slack", c.Server, usual)
	if err != nil {
		return err
	}
	if err := chat.CheckToken("the token of Slack's bot", c.Token); err != nil {
		return err
	}
	if err := chat.CheckToken("the id of Slack's channel", c.Channel); err != nil {
		return err
	}
	header := http.Header{"Authorization": {"Bearer " + c.Token}}
	at := func(method string) *url.URL { return chat.At(server, "api", method) }
	s.Secrets = httpcall.Secrets{Strict: []string{c.Token}, Weak: []string{c.Channel}}
	s.Write = func(_ lastlook.Delivery, w chat.Words, plain bool) (httpcall.Request, error) {
		return chat.JSON(at("chat.postMessage"), header, write(w, c.Channel, plain))
	}
	s.Ref = func(a httpcall.Answer) string { return read(a).Time }
	s.Retract = func(ref string) httpcall.Request {
		r, _ := chat.JSON(at("chat.delete"), header, map[string]string{"channel": c.Channel, "ts": ref})
		return r
	}
	return nil
}

type message struct {
	Channel string `json:"channel,omitzero"`
	// Text is what notifications show, and all if there are no blocks.
	Text   string  `json:"text"`
	Blocks []block `json:"blocks,omitzero"`
	Links  bool    `json:"unfurl_links"`
	Markup bool    `json:"mrkdwn"`
}

type block struct {
	Type string `json:"type"`
	Text body   `json:"text"`
}

type body struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func write(w chat.Words, channel string, plain bool) message {
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace
	join := func(parts ...string) string {
		return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n")
	}
	m := message{Channel: channel}
	m.Text = chat.Fit(w, maxTitle, maxText, func(w chat.Words) string { return join(escape(w.Title), escape(w.Body), escape(w.URL)) }, chat.Runes)
	if plain {
		return m
	}
	// Without mrkdwn, stars and underscores mean nothing; the title is bold by
	// standing in a header of its own.
	m.Blocks = []block{{"section", body{"plain_text", chat.Fit(w, maxTitle, maxText, func(w chat.Words) string { return join(w.Title, w.Body) }, chat.Runes)}}}
	if w.URL != "" {
		m.Blocks = append(m.Blocks, block{"section", body{"mrkdwn", "<" + strings.NewReplacer("&", "&amp;").Replace(w.URL) + ">"}})
	}
	return m
}

type answer struct {
	OK    *bool  `json:"ok"`
	Error string `json:"error"`
	Time  string `json:"ts"`
}

func read(a httpcall.Answer) answer {
	var out answer
	_ = json.Unmarshal(a.Body, &out) // what is not Slack's is empty
	return out
}

func formatted(a httpcall.Answer) bool {
	return strings.Contains(string(a.Body), "invalid_blocks")
}

// judge reads a bot's answer, whose status is 200 whatever happened.
func judge(a httpcall.Answer) *chat.Verdict {
	said := read(a)
	if said.OK == nil || *said.OK || a.Status != http.StatusOK {
		return nil
	}
	switch said.Error {
	case "ratelimited", "rate_limited", "internal_error", "fatal_error", "service_unavailable", "request_timeout":
		return &chat.Verdict{Class: lastlook.ClassTransient, Why: "not now"}
	case "is_archived":
		return &chat.Verdict{Class: lastlook.ClassGone, Why: "the channel is archived"}
	case "msg_too_long", "no_text", "invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long":
		return &chat.Verdict{Class: lastlook.ClassPermanent, Why: "the message is refused"}
	}
	return &chat.Verdict{Class: lastlook.ClassMisconfigured, Why: "Slack refuses the bot: check its token, its scope chat:write, and that it is in the channel"}
}
