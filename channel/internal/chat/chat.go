// Package chat is what channels to chat and push services have in common, on
// top of httpcall: the words of a message, cleaned and shortened; a second try
// without formatting where a service refuses the first one's; and the older
// message taken back when a newer one is there.
//
// A service's package says how a message is written for it and how its answers
// are read, and nothing else.
package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/internal/httpcall"
	"github.com/lastlook/lastlook/channel/internal/text"
)

// Service is how one service is spoken to.
type Service struct {
	// Name begins every error.
	Name   string
	Client *http.Client
	// Clock is for dates in Retry-After; nil means time.Now.
	Clock    func() time.Time
	Secrets  httpcall.Secrets
	Statuses map[int]httpcall.Meaning
	// Shown is where the channel leads, for people: nothing secret.
	Shown string

	// Write words a message as a request; plain asks for one without any
	// formatting.
	Write func(d lastlook.Delivery, w Words, plain bool) (httpcall.Request, error)
	// Judge reads an answer that its status alone does not explain: it returns
	// what it means instead, or nil for what the status says. nil: the status
	// decides.
	Judge func(a httpcall.Answer) *Verdict
	// Formatted reports whether an answer refuses the formatting of a message,
	// which is then sent once more without any. nil: never.
	Formatted func(a httpcall.Answer) bool
	// Ref reads from an answer how to name the message that was accepted, and
	// Retract takes such a message back when a newer one has taken its place.
	Ref     func(a httpcall.Answer) string
	Retract func(ref string) httpcall.Request
}

// Verdict is what an answer means where the status does not say so.
type Verdict struct {
	Accepted bool
	Class    lastlook.Class
	After    time.Duration
	// Why is for people; what the service said is added.
	Why string
}

// Channel delivers to one service.
type Channel struct {
	s      Service
	caller *httpcall.Caller
	shown  *shown
}

// New makes a channel.
func New(s Service) (*Channel, error) {
	caller, err := httpcall.New(httpcall.Config{Name: s.Name, Client: s.Client, Clock: s.Clock, Secrets: s.Secrets, Statuses: s.Statuses})
	if err != nil {
		return nil, err
	}
	return &Channel{s: s, caller: caller, shown: &shown{refs: map[string]string{}}}, nil
}

// String shows where the channel delivers to.
func (c *Channel) String() string { return c.s.Name + "(" + c.s.Shown + ")" }

// GoString is String: %#v shows no secrets either.
func (c *Channel) GoString() string { return c.String() }

// Deliver implements [lastlook.Channel].
func (c *Channel) Deliver(ctx context.Context, d lastlook.Delivery) (lastlook.Receipt, error) {
	w := WordsOf(d)
	receipt, answer, err := c.post(ctx, d, w, false)
	if err != nil && c.s.Formatted != nil && answer.Status >= 400 && c.s.Formatted(answer) {
		receipt, answer, err = c.post(ctx, d, w, true)
		if err == nil {
			receipt.Answer += " (without formatting, which was refused)"
		}
	}
	if err != nil {
		return lastlook.Receipt{}, err
	}
	c.replace(ctx, d.ReplaceKey, answer)
	return receipt, nil
}

func (c *Channel) post(ctx context.Context, d lastlook.Delivery, w Words, plain bool) (lastlook.Receipt, httpcall.Answer, error) {
	r, err := c.s.Write(d, w, plain)
	if err != nil {
		return lastlook.Receipt{}, httpcall.Answer{}, lastlook.Permanent(fmt.Errorf("%s: cannot write the message: %w", c.s.Name, err))
	}
	answer, err := c.caller.Do(ctx, r)
	if answer.Status != 0 && c.s.Judge != nil {
		if v := c.s.Judge(answer); v != nil {
			err = c.verdict(r.URL, answer, v)
		}
	}
	if err != nil {
		return lastlook.Receipt{}, answer, err
	}
	return answer.Receipt(""), answer, nil
}

func (c *Channel) verdict(to *url.URL, a httpcall.Answer, v *Verdict) error {
	if v.Accepted {
		return nil
	}
	said := ""
	if a.Shown != "" {
		said = fmt.Sprintf(": %q", a.Shown)
	}
	return &lastlook.Error{Class: v.Class, After: v.After,
		Err: fmt.Errorf("%s: %s answered HTTP %d: %s%s", c.s.Name, httpcall.Origin(to), a.Status, v.Why, said)}
}

// replace takes the older message back, now that the newer one is there. To
// edit the older one instead would make no sound, and stand where nobody looks.
// That it does not succeed changes nothing: people then see both.
func (c *Channel) replace(ctx context.Context, key string, a httpcall.Answer) {
	if c.s.Ref == nil || key == "" {
		return
	}
	ref := c.s.Ref(a)
	if old := c.shown.swap(key, ref); old != "" && ref != "" && old != ref {
		_, _ = c.caller.Do(ctx, c.s.Retract(old))
	}
}

// shown remembers the messages that may be replaced, for as long as the process
// lives.
type shown struct {
	mu    sync.Mutex
	refs  map[string]string
	order []string
}

// maxShown is how many messages are remembered.
const maxShown = 2000

func (s *shown) swap(key, ref string) (old string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, known := s.refs[key]
	if ref == "" {
		return old
	}
	if !known {
		s.order = append(s.order, key)
	}
	s.refs[key] = ref
	if len(s.order) > maxShown {
		delete(s.refs, s.order[0])
		s.order = slices.Delete(s.order, 0, 1)
	}
	return old
}

// Words are what a person is to read: valid, without control characters, never
// empty.
type Words struct {
	// Title is one line. It is empty if the body says all.
	Title string
	Body  string
	// URL is an address that a click may lead to; empty if there is none.
	URL    string
	Silent bool
}

// maxURL is the length of an address that every browser still opens.
const maxURL = 2000

// WordsOf returns the words of a delivery.
func WordsOf(d lastlook.Delivery) Words {
	w := Words{Title: text.Line(d.Message.Title), Body: text.Clean(d.Message.Body), Silent: d.Message.Silent}
	if w.Body == "" {
		w.Title, w.Body = "", w.Title
	}
	if w.Body == "" {
		w.Body = text.Line(d.Key.Subject) // better than nothing
	}
	if w.Body == "" {
		w.Body = text.Ellipsis
	}
	if opens(d.Message.URL) {
		w.URL = d.Message.URL
	}
	return w
}

func opens(s string) bool {
	if len(s) > maxURL || strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r == 0x7f || r == '\uFFFD' || strings.ContainsRune("<>\"`|\\", r)
	}) {
		return false
	}
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

// Fit shortens the title, and then the body, so that what write makes of them
// has at most limit units, as size counts them. What comes of escaping is not
// known before it is written, so it tries.
func Fit(w Words, maxTitle, limit int, write func(Words) string, size func(string) int) string {
	w.Title = text.Shorten(w.Title, maxTitle)
	if len(w.Body) > 4*limit { // in no count has it fewer than a quarter of its bytes
		w.Body = text.Shorten(w.Body, 4*limit)
	}
	out := write(w)
	for over := size(out) - limit; over > 0 && w.Body != ""; over = size(out) - limit {
		// A byte makes at most a few units: what goes is never too much, and
		// something always goes.
		w.Body = text.Shorten(w.Body, len(w.Body)-max(over/8, 1))
		out = write(w)
	}
	return out
}

// Bytes counts bytes.
func Bytes(s string) int { return len(s) }

// Runes counts code points: what services call characters.
func Runes(s string) int { return len([]rune(s)) }

// UTF16 counts UTF-16 code units.
func UTF16(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}

// JSON returns a request of v to u.
func JSON(u *url.URL, header http.Header, v any) (httpcall.Request, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return httpcall.Request{}, err
	}
	h := header.Clone()
	if h == nil {
		h = http.Header{}
	}
	h.Set("Content-Type", "application/json; charset=utf-8")
	return httpcall.Request{URL: u, Header: h, Body: bytes.TrimSuffix(buf.Bytes(), []byte("\n"))}, nil
}

// Invalid reports a configuration's mistake.
func Invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{lastlook.ErrInvalid}, args...)...)
}

// Server reads a service's address: empty means its usual one. Nothing but a
// path may follow the host.
func Server(name, given, usual string) (*url.URL, error) {
	if given == "" {
		given = usual
	}
	u, err := httpcall.ParseURL("the address of "+name, given)
	if err != nil {
		return nil, err
	}
	if u.RawQuery != "" || u.User != nil {
		return nil, Invalid("the address of %s must be a server's alone, without a user and a query", name)
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	return u, nil
}

// At returns the address below a server; parts are escaped.
func At(server *url.URL, parts ...string) *url.URL {
	u := *server
	u.Path = server.Path + "/" + strings.Join(parts, "/")
	escaped := make([]string, len(parts))
	for i, p := range parts {
		escaped[i] = url.PathEscape(p)
	}
	u.RawPath = (&url.URL{Path: server.Path}).EscapedPath() + "/" + strings.Join(escaped, "/")
	return &u
}

// CheckToken reports what is wrong with a token that goes into a header or a
// path. The error does not show it.
func CheckToken(what, s string) error {
	switch {
	case s == "":
		return Invalid("%s is missing", what)
	case len(s) > 4096 || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }):
		return Invalid("%s has spaces or characters that it cannot have: copy it again", what)
	}
	return nil
}

// Seconds reads a number of seconds that a body asks to wait.
func Seconds(n json.Number) time.Duration {
	f, err := n.Float64()
	if err != nil || f <= 0 || f > 1e6 {
		return 0
	}
	return time.Duration(f * float64(time.Second))
}
