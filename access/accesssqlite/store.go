package accesssqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/access"
	"github.com/lastlook/lastlook/store/sqlite"
)

// Store keeps keys in the file of a [sqlite.Store], which the caller goes on to
// own. It is safe for concurrent use.
type Store struct{ db *sqlite.Store }

var _ access.Store = (*Store)(nil)

// Open makes the tables in the store's file, or brings them up to date. It fails
// with [lastlook.ErrNewerSchema] if a newer lastlook has been there.
func Open(ctx context.Context, db *sqlite.Store) (*Store, error) {
	s := &Store{db: db}
	if err := s.migrate(ctx); err != nil {
		return nil, fmt.Errorf("accesssqlite: open %s: %w", db.Path(), err)
	}
	return s, nil
}

const (
	columns = "id, name, owner, scopes, per_minute, created_at, used_at, revoked_at"
	read    = "SELECT " + columns + " FROM lastlook_access_keys "

	sqlByID        = read + "WHERE id = ?"
	sqlByToken     = read + "WHERE token = ? AND revoked_at IS NULL"
	sqlAll         = read + "WHERE id <> '" + access.OperatorID + "' ORDER BY n"
	sqlCount       = "SELECT count(*) FROM lastlook_access_keys WHERE revoked_at IS NULL"
	sqlInsert      = "INSERT INTO lastlook_access_keys (id, token, name, owner, scopes, per_minute, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)"
	sqlFirst       = "INSERT INTO lastlook_access_keys (id, token, name, owner, scopes, per_minute, created_at) VALUES (?1, ?2, 'operator', '', '', 0, ?3) ON CONFLICT (id) DO NOTHING"
	sqlRotate      = "INSERT INTO lastlook_access_keys (id, token, name, owner, scopes, per_minute, created_at) VALUES (?1, ?2, 'operator', '', '', 0, ?3) ON CONFLICT (id) DO UPDATE SET token = excluded.token, created_at = excluded.created_at, used_at = NULL"
	sqlHasOperator = "SELECT EXISTS (SELECT 1 FROM lastlook_access_keys WHERE id = ?)"
	sqlUsed        = "UPDATE lastlook_access_keys SET used_at = ?2 WHERE id = ?1"
	sqlRevoke      = "UPDATE lastlook_access_keys SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL"

	sqlOnce   = "SELECT fingerprint, results FROM lastlook_access_once WHERE caller = ? AND key = ?"
	sqlKeep   = "INSERT INTO lastlook_access_once (caller, key, fingerprint, results, created_at) VALUES (?, ?, ?, ?, ?)"
	sqlForget = "DELETE FROM lastlook_access_once WHERE (caller, key) IN (SELECT caller, key FROM lastlook_access_once WHERE created_at < ? ORDER BY created_at LIMIT ?)"
)

// SetOperator implements [access.Store].
func (s *Store) SetOperator(ctx context.Context, now time.Time, h access.Hash, onlyFirst bool) (set bool, err error) {
	text := sqlRotate
	if onlyFirst {
		text = sqlFirst
	}
	err = s.write(ctx, "set the operator's token", func(ctx context.Context, tx *sql.Tx) error {
		n, err := affected(tx.ExecContext(ctx, text, access.OperatorID, h[:], now.UnixMicro()))
		set = n > 0
		return err
	})
	return set, err
}

// HasOperator implements [access.Store].
func (s *Store) HasOperator(ctx context.Context) (has bool, err error) {
	err = s.read(ctx, "look for the operator's token", func(ctx context.Context, tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, sqlHasOperator, access.OperatorID).Scan(&has)
	})
	return has, err
}

// Add implements [access.Store].
func (s *Store) Add(ctx context.Context, k access.Key, h access.Hash, limit int) error {
	return s.write(ctx, "add key", func(ctx context.Context, tx *sql.Tx) error {
		var n int
		if err := tx.QueryRowContext(ctx, sqlCount).Scan(&n); err != nil {
			return err
		}
		if n >= limit {
			return fmt.Errorf("%w: there are %d", access.ErrFull, n)
		}
		_, err := tx.ExecContext(ctx, sqlInsert, k.ID, h[:], k.Name, k.Owner, access.JoinScopes(k.Scopes), k.PerMinute, k.CreatedAt.UnixMicro())
		return err
	})
}

// ByToken implements [access.Store].
func (s *Store) ByToken(ctx context.Context, h access.Hash) (k access.Key, err error) {
	err = s.read(ctx, "authenticate", func(ctx context.Context, tx *sql.Tx) error {
		k, err = scan(tx.QueryRowContext(ctx, sqlByToken, h[:]).Scan)
		if errors.Is(err, access.ErrNotFound) {
			return access.ErrUnauthorized
		}
		return err
	})
	return k, err
}

// List implements [access.Store].
func (s *Store) List(ctx context.Context) (out []access.Key, err error) {
	err = s.read(ctx, "list keys", func(ctx context.Context, tx *sql.Tx) error {
		out = nil
		rows, err := tx.QueryContext(ctx, sqlAll)
		if err != nil {
			return err
		}
		for rows.Next() && err == nil {
			var k access.Key
			k, err = scan(rows.Scan)
			out = append(out, k)
		}
		return errors.Join(err, rows.Err(), rows.Close())
	})
	return out, err
}

// Used implements [access.Store].
func (s *Store) Used(ctx context.Context, id string, at time.Time) error {
	return s.write(ctx, "note a key's use", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, sqlUsed, id, at.UnixMicro())
		return err
	})
}

// Revoke implements [access.Store].
func (s *Store) Revoke(ctx context.Context, id string, at time.Time) (k access.Key, err error) {
	err = s.write(ctx, "revoke key", func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, sqlRevoke, id, at.UnixMicro()); err != nil {
			return err
		}
		k, err = scan(tx.QueryRowContext(ctx, sqlByID, id).Scan)
		return err
	})
	return k, err
}

// Enqueue implements [access.Store].
func (s *Store) Enqueue(ctx context.Context, now time.Time, requests []access.Request) (replies []access.Reply, err error) {
	err = s.write(ctx, "enqueue", func(ctx context.Context, tx *sql.Tx) error {
		replies, err = s.enqueue(ctx, tx, now, requests)
		return err
	})
	if err != nil {
		return nil, err
	}
	return replies, nil
}

// enqueue enqueues the items of all requests that are new in one call.
func (s *Store) enqueue(ctx context.Context, tx *sql.Tx, now time.Time, requests []access.Request) ([]access.Reply, error) {
	replies := make([]access.Reply, len(requests))
	type name struct{ caller, key string }
	first := map[name]int{} // within this call
	var items []lastlook.Item
	fresh := make([]bool, len(requests))
	for i := range requests {
		r := &requests[i]
		if r.Key != "" {
			n := name{r.Caller, r.Key}
			known, err := s.known(ctx, tx, r, &replies[i])
			if err != nil {
				return nil, err
			}
			if _, twice := first[n]; known || twice {
				continue
			}
			first[n] = i
		}
		fresh[i] = true
		items = append(items, r.Items...)
	}
	results, err := s.db.EnqueueTx(ctx, tx, now, items...)
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
		if _, err := tx.ExecContext(ctx, sqlKeep, r.Caller, r.Key, r.Fingerprint[:], string(b), now.UnixMicro()); err != nil {
			return nil, err
		}
	}
	for i := range requests { // those that came twice in this call
		if fresh[i] || replies[i].Results != nil || replies[i].Err != nil {
			continue
		}
		if _, err := s.known(ctx, tx, &requests[i], &replies[i]); err != nil {
			return nil, err
		}
	}
	return replies, nil
}

// known answers a request as it was answered before, if it was.
func (s *Store) known(ctx context.Context, tx *sql.Tx, r *access.Request, reply *access.Reply) (bool, error) {
	var fingerprint []byte
	var results string
	err := tx.QueryRowContext(ctx, sqlOnce, r.Caller, r.Key).Scan(&fingerprint, &results)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
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
	err = s.write(ctx, "forget idempotency keys", func(ctx context.Context, tx *sql.Tx) error {
		n, err = affected(tx.ExecContext(ctx, sqlForget, before.UnixMicro(), limit))
		return err
	})
	return n, err
}

func affected(res sql.Result, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return int(n), err
}

// scan reads a row of columns.
func scan(f func(...any) error) (access.Key, error) {
	var k access.Key
	var scopes string
	var created int64
	var used, revoked sql.NullInt64
	err := f(&k.ID, &k.Name, &k.Owner, &scopes, &k.PerMinute, &created, &used, &revoked)
	if errors.Is(err, sql.ErrNoRows) {
		return k, access.ErrNotFound
	}
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

func (s *Store) write(ctx context.Context, op string, f func(context.Context, *sql.Tx) error) error {
	return named(op, s.db.WithTx(ctx, f))
}

func (s *Store) read(ctx context.Context, op string, f func(context.Context, *sql.Tx) error) error {
	return named(op, s.db.WithReadTx(ctx, f))
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
