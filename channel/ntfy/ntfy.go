// Package ntfy delivers messages as notifications of ntfy, a push service for
// phones and browsers that needs no account: https://ntfy.sh, or a server of
// one's own. It publishes as JSON (https://docs.ntfy.sh/publish/#publish-as-json).
//
//	phone, err := ntfy.New(ntfy.Config{
//		Server: "https://ntfy.sh",
//		Topic:  "kim-prices-5fQ2c9", // who knows it can read along
//		Client: &http.Client{Timeout: 15 * time.Second},
//	})
//	…
//	dispatcher, err := lastlook.NewDispatcher(outbox, lastlook.Config{
//		Channels: map[string]lastlook.Channel{"phone": phone}, …
//
// # Message
//
// Title and body become ntfy's title and message, the URL its click action. A
// silent message has at most low priority, which makes no sound. What is too
// long is shortened, never refused and never turned into an attachment: the
// message to [Config.MessageLimit] less one byte, and the whole so that it
// stays within the twice that limit which ntfy reads of a JSON publication.
// Control characters go; what is not UTF-8 is replaced; a URL that cannot be
// opened is left out.
//
// ntfy recognizes no resends. What it has, since version 2.16, is a sequence
// id: a message takes the place of the one before it with the same id. It is
// sent the replace key, so that a newer price replaces the older one, and a
// resend of the same assertion is shown once. Older servers ignore it and show
// both. For the rest, the delivery key is not sent.
//
// # Errors
//
// What an answer means is decided by the one table of all HTTP channels: 401
// and 403 (no or wrong credentials, a reserved topic), 404 and redirects say
// that the settings are wrong, and park the lane until somebody has corrected
// them; 400 and 413 refuse this message for good; 429 (ntfy's rate limits and
// daily quota) and 5xx are tried again, after Retry-After if there is one. An
// answer that did not come after the request was written, and 504, leave the
// outcome unknown. Errors carry a [lastlook.Class]. ntfy never says that a
// recipient is gone: it takes a message for a topic that nobody reads.
//
// No error, receipt or printed channel shows the topic, the token, the
// password, or the server's address beyond its origin.
//
// A [Channel] is safe for concurrent use.
package ntfy

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/internal/httpcall"
)

// Priority is how loudly a notification comes.
type Priority int

// ntfy's priorities. The zero value means [PriorityDefault].
const (
	PriorityMin     Priority = 1
	PriorityLow     Priority = 2
	PriorityDefault Priority = 3
	PriorityHigh    Priority = 4
	PriorityMax     Priority = 5
)

// DefaultMessageLimit is ntfy's own default for the size of a message, in
// bytes.
const DefaultMessageLimit = 4096

// Config says where messages go and how they look.
type Config struct {
	// Server is the server's address, e.g. https://ntfy.sh.
	Server string
	// Topic is the topic to publish to. Where topics are open to everybody,
	// its name is what keeps it private, so it is treated as a secret.
	Topic string
	// Token is an access token (tk_…), for servers that want one.
	Token string
	// Username and Password are the other way to authenticate.
	Username, Password string
	// Priority is that of messages that are not silent.
	Priority Priority
	// Tags are shown with the message; names of emojis become the emojis.
	Tags []string
	// MessageLimit is the server's message-size-limit; 0 means
	// [DefaultMessageLimit].
	MessageLimit int
	// Client sends the requests. It needs no setting for redirects: none is
	// followed.
	Client *http.Client
	// Clock is for dates in Retry-After; nil means time.Now.
	Clock func() time.Time
}

// String shows the configuration without its secrets.
func (c Config) String() string {
	u, err := httpcall.ParseURL("server", c.Server)
	if err != nil {
		return "ntfy(no valid server)"
	}
	return "ntfy(" + httpcall.Origin(u) + ")"
}

// GoString is String: %#v shows no secrets either.
func (c Config) GoString() string { return c.String() }

// Validate reports the first thing that is wrong with the configuration, and
// what to do about it; the error wraps [lastlook.ErrInvalid].
func (c Config) Validate() error {
	_, err := New(c)
	return err
}

// The smallest and the largest limit that make sense.
const (
	minMessageLimit = 1 << 10
	maxMessageLimit = 1 << 20
)

// check reports what is wrong with all but the server's address.
func (c Config) check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: ntfy's "+format, append([]any{lastlook.ErrInvalid}, args...)...)
	}
	switch {
	case c.Topic == "":
		return bad("topic is empty: choose a name that nobody guesses, and subscribe to it in the app")
	case !identifier(c.Topic):
		return bad("topic must be 1 to 64 letters, digits, hyphens or underscores")
	case c.Token != "" && (c.Username != "" || c.Password != ""):
		return bad("token and password exclude each other: give one of them")
	case c.Password != "" && c.Username == "":
		return bad("password needs a username")
	case c.Username != "" && c.Password == "":
		return bad("username needs a password")
	case strings.Contains(c.Username, ":"):
		return bad("username has a colon, which the protocol does not allow")
	case strings.ContainsFunc(c.Token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return bad("token has characters that a token does not have: copy it again")
	case c.Priority < 0 || c.Priority > PriorityMax:
		return bad("priority is %d: use 1 (min) to 5 (max), or 0 for the default", c.Priority)
	case c.MessageLimit != 0 && (c.MessageLimit < minMessageLimit || c.MessageLimit > maxMessageLimit):
		return bad("message limit is %d: use the server's message-size-limit, %d to %d bytes, or 0 for its default", c.MessageLimit, minMessageLimit, maxMessageLimit)
	case len(c.Tags) > maxTags:
		return bad("list of tags has %d entries: use at most %d", len(c.Tags), maxTags)
	}
	for _, t := range c.Tags {
		if t == "" || len(t) > maxTag || strings.ContainsFunc(t, func(r rune) bool { return r < ' ' || strings.ContainsRune(",\"\\\x7f\uFFFD", r) }) {
			return bad("tag %.64q is empty, too long, or has a comma, quotes or control characters: use names such as moneybag", t)
		}
	}
	return nil
}

// The limits on tags leave room for the message, whatever its limit.
const (
	maxTags = 5
	maxTag  = 64
)

// identifier reports whether s is a topic's name or a sequence id.
func identifier(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_'
	})
}

// Channel delivers to one topic.
type Channel struct {
	url    *url.URL
	header http.Header
	form   form
	caller *httpcall.Caller
}

var _ lastlook.Channel = (*Channel)(nil)

// New makes a channel. It reports what [Config.Validate] does, and calls
// nobody.
func New(c Config) (*Channel, error) {
	u, err := httpcall.ParseURL("the address of the ntfy server", c.Server)
	if err != nil {
		return nil, err
	}
	switch {
	case u.RawQuery != "":
		return nil, fmt.Errorf("%w: the address of the ntfy server has a query (?…): remove it", lastlook.ErrInvalid)
	case u.User != nil:
		return nil, fmt.Errorf("%w: the address of the ntfy server has a user in it: give username and password by themselves", lastlook.ErrInvalid)
	case strings.Trim(u.Path, "/") == c.Topic && c.Topic != "":
		return nil, fmt.Errorf("%w: the address of the ntfy server ends in the topic: remove it there", lastlook.ErrInvalid)
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	secrets := httpcall.Secrets{Strict: []string{c.Token}, Weak: []string{c.Topic}}
	header := http.Header{"Content-Type": {"application/json; charset=utf-8"}}
	switch {
	case c.Token != "":
		header.Set("Authorization", "Bearer "+c.Token)
	case c.Username != "":
		credentials := httpcall.BasicSecrets(c.Username, c.Password)
		secrets.Strict = append(secrets.Strict, credentials.Strict...)
		secrets.Weak = append(secrets.Weak, credentials.Weak...)
		header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(c.Username+":"+c.Password)))
	}
	caller, err := httpcall.New(httpcall.Config{Name: "ntfy", Client: c.Client, Clock: c.Clock, Secrets: secrets})
	if err != nil {
		return nil, err
	}
	u.Path = strings.TrimRight(u.Path, "/") + "/"
	u.RawPath = ""
	return &Channel{url: u, header: header, caller: caller, form: form{
		topic: c.Topic, priority: c.Priority, tags: slices.Clone(c.Tags), limit: max(c.MessageLimit, 0),
	}}, nil
}

// String shows where the channel delivers to.
func (c *Channel) String() string { return "ntfy(" + httpcall.Origin(c.url) + ")" }

// GoString is String: %#v shows no secrets either.
func (c *Channel) GoString() string { return c.String() }

// Deliver implements [lastlook.Channel].
func (c *Channel) Deliver(ctx context.Context, d lastlook.Delivery) (lastlook.Receipt, error) {
	body, err := c.form.encode(d)
	if err != nil {
		return lastlook.Receipt{}, lastlook.Permanent(fmt.Errorf("ntfy: cannot write the message: %w", err))
	}
	answer, err := c.caller.Do(ctx, httpcall.Request{URL: c.url, Header: c.header, Body: body})
	if err != nil {
		return lastlook.Receipt{}, err
	}
	return answer.Receipt(accepted(answer)), nil
}

// accepted words ntfy's answer: the id by which its log knows the message. The
// rest of it repeats what was sent.
func accepted(a httpcall.Answer) string {
	var said struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(a.Body, &said) != nil || !identifier(said.ID) || !strings.Contains(a.Shown, said.ID) {
		return "" // what is not shown may be a secret
	}
	return "message " + said.ID
}
