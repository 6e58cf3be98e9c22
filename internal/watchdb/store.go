package watchdb

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/lastlook/lastlook/internal/beside"
	"github.com/lastlook/lastlook/watch"
)

// Store keeps watches beside an outbox. It is safe for concurrent use.
type Store struct{ db beside.DB }

var _ watch.Store = (*Store)(nil)

// New returns a store on a database that has the tables.
func New(db beside.DB) *Store { return &Store{db} }

// write runs f in one writing transaction.
func (s *Store) write(ctx context.Context, op string, f func(context.Context, *session) error) error {
	return named(op, s.db.Write(ctx, func(ctx context.Context, tx beside.Tx) error { return f(ctx, &session{tx}) }))
}

// read runs f on one snapshot.
func (s *Store) read(ctx context.Context, op string, f func(context.Context, *session) error) error {
	return named(op, s.db.Read(ctx, func(ctx context.Context, tx beside.Tx) error { return f(ctx, &session{tx}) }))
}

func named(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", op, err)
}

// session is a transaction under way.
type session struct{ tx beside.Tx }

func (s *session) query(ctx context.Context, name string, f func(scan func(...any) error) error, args ...any) error {
	return s.tx.Query(ctx, name, f, args...)
}

func (s *session) exec(ctx context.Context, name string, args ...any) (int64, error) {
	return s.tx.Exec(ctx, name, args...)
}

func (s *session) number(ctx context.Context, name string, args ...any) (int64, error) {
	return beside.Number(ctx, s.tx, name, args...)
}

// newID returns a random id: nobody can guess one, and none comes back.
func newID(prefix string, length int) string {
	return prefix + strings.ToLower(rand.Text()[:length])
}

func newListingID() string { return newID("l_", 16) }
func newWatchID() string   { return newID("w_", 16) }

// micros returns a time as it is stored, nil for none.
func micros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// instant reads a time that may be missing.
type instant struct{ time.Time }

// Scan implements [sql.Scanner].
func (t *instant) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		t.Time = time.Time{}
	case int64:
		t.Time = time.UnixMicro(v).UTC()
	default:
		return fmt.Errorf("a time is stored as %T, not as microseconds", v)
	}
	return nil
}

// span reads a duration.
type span struct{ time.Duration }

// Scan implements [sql.Scanner].
func (d *span) Scan(v any) error {
	n, ok := v.(int64)
	if !ok {
		return fmt.Errorf("a duration is stored as %T, not as microseconds", v)
	}
	d.Duration = time.Duration(n) * time.Microsecond
	return nil
}

// fromJSON reads a column of JSON into what it points to. What this version
// cannot read, such as a price in a currency that it does not know any more, is
// as if it had never been seen: a listing must not become unreadable by it.
type fromJSON[T any] struct{ into *T }

// Scan implements [sql.Scanner].
func (j fromJSON[T]) Scan(v any) error {
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf("JSON is stored as %T, not as text", v)
	}
	var read T
	if text != "{}" && json.Unmarshal([]byte(text), &read) != nil {
		var none T
		read = none
	}
	*j.into = read
	return nil
}
