package server

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/lastlook/lastlook/access/accesspg"
	"github.com/lastlook/lastlook/device/devicepg"
	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/store/postgres"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/watchpg"
)

// Database says where watches, devices and the outbox are kept. The zero value is
// the SQLite file in the data directory.
type Database struct {
	// URL is a PostgreSQL database, "postgres://…". What it leaves out comes from
	// the PG* environment variables; a password may stand in PGPASSWORD or in
	// ~/.pgpass.
	URL string
	// Schema is where the tables are in it; "" is public.
	Schema string
}

// Shared reports whether it is a server's, which several lastlooks may use at once.
func (d Database) Shared() bool { return d.URL != "" }

// Check reports what is wrong with the address, without repeating it: it may hold
// a password.
func (d Database) Check() error {
	if d.URL == "" && d.Schema != "" {
		return fmt.Errorf("%w: --schema is for a PostgreSQL database: name that with --database postgres://…", config.ErrInvalid)
	}
	if d.URL == "" {
		return nil
	}
	u, err := url.Parse(d.URL)
	switch {
	case err != nil:
		return fmt.Errorf("%w: the database's address cannot be read: write postgres://user@host:5432/name, with %%-escapes for characters that mean something there", config.ErrInvalid)
	case u.Scheme != "postgres" && u.Scheme != "postgresql":
		return fmt.Errorf("%w: a database is named as postgres://user@host:5432/name; without one, the file lastlook.db in the data directory is used", config.ErrInvalid)
	case u.Query().Has("password"):
		return fmt.Errorf("%w: the database's password does not belong behind the question mark: give it in PGPASSWORD or ~/.pgpass", config.ErrInvalid)
	}
	return nil
}

// Password reports whether the address holds a password.
func (d Database) Password() (string, bool) {
	u, err := url.Parse(d.URL)
	if err != nil {
		return "", false
	}
	return u.User.Password()
}

// Place names the database for people; "" for the file in the data directory.
func (d Database) Place() string {
	u, err := url.Parse(d.URL)
	if d.URL == "" || err != nil {
		return ""
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	u.RawQuery, u.Fragment = "", ""
	place := u.String()
	if d.Schema != "" {
		place += " (schema " + d.Schema + ")"
	}
	return place
}

func (d Database) config() postgres.Config { return postgres.Config{Schema: d.Schema} }

// redact takes the password out of an error's text, should a driver have put it in.
func (d Database) redact(err error) error {
	password, ok := d.Password()
	if err == nil || !ok || password == "" || !strings.Contains(err.Error(), password) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), password, "[redacted]"))
}

// openPostgres opens the stores in a PostgreSQL database.
func openPostgres(ctx context.Context, d Database) (stores, error) {
	store, err := postgres.Open(ctx, d.URL, d.config())
	if err != nil {
		return stores{}, d.redact(err)
	}
	var st stores
	if err = whole(ctx, store); err == nil {
		st, err = besidePostgres(ctx, store)
	}
	if err != nil {
		return stores{}, errors.Join(d.redact(err), store.Close())
	}
	return st, nil
}

func besidePostgres(ctx context.Context, store *postgres.Store) (st stores, err error) {
	watches, err := watchpg.Open(ctx, store)
	if err != nil {
		return st, err
	}
	devices, err := devicepg.Open(ctx, store)
	if err != nil {
		return st, err
	}
	keys, err := accesspg.Open(ctx, store)
	if err != nil {
		return st, err
	}
	clock, err := store.NewClock(ctx)
	if err != nil {
		return st, err
	}
	return stores{outbox: store, watches: watches, devices: devices, keys: keys, clock: clock,
		politeness: func(scope string, perSecond float64, burst int) (watch.Politeness, error) {
			return watches.NewPoliteness(scope, perSecond, burst)
		}}, nil
}
