package server

import (
	"context"
	"strings"

	"github.com/lastlook/lastlook/access/accesspg"
	"github.com/lastlook/lastlook/access/accesssqlite"
	"github.com/lastlook/lastlook/device/devicepg"
	"github.com/lastlook/lastlook/device/devicesqlite"
	"github.com/lastlook/lastlook/internal/beside"
	"github.com/lastlook/lastlook/store/postgres"
	"github.com/lastlook/lastlook/store/sqlite"
	"github.com/lastlook/lastlook/watch/watchpg"
	"github.com/lastlook/lastlook/watch/watchsqlite"
)

// Migration is one step of the history of a set of tables.
type Migration struct {
	// Tables says whose tables: "the outbox", "watches".
	Tables  string `json:"tables"`
	Version int    `json:"version"`
	Name    string `json:"name"`
	// Applied says that the database has seen it.
	Applied bool `json:"applied"`
}

// histories are all sets of tables, the outbox's first: others stand beside it.
func histories(shared bool) []beside.History {
	if shared {
		return []beside.History{postgres.History(), watchpg.History(), devicepg.History(), accesspg.History()}
	}
	return []beside.History{sqlite.History(), watchsqlite.History(), devicesqlite.History(), accesssqlite.History()}
}

// Migrations lists all migrations, and which of them the database has seen. It
// changes nothing; a file that is missing has seen none. path is that of the file,
// if the database is one.
func (d Database) Migrations(ctx context.Context, path string) (out []Migration, err error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	all := histories(d.Shared())
	if d.Shared() {
		lists, err := postgres.StatusOf(ctx, d.URL, d.config(), all...)
		for i, list := range lists {
			for _, m := range list {
				out = append(out, Migration{all[i].Of, m.Version, m.Name, m.Applied})
			}
		}
		return out, d.redact(err)
	}
	for _, h := range all {
		list, err := sqlite.StatusOf(ctx, path, h)
		if err != nil {
			return nil, err
		}
		for _, m := range list {
			out = append(out, Migration{h.Of, m.Version, m.Name, m.Applied})
		}
	}
	return out, nil
}

// Migrate brings all tables up to date, and returns what it applied.
func (d Database) Migrate(ctx context.Context, opt Options) ([]Migration, error) {
	path := opt.Dir.Database()
	before, err := d.Migrations(ctx, path)
	if err != nil {
		return nil, err
	}
	opt.Database = d
	st, err := openStores(ctx, opt)
	if err != nil {
		return nil, err
	}
	if err := st.outbox.Close(); err != nil {
		return nil, err
	}
	after, err := d.Migrations(ctx, path)
	if err != nil {
		return nil, err
	}
	var applied []Migration
	for i, m := range after {
		if m.Applied && !before[i].Applied {
			applied = append(applied, m)
		}
	}
	return applied, nil
}

// MigrationSQL returns migrations as plain SQL, for those who change tables with a
// tool of their own: all, or, if known is given, those that it says are not
// applied. It is meant to run in one transaction, which it leaves to the tool.
func MigrationSQL(shared bool, schema string, known []Migration) (string, error) {
	applied := map[string]int{}
	for _, m := range known {
		if m.Applied {
			applied[m.Tables] = max(applied[m.Tables], m.Version)
		}
	}
	var b strings.Builder
	for _, h := range histories(shared) {
		text, err := sqlite.SQLOf(h, applied[h.Of])
		if shared {
			text, err = postgres.SQLOf(h, schema, applied[h.Of])
		}
		if err != nil {
			return "", err
		}
		if text = strings.TrimSpace(text); text != "" {
			b.WriteString("-- Tables of " + h.Of + ".\n" + text + "\n\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
