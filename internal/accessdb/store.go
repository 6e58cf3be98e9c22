// Package accessdb keeps API keys in a database, beside the outbox: all of an
// [access.Store] but the statements, which access/accesssqlite and access/accesspg
// bring.
package accessdb

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/access"
	"github.com/lastlook/lastlook/internal/beside"
)

// Store keeps keys beside an outbox. It is safe for concurrent use.
type Store struct{ db beside.DB }

var _ access.Store = (*Store)(nil)

// New returns a store on a database that has the tables.
func New(db beside.DB) *Store { return &Store{db} }

// SetOperator implements [access.Store].
func (s *Store) SetOperator(ctx context.Context, now time.Time, h access.Hash, onlyFirst bool) (set bool, err error) {
	name := "rotate"
	if onlyFirst {
		name = "first"
	}
	err = s.write(ctx, "set the operator's token", func(ctx context.Context, tx beside.Tx) error {
		n, err := tx.Exec(ctx, name, access.OperatorID, h[:], now.UnixMicro())
		set = n > 0
		return err
	})
	return set, err
}

// HasOperator implements [access.Store].
func (s *Store) HasOperator(ctx context.Context) (has bool, err error) {
	err = s.read(ctx, "look for the operator's token", func(ctx context.Context, tx beside.Tx) error {
		n, err := beside.Number(ctx, tx, "count_of", access.OperatorID)
		has = n > 0
		return err
	})
	return has, err
}

// Add implements [access.Store].
func (s *Store) Add(ctx context.Context, k access.Key, h access.Hash, limit int) error {
	return s.write(ctx, "add key", func(ctx context.Context, tx beside.Tx) error {
		if err := tx.Lock(ctx, "lock_all"); err != nil {
			return err
		}
		n, err := beside.Number(ctx, tx, "count")
		if err != nil {
			return err
		}
		if n >= int64(limit) {
			return fmt.Errorf("%w: there are %d", access.ErrFull, n)
		}
		_, err = tx.Exec(ctx, "insert", k.ID, h[:], k.Name, k.Owner, access.JoinScopes(k.Scopes), k.PerMinute, k.CreatedAt.UnixMicro())
		return err
	})
}

// ByToken implements [access.Store].
func (s *Store) ByToken(ctx context.Context, h access.Hash) (k access.Key, err error) {
	err = s.read(ctx, "authenticate", func(ctx context.Context, tx beside.Tx) error {
		k, err = one(ctx, tx, access.ErrUnauthorized, "by_token", h[:])
		return err
	})
	return k, err
}

// List implements [access.Store].
func (s *Store) List(ctx context.Context) (out []access.Key, err error) {
	err = s.read(ctx, "list keys", func(ctx context.Context, tx beside.Tx) error {
		out = nil
		return tx.Query(ctx, "all", func(f func(...any) error) error {
			k, err := scan(f)
			out = append(out, k)
			return err
		}, access.OperatorID)
	})
	return out, err
}

// Used implements [access.Store].
func (s *Store) Used(ctx context.Context, id string, at time.Time) error {
	return s.write(ctx, "note a key's use", func(ctx context.Context, tx beside.Tx) error {
		_, err := tx.Exec(ctx, "used", id, at.UnixMicro())
		return err
	})
}

// Revoke implements [access.Store].
func (s *Store) Revoke(ctx context.Context, id string, at time.Time) (k access.Key, err error) {
	err = s.write(ctx, "revoke key", func(ctx context.Context, tx beside.Tx) error {
		if _, err := tx.Exec(ctx, "revoke", id, at.UnixMicro()); err != nil {
			return err
		}
		k, err = one(ctx, tx, access.ErrNotFound, "by_id", id)
		return err
	})
	return k, err
}

// Enqueue implements [access.Store].
func (s *Store) Enqueue(ctx context.Context, now time.Time, requests []access.Request) (replies []access.Reply, err error) {
	err = s.write(ctx, "enqueue", func(ctx context.Context, tx beside.Tx) error {
		replies, err = enqueue(ctx, tx, now, requests)
		return err
	})
	if err != nil {
		return nil, err
	}
	return replies, nil
}

// enqueue enqueues the items of all requests that are new in one call.
func enqueue(ctx context.Context, tx beside.Tx, now time.Time, requests []access.Request) ([]access.Reply, error) {
	replies := make([]access.Reply, len(requests))
	if err := lockOnce(ctx, tx, requests); err != nil {
		return nil, err
	}
	type name struct{ caller, key string }
	first := map[name]int{} // within this call
	var items []lastlook.Item
	fresh := make([]bool, len(requests))
	for i := range requests {
		r := &requests[i]
		if r.Key != "" {
			n := name{r.Caller, r.Key}
			before, err := known(ctx, tx, r, &replies[i])
			if err != nil {
				return nil, err
			}
			if _, twice := first[n]; before || twice {
				continue
			}
			first[n] = i
		}
		fresh[i] = true
		items = append(items, r.Items...)
	}
	results, err := tx.Enqueue(ctx, now, items...)
	if err != nil {
		return nil, err
	}
	for i := range requests {
		r := &requests[i]
		if !fresh[i] {
			continue
		}
		replies[i].Results, results = results[:len(r.Items):len(r.Items)], results[len(r.Items):]
		if r.Key == "" {
			continue
		}
		b, err := json.Marshal(replies[i].Results)
		if err != nil {
			return nil, err
		}
		if _, err := tx.Exec(ctx, "keep", r.Caller, r.Key, r.Fingerprint[:], string(b), now.UnixMicro()); err != nil {
			return nil, err
		}
	}
	for i := range requests { // those that came twice in this call
		if fresh[i] || replies[i].Results != nil || replies[i].Err != nil {
			continue
		}
		if _, err := known(ctx, tx, &requests[i], &replies[i]); err != nil {
			return nil, err
		}
	}
	return replies, nil
}

// known answers a request as it was answered before, if it was.
func known(ctx context.Context, tx beside.Tx, r *access.Request, reply *access.Reply) (bool, error) {
	var fingerprint []byte
	var results string
	there := false
	err := tx.Query(ctx, "once", func(scan func(...any) error) error {
		there = true
		return scan(&fingerprint, &results)
	}, r.Caller, r.Key)
	if err != nil || !there {
		return false, err
	}
	if string(fingerprint) != string(r.Fingerprint[:]) {
		reply.Err = access.ErrKeyReused
		return true, nil
	}
	reply.Replayed = true
	return true, json.Unmarshal([]byte(results), &reply.Results)
}

// Forget implements [access.Store].
func (s *Store) Forget(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.write(ctx, "forget idempotency keys", func(ctx context.Context, tx beside.Tx) error {
		gone, err := tx.Exec(ctx, "forget", before.UnixMicro(), limit)
		n = int(gone)
		return err
	})
	return n, err
}

// lockOnce has requests under the same idempotency keys wait for each other.
func lockOnce(ctx context.Context, tx beside.Tx, requests []access.Request) error {
	names := []string{}
	for i := range requests {
		if r := &requests[i]; r.Key != "" {
			b, err := json.Marshal([2]string{r.Caller, r.Key})
			if err != nil {
				return err
			}
			names = append(names, string(b))
		}
	}
	if len(names) == 0 {
		return nil
	}
	b, err := json.Marshal(names)
	if err != nil {
		return err
	}
	return tx.Lock(ctx, "lock_once", string(b))
}

// one reads a key; missing is the error if there is none.
func one(ctx context.Context, tx beside.Tx, missing error, name string, args ...any) (k access.Key, err error) {
	found := false
	err = tx.Query(ctx, name, func(f func(...any) error) error {
		found = true
		k, err = scan(f)
		return err
	}, args...)
	if err == nil && !found {
		err = missing
	}
	return k, err
}

// scan reads a row of columns.
func scan(f func(...any) error) (access.Key, error) {
	var k access.Key
	var scopes string
	var created int64
	var used, revoked sql.NullInt64
	err := f(&k.ID, &k.Name, &k.Owner, &scopes, &k.PerMinute, &created, &used, &revoked)
	if err != nil {
		return k, err
	}
	k.CreatedAt, k.UsedAt, k.RevokedAt = time.UnixMicro(created).UTC(), instant(used), instant(revoked)
	if k.Operator() {
		k.Scopes = access.AllScopes()
		return k, nil
	}
	k.Scopes, err = access.ParseScopes(scopes)
	return k, err
}

func (s *Store) write(ctx context.Context, op string, f func(context.Context, beside.Tx) error) error {
	return named(op, s.db.Write(ctx, f))
}

func (s *Store) read(ctx context.Context, op string, f func(context.Context, beside.Tx) error) error {
	return named(op, s.db.Read(ctx, f))
}

func named(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", op, err)
}

func instant(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.UnixMicro(n.Int64).UTC()
}
