package lastlook

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"time"
)

// Store keeps the outbox. It holds no policy: it claims, applies
// compare-and-swap changes that the core has decided, and answers questions.
// [github.com/lastlook/lastlook/store/storetest] is what each must pass.
//
// Every method is one or more short transactions, safe for concurrent use by
// any number of goroutines and, unless the store says otherwise, processes.
// Times are kept as UTC microseconds. The only clock is the caller's: now is
// an argument wherever it matters. Errors wrap [ErrBusy], [ErrFull],
// [ErrReadOnly] or [ErrNotFound] where these apply; after an error, nothing of
// that call was written, unless the error is that the outcome of the commit
// itself is unknown.
type Store interface {
	// Enqueue validates items ([Prepare]), asks [Admit] about each with the
	// key's standing, and writes what it says, all in one transaction.
	// Results are in the order of items.
	Enqueue(ctx context.Context, now time.Time, items []Item) ([]EnqueueResult, error)

	// Lanes lists the lanes of the given topics and channels that have pending
	// or retry rows which are not under a living claim. A row that no claim will
	// take, since its attempts are used up, shows as well, until it is swept.
	Lanes(ctx context.Context, q LaneQuery) ([]LaneState, error)

	// Claim takes up to N due rows from each lane, longest due first, ties by
	// id: pending and retry rows without a living lease whose attempts are
	// below the cap, expired ones included. Each becomes pending under the token
	// and a lease of its own, its attempt count raised by one; the key's marks
	// get the token. It returns them with their key rows, in the order of ids.
	Claim(ctx context.Context, r ClaimRequest) ([]Row, error)

	// Apply makes each change whose fence holds, all in one transaction, and
	// reports which did. A row has at most one change in a call. A zero token
	// never matches. A store may refuse the whole call with [ErrIllegal] or
	// [ErrWindowBackwards] if a change is none that a [Row] would make. Times
	// written are the changes' own; now counts for the rows that marks become.
	// A change that ends a row also writes its outcome,
	// deletes the marks that carry the row's token, and turns what marks are
	// left into one new row, with the last mark's detection, due at
	// [ReviveDue].
	Apply(ctx context.Context, now time.Time, changes []Change) ([]bool, error)

	// Sweep returns rows whose lease has passed and rows whose expiry has
	// passed, of all topics, for the core to decide on; and turns marks that
	// have no live row into rows, as Apply does.
	Sweep(ctx context.Context, r SweepRequest) (Swept, error)

	// Get returns one notification with its whole story.
	Get(ctx context.Context, id ID) (Record, error)

	// List returns notifications, newest first; their stories only if asked.
	List(ctx context.Context, q Query) ([]Record, error)

	// Stats counts the live rows per lane and state, and what has ended since
	// a moment.
	Stats(ctx context.Context, now, since time.Time) (Stats, error)

	// Prune deletes ended notifications, and idle key rows if asked, at most
	// Limit of each.
	Prune(ctx context.Context, r PruneRequest) (Pruned, error)

	// Mute sets or lifts mutes.
	Mute(ctx context.Context, now time.Time, changes []MuteChange) error
}

// DispatchLocker is implemented by stores that allow one dispatch loop at a
// time. LockDispatch returns [ErrDispatcherRunning] at once when another
// process, or another loop in this one, has the lock. The lock dies with the
// process.
type DispatchLocker interface {
	LockDispatch(ctx context.Context) (release func() error, err error)
}

// Token is a claim's fencing token. It is random, since a counter could
// repeat after a failover.
type Token [16]byte

// NewToken returns a fresh random token.
func NewToken() Token {
	var t Token
	_, _ = rand.Read(t[:]) // never fails, see crypto/rand
	return t
}

// IsZero reports whether t is no token.
func (t Token) IsZero() bool { return t == Token{} }

// String returns the token in hexadecimal.
func (t Token) String() string { return hex.EncodeToString(t[:]) }

// Lane names what is claimed together: rows of one topic, one channel, one
// lane and one priority.
type Lane struct {
	// ID is the store's own number of the lane.
	ID       int64    `json:"-"`
	Topic    string   `json:"topic"`
	Channel  string   `json:"channel"`
	Name     string   `json:"lane"`
	Priority Priority `json:"priority,omitzero"`
}

// LaneQuery names the topics and channels that a dispatcher has registered.
type LaneQuery struct {
	Now      time.Time
	Topics   []string
	Channels []string
}

// LaneState is a lane with rows that could be claimed now or later.
type LaneState struct {
	Lane
	// Due is the earliest due time of a row that is under no living claim.
	Due time.Time
}

// ClaimRequest is what a dispatcher asks for.
type ClaimRequest struct {
	Now   time.Time
	Token Token
	Lanes []LaneClaim
}

// LaneClaim asks for up to N rows of one lane.
type LaneClaim struct {
	Lane Lane
	N    int
	// MaxAttempts is the cap: rows that have been claimed so often already
	// are left to the sweep.
	MaxAttempts int
	// Lease is how long the claim holds.
	Lease time.Duration
}

// KeyRow is what is known of a key across its rows.
type KeyRow struct {
	// ID is the store's own number of the key; 0 if it has no row yet.
	ID int64 `json:"-"`
	// Baseline is the value asserted in the last delivered message.
	Baseline   json.RawMessage `json:"baseline,omitzero"`
	BaselineAt time.Time       `json:"baseline_at,omitzero"`
	// Maybe is the value of the last assertion whose delivery is unknown.
	Maybe json.RawMessage `json:"maybe,omitzero"`
	// Seq is the sequence number of the last (maybe) delivered assertion.
	Seq int64 `json:"seq"`
	// Told is the window in which the key was last told, ToldBy the row that
	// did, ToldAt when.
	Told   Window    `json:"told,omitzero"`
	ToldBy ID        `json:"told_by,omitzero"`
	ToldAt time.Time `json:"told_at,omitzero"`
	// Last is how the key's last row ended.
	Last End `json:"last,omitzero"`
	// Failures counts the rows that ended in failed, expired or a guard since
	// the last delivery.
	Failures int `json:"failures,omitzero"`
}

// End is how a row ended.
type End struct {
	ID     ID        `json:"id,omitzero"`
	State  State     `json:"state,omitzero"`
	Reason Reason    `json:"reason,omitzero"`
	At     time.Time `json:"at,omitzero"`
}

// Guarantee says what happens when nobody knows whether a delivery arrived.
type Guarantee uint8

// The guarantees.
const (
	// AtLeastOnce tries again; the same assertion has the same delivery key.
	AtLeastOnce Guarantee = iota
	// AtMostOnce gives up: the row fails as [ReasonUnknownOutcome].
	AtMostOnce
)

// Row is a live row as its claim, or the sweep, read it: the notification,
// the claim and the key row. Its methods are the state machine's transitions.
type Row struct {
	ID  ID
	Key Key
	// The notification; it never changes.
	Lane      Lane
	Detection json.RawMessage
	CreatedAt time.Time
	ExpiresAt time.Time
	Trace     string
	Episode   int64
	RetryOf   ID
	// The live row.
	State   State
	Due     time.Time
	Attempt int
	Token   Token
	Lease   time.Time
	// Assertion is what is being told; set in state sending only.
	Assertion Assertion
	Story     []Step
	// The key row, and whether the recipient is muted on the channel, both
	// read in the same transaction.
	KeyRow KeyRow
	Muted  bool
}

// Assertion is what a row in state sending tells.
type Assertion struct {
	Value     json.RawMessage
	LookedAt  time.Time
	Window    Window
	Seq       int64
	Guarantee Guarantee
}

// SweepRequest asks for one page of a sweep.
type SweepRequest struct {
	Now   time.Time
	Limit int
	// Cursor is where the page starts: empty, or the last page's Next.
	Cursor string
}

// Swept is one page of a sweep.
type Swept struct {
	// Dead are rows in state sending or pending whose lease has passed.
	Dead []Row
	// Expired are pending and retry rows whose expiry has passed, claimed or
	// not. A row in Dead may be in Expired too.
	Expired []Row
	// Revived are new rows made from marks that had no live row.
	Revived []ID
	// Next is the cursor of the next page; empty if this was the last.
	Next string
}

// Record is one notification as people see it.
type Record struct {
	ID        ID              `json:"id"`
	Key       Key             `json:"key"`
	Lane      string          `json:"lane"`
	Priority  Priority        `json:"priority,omitzero"`
	State     State           `json:"state"`
	Reason    Reason          `json:"reason,omitzero"`
	Detection json.RawMessage `json:"detection"`
	CreatedAt time.Time       `json:"created_at"`
	ExpiresAt time.Time       `json:"expires_at"`
	Trace     string          `json:"trace,omitzero"`
	Episode   int64           `json:"episode,omitzero"`
	RetryOf   ID              `json:"retry_of,omitzero"`
	// MayRepeat says that whoever made this retry accepted a repeated telling.
	MayRepeat bool `json:"may_repeat,omitzero"`
	// Due, Leased and Marks are those of a live row. Leased is zero if no
	// claim holds it.
	Due    time.Time `json:"due,omitzero"`
	Leased time.Time `json:"leased_until,omitzero"`
	Marks  int       `json:"marks,omitzero"`
	// Attempt counts the claims so far, less those given back.
	Attempt int `json:"attempt"`
	// Asserted is the value told, or being told; Seen is the value on which a
	// dropped row was dropped.
	Asserted json.RawMessage `json:"asserted,omitzero"`
	LookedAt time.Time       `json:"looked_at,omitzero"`
	Seen     json.RawMessage `json:"seen,omitzero"`
	Window   Window          `json:"window,omitzero"`
	Seq      int64           `json:"seq,omitzero"`
	EndedAt  time.Time       `json:"ended_at,omitzero"`
	// Story and KeyRow are given by Get, and by a List that asks for them.
	Story  []Step  `json:"story,omitzero"`
	KeyRow *KeyRow `json:"key_row,omitzero"`
}

// Query selects notifications. Empty fields select all.
type Query struct {
	Topic, Subject, Recipient, Channel string

	States []State
	Reason Reason
	// Full asks for Story and KeyRow too.
	Full bool
	// Before selects IDs smaller than it, for paging.
	Before ID
	// Limit bounds the answer; 0 means 100.
	Limit int
}

// Stats counts rows.
type Stats struct {
	Live  []LaneStats `json:"live"`
	Ended []EndCount  `json:"ended"`
	// Marks counts waiting marks, Muted the mutes.
	Marks int `json:"marks"`
	Muted int `json:"muted"`
}

// LaneStats counts the live rows of one lane in one state.
type LaneStats struct {
	Lane
	State State `json:"state"`
	Count int   `json:"count"`
	// Leased counts those under a living claim.
	Leased int `json:"leased"`
	// OldestDue is the earliest due time among them.
	OldestDue time.Time `json:"oldest_due"`
}

// EndCount counts ended rows.
type EndCount struct {
	Topic  string `json:"topic"`
	State  State  `json:"state"`
	Reason Reason `json:"reason,omitzero"`
	Count  int    `json:"count"`
}

// PruneRequest says what may be deleted.
type PruneRequest struct {
	// EndedBefore selects notifications that ended before it.
	EndedBefore time.Time
	// Reasons, if not empty, selects only rows that ended for one of them; ""
	// stands for sent rows.
	Reasons []Reason
	// KeysIdleBefore, unless zero, also deletes key rows that have no live row,
	// no mark and no remaining notification, and that were last used before
	// it. It forgets their baseline, so it must lie beyond every window; keys
	// last told in a window without end (once, episodes) are kept.
	KeysIdleBefore time.Time
	// Limit bounds the rows deleted of each kind in this call; 0 means 1000.
	Limit int
}

// Pruned counts what was deleted.
type Pruned struct {
	Notifications int `json:"notifications"`
	Keys          int `json:"keys"`
}

// MuteChange sets or lifts the mute of a recipient on a channel.
type MuteChange struct {
	Recipient, Channel string
	// Lift lifts the mute instead of setting it.
	Lift bool
}
