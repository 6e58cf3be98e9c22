// Package watch is what detection means for prices and stock: listings,
// watches, observations and triggers. It is pure domain: it knows
// no database and no HTTP. A [Store] keeps the state, a [Source] looks, and
// [Service] puts the two together with the outbox.
//
// A listing is a thing looked at, shared by all who watch it. A watch is one
// recipient's interest in a listing. An observation is what a look saw. The
// same pure function, [Evaluate], decides when something is noticed and again
// when it is about to be told.
package watch

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/govalues/decimal"

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

// maxURL bounds a listing's address, in bytes.
const maxURL = 8 << 10

// Listing is a thing looked at, shared by all who watch it.
type Listing struct {
	ID string `json:"id"`
	// Source names the kind of source that can look at it, such as "page".
	Source string `json:"source"`
	URL    string `json:"url"`
	// Options say how it is read; two listings that differ in them are two.
	Options Options `json:"options,omitzero"`
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
	// FailingSince is when the first of the failed attempts in a row was.
	FailingSince time.Time `json:"failing_since,omitzero"`
	// Standing is what is trusted of it, and what is not yet.
	Standing Standing `json:"standing,omitzero"`
	// MaxInterval is how rarely it may be looked at while nothing changes: the
	// least that a watch allows, 0 if one allows none. Pace is how often it is
	// now, between Interval and MaxInterval; 0 means Interval.
	MaxInterval time.Duration `json:"max_interval,omitzero"`
	Pace        time.Duration `json:"pace,omitzero"`
}

// Options say how a listing is read. All of them are the user's, none is needed.
type Options struct {
	// Variant and SKU name the one that is meant where a product comes in
	// several: a colour and size such as "Blue / M", an article number.
	Variant string `json:"variant,omitzero"`
	SKU     string `json:"sku,omitzero"`
	// Locale (BCP 47) and Currency (ISO 4217) say how to read what the listing
	// itself leaves open: "1.299", "$".
	Locale   string `json:"locale,omitzero"`
	Currency string `json:"currency,omitzero"`
	// PriceSelector and StockSelector point at an element of a page: CSS, or
	// XPath if it begins with "/" or "(".
	PriceSelector string `json:"price_selector,omitzero"`
	StockSelector string `json:"stock_selector,omitzero"`
	// PricePath, StockPath and ValuePath are jq filters that point into a JSON
	// answer. What ValuePath finds is Observation.Value.
	PricePath string `json:"price_path,omitzero"`
	StockPath string `json:"stock_path,omitzero"`
	ValuePath string `json:"value_path,omitzero"`
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
	// Points are what this recipient gets back at this shop, beside what the
	// listing itself states.
	Points []Points `json:"points,omitzero"`
	// Group joins watches of one recipient that wait for the same thing at
	// several shops: what is told of one of them is not told of the others, and
	// only the cheapest is told of.
	Group string `json:"group,omitzero"`
	// Cooldown is the shortest time between two tellings of one trigger. It
	// takes the place of "once a day": negative means none at all, 0 that once a
	// day it is.
	Cooldown time.Duration `json:"cooldown,omitzero"`
	// Rearm tells again what still holds that long after it was told; 0 never.
	Rearm time.Duration `json:"rearm,omitzero"`
	// MaxInterval is how rarely the listing may be looked at while nothing
	// changes there; 0 means as often as ever.
	MaxInterval time.Duration `json:"max_interval,omitzero"`
	// Zone is the IANA zone in which "once a day" is counted; empty means UTC.
	Zone         string    `json:"zone,omitzero"`
	Paused       bool      `json:"paused,omitzero"`
	SnoozedUntil time.Time `json:"snoozed_until,omitzero"`
	CreatedAt    time.Time `json:"created_at"`
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

	// High is the upper end of a range whose lower end is Price; List is what
	// stands crossed out or recommended beside it. Neither is ever the price.
	High price.Money `json:"high,omitzero"`
	List price.Money `json:"list_price,omitzero"`
	// Unit is the price per unit that is stated, Quantity what one buys.
	Unit     UnitPrice `json:"unit_price,omitzero"`
	Quantity Quantity  `json:"quantity,omitzero"`
	// Tax says whether taxes are in the price, "" if nobody says.
	Tax price.Tax `json:"tax,omitzero"`
	// Points are the points that the listing itself gives back.
	Points []Points `json:"points,omitzero"`
	// ValidUntil is the end of the offer, if one is stated.
	ValidUntil time.Time `json:"valid_until,omitzero"`
	// Ambiguous says that several distinct answers are stated, of which none was
	// taken: the evidence lists them, and the user is to be asked once.
	Ambiguous bool `json:"ambiguous,omitzero"`
	// Rule names the extraction rule that gave the price ("selector", "json_ld",
	// "microdata", "meta", "visible", …); Agreed says that another one, which
	// reads another place, gave the same.
	Rule   string `json:"rule,omitzero"`
	Agreed bool   `json:"agreed,omitzero"`
	// Value is what Options.ValuePath found, for triggers on any value.
	Value json.RawMessage `json:"value,omitzero"`
	// Evidence says where each fact was read.
	Evidence []Evidence `json:"evidence,omitzero"`
}

// UnitPrice is a price for a unit: "kg", "l", "m", "piece", …
type UnitPrice struct {
	Price price.Money `json:"price"`
	Per   string      `json:"per"`
}

// Quantity is how much one buys, in a unit such as "kg", "l" or "piece".
type Quantity struct {
	Amount decimal.Decimal `json:"amount"`
	Unit   string          `json:"unit"`
}

// Points are given back for a purchase. Only confirmed ones lower the effective
// price: conditional ones need something of the buyer (a card, a rank, a day).
type Points struct {
	// Rate is a part of the price, such as 0.01; Amount is what it comes to if
	// that is stated instead.
	Rate        decimal.Decimal `json:"rate,omitzero"`
	Amount      price.Money     `json:"amount,omitzero"`
	Conditional bool            `json:"conditional,omitzero"`
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

// Validate reports what is wrong with a listing, wrapping [ErrInvalid].
func (l *Listing) Validate() error {
	switch {
	case l.Source == "":
		return fmt.Errorf("%w: a listing needs the name of the source that looks at it, such as page", ErrInvalid)
	case l.URL == "":
		return fmt.Errorf("%w: a listing needs an address", ErrInvalid)
	case len(l.URL) > maxURL:
		return fmt.Errorf("%w: an address of %d bytes: the limit is %d", ErrInvalid, len(l.URL), maxURL)
	case l.Interval < MinInterval || l.Interval > MaxInterval:
		return fmt.Errorf("%w: an interval of %s: look every %s to every %s", ErrInvalid, l.Interval, MinInterval, MaxInterval)
	}
	return nil
}

// RenewIDs gives a fresh id to every trigger of after that before (nil if the
// watch is new) does not have, or that asks something else there. What was told
// of a trigger, and its episodes, are kept by its id: they must not count for
// another question, nor for a trigger that was removed and has come back. A new
// watch keeps the ids that it is given.
func RenewIDs(before, after *Watch) {
	for i := range after.Triggers {
		t := &after.Triggers[i]
		known := before == nil && t.ID != ""
		if before != nil {
			known = slices.ContainsFunc(before.Triggers, func(b Trigger) bool { return b.ID == t.ID && b.asksAs(*t) })
		}
		if !known {
			t.ID = "t_" + strings.ToLower(rand.Text()[:8])
		}
	}
}

// Limits on what a watch may hold. All of it is told of, and kept, in rows of
// bounded size.
const (
	maxTriggers  = 20
	maxChannels  = 20
	maxName      = 500
	maxTriggerID = 64
	maxPoints    = 20
)

// Validate reports what is wrong with a watch, wrapping [ErrInvalid].
func (w *Watch) Validate() error {
	switch {
	case w.Recipient == "":
		return fmt.Errorf("%w: a watch needs a recipient", ErrInvalid)
	case len(w.Channels) == 0:
		return fmt.Errorf("%w: a watch needs at least one channel to tell through", ErrInvalid)
	case len(w.Triggers) == 0:
		return fmt.Errorf("%w: a watch needs at least one trigger, such as a target price or back in stock", ErrInvalid)
	case len(w.Channels) > maxChannels || len(w.Triggers) > maxTriggers:
		return fmt.Errorf("%w: %d channels and %d triggers: a watch has at most %d and %d", ErrInvalid, len(w.Channels), len(w.Triggers), maxChannels, maxTriggers)
	case len(w.Name) > maxName:
		return fmt.Errorf("%w: a name of %d bytes: the limit is %d", ErrInvalid, len(w.Name), maxName)
	}
	if err := w.validateTelling(); err != nil {
		return err
	}
	if _, err := time.LoadLocation(w.Zone); err != nil || w.Zone == "Local" {
		return fmt.Errorf("%w: zone %q is no IANA time zone such as Europe/Berlin", ErrInvalid, cut(w.Zone, maxShown))
	}
	for i, channel := range w.Channels {
		if slices.Contains(w.Channels[:i], channel) {
			return fmt.Errorf("%w: channel %q is named twice", ErrInvalid, cut(channel, maxShown))
		}
		// A key that the outbox refuses would keep the whole listing from
		// being recorded. The id is the store's, and in order.
		k := Key(w, channel)
		k.Subject = TopicName
		if err := k.Validate(); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	return w.validateTriggers()
}

// validateTelling checks what says how often, and by which figures, it tells.
func (w *Watch) validateTelling() error {
	switch {
	case w.Cooldown > maxCooldown || w.Rearm < 0 || w.Rearm > maxCooldown:
		return fmt.Errorf("%w: a cooldown of %s and a rearm of %s: both are at most %s", ErrInvalid, w.Cooldown, w.Rearm, maxCooldown)
	case w.MaxInterval != 0 && (w.MaxInterval < MinInterval || w.MaxInterval > MaxInterval):
		return fmt.Errorf("%w: an interval of %s: look every %s to every %s", ErrInvalid, w.MaxInterval, MinInterval, MaxInterval)
	case len(w.Group) > maxName:
		return fmt.Errorf("%w: a group's name of %d bytes: the limit is %d", ErrInvalid, len(w.Group), maxName)
	case len(w.Points) > maxPoints:
		return fmt.Errorf("%w: %d kinds of points: the limit is %d", ErrInvalid, len(w.Points), maxPoints)
	}
	for _, p := range w.Points {
		if p.Rate.IsNeg() || p.Rate.Cmp(p.Rate.One()) >= 0 || p.Rate.IsZero() == p.Amount.IsZero() || !p.Amount.IsZero() && !p.Amount.Positive() {
			return fmt.Errorf("%w: points are a part of the price, from 0 to under 1 (0.01 is 1 %%), or an amount", ErrInvalid)
		}
	}
	return nil
}

func (w *Watch) validateTriggers() error {
	seen := map[string]bool{}
	for _, t := range w.Triggers {
		if t.ID == "" || seen[t.ID] || len(t.ID) > maxTriggerID {
			return fmt.Errorf("%w: trigger id %q is empty or used twice, or longer than %d bytes", ErrInvalid, cut(t.ID, maxShown), maxTriggerID)
		}
		seen[t.ID] = true
		if err := t.validate(); err != nil {
			return err
		}
	}
	return nil
}

// ParseURL checks that s is an absolute http or https URL, and returns it in
// the form in which listings are shared: host in lower case, no fragment, no
// port that goes without saying.
func ParseURL(s string) (string, error) {
	s = strings.TrimSpace(s)
	if len(s) > maxURL {
		s = s[:maxURL+1] // enough to say what is wrong with it
	}
	u, err := url.Parse(s)
	const paste = "paste the page's whole address, such as https://shop.example/item"
	switch {
	case err != nil:
		return "", fmt.Errorf("%w: that is not a URL: %s", ErrInvalid, paste)
	case u.User != nil:
		return "", fmt.Errorf("%w: the address carries a user name or password: leave them out", ErrInvalid)
	case u.Scheme != "http" && u.Scheme != "https" && strings.Contains(s, "@"):
		// It may carry a password that is not recognized as one.
		return "", fmt.Errorf("%w: that is not an http or https address: %s", ErrInvalid, paste)
	case u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("%w: %q is not an http or https address: %s", ErrInvalid, cut(s, maxShown), paste)
	case u.Hostname() == "":
		return "", fmt.Errorf("%w: %q names no host", ErrInvalid, cut(s, maxShown))
	case len(s) > maxURL:
		return "", fmt.Errorf("%w: the address is too long: the limit is %d bytes", ErrInvalid, maxURL)
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return "", fmt.Errorf("%w: there is no port %s: %s", ErrInvalid, cut(port, maxShown), paste)
		}
	}
	u.Host = strings.ToLower(u.Host)
	u.Host = strings.TrimSuffix(u.Host, ":")
	u.Host = strings.TrimSuffix(u.Host, map[string]string{"http": ":80", "https": ":443"}[u.Scheme])
	u.Fragment, u.RawFragment, u.ForceQuery = "", "", false
	if u.Path == "" {
		u.Path = "/"
	}
	return u.String(), nil
}

// maxShown bounds how much of a bad input an error shows, in bytes.
const maxShown = 60

// cut shortens a text for people to at most limit bytes and an ellipsis.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return strings.ToValidUTF8(s, "")
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
