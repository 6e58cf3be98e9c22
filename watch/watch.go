// Package watch is what detection means for prices and stock: listings,
// watches, observations and triggers (DESIGN §6). It is pure domain: it knows
// no database and no HTTP. A [Store] keeps the state, a [Source] looks, and
// [Service] puts the two together with the outbox.
//
// A listing is a thing looked at, shared by all who watch it. A watch is one
// recipient's interest in a listing. An observation is what a look saw. The
// same pure function, [Evaluate], decides when something is noticed and again
// when it is about to be told.
package watch

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/lastlook/lastlook/watch/price"
)

// TopicName is the outbox topic of watches; the subject is the watch's id.
const TopicName = "watch"

// Errors that a caller can act on.
var (
	// ErrInvalid says that a watch cannot be as it was given.
	ErrInvalid = errors.New("watch: invalid")
	// ErrNotFound says that there is no such watch or listing.
	ErrNotFound = errors.New("watch: not found")
)

// Limits on how often a listing is looked at.
const (
	DefaultInterval = 15 * time.Minute
	MinInterval     = 10 * time.Second
	MaxInterval     = 31 * 24 * time.Hour
)

// Listing is a thing looked at, shared by all who watch it.
type Listing struct {
	ID string `json:"id"`
	// Source names the kind of source that can look at it, such as "page".
	Source string `json:"source"`
	URL    string `json:"url"`
	// Private says that an operator typed the URL, so that it may lead into a
	// private network; one supplied by a device or a page never may.
	Private bool `json:"private,omitzero"`
	// Interval is how often it is looked at: the shortest that a watch asks for.
	Interval time.Duration `json:"interval"`
	// NextLook is when it is due again.
	NextLook time.Time `json:"next_look"`
	// LastOK is when it was last read, LastTried when that was last attempted;
	// LastError says why the last attempt failed, "" if it did not.
	LastOK    time.Time `json:"last_ok,omitzero"`
	LastTried time.Time `json:"last_tried,omitzero"`
	LastError string    `json:"last_error,omitzero"`
	// Failures counts the failed attempts in a row.
	Failures int `json:"failures,omitzero"`
	// MissingSince is when it was first answered that the page does not exist,
	// if every answer since then said so.
	MissingSince time.Time `json:"missing_since,omitzero"`
}

// Watch is one recipient's interest in a listing.
type Watch struct {
	ID        string `json:"id"`
	ListingID string `json:"listing_id"`
	// Name is what the recipient calls it; empty means the page's title.
	Name      string    `json:"name,omitzero"`
	Recipient string    `json:"recipient"`
	Channels  []string  `json:"channels"`
	Triggers  []Trigger `json:"triggers"`
	// IgnoreStock lets price triggers hold whatever the availability; by
	// default they do not while the item cannot be ordered.
	IgnoreStock bool `json:"ignore_stock,omitzero"`
	// Zone is the IANA zone in which "once a day" is counted; empty means UTC.
	Zone         string    `json:"zone,omitzero"`
	Paused       bool      `json:"paused,omitzero"`
	SnoozedUntil time.Time `json:"snoozed_until,omitzero"`
	CreatedAt    time.Time `json:"created_at"`
}

// Kind is a kind of trigger.
type Kind string

// The kinds of triggers.
const (
	// Below holds while the price is under the target.
	Below Kind = "below"
	// BackInStock holds while the item is in stock after it was seen out of
	// stock.
	BackInStock Kind = "back_in_stock"
)

// Kinds lists the kinds of triggers.
func Kinds() []Kind { return []Kind{Below, BackInStock} }

// Trigger is a question asked of each observation.
type Trigger struct {
	// ID is unique within the watch and stays with the trigger.
	ID     string      `json:"id"`
	Kind   Kind        `json:"kind"`
	Target price.Money `json:"target,omitzero"`
	// PerDay is how often it may tell in one day at most: 0 means once,
	// negative any number of times.
	PerDay int `json:"per_day,omitzero"`
}

// String returns the trigger for people.
func (t Trigger) String() string {
	switch t.Kind {
	case Below:
		return "below " + t.Target.String()
	case BackInStock:
		return "back in stock"
	}
	return string(t.Kind)
}

// Availability is whether an item can be had.
type Availability string

// The availabilities. The zero value means the same as Unknown.
const (
	Unknown      Availability = "unknown"
	InStock      Availability = "in_stock"
	Limited      Availability = "limited"
	PreOrder     Availability = "preorder"
	BackOrder    Availability = "backorder"
	OutOfStock   Availability = "out_of_stock"
	Discontinued Availability = "discontinued"
)

// Orderable reports whether an order is taken; known is false if nobody knows.
func (a Availability) Orderable() (yes, known bool) {
	switch a {
	case InStock, Limited, PreOrder, BackOrder:
		return true, true
	case OutOfStock, Discontinued:
		return false, true
	case Unknown:
	}
	return false, false
}

// Observation is what a look saw.
type Observation struct {
	At time.Time `json:"at"`
	// Price is the price; the zero value if the page states none that is
	// certain.
	Price        price.Money  `json:"price,omitzero"`
	Availability Availability `json:"availability,omitzero"`
	Title        string       `json:"title,omitzero"`
	Image        string       `json:"image,omitzero"`
	// SKU identifies the product, if the page does.
	SKU string `json:"sku,omitzero"`
	// Evidence says where each fact was read.
	Evidence []Evidence `json:"evidence,omitzero"`
}

// Evidence is where a fact was read.
type Evidence struct {
	// Fact is what was read: "price", "currency", "availability", "title".
	Fact string `json:"fact"`
	// Where is the place, such as "JSON-LD Product.offers[0].price".
	Where string `json:"where"`
	// Text is what stood there, shortened.
	Text string `json:"text"`
}

// Validate reports what is wrong with a watch, wrapping [ErrInvalid].
func (w *Watch) Validate() error {
	switch {
	case w.Recipient == "":
		return fmt.Errorf("%w: a watch needs a recipient", ErrInvalid)
	case len(w.Channels) == 0:
		return fmt.Errorf("%w: a watch needs at least one channel to tell through", ErrInvalid)
	case len(w.Triggers) == 0:
		return fmt.Errorf("%w: a watch needs at least one trigger, such as a target price or back in stock", ErrInvalid)
	}
	if _, err := time.LoadLocation(w.Zone); err != nil || w.Zone == "Local" {
		return fmt.Errorf("%w: zone %q is no IANA time zone such as Europe/Berlin", ErrInvalid, w.Zone)
	}
	seen := map[string]bool{}
	for _, t := range w.Triggers {
		if t.ID == "" || seen[t.ID] {
			return fmt.Errorf("%w: trigger id %q is empty or used twice", ErrInvalid, t.ID)
		}
		seen[t.ID] = true
		switch {
		case !slices.Contains(Kinds(), t.Kind):
			return fmt.Errorf("%w: there is no trigger %q", ErrInvalid, t.Kind)
		case t.Kind == Below && t.Target.IsZero():
			return fmt.Errorf("%w: a target price needs an amount and a currency, such as \"499.90 EUR\"", ErrInvalid)
		case t.Kind == Below && !t.Target.Positive():
			return fmt.Errorf("%w: the target %s is not above zero", ErrInvalid, t.Target)
		}
	}
	return nil
}

// ParseURL checks that s is an absolute http or https URL, and returns it in
// the form in which listings are shared: host in lower case, no fragment.
func ParseURL(s string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(s))
	switch {
	case err != nil:
		return "", fmt.Errorf("%w: that is not a URL: paste the page's whole address, such as https://shop.example/item", ErrInvalid)
	case u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("%w: %q is not an http or https address: paste the page's whole address, such as https://shop.example/item", ErrInvalid, shorten(s))
	case u.Host == "" || u.Hostname() == "":
		return "", fmt.Errorf("%w: %q names no host", ErrInvalid, shorten(s))
	case u.User != nil:
		return "", fmt.Errorf("%w: the address carries a user name or password: leave them out", ErrInvalid)
	}
	u.Host = strings.ToLower(u.Host)
	u.Fragment, u.RawFragment = "", ""
	if u.Path == "" {
		u.Path = "/"
	}
	return u.String(), nil
}

func shorten(s string) string {
	const limit = 60
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
