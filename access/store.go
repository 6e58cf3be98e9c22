package access

import (
	"context"
	"time"

	"github.com/lastlook/lastlook"
)

// Store keeps keys, and what was enqueued under idempotency keys, in the same
// database as the outbox. It is safe for concurrent use.
type Store interface {
	// SetOperator makes a token's hash the operator's, in the place of the one
	// before; if onlyFirst, only if there is none yet. It reports whether it did.
	SetOperator(ctx context.Context, now time.Time, h Hash, onlyFirst bool) (bool, error)
	// HasOperator reports whether there is one.
	HasOperator(ctx context.Context) (bool, error)
	// Add adds a key, known by its token's hash from then on, unless there are
	// limit keys already that hold ([ErrFull]).
	Add(ctx context.Context, k Key, h Hash, limit int) error
	// ByToken returns the key with a token that holds ([ErrUnauthorized] if
	// there is none), List all but the operator's, oldest first.
	ByToken(ctx context.Context, h Hash) (Key, error)
	List(ctx context.Context) ([]Key, error)
	// Used notes that a key was shown.
	Used(ctx context.Context, id string, at time.Time) error
	// Revoke ends a key for good ([ErrNotFound]); one that has ended stays as
	// it is.
	Revoke(ctx context.Context, id string, at time.Time) (Key, error)

	// Enqueue carries out requests in one transaction: all, or none. One whose
	// idempotency key is known is not carried out again, but answered as the
	// first time ([Reply.Replayed]); if it is another request than then, its
	// reply has [ErrKeyReused] and nothing of it is enqueued.
	Enqueue(ctx context.Context, now time.Time, requests []Request) ([]Reply, error)
	// Forget deletes idempotency keys from before, at most limit.
	Forget(ctx context.Context, before time.Time, limit int) (int, error)
}

// Request asks to enqueue items, together.
type Request struct {
	Items []lastlook.Item
	// Caller and Key are under what the answer is kept; Key is "" if it is not
	// to be kept. Fingerprint tells one request from another.
	Caller, Key string
	Fingerprint [32]byte
}

// Reply is what became of a [Request].
type Reply struct {
	Results  []lastlook.EnqueueResult
	Replayed bool
	Err      error
}
