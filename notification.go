package lastlook

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits on what may be enqueued.
const (
	// MaxPayload bounds a detection and an asserted value, in bytes of JSON.
	MaxPayload = 64 << 10
	// MaxKeyPart bounds each part of a [Key] and a lane, in bytes.
	MaxKeyPart = 512
	// MaxEpisode bounds an episode's number, either way.
	MaxEpisode = 1 << 62
	// MaxTrace bounds an item's trace context, in bytes.
	MaxTrace = 512
	// DefaultExpiry is how long a row may live if the item does not say.
	DefaultExpiry = 24 * time.Hour
)

// ID identifies a notification within its store. IDs are never reused.
type ID int64

// Key says what a telling is about and to whom it goes. One key has at most
// one live row, and one baseline.
type Key struct {
	// Topic is the kind of alert.
	Topic string `json:"topic"`
	// Subject is what it is about: a watch, an order, a server.
	Subject string `json:"subject"`
	// Recipient is who is told.
	Recipient string `json:"recipient"`
	// Channel is what they are told through: a name in [Config.Channels].
	Channel string `json:"channel"`
}

// String returns the key's parts joined by slashes, for people.
func (k Key) String() string {
	return k.Topic + "/" + k.Subject + "/" + k.Recipient + "/" + k.Channel
}

// Validate reports what is wrong with the key, wrapping [ErrInvalid].
func (k Key) Validate() error {
	for _, p := range [...]struct{ name, value string }{
		{"topic", k.Topic}, {"subject", k.Subject}, {"recipient", k.Recipient}, {"channel", k.Channel},
	} {
		if err := validText(p.name, p.value, MaxKeyPart); err != nil {
			return err
		}
		if p.value == "" {
			return fmt.Errorf("%w: the key's %s is empty: name all of topic, subject, recipient and channel", ErrInvalid, p.name)
		}
	}
	return nil
}

// Compare orders keys by their parts. Rows are locked in this order.
func (k Key) Compare(o Key) int {
	if c := strings.Compare(k.Topic, o.Topic); c != 0 {
		return c
	}
	if c := strings.Compare(k.Subject, o.Subject); c != 0 {
		return c
	}
	if c := strings.Compare(k.Recipient, o.Recipient); c != 0 {
		return c
	}
	return strings.Compare(k.Channel, o.Channel)
}

func validText(name, s string, limit int) error {
	switch {
	case len(s) > limit:
		return fmt.Errorf("%w: %s has %d bytes, the limit is %d: use a shorter name or a hash of it", ErrInvalid, name, len(s), limit)
	case !utf8.ValidString(s):
		return fmt.Errorf("%w: %s is not valid UTF-8", ErrInvalid, name)
	case strings.ContainsRune(s, 0):
		return fmt.Errorf("%w: %s contains a NUL byte", ErrInvalid, name)
	}
	return nil
}

// Priority says which rows go first when there is no room for all: each
// priority gets four times the room of the next lower one.
type Priority int8

// The priorities.
const (
	PriorityLow    Priority = -1
	PriorityNormal Priority = 0
	PriorityHigh   Priority = 1
)

// Item is what a detector enqueues: "this looked true, tell them". Make one
// with [Topic.Item] or [Handle.Item].
type Item struct {
	Key
	// Detection is the value seen when the condition was noticed, as JSON.
	// It is kept for the story; no message is ever worded from it.
	Detection json.RawMessage
	// Lane groups what can be slow or broken together, usually the channel's
	// destination host. Empty means the channel itself.
	Lane string
	// Due is when the row may first be looked at; zero means at once.
	Due time.Time
	// ExpiresAt is when telling no longer makes sense; zero means TTL from now,
	// and a zero TTL means [DefaultExpiry]; from Due, if that is later.
	ExpiresAt time.Time
	TTL       time.Duration
	// Priority orders rows within their lane.
	Priority Priority
	// Trace is carried unread to the channel and the observer, e.g. a W3C
	// traceparent.
	Trace string
	// Edge says that this detection will not come again by itself: if the key
	// has a live row, a mark is left, and becomes a row of its own when the
	// live row ends without having read it. Level-triggered detectors, which
	// ask again at each sweep, leave it false.
	Edge bool
	// Windows is the window policy by which "already told" is decided at
	// enqueue. The zero value means the policy under which the key was last
	// told.
	Windows Windows
	// Episode is the current episode's number, for [Episodes].
	Episode int64
	// RetryOf names the failed row that this one tries again; see
	// [Outbox.Retry].
	RetryOf ID
	// MayRepeat clears the key's told window: whoever asked accepts that the
	// recipient may be told the same twice.
	MayRepeat bool
}

// Prepare validates items and returns them with every default filled in and
// sorted by key, with the position that each had. Stores call it first in
// Enqueue and EnqueueTx.
func Prepare(now time.Time, items []Item) ([]Prepared, error) {
	if err := CheckClock(now); err != nil {
		return nil, err
	}
	out := make([]Prepared, len(items))
	for i, it := range items {
		if err := it.fill(now); err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
		out[i] = Prepared{Item: it, Index: i}
	}
	sortPrepared(out)
	return out, nil
}

// Prepared is a validated [Item] and its position in the caller's slice.
type Prepared struct {
	Item
	Index int
}

func (it *Item) fill(now time.Time) error {
	if err := it.Validate(); err != nil {
		return err
	}
	if it.Lane == "" {
		it.Lane = it.Channel
	}
	if err := validText("lane", it.Lane, MaxKeyPart); err != nil {
		return err
	}
	if err := validText("trace", it.Trace, MaxTrace); err != nil {
		return err
	}
	if len(it.Detection) == 0 {
		return fmt.Errorf("%w: %s has no detection: give the value that was seen, as JSON", ErrInvalid, it.Key)
	}
	if len(it.Detection) > MaxPayload {
		return fmt.Errorf("%w: the detection of %s has %d bytes, the limit is %d: enqueue what identifies the value, and let the look fetch the rest",
			ErrPayloadTooLarge, it.Key, len(it.Detection), MaxPayload)
	}
	if !json.Valid(it.Detection) {
		return fmt.Errorf("%w: the detection of %s is not valid JSON", ErrInvalid, it.Key)
	}
	if it.Priority < PriorityLow || it.Priority > PriorityHigh {
		return fmt.Errorf("%w: priority %d of %s is outside %d to %d", ErrInvalid, it.Priority, it.Key, PriorityLow, PriorityHigh)
	}
	if it.RetryOf < 0 {
		return fmt.Errorf("%w: %s retries notification %d, which cannot be", ErrInvalid, it.Key, it.RetryOf)
	}
	if it.Episode > MaxEpisode || it.Episode < -MaxEpisode {
		return fmt.Errorf("%w: episode %d of %s: number episodes from 1, per key", ErrInvalid, it.Episode, it.Key)
	}
	if it.Due.IsZero() {
		it.Due = now
	}
	if it.ExpiresAt.IsZero() {
		it.ExpiresAt = later(it.Due, now).Add(orDefault(it.TTL, DefaultExpiry))
	}
	for _, t := range [...]time.Time{it.Due, it.ExpiresAt} {
		if err := CheckClock(t); err != nil {
			return fmt.Errorf("due or expiry of %s: %w", it.Key, err)
		}
	}
	it.Due, it.ExpiresAt = Micro(it.Due), Micro(it.ExpiresAt)
	if !it.ExpiresAt.After(now) {
		return fmt.Errorf("%w: %s expires at %s, which is not after now (%s)", ErrInvalid, it.Key, it.ExpiresAt.Format(time.RFC3339), now.Format(time.RFC3339))
	}
	if !it.ExpiresAt.After(it.Due) {
		return fmt.Errorf("%w: %s expires at %s, before it is due at %s", ErrInvalid, it.Key, it.ExpiresAt.Format(time.RFC3339), it.Due.Format(time.RFC3339))
	}
	return it.Windows.Validate()
}

// Micro returns t in UTC, cut to the microseconds that stores keep.
func Micro(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// CheckClock reports, wrapping [ErrClock], a time that no working clock shows.
func CheckClock(t time.Time) error {
	if y := t.UTC().Year(); y < 1970 || y > 9999 {
		return fmt.Errorf("%w: %s is outside the years 1970 to 9999: set the machine's clock, or pass the right time", ErrClock, t.UTC().Format(time.RFC3339))
	}
	return nil
}

// EnqueueStatus says what became of an enqueued item.
type EnqueueStatus uint8

// What an enqueue can come to.
const (
	// Inserted: a new row was written.
	Inserted EnqueueStatus = iota + 1
	// Duplicate: the key has a live row, named in the result.
	Duplicate
	// Marked: the key has a live row; a mark was left, since the item is an edge.
	Marked
	// AlreadyTold: the key was told in the current window, by the row named.
	AlreadyTold
	// Muted: the recipient is muted on this channel.
	Muted
)

// String returns the status as it stands in JSON.
func (s EnqueueStatus) String() string {
	switch s {
	case Inserted:
		return "inserted"
	case Duplicate:
		return "duplicate"
	case Marked:
		return "marked"
	case AlreadyTold:
		return "already_told"
	case Muted:
		return "muted"
	}
	return fmt.Sprintf("status(%d)", uint8(s))
}

// MarshalText implements [encoding.TextMarshaler].
func (s EnqueueStatus) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *EnqueueStatus) UnmarshalText(b []byte) error {
	for v := Inserted; v <= Muted; v++ {
		if v.String() == string(b) {
			*s = v
			return nil
		}
	}
	return fmt.Errorf("%w: enqueue status %q", ErrInvalid, b)
}

// EnqueueResult says what became of one item.
type EnqueueResult struct {
	Status EnqueueStatus `json:"status"`
	// ID is the new row (Inserted), the live row (Duplicate, Marked) or the
	// row that told (AlreadyTold); 0 for Muted.
	ID ID `json:"id,omitzero"`
	// State is the state of that row when the item met it.
	State State `json:"state,omitzero"`
}

// Standing is what a store knows of a key when an item arrives, read in the
// enqueuing transaction.
type Standing struct {
	Key KeyRow
	// LiveID is the key's live row; 0 if it has none.
	LiveID    ID
	LiveState State
	Muted     bool
}

// Admission is the core's answer to an item: what the store has to write.
type Admission struct {
	EnqueueResult
	// Due is when a row that is to be inserted becomes due.
	Due time.Time
	// ClearTold says that the key's told window is cleared first.
	ClearTold bool
}

// Admit decides what an item comes to. It is pure; stores call it within
// their transaction, so that all of them admit alike.
func Admit(now time.Time, it *Item, s Standing) (Admission, error) {
	told, err := alreadyTold(now, it, s.Key)
	if err != nil {
		return Admission{}, err
	}
	live := EnqueueResult{ID: s.LiveID, State: s.LiveState}
	switch {
	case s.LiveID != 0 && !it.Edge:
		live.Status = Duplicate
		return Admission{EnqueueResult: live}, nil
	case s.Muted:
		return Admission{EnqueueResult: EnqueueResult{Status: Muted}}, nil
	case told && !it.MayRepeat:
		// The row that told may still be live (it was maybe delivered), or
		// have ended long ago; either way its last known state is "told".
		res := EnqueueResult{Status: AlreadyTold, ID: s.Key.ToldBy}
		if res.ID == s.LiveID {
			res.State = s.LiveState
		}
		return Admission{EnqueueResult: res}, nil
	case s.LiveID != 0:
		live.Status = Marked
		return Admission{EnqueueResult: live}, nil
	}
	due := it.Due
	if it.RetryOf == 0 { // an operator's retry need not wait for the key's backoff
		due = dueAfterFailures(now, due, it.ExpiresAt, s.Key)
	}
	return Admission{
		EnqueueResult: EnqueueResult{Status: Inserted, State: StatePending},
		Due:           due,
		ClearTold:     it.MayRepeat,
	}, nil
}

func alreadyTold(now time.Time, it *Item, k KeyRow) (bool, error) {
	w := it.Windows
	if w.IsZero() {
		if k.Told.Policy == Episodes().String() {
			// Only the topic knows the current episode; the guard at the claim
			// decides.
			return false, nil
		}
		var err error
		if w, err = ParseWindows(k.Told.Policy); err != nil {
			// Written by a policy that this process does not know. The guard
			// at the claim, which has the topic, decides.
			return false, nil
		}
	}
	cur := w.At(now, it.Episode)
	if w.kind == windowEpisodes && k.Told.Policy == cur.Policy && cur.Start < k.Told.Start {
		return false, fmt.Errorf("%w: %s was told in episode %d, the item says %d: number episodes upwards, per key", ErrWindowBackwards, it.Key, k.Told.Start, cur.Start)
	}
	return k.Told.Covers(cur), nil
}

// ReviveDue says when a row that is made from marks becomes due. due is the
// last mark's. The row is made even if the key is told or muted: the guards at
// its claim then drop it with a reason, so that no edge vanishes unexplained.
func ReviveDue(now, due, expires time.Time, k KeyRow) time.Time {
	if due.Before(now) {
		due = now
	}
	return dueAfterFailures(now, Micro(due), expires, k)
}

// dueAfterFailures delays the next row of a key whose last rows failed,
// expired or were guarded away, so that a level-triggered detector does not
// make a new doomed row at each sweep. Half of a row's life is the longest
// wait: a row that expires before it is due would only add a failure.
func dueAfterFailures(now, due, expires time.Time, k KeyRow) time.Time {
	if k.Failures <= 0 {
		return due
	}
	wait := k.Last.At.Add(backoff(k.Failures-1, DefaultPolicy()))
	if half := Micro(now.Add(expires.Sub(now) / 2)); wait.After(half) {
		wait = half
	}
	if wait.After(due) {
		return wait
	}
	return due
}
