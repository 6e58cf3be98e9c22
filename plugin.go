package lastlook

import (
	"context"
	"encoding/json"
	"time"
)

// Channel delivers messages. Implementations are safe for concurrent use,
// honour ctx (its deadline is the call's), follow no redirects, and classify
// their errors: a plain error means "known not delivered, try again"; see
// [RetryAfter], [Permanent], [Gone], [Misconfigured] and [Unknown]. No error
// and no receipt may carry a secret.
type Channel interface {
	Deliver(ctx context.Context, d Delivery) (Receipt, error)
}

// Delivery is one message on its way.
type Delivery struct {
	ID  ID
	Key Key
	// Message was worded from Value, the value just looked at.
	Message Message
	Value   json.RawMessage
	// DeliveryKey recognizes a resend of the same assertion.
	DeliveryKey string
	// ReplaceKey names what this message takes the place of.
	ReplaceKey string
	// Priority is the row's: how urgent the detector found it.
	Priority Priority
	// Attempt counts from 1.
	Attempt   int
	LookedAt  time.Time
	ExpiresAt time.Time
	Trace     string
}

// Message is what a person reads. Channels shorten and escape as they need.
type Message struct {
	Title string `json:"title"`
	Body  string `json:"body,omitzero"`
	// URL is where a click leads.
	URL string `json:"url,omitzero"`
	// Silent asks the channel not to make a sound.
	Silent bool `json:"silent,omitzero"`
	// Data is for machines; its form is the topic's.
	Data json.RawMessage `json:"data,omitzero"`
}

// Receipt is what a channel says of an accepted message.
type Receipt struct {
	// Answer is the other side's answer, shortened and without secrets; it
	// goes into the row's story.
	Answer string
}

// Gate holds rows back before they are looked at: rate limits, breakers, quiet
// hours of a lane. It says how many rows of the lane may be claimed now, or
// how long to wait before asking again (0: until something changes, but no
// longer than [Config.Poll]). It is asked before each claim, and holding back
// costs no attempt. A Gate that also is an [Observer] learns what became of
// the rows.
//
// Implementations are safe for concurrent use.
type Gate interface {
	Admit(lane Lane, now time.Time) (n int, wait time.Duration)
}

// Counter is a [Gate] that wants to know how many rows of its lanes are in
// flight: Claimed is called when rows are claimed, before the lane is asked
// about again; Released when they are settled or given up.
type Counter interface {
	Claimed(lane Lane, n int)
	Released(lane Lane, n int)
}

// Holder is a [Gate] that also holds single rows back, after their claim and
// before anybody looks: quiet hours of a recipient, a cap per day. It answers
// for each row, in order, until when it waits, and why; a zero time lets the
// row go on. A row that waits gives its attempt back. An error lets all of
// them wait for a moment.
type Holder interface {
	Hold(ctx context.Context, rows []Held, now time.Time) ([]Wait, error)
}

// Held is what a [Holder] is told of a row.
type Held struct {
	ID        ID
	Key       Key
	Lane      Lane
	Attempt   int
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Wait is until when a row waits, and why, for people.
type Wait struct {
	Until time.Time
	Why   string
}

// Observer is told of every transition that a dispatcher makes. It must not
// block. Implementations are safe for concurrent use.
type Observer interface {
	Observe(t Transition)
}

// Transition is something that happened to a row.
type Transition struct {
	At     time.Time
	ID     ID
	Key    Key
	Lane   Lane
	Trace  string
	Event  Event
	From   State
	To     State
	Reason Reason
	// Attempt counts from 1.
	Attempt int
	// Lost says that the transition was not made: another claim, the reaper
	// or an operator came first.
	Lost bool
	// LookedAt is when the value told, or judged, was looked at.
	LookedAt time.Time
	// Called and Answered bracket the channel's call; zero if it was not
	// called. Answered less LookedAt is the gap in which the world could
	// still move unseen.
	Called, Answered time.Time
	// Err is the look's or the channel's error.
	Err error
}
