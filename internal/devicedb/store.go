// Package devicedb keeps devices in a database, beside the outbox: all of a
// [device.Store] but the statements, which device/devicesqlite and
// device/devicepg bring.
package devicedb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lastlook/lastlook/device"
	"github.com/lastlook/lastlook/internal/beside"
	"github.com/lastlook/lastlook/webpush"
)

// Store keeps devices beside an outbox. It is safe for concurrent use.
type Store struct{ db beside.DB }

var _ device.Store = (*Store)(nil)

// New returns a store on a database that has the tables.
func New(db beside.DB) *Store { return &Store{db} }

// Add implements [device.Store].
func (s *Store) Add(ctx context.Context, d device.Device, h device.Hash, limit int) error {
	return s.write(ctx, "add device", func(ctx context.Context, tx beside.Tx) error {
		if err := tx.Lock(ctx, "lock_all"); err != nil {
			return err
		}
		n, err := beside.Number(ctx, tx, "count")
		if err != nil {
			return err
		}
		if n >= int64(limit) {
			return fmt.Errorf("%w: there are %d", device.ErrFull, n)
		}
		_, err = tx.Exec(ctx, "insert", d.ID, h[:], d.Name, d.CreatedAt.UnixMicro(), d.SeenAt.UnixMicro())
		return err
	})
}

// Get implements [device.Store].
func (s *Store) Get(ctx context.Context, id string) (d device.Device, err error) {
	err = s.read(ctx, "read device", func(ctx context.Context, tx beside.Tx) error {
		d, err = one(ctx, tx, "by_id", id)
		return err
	})
	return d, err
}

// ByToken implements [device.Store].
func (s *Store) ByToken(ctx context.Context, h device.Hash) (d device.Device, err error) {
	err = s.read(ctx, "authenticate", func(ctx context.Context, tx beside.Tx) error {
		d, err = one(ctx, tx, "by_token", h[:])
		if errors.Is(err, device.ErrNotFound) {
			return device.ErrUnauthorized
		}
		return err
	})
	return d, err
}

// List implements [device.Store].
func (s *Store) List(ctx context.Context) ([]device.Device, error) {
	return s.list(ctx, "list devices", "all")
}

// Changed implements [device.Store].
func (s *Store) Changed(ctx context.Context, since time.Time) ([]device.Device, error) {
	return s.list(ctx, "list devices that subscribed", "changed", since.UnixMicro())
}

// Idle implements [device.Store].
func (s *Store) Idle(ctx context.Context, before time.Time, limit int) ([]device.Device, error) {
	return s.list(ctx, "list idle devices", "idle", before.UnixMicro(), limit)
}

// Update implements [device.Store]. change runs while the device is locked: it
// must be quick, and call no method of the store. It runs again if the transaction
// has to be made again.
func (s *Store) Update(ctx context.Context, id string, change func(*device.Device) error) (d device.Device, err error) {
	again := false
	for _, alone := range []bool{false, true} {
		err = s.write(ctx, "change device", func(ctx context.Context, tx beside.Tx) (err error) {
			d, again, err = update(ctx, tx, id, change, alone)
			return err
		})
		if err != nil {
			return device.Device{}, err
		}
		if !again {
			break
		}
	}
	return d, nil
}

// update changes a device. If that gives it another subscription, which may be
// another device's, it changes nothing, and is to be called again, alone: nobody
// else gives any then.
func update(ctx context.Context, tx beside.Tx, id string, change func(*device.Device) error, alone bool) (d device.Device, again bool, err error) {
	if alone { // before the device: whoever has both locks takes them in this order
		err = tx.Lock(ctx, "lock_all")
	}
	if err == nil {
		err = tx.Lock(ctx, "lock_device", id)
	}
	if err != nil {
		return d, false, err
	}
	if d, err = one(ctx, tx, "by_id", id); err != nil {
		return d, false, err
	}
	before := d.Push.Subscription
	if err := change(&d); err != nil {
		return d, false, err
	}
	d.ID = id
	p := &d.Push
	args := []any{id, d.Name, d.SeenAt.UnixMicro(), nil, nil, nil, micros(p.Since), micros(p.GoneAt), micros(p.LostAt), micros(p.BackAt)}
	if !p.Subscription.IsZero() {
		b, err := json.Marshal(p.Subscription)
		if err != nil {
			return d, false, err
		}
		args[3], args[4], args[5] = string(b), p.Subscription.Endpoint(), p.Key
		if !p.Subscription.Equal(before) {
			if !alone {
				return d, true, nil
			}
			if err := take(ctx, tx, args); err != nil {
				return d, false, err
			}
		}
	}
	_, err = tx.Exec(ctx, "update", args...)
	return d, false, err
}

// take takes a subscription from whoever has it.
func take(ctx context.Context, tx beside.Tx, args []any) error {
	taken, err := beside.Number(ctx, tx, "taken", args[0], args[4], args[3])
	if err != nil {
		return err
	}
	if taken > 0 {
		return device.ErrTaken
	}
	_, err = tx.Exec(ctx, "take", args[0], args[4])
	return err
}

// Remove implements [device.Store].
func (s *Store) Remove(ctx context.Context, id string) error {
	return s.write(ctx, "remove device", func(ctx context.Context, tx beside.Tx) error {
		n, err := tx.Exec(ctx, "delete", id)
		if err == nil && n == 0 {
			err = device.ErrNotFound
		}
		return err
	})
}

// Keys implements [device.Store].
func (s *Store) Keys(ctx context.Context) ([]string, error) {
	return collect(ctx, s, "list keys", "keys", nil, func(scan func(...any) error) (key string, err error) {
		err = scan(&key)
		return key, err
	})
}

func (s *Store) list(ctx context.Context, op, name string, args ...any) ([]device.Device, error) {
	return collect(ctx, s, op, name, args, scan)
}

// collect reads the rows of a query.
func collect[T any](ctx context.Context, s *Store, op, name string, args []any, one func(scan func(...any) error) (T, error)) ([]T, error) {
	var out []T
	err := s.read(ctx, op, func(ctx context.Context, tx beside.Tx) error {
		out = nil // the transaction may have to be made again
		return tx.Query(ctx, name, func(scan func(...any) error) error {
			v, err := one(scan)
			out = append(out, v)
			return err
		}, args...)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// one reads a device, or gives [device.ErrNotFound].
func one(ctx context.Context, tx beside.Tx, name string, args ...any) (d device.Device, err error) {
	found := false
	err = tx.Query(ctx, name, func(f func(...any) error) error {
		found = true
		d, err = scan(f)
		return err
	}, args...)
	if err == nil && !found {
		err = device.ErrNotFound
	}
	return d, err
}

// scan reads a row of columns.
func scan(f func(...any) error) (device.Device, error) {
	var d device.Device
	var created, seen int64
	var sub, key sql.NullString
	var since, gone, lost, back sql.NullInt64
	if err := f(&d.ID, &d.Name, &created, &seen, &sub, &key, &since, &gone, &lost, &back); err != nil {
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
