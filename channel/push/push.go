// Package push delivers messages to browsers and phones by Web Push, without
// an account anywhere: a [Subscriptions] says where a recipient is to be
// reached, package webpush encrypts and signs.
//
//	phone, err := push.New(push.Config{
//		Keys:          keys, // made once, kept; browsers subscribed with the public one
//		Subject:       "mailto:you@example.com",
//		Subscriptions: devices,
//		Client:        client, // one that does not call internal hosts
//	})
//	…
//	dispatcher, err := lastlook.NewDispatcher(outbox, lastlook.Config{
//		Channels: map[string]lastlook.Channel{"push": phone}, …
//
// Enqueue with [Lane] as the lane, so that one push service which is down
// delays no other.
//
// # Payload
//
// The service worker gets one JSON object, in UTF-8:
//
//	v        1: the version of this schema
//	title    never empty, one line
//	body     text, may have line feeds; absent if empty
//	url      where a click leads, http or https; absent if there is none
//	tag      the replace key: show the notification under this tag, so that it takes the older one's place
//	id       the delivery key: a resend of the same assertion has the same
//	at       when it was sent, in milliseconds since 1970
//	subject  what it is about: the notification's subject, such as a watch's id
//	silent   true if it is to make no sound; else absent
//	data     Message.Data, in the topic's form; absent if there is none
//
// Members may be added; one that changes its meaning makes v another number.
//
// What is too long for a push message is shortened, never lost: a title to 250
// bytes; of the rest, data, url and subject go where one alone takes more than
// a quarter of the room, then the body is shortened, then the title, between
// characters and with an ellipsis. If the push service finds the message too
// large all the same, it is shortened to 1 KiB and sent once more, in the same
// delivery.
//
// # How it is sent
//
// TTL ends with the row's expiry, and is at most four weeks. Topic is the
// replace key: of the messages that wait for a phone which is off, the last one
// is kept. Urgency is high, normal or low as the row's priority, and low if the
// message is silent.
//
// # Errors
//
// What an answer means is decided by the one table of all HTTP channels, with
// these exceptions: 404 is gone, as 410; 413 is permanent only when the message
// cannot be made shorter; 400 that is about VAPID is misconfigured, as 401 and
// 403. A subscription that has ended is gone only if it is still the
// recipient's: one that was replaced meanwhile is tried again with the new one.
// An unknown recipient is gone.
//
// No error, receipt or printed channel shows more of an endpoint than its host,
// nor a token or key.
//
// A [Channel] is safe for concurrent use.
package push

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/internal/httpcall"
	"github.com/lastlook/lastlook/webpush"
)

// ErrNoSubscription says that a recipient has no subscription (any more).
var ErrNoSubscription = errors.New("push: the recipient has no subscription")

// Subscriptions knows where recipients are to be reached. It is safe for
// concurrent use.
type Subscriptions interface {
	// Subscription returns the recipient's subscription; an error that wraps
	// [ErrNoSubscription] says that there is none, and mutes the recipient.
	// Any other error is taken for a passing one, and its text is shown.
	Subscription(ctx context.Context, recipient string) (webpush.Subscription, error)
}

// Config is what all messages have in common.
type Config struct {
	// Keys and Subject say who is sending; see [webpush.Config].
	Keys    *webpush.Keys
	Subject string
	// Subscriptions finds recipients.
	Subscriptions Subscriptions
	// Client sends the requests. Endpoints come from strangers' browsers: it
	// must not call internal hosts. It needs no setting for redirects: none is
	// followed.
	Client *http.Client
	// Clock is for tokens, TTL, and dates in Retry-After; nil means time.Now.
	Clock func() time.Time
}

// String shows the configuration without its secrets.
func (c Config) String() string { return "push(" + c.Keys.String() + ")" }

// GoString is String: %#v shows no secrets either.
func (c Config) GoString() string { return c.String() }

// Validate reports the first thing that is wrong with the configuration, and
// what to do about it; the error wraps [lastlook.ErrInvalid].
func (c Config) Validate() error {
	_, err := New(c)
	return err
}

// Channel delivers to every recipient that has a subscription.
type Channel struct {
	subs   Subscriptions
	web    *webpush.Client
	caller *httpcall.Caller
	clock  func() time.Time
	keys   *webpush.Keys
}

var _ lastlook.Channel = (*Channel)(nil)

// New makes a channel. It reports what [Config.Validate] does, and calls
// nobody.
func New(c Config) (*Channel, error) {
	if c.Subscriptions == nil {
		return nil, fmt.Errorf("%w: the push channel has no subscriptions: give what knows them", lastlook.ErrInvalid)
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	web, err := webpush.New(webpush.Config{Keys: c.Keys, Subject: c.Subject, Clock: c.Clock})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lastlook.ErrInvalid, err)
	}
	private, err := c.Keys.Raw()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lastlook.ErrInvalid, err)
	}
	caller, err := httpcall.New(httpcall.Config{
		Name: "push", Client: c.Client, Clock: c.Clock, Statuses: statuses(),
		Secrets: httpcall.Secrets{Strict: []string{private}},
	})
	if err != nil {
		return nil, err
	}
	return &Channel{subs: c.Subscriptions, web: web, caller: caller, clock: c.Clock, keys: c.Keys}, nil
}

// statuses are the exceptions from the table of all HTTP channels.
func statuses() map[int]httpcall.Meaning {
	ended := httpcall.Meaning{Class: lastlook.ClassGone, Why: "the subscription has ended: the browser must subscribe again"}
	refused := httpcall.Meaning{
		Class: lastlook.ClassMisconfigured,
		Why:   "the push service refuses our VAPID credentials: check that the browser subscribed with this key, the subject, and the clock",
	}
	return map[int]httpcall.Meaning{
		http.StatusNotFound: ended, http.StatusGone: ended,
		http.StatusUnauthorized: refused, http.StatusForbidden: refused,
	}
}

// Lane returns what can be slow or broken on its own: the push service's host.
func Lane(sub webpush.Subscription) string { return sub.Host() }

// String shows who is sending.
func (c *Channel) String() string { return "push(" + c.keys.String() + ")" }

// GoString is String: %#v shows no secrets either.
func (c *Channel) GoString() string { return c.String() }

// Deliver implements [lastlook.Channel].
func (c *Channel) Deliver(ctx context.Context, d lastlook.Delivery) (lastlook.Receipt, error) {
	sub, err := c.subscription(ctx, d.Key.Recipient)
	if err != nil {
		return lastlook.Receipt{}, err
	}
	now := c.clock()
	p := newPayload(d, now)
	text, err := p.fit(webpush.MaxPayload)
	if err != nil {
		return lastlook.Receipt{}, lastlook.Permanent(fmt.Errorf("push: cannot write the message: %w", err))
	}
	m := webpush.Message{Payload: text, TTL: ttl(d, now), Urgency: urgency(d), Topic: p.Tag}
	answer, err := c.post(ctx, sub, m)
	if err != nil && answer.Status == http.StatusRequestEntityTooLarge {
		shorter, failed := p.fit(shortPayload)
		if failed == nil && len(shorter) < len(text) {
			m.Payload = shorter
			answer, err = c.post(ctx, sub, m)
		}
	}
	if err != nil {
		return lastlook.Receipt{}, c.judge(ctx, d.Key.Recipient, sub, answer, err)
	}
	return answer.Receipt(""), nil
}

// subscription asks where the recipient is.
func (c *Channel) subscription(ctx context.Context, recipient string) (webpush.Subscription, error) {
	if err := ctx.Err(); err != nil {
		return webpush.Subscription{}, lastlook.RetryAfter(0, fmt.Errorf("push: not called: %w", err))
	}
	sub, err := c.subs.Subscription(ctx, recipient)
	switch {
	case errors.Is(err, ErrNoSubscription) || err == nil && sub.IsZero():
		return sub, lastlook.Gone(ErrNoSubscription)
	case err != nil:
		return sub, lastlook.RetryAfter(0, fmt.Errorf("push: not called: the subscription cannot be read: %w", err))
	}
	return sub, nil
}

// post makes one request.
func (c *Channel) post(ctx context.Context, sub webpush.Subscription, m webpush.Message) (httpcall.Answer, error) {
	r, err := c.web.Prepare(sub, m)
	if err != nil {
		return httpcall.Answer{}, lastlook.Permanent(fmt.Errorf("push: cannot write the message: %w", err))
	}
	return c.caller.Do(ctx, httpcall.Request{
		URL: r.URL, Header: r.Header, Body: r.Body,
		Secrets: httpcall.Secrets{Strict: []string{r.Token(), base64.RawURLEncoding.EncodeToString(sub.Auth())}},
	})
}

// judge corrects what the table of statuses cannot know.
func (c *Channel) judge(ctx context.Context, recipient string, sub webpush.Subscription, a httpcall.Answer, err error) error {
	class, _ := lastlook.Classify(err)
	switch {
	case a.Status == http.StatusBadRequest && webpush.AboutVAPID(a.Body):
		return lastlook.Misconfigured(fmt.Errorf("%w (this is about our VAPID credentials: check keys, subject and clock)", err))
	case class == lastlook.ClassGone:
		// The browser may have subscribed again in this very moment.
		if current, lookup := c.subs.Subscription(ctx, recipient); lookup == nil && !current.IsZero() && !current.Equal(sub) {
			return lastlook.RetryAfter(0, fmt.Errorf("%w (but the recipient has a new one)", err))
		}
	}
	return err
}

// ttl ends with the row's expiry.
func ttl(d lastlook.Delivery, now time.Time) time.Duration {
	if d.ExpiresAt.IsZero() {
		return webpush.MaxTTL
	}
	return min(max(d.ExpiresAt.Sub(now), 0), webpush.MaxTTL)
}

func urgency(d lastlook.Delivery) webpush.Urgency {
	switch {
	case d.Message.Silent || d.Priority < lastlook.PriorityNormal:
		return webpush.Low
	case d.Priority > lastlook.PriorityNormal:
		return webpush.High
	}
	return webpush.Normal
}
