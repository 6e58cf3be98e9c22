package devicesqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lastlook/lastlook/device"
	"github.com/lastlook/lastlook/store/sqlite"
	"github.com/lastlook/lastlook/webpush"
)

// Store keeps devices in the file of a [sqlite.Store], which the caller goes on
// to own. It is safe for concurrent use.
type Store struct{ db *sqlite.Store }

var _ device.Store = (*Store)(nil)

// Open makes the tables in the store's file, or brings them up to date. It
// fails with [lastlook.ErrNewerSchema] if a newer lastlook has been there.
func Open(ctx context.Context, db *sqlite.Store) (*Store, error) {
	s := &Store{db: db}
	if err := s.migrate(ctx); err != nil {
		return nil, fmt.Errorf("devicesqlite: open %s: %w", db.Path(), err)
	}
	return s, nil
}

const (
	columns = "id, name, created_at, seen_at, subscription, key, since, gone_at, lost_at, back_at"
	from    = " FROM lastlook_device_devices "
	read    = "SELECT " + columns + from

	sqlCount   = "SELECT count(*)" + from
	sqlByID    = read + "WHERE id = ?"
	sqlByToken = read + "WHERE token = ?"
	sqlAll     = read + "ORDER BY n"
	sqlChanged = read + "WHERE since IS NOT NULL AND since >= ? ORDER BY n"
	sqlIdle    = read + "WHERE seen_at < ? AND (subscription IS NULL OR gone_at IS NOT NULL) ORDER BY seen_at LIMIT ?"
	sqlKeys    = "SELECT DISTINCT key" + from + "WHERE key IS NOT NULL AND gone_at IS NULL ORDER BY key"
	sqlInsert  = "INSERT INTO lastlook_device_devices (id, token, name, created_at, seen_at) VALUES (?, ?, ?, ?, ?)"
	sqlUpdate  = "UPDATE lastlook_device_devices SET name = ?2, seen_at = ?3, subscription = ?4, endpoint = ?5, key = ?6, since = ?7, gone_at = ?8, lost_at = ?9, back_at = ?10 WHERE id = ?1"
	// A subscription belongs to the device that gave it last, but its endpoint
	// alone gives nobody a right to it.
	sqlTaken  = "SELECT count(*)" + from + "WHERE endpoint = ?2 AND id <> ?1 AND subscription <> ?3"
	sqlTake   = "UPDATE lastlook_device_devices SET subscription = NULL, endpoint = NULL, key = NULL, since = NULL, gone_at = NULL WHERE endpoint = ?2 AND id <> ?1"
	sqlDelete = "DELETE FROM lastlook_device_devices WHERE id = ?"
)

// Add implements [device.Store].
func (s *Store) Add(ctx context.Context, d device.Device, h device.Hash, limit int) error {
	return s.write(ctx, "add device", func(ctx context.Context, tx *sql.Tx) error {
		var n int
		if err := tx.QueryRowContext(ctx, sqlCount).Scan(&n); err != nil {
			return err
		}
		if n >= limit {
			return fmt.Errorf("%w: there are %d", device.ErrFull, n)
		}
		_, err := tx.ExecContext(ctx, sqlInsert, d.ID, h[:], d.Name, d.CreatedAt.UnixMicro(), d.SeenAt.UnixMicro())
		return err
	})
}

// Get implements [device.Store].
func (s *Store) Get(ctx context.Context, id string) (d device.Device, err error) {
	err = s.read(ctx, "read device", func(ctx context.Context, tx *sql.Tx) error {
		d, err = scan(tx.QueryRowContext(ctx, sqlByID, id).Scan)
		return err
	})
	return d, err
}

// ByToken implements [device.Store].
func (s *Store) ByToken(ctx context.Context, h device.Hash) (d device.Device, err error) {
	err = s.read(ctx, "authenticate", func(ctx context.Context, tx *sql.Tx) error {
		d, err = scan(tx.QueryRowContext(ctx, sqlByToken, h[:]).Scan)
		if errors.Is(err, device.ErrNotFound) {
			return device.ErrUnauthorized
		}
		return err
	})
	return d, err
}

// List implements [device.Store].
func (s *Store) List(ctx context.Context) ([]device.Device, error) {
	return s.list(ctx, "list devices", sqlAll)
}

// Changed implements [device.Store].
func (s *Store) Changed(ctx context.Context, since time.Time) ([]device.Device, error) {
	return s.list(ctx, "list devices that subscribed", sqlChanged, since.UnixMicro())
}

// Idle implements [device.Store].
func (s *Store) Idle(ctx context.Context, before time.Time, limit int) ([]device.Device, error) {
	return s.list(ctx, "list idle devices", sqlIdle, before.UnixMicro(), limit)
}

// Update implements [device.Store]. change runs under the file's write lock: it
// must be quick, and call no method of the store.
func (s *Store) Update(ctx context.Context, id string, change func(*device.Device) error) (d device.Device, err error) {
	err = s.write(ctx, "change device", func(ctx context.Context, tx *sql.Tx) error {
		if d, err = scan(tx.QueryRowContext(ctx, sqlByID, id).Scan); err != nil {
			return err
		}
		if err := change(&d); err != nil {
			return err
		}
		d.ID = id
		p := &d.Push
		args := []any{id, d.Name, d.SeenAt.UnixMicro(), nil, nil, nil, micros(p.Since), micros(p.GoneAt), micros(p.LostAt), micros(p.BackAt)}
		if !p.Subscription.IsZero() {
			b, err := json.Marshal(p.Subscription)
			if err != nil {
				return err
			}
			args[3], args[4], args[5] = string(b), p.Subscription.Endpoint(), p.Key
			var taken int
			if err := tx.QueryRowContext(ctx, sqlTaken, args[0], args[4], args[3]).Scan(&taken); err != nil {
				return err
			}
			if taken > 0 {
				return device.ErrTaken
			}
			if _, err := tx.ExecContext(ctx, sqlTake, id, p.Subscription.Endpoint()); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, sqlUpdate, args...)
		return err
	})
	if err != nil {
		return device.Device{}, err
	}
	return d, nil
}

// Remove implements [device.Store].
func (s *Store) Remove(ctx context.Context, id string) error {
	return s.write(ctx, "remove device", func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, sqlDelete, id)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if err == nil && n == 0 {
			err = device.ErrNotFound
		}
		return err
	})
}

// Keys implements [device.Store].
func (s *Store) Keys(ctx context.Context) (out []string, err error) {
	err = s.rows(ctx, "list keys", sqlKeys, func(scan func(...any) error) error {
		var key string
		if err := scan(&key); err != nil {
			return err
		}
		out = append(out, key)
		return nil
	})
	return out, err
}

func (s *Store) list(ctx context.Context, op, text string, args ...any) (out []device.Device, err error) {
	err = s.rows(ctx, op, text, func(f func(...any) error) error {
		d, err := scan(f)
		out = append(out, d)
		return err
	}, args...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// rows calls f for each row of a query.
func (s *Store) rows(ctx context.Context, op, text string, f func(scan func(...any) error) error, args ...any) error {
	return s.read(ctx, op, func(ctx context.Context, tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, text, args...)
		if err != nil {
			return err
		}
		for rows.Next() {
			if err = f(rows.Scan); err != nil {
				break
			}
		}
		return errors.Join(err, rows.Err(), rows.Close())
	})
}

// scan reads a row of columns.
func scan(f func(...any) error) (device.Device, error) {
	var d device.Device
	var created, seen int64
	var sub, key sql.NullString
	var since, gone, lost, back sql.NullInt64
	err := f(&d.ID, &d.Name, &created, &seen, &sub, &key, &since, &gone, &lost, &back)
	if errors.Is(err, sql.ErrNoRows) {
		return d, device.ErrNotFound
	}
	if err != nil {
		return d, err
	}
	d.CreatedAt, d.SeenAt = time.UnixMicro(created).UTC(), time.UnixMicro(seen).UTC()
	d.Push = device.Push{Key: key.String, Since: instant(since), GoneAt: instant(gone), LostAt: instant(lost), BackAt: instant(back)}
	if sub.Valid {
		var s webpush.Subscription
		if err := json.Unmarshal([]byte(sub.String), &s); err != nil {
			// Another version took it. Without it, the device subscribes anew.
			d.Push = device.Push{}
			return d, nil
		}
		d.Push.Subscription = s
	}
	return d, nil
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

// micros returns a time as it is stored, nil for none.
func micros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

func instant(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.UnixMicro(n.Int64).UTC()
}
