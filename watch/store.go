package watch

import (
	"context"
	"time"

	"github.com/lastlook/lastlook"
)

// Source looks at listings of one kind. It is safe for concurrent use.
//
// The error says what kind of non-answer it was: wrapping [lastlook.Gone] for
// a definite "no such item" (410), [ErrMissing] for a 404, which counts as
// definite only when it is seen twice, [lastlook.RetryAfter] when the site
// asked to wait; anything else, a block page or a page that does not parse
// included, means that nobody knows.
type Source interface {
	Look(ctx context.Context, l Listing) (Observation, error)
}

// lastLookKey is the context key of [AsLastLook].
type lastLookKey struct{}

// AsLastLook marks the looks under a context as those on which a message will be
// worded. A source that spares the site some work (conditional requests) asks for
// the whole there.
func AsLastLook(ctx context.Context) context.Context {
	return context.WithValue(ctx, lastLookKey{}, true)
}

// IsLastLook reports whether a look is one of those.
func IsLastLook(ctx context.Context) bool { return ctx.Value(lastLookKey{}) != nil }

// Store keeps listings, watches, trigger states and observations, in the same
// database as the outbox. It is safe for concurrent use. What names a watch or
// a listing that does not exist gets [ErrNotFound], what cannot be accepted
// [ErrInvalid].
type Store interface {
	// Add adds a watch on the listing with the same source, URL and options,
	// which is created if there is none; its interval becomes the shortest that a watch
	// which is not paused asks for. A private listing is never shared with one
	// that is not: nobody may see into a private network by naming an address
	// that the operator watches. Add fills in the ids and returns both as
	// stored.
	Add(ctx context.Context, now time.Time, l Listing, w Watch) (Entry, error)
	// Get returns one watch, List all, ListFor a recipient's own, oldest first.
	Get(ctx context.Context, id string) (Entry, error)
	List(ctx context.Context) ([]Entry, error)
	ListFor(ctx context.Context, recipient string) ([]Entry, error)
	// Update changes a watch by a function within one transaction; see
	// [RenewIDs] for its triggers.
	Update(ctx context.Context, now time.Time, id string, change func(*Watch) error) (Entry, error)
	// Remove removes a watch, its states, and its listing if nobody else
	// watches it; the observations of such a listing go too.
	Remove(ctx context.Context, now time.Time, id string) error

	// Due returns up to limit listings that are due, have a watch that is not
	// paused, and are claimed by nobody, most overdue first. It claims them until
	// a time: till then nobody else gets them, unless a look that moves their next
	// look is recorded, or they are postponed or released. A time that is not after
	// now claims nothing.
	Due(ctx context.Context, now, until time.Time, limit int) ([]Listing, error)
	// Release gives back listings, by their ids, that were claimed until a time.
	Release(ctx context.Context, ids []string, until time.Time) error
	// NextDue returns when the next listing that nobody claims is due; zero if
	// there is none.
	NextDue(ctx context.Context, now time.Time) (time.Time, error)
	// Record writes an observation, the states to which it moves the watches'
	// triggers, and the outbox rows of what is news, in one transaction. For
	// each watch of the listing it calls detect with the watch, its states, the
	// history that its triggers ask for ([HistoryDays]), the listing's standing
	// and the key rows of its channels (in the order of Watch.Channels), all read
	// in that transaction. It returns the entries after it: with the states and
	// the standing to which the observation led ([Standing.Weigh]), and the same
	// history. A trusted observation ([Weighed.Trusted]) counts for the lows of
	// its day ([LowOf]).
	//
	// Looks may overlap, and sources may give old copies: an observation that
	// was made before the last one is kept, but decides nothing, since an
	// episode that it seemed to end would be told a second time. Detect is not
	// called then, and the entries' Last is the newer one.
	Record(ctx context.Context, now time.Time, r Recording) ([]Entry, error)
	// RecordFailure writes that a listing could not be looked at, and enqueues
	// what Failure.Detect makes of it, in one transaction.
	RecordFailure(ctx context.Context, now time.Time, f Failure) error
	// Postpone moves the next looks at listings, by their ids, if they are due
	// before.
	Postpone(ctx context.Context, next map[string]time.Time) error
	// Accept takes a listing as it is now for what is watched: another product,
	// or another currency ([Standing.Accept]).
	Accept(ctx context.Context, listingID string) error
	// Lows returns the lowest prices of a listing's days, from one on.
	Lows(ctx context.Context, listingID string, fromDay int) (History, error)
	// Current returns the watches with the given ids, in order; the zero Entry
	// for those that do not exist.
	Current(ctx context.Context, ids []string) ([]Entry, error)
	// History returns the latest observations of a listing, newest first.
	History(ctx context.Context, listingID string, limit int) ([]Observation, error)
	// Thin deletes what is [Redundant] of the days that were over before a time,
	// of up to limit listings. It returns no listings when all are thinned. An
	// observation that decides where triggers stand stays.
	Thin(ctx context.Context, before time.Time, limit int) (Thinned, error)
}

// Entry is a watch with its listing, where its triggers stand, and what was
// last seen.
type Entry struct {
	Watch   Watch   `json:"watch"`
	Listing Listing `json:"listing"`
	// Interval is how often this watch asks for a look; the listing's is the
	// shortest of all who watch it.
	Interval time.Duration    `json:"interval,omitzero"`
	States   map[string]State `json:"states,omitzero"`
	// Last is the listing's last observation; nil if there is none yet.
	// Entries of one listing may share it, so it must not be changed.
	Last *Observation `json:"last,omitzero"`
	// History is what the triggers know of the days before. Only the entries
	// that Record deals with have it; elsewhere, an observation that decided
	// already is asked about, which needs none.
	History History `json:"-"`
	// Group are the other watches of the watch's recipient and group, if it has
	// one. The entries of Record and Current have them.
	Group []Sibling `json:"-"`
	// Err says why the stored watch cannot be read, for example because it
	// names a currency that this version does not know; its channels and
	// triggers are then missing, and nothing is detected for it.
	Err error `json:"-"`
}

// Recording is an observation to be recorded.
type Recording struct {
	ListingID   string
	Observation Observation
	// NextLook is when the listing is due again; zero leaves that as it is
	// (the observation came from the dispatcher's look).
	NextLook time.Time
	// Pace is how often it is looked at from now on; zero leaves that as it is.
	Pace time.Duration
	// Detect decides, for one watch, to which states the observation moves its
	// triggers, and what is enqueued.
	Detect func(e Entry, keys []lastlook.KeyRow) (Detected, error)
}

// Detected is what an observation led to, for one watch.
type Detected struct {
	States map[string]State
	Items  []lastlook.Item
}

// Failure is a look that gave no observation.
type Failure struct {
	ListingID string
	// Err is why, for people, without secrets.
	Err string
	// Missing says that the answer was a 404.
	Missing bool
	// NextLook is when the listing is due again; zero leaves that as it is.
	NextLook time.Time
	// Detect, if set, says what it means to a watch of the listing: what is
	// enqueued. The entry's listing is as the failure leaves it.
	Detect func(e Entry) ([]lastlook.Item, error)
}
