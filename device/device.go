// Package device is who may be told without an account: a browser, or whatever
// else holds a device's token. It is pure domain: it knows no database and no
// HTTP. A [Store] keeps devices, [Service] is what the front ends use.
//
//	devices, err := device.New(device.Config{Store: store, Unmute: unmute})
//	d, token, err := devices.Create(ctx, "Kitchen tablet") // the token is shown once
//	…
//	d, err = devices.Authenticate(ctx, token)
//	d, err = devices.Subscribe(ctx, d.ID, subscription, key)
//
// # Tokens
//
// A token is 256 random bits. Whoever shows it is the device: there is nothing
// to log in to, and nothing that brings a lost one back. Stores keep its SHA-256
// alone, which needs no salt and no stretching: nobody can guess such a token.
//
// # Subscriptions
//
// A device has at most one push subscription. It remembers the public VAPID key
// that it was made with, since the push service takes messages from the holder
// of that key alone. When the service says that a subscription is gone, that is
// noted, and again when the device comes back. A subscription belongs to the
// device that gave it last: a browser that lost its token, and comes as a new
// device, takes its subscription along. For that it must give all of it: who
// knows no more than another's endpoint gets [ErrTaken].
package device

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/lastlook/lastlook/webpush"
)

// Errors that a caller can act on.
var (
	// ErrInvalid says that something cannot be as it was given.
	ErrInvalid = errors.New("device: invalid")
	// ErrNotFound says that there is no such device.
	ErrNotFound = errors.New("device: not found")
	// ErrUnauthorized says that a token is no device's.
	ErrUnauthorized = errors.New("device: no device has this token")
	// ErrFull says that there are as many devices as there may be.
	ErrFull = errors.New("device: no more devices are taken")
	// ErrGone says that the push service has ended the subscription given: a
	// browser must drop it and subscribe anew.
	ErrGone = errors.New("device: the push service has ended this subscription")
	// ErrTaken says that another device has the subscription's endpoint, with
	// other keys: a browser must drop it and subscribe anew.
	ErrTaken = errors.New("device: another device has this endpoint, with other keys")
	// ErrSuperseded says that the device has another subscription by now.
	ErrSuperseded = errors.New("device: it has subscribed anew")
)

// Device is somebody's browser.
type Device struct {
	ID        string
	Name      string
	CreatedAt time.Time
	// SeenAt is when it last showed its token, to within [SeenEvery].
	SeenAt time.Time
	Push   Push
}

// Push is how a device is pushed to. The zero value says that it is not.
type Push struct {
	Subscription webpush.Subscription
	// Key is the public VAPID key that the subscription was made with.
	Key string
	// Since is when the device gave it.
	Since time.Time
	// GoneAt is when the push service said that it is gone, zero while it is
	// not; BackAt when a new one took a gone one's place, LostAt when that one
	// had gone.
	GoneAt, BackAt, LostAt time.Time
}

// Active reports whether there is a subscription that may be sent to.
func (p Push) Active() bool { return !p.Subscription.IsZero() && p.GoneAt.IsZero() }

// recipientPrefix is what recipients begin with that are devices.
const recipientPrefix = "device:"

// Recipient returns the recipient by which the outbox knows a device.
func Recipient(id string) string { return recipientPrefix + id }

// IDOf returns the device that a recipient is.
func IDOf(recipient string) (id string, ok bool) {
	id, ok = strings.CutPrefix(recipient, recipientPrefix)
	return id, ok && id != ""
}

// MaxName bounds a device's name, in bytes.
const MaxName = 100

// CheckName reports, wrapping [ErrInvalid], a name that cannot be one.
func CheckName(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return fmt.Errorf("%w: a device needs a name, such as \"phone\"", ErrInvalid)
	case len(name) > MaxName:
		return fmt.Errorf("%w: a name of %d bytes: the limit is %d", ErrInvalid, len(name), MaxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }):
		return fmt.Errorf("%w: a name is one line of text, without control characters", ErrInvalid)
	}
	return nil
}
