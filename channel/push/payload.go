package push

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"sort"
	"strings"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/internal/text"
)

const (
	// maxTitle bounds a title, in bytes: phones show two lines of it.
	maxTitle = 250
	// shortPayload is what a message is shortened to that a push service finds
	// too large: 1 KiB with the delimiter.
	shortPayload = 1<<10 - 1
	// nobody is the title of a message without any text.
	nobody = "lastlook"
)

// payload is what the service worker reads: see the package's description.
type payload struct {
	Version int             `json:"v"`
	Title   string          `json:"title"`
	Body    string          `json:"body,omitempty"`
	URL     string          `json:"url,omitempty"`
	Tag     string          `json:"tag,omitempty"`
	ID      string          `json:"id,omitempty"`
	At      int64           `json:"at"`
	Subject string          `json:"subject,omitempty"`
	Silent  bool            `json:"silent,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func newPayload(d lastlook.Delivery, now time.Time) payload {
	m := d.Message
	p := payload{
		Version: 1,
		Title:   text.Shorten(text.Line(m.Title), maxTitle),
		Body:    text.Clean(m.Body),
		ID:      d.DeliveryKey,
		At:      now.UnixMilli(),
		Subject: d.Key.Subject,
		Silent:  m.Silent,
	}
	if p.Title == "" { // a notification needs one
		p.Title = text.Shorten(text.Line(p.Body), maxTitle)
		if p.Title == p.Body {
			p.Body = ""
		}
	}
	if p.Title == "" {
		p.Title = text.Shorten(text.Line(p.Subject), maxTitle)
	}
	if p.Title == "" {
		p.Title = nobody
	}
	if opens(m.URL) {
		p.URL = m.URL
	}
	if topical(d.ReplaceKey) {
		p.Tag = d.ReplaceKey
	}
	// What is no JSON would make the whole none.
	if data := bytes.ToValidUTF8(m.Data, []byte("\uFFFD")); json.Valid(data) {
		p.Data = data
	}
	return p
}

// topical reports whether s can be a topic (RFC 8030, section 5.4).
func topical(s string) bool {
	return len(s) <= 32 && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_'
	})
}

// opens reports whether a service worker can open the URL.
func opens(s string) bool {
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\uFFFD' }) {
		return false
	}
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

// fit encodes the payload in at most limit bytes, which must be 1000 or more.
func (p payload) fit(limit int) ([]byte, error) {
	b, err := encode(p)
	if err != nil || len(b) <= limit {
		return b, err
	}
	// These cannot be shortened, only left out.
	if len(p.Data) > limit/4 {
		p.Data = nil
	}
	if size(p.URL) > limit/4 {
		p.URL = ""
	}
	if size(p.Subject) > limit/4 {
		p.Subject = ""
	}
	for _, field := range []*string{&p.Body, &p.Title} {
		if b, err = encode(p); err != nil || len(b) <= limit {
			return b, err
		}
		*field = shorten(*field, size(*field)-(len(b)-limit))
	}
	if b, err = encode(p); err == nil && len(b) > limit {
		err = fmt.Errorf("%d bytes too many without any text", len(b)-limit)
	}
	return b, err
}

// shorten returns as much of s as takes at most room bytes in JSON, quotes
// included.
func shorten(s string, room int) string {
	n := sort.Search(len(s), func(n int) bool { return size(text.Shorten(s, n)) > room })
	for n > 0 {
		n--
		if short := text.Shorten(s, n); size(short) <= room {
			return short
		}
	}
	return ""
}

// size is how many bytes s takes in JSON, quotes included.
func size(s string) int {
	b, err := encode(s)
	if err != nil {
		return 0 // no text fails
	}
	return len(b)
}

func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
