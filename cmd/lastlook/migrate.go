package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/internal/server"
)

type migrateCmd struct {
	Up     migrateUpCmd     `cmd:"" help:"Bring the tables up to date; every command does that by itself, if it may."`
	Status migrateStatusCmd `cmd:"" help:"List the migrations, and which of them the database has seen."`
	SQL    migrateSQLCmd    `cmd:"" name:"sql" help:"Print the migrations as plain SQL, for a tool of your own."`
	Copy   migrateCopyCmd   `cmd:"" help:"Copy everything from a SQLite file into an empty PostgreSQL database."`
}

type migrateUpCmd struct{}

// Run migrates.
func (*migrateUpCmd) Run(ctx context.Context, a *app) error {
	opt := a.options()
	if err := opt.Database.Check(); err != nil {
		return err
	}
	dir, err := a.dir()
	if err != nil {
		return err
	}
	opt.Dir = dir
	applied, err := opt.Database.Migrate(ctx, opt)
	if err != nil {
		return err
	}
	if a.out.json {
		return a.out.value(append([]server.Migration{}, applied...))
	}
	for _, m := range applied {
		a.out.linef("applied %s of %s", m.Name, m.Tables)
	}
	a.out.notef("%s is up to date", a.databasePlace(dir))
	return nil
}

// databasePlace names the database for people.
func (a *app) databasePlace(dir config.Dir) string {
	if place := a.database().Place(); place != "" {
		return place
	}
	return dir.Database()
}

type migrateStatusCmd struct{}

// Run lists the migrations. It changes nothing.
func (*migrateStatusCmd) Run(ctx context.Context, a *app) error {
	list, err := a.migrations(ctx)
	if err != nil {
		return err
	}
	if a.out.json {
		return a.out.value(list)
	}
	var rows [][]string
	missing := 0
	for _, m := range list {
		state := "applied"
		if !m.Applied {
			state = "missing"
			missing++
		}
		rows = append(rows, []string{m.Tables, m.Name, state})
	}
	a.out.table([]string{"TABLES", "MIGRATION", "STATE"}, rows)
	if missing > 0 {
		a.out.notef("%s: lastlook migrate up", plural(missing, "migration")+" to be applied")
	}
	return nil
}

// migrations lists all of them, and makes nothing.
func (a *app) migrations(ctx context.Context) ([]server.Migration, error) {
	path, err := a.path()
	if err != nil {
		return nil, err
	}
	return a.database().Migrations(ctx, filepath.Join(path, config.DatabaseFile))
}

type migrateSQLCmd struct {
	For     string `enum:"postgres,sqlite," default:"" placeholder:"KIND" help:"For postgres or sqlite; the default is what --database names."`
	Missing bool   `help:"Only those that the database has not seen."`
}

// Help implements [kong.HelpProvider].
func (*migrateSQLCmd) Help() string {
	return `It is meant to run in one transaction, by a role that may make tables; lastlook itself then needs no more than to read and write them.

Example: lastlook migrate sql --for postgres --schema lastlook`
}

// Run prints the SQL.
func (c *migrateSQLCmd) Run(ctx context.Context, a *app) error {
	shared := c.For == "postgres" || c.For == "" && a.database().Shared()
	var known []server.Migration
	if c.Missing {
		if shared != a.database().Shared() {
			return usagef("--missing asks the database: name it with --database, and leave --for out")
		}
		var err error
		if known, err = a.migrations(ctx); err != nil {
			return err
		}
	}
	text, err := server.MigrationSQL(shared, a.flags.Schema, known)
	if err != nil {
		return err
	}
	if a.out.json {
		return a.out.value(map[string]string{"sql": text})
	}
	if _, err := io.WriteString(a.streams.out, text); err != nil {
		return fmt.Errorf("print the migrations: %w", err)
	}
	return nil
}

type migrateCopyCmd struct {
	From string `arg:"" placeholder:"FILE" help:"The SQLite file, such as lastlook.db of a data directory."`
	To   string `arg:"" optional:"" placeholder:"URL" help:"The database, postgres://user@host/name; the default is --database."`
}

// Help implements [kong.HelpProvider].
func (*migrateCopyCmd) Help() string {
	return `Stop every lastlook on the file first: while one dispatches there, the copy is refused. Interrupted, it goes on where it was when it is run again; until it is whole, nothing else can use the database. The file stays as it is. At the end the numbers of rows are compared.

Example: lastlook migrate copy lastlook.db postgres://app@db.example/shop`
}

// Run copies.
func (c *migrateCopyCmd) Run(ctx context.Context, a *app) error {
	to := a.database()
	if c.To != "" {
		to.URL = c.To
	}
	if _, has := to.Password(); has && c.To != "" {
		a.log.Warn("others on this machine can read the database's password on the command line: give it in PGPASSWORD or ~/.pgpass")
	}
	bar := newProgress(a.streams.err, a.now)
	if a.flags.Quiet {
		bar.w = nil
	}
	done, err := server.Copy(ctx, c.From, to, func(table string, rows, total int64) {
		a.log.Debug("copying", "table", table, "rows", rows, "of", total)
		bar.step(table, rows, total)
	})
	bar.end()
	if err != nil {
		return err
	}
	if a.out.json {
		return a.out.value(done)
	}
	a.out.linef("copied %s into %s; the numbers are the same in both", plural(int(done.Rows), "row"), to.Place())
	if done.Resumed > 0 {
		a.out.notef("%s of them before it was interrupted", plural(int(done.Resumed), "row"))
	}
	a.out.notef("now: lastlook serve --database %s", to.Place())
	return nil
}
