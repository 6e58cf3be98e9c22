// Package teams delivers messages to a chat or channel of Microsoft Teams,
// through a workflow that starts with "when a Teams webhook request is
// received" (the older connectors are gone).
//
//	ch, err := teams.New(teams.Config{Webhook: "https://….logic.azure.com/workflows/…", Client: client})
//
// A message is an adaptive card, Markdown in it escaped, of at most 24 KB. What
// is too long is shortened. Teams recognizes no resends and takes nothing back.
//
// Errors are those of all HTTP channels. Nothing shows the webhook's address
// beyond its origin.
package teams

import (
	"encoding/json"
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
	// Webhook is the workflow's address.
	Webhook string
	// Client sends the requests; Clock is for dates in Retry-After.
	Client *http.Client
	Clock  func() time.Time
}

const (
	maxTitle = 250
	// maxCard bounds the JSON of a card; Teams takes 28 KB.
	maxCard = 24 << 10
)

// String shows the configuration without its secrets.
func (c Config) String() string { return "teams(" + c.shown() + ")" }

// GoString is String: %#v shows no secrets either.
func (c Config) GoString() string { return c.String() }

// Validate reports the first thing that is wrong with the configuration, and
// what to do about it; the error wraps [lastlook.ErrInvalid].
func (c Config) Validate() error {
	_, err := New(c)
	return err
}

// Channel delivers to one workflow. It is safe for concurrent use.
type Channel struct{ *chat.Channel }

var _ lastlook.Channel = (*Channel)(nil)

func (c Config) shown() string {
	u, err := httpcall.ParseURL("the address of Teams' webhook", c.Webhook)
	if err != nil {
		return "no valid webhook"
	}
	return httpcall.Origin(u)
}

// New makes a channel. It reports what [Config.Validate] does, and calls
// nobody.
func New(c Config) (*Channel, error) {
	to, err := httpcall.ParseURL("the address of Teams' webhook", c.Webhook)
	if err != nil {
		return nil, err
	}
	ch, err := chat.New(chat.Service{
		Name: "teams", Client: c.Client, Clock: c.Clock, Shown: httpcall.Origin(to),
		Write: func(_ lastlook.Delivery, w chat.Words, _ bool) (httpcall.Request, error) {
			return chat.JSON(to, nil, write(w))
		},
	})
	if err != nil {
		return nil, err
	}
	return &Channel{ch}, nil
}

type message struct {
	Type        string       `json:"type"`
	Attachments []attachment `json:"attachments"`
}

type attachment struct {
	ContentType string  `json:"contentType"`
	ContentURL  *string `json:"contentUrl"`
	Content     card    `json:"content"`
}

type card struct {
	Schema  string   `json:"$schema"`
	Type    string   `json:"type"`
	Version string   `json:"version"`
	Body    []block  `json:"body"`
	Actions []action `json:"actions,omitzero"`
}

type block struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Wrap   bool   `json:"wrap"`
	Weight string `json:"weight,omitzero"`
	Size   string `json:"size,omitzero"`
}

type action struct {
	Type  string `json:"type"`
	Title string `json:"title"`
	URL   string `json:"url"`
}

func write(w chat.Words) message {
	c := card{Schema: "http://adaptivecards.io/schemas/adaptive-card.json", Type: "AdaptiveCard", Version: "1.4"}
	if w.Title != "" {
		c.Body = append(c.Body, block{Type: "TextBlock", Text: escape(text.Shorten(w.Title, maxTitle)), Wrap: true, Weight: "bolder", Size: "medium"})
	}
	// Line ends count as such only when they are paragraphs' ends. What the
	// body is in the card's JSON is what is bounded.
	body := chat.Fit(w, maxTitle, maxCard-4*maxTitle-3000, func(w chat.Words) string { return strings.ReplaceAll(escape(w.Body), "\n", "\n\n") }, encoded)
	c.Body = append(c.Body, block{Type: "TextBlock", Text: body, Wrap: true})
	if w.URL != "" {
		c.Actions = []action{{"Action.OpenUrl", "Open", w.URL}}
	}
	return message{"message", []attachment{{ContentType: "application/vnd.microsoft.card.adaptive", Content: c}}}
}

// encoded is how many bytes of JSON a text makes.
func encoded(s string) int {
	b, _ := json.Marshal(s) // a string always can be
	return len(b)
}

// escape takes the meaning from what Markdown in cards begins with.
func escape(s string) string {
	var pairs []string
	for _, c := range "\\*_[]()~`#-" {
		pairs = append(pairs, string(c), "\\"+string(c))
	}
	return strings.NewReplacer(append(pairs, "<", "&lt;", "&", "&amp;")...).Replace(s)
}
