package ntfy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/internal/text"
)

// publication is what ntfy takes as JSON.
type publication struct {
	Topic    string   `json:"topic"`
	Title    string   `json:"title,omitempty"`
	Message  string   `json:"message"`
	Priority Priority `json:"priority,omitempty"`
	Tags     []string `json:"tags,omitempty"`
	Click    string   `json:"click,omitempty"`
	Sequence string   `json:"sequence_id,omitempty"`
}

const (
	// maxTitle bounds a title, in bytes. ntfy sets no limit, but phones show
	// two lines of it, and the push services behind it take 4 KiB in all.
	maxTitle = 250
	// maxClick is the length of a URL that every browser still opens.
	maxClick = 2000
)

// form is what all messages of a channel have in common.
type form struct {
	topic    string
	priority Priority
	tags     []string
	limit    int
}

// encode words a message as ntfy wants it.
func (f form) encode(d lastlook.Delivery) ([]byte, error) {
	limit := f.limit
	if limit == 0 {
		limit = DefaultMessageLimit
	}
	p := publication{
		Topic:    f.topic,
		Title:    text.Shorten(text.Line(d.Message.Title), min(maxTitle, limit/8)),
		Message:  text.Clean(d.Message.Body),
		Priority: f.priority,
		Tags:     f.tags,
	}
	if p.Message == "" { // ntfy would put "triggered"
		p.Title, p.Message = "", text.Clean(d.Message.Title)
	}
	if p.Message == "" {
		p.Message = text.Line(d.Key.Subject) // better than nothing
	}
	if d.Message.Silent && (p.Priority == 0 || p.Priority > PriorityLow) {
		p.Priority = PriorityLow
	}
	if u := d.Message.URL; len(u) <= min(maxClick, limit/2) && opens(u) {
		p.Click = u
	}
	if identifier(d.ReplaceKey) {
		p.Sequence = d.ReplaceKey
	}
	// Exactly the limit already is an attachment, to ntfy; and of the JSON it
	// reads twice the limit, where escaping may have made one byte six.
	p.Message = text.Shorten(p.Message, limit-1)
	for {
		b, err := p.encode()
		if err != nil {
			return nil, err
		}
		over := len(b) - (2*limit - 1)
		if over <= 0 {
			return b, nil
		}
		if p.Message == "" {
			return nil, fmt.Errorf("%d bytes too many without any text", over)
		}
		// Each byte makes one to six bytes of JSON: a sixth of what is too
		// much never takes too much off, and something always goes.
		p.Message = text.Shorten(p.Message, len(p.Message)-max(over/6, 1))
	}
}

func (p publication) encode() ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(p); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// opens reports whether a click on the URL can lead anywhere.
func opens(s string) bool {
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\uFFFD' }) {
		return false
	}
	u, err := url.Parse(s)
	if err != nil || slices.Contains(runs, u.Scheme) {
		return false
	}
	return u.Scheme != "" && (u.Host != "" || u.Opaque != "")
}

// runs are the schemes that do something other than open a page or an app.
var runs = []string{"about", "blob", "data", "file", "javascript", "vbscript"}
