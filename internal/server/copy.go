package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/beside"
	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/store/postgres"
	"github.com/lastlook/lastlook/store/sqlite"
)

const (
	// copyBatch and copyBytes bound what is copied in one transaction.
	copyBatch = 500
	copyBytes = 4 << 20
)

// Copied is what a copy has come to.
type Copied struct {
	// Tables counts the rows of each table, Rows all.
	Tables map[string]int64 `json:"tables"`
	Rows   int64            `json:"rows"`
	// Resumed counts those that an earlier, interrupted copy had written.
	Resumed int64 `json:"resumed"`
}

// Copy copies everything from a SQLite file into a PostgreSQL database that holds
// nothing of lastlook's yet: every row of every table, with its numbers, so that
// what was under way goes on there. It takes the file's dispatch lock, and is
// refused while another process has it.
//
// Each transaction writes some rows and how far it has got, so that a copy that
// was interrupted goes on from there when it is made again. Until it is whole, the
// database cannot be used. At the end the numbers of rows are compared. step is
// called now and then with how far it is.
func Copy(ctx context.Context, path string, to Database, step func(table string, done, total int64)) (out Copied, err error) {
	if err := to.Check(); err != nil {
		return out, err
	}
	if !to.Shared() {
		return out, fmt.Errorf("%w: name the PostgreSQL database to copy to: postgres://user@host:5432/name", config.ErrInvalid)
	}
	if path, err = filepath.Abs(path); err != nil {
		return out, err
	}
	if _, err := os.Stat(path); err != nil {
		return out, fmt.Errorf("the file to copy: %w", err)
	}
	source, err := openSQLite(ctx, path)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, source.outbox.Close()) }()
	from, ok := source.outbox.(*sqlite.Store)
	if !ok {
		return out, fmt.Errorf("a store of type %T", source.outbox)
	}
	release, err := from.LockDispatch(ctx)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, release()) }()
	store, err := postgres.Open(ctx, to.URL, to.config())
	if err != nil {
		return out, to.redact(err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	c := &copier{from: from, store: store, path: from.Path(), step: step, out: Copied{Tables: map[string]int64{}}, counts: map[string]int64{}}
	err = c.run(ctx)
	return c.out, to.redact(err)
}

// copier is a copy under way.
type copier struct {
	from   *sqlite.Store
	store  *postgres.Store
	db     beside.DB
	path   string
	step   func(table string, done, total int64)
	out    Copied
	total  int64
	counts map[string]int64 // of the file
}

func (c *copier) run(ctx context.Context) error {
	for _, h := range histories(true) {
		if err := c.store.MigrateBeside(ctx, h); err != nil {
			return err
		}
	}
	c.db = c.store.BesideText(copyStatements())
	for _, t := range copiedTables() {
		n, err := countRows(ctx, c.from, t)
		if err != nil {
			return err
		}
		c.counts[t.name] = n
		c.total += n
	}
	if err := c.begin(ctx); err != nil {
		return err
	}
	for _, t := range copiedTables() {
		if err := c.table(ctx, t); err != nil {
			return fmt.Errorf("copy the table %s: %w; run the same command again to go on from here", t.table(), err)
		}
	}
	return c.finish(ctx)
}

// copyStatements are the statements that are the same for every copy. In one of
// rows, a column that SQLite does not have is NULL: a test keeps the two alike.
func copyStatements() beside.Queries {
	q := beside.Queries{
		"make":     "CREATE TABLE IF NOT EXISTS {s}lastlook_copy (name text PRIMARY KEY, position text NOT NULL, rows bigint NOT NULL)",
		"there":    unfinished,
		"source":   "SELECT c.position FROM {s}lastlook_copy c WHERE c.name = ''",
		"progress": "SELECT c.position, c.rows FROM {s}lastlook_copy c WHERE c.name = $1::text",
		"note": `INSERT INTO {s}lastlook_copy (name, position, rows) VALUES ($1::text, $2::text, $3::bigint)
			ON CONFLICT (name) DO UPDATE SET position = excluded.position, rows = excluded.rows`,
		"claims": `INSERT INTO {s}lastlook_claims (lease, token, ids)
			SELECT max(l.lease), l.token, array_agg(l.id ORDER BY l.id) FROM {s}lastlook_live l WHERE l.token IS NOT NULL GROUP BY l.token`,
		"types": "SELECT column_name::text, data_type::text FROM information_schema.columns WHERE table_schema = $1::text AND table_name = $2::text",
		"end":   "DROP TABLE {s}lastlook_copy",
	}
	for _, t := range copiedTables() {
		q["count "+t.name] = "SELECT count(*) FROM {s}" + t.table()
		q["write "+t.name] = fmt.Sprintf("INSERT INTO {s}%s OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::{s}%[1]s, $1::text::json)", t.table())
	}
	return q
}

// unfinished counts what there is while a copy is not whole.
const unfinished = "SELECT count(*) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1::text AND c.relname = 'lastlook_copy'"

// whole reports, as an error, that a copy into the database is not whole.
func whole(ctx context.Context, store *postgres.Store) error {
	return store.BesideText(beside.Queries{"there": unfinished}).Read(ctx, func(ctx context.Context, tx beside.Tx) error {
		n, err := beside.Number(ctx, tx, "there", store.Schema())
		if err == nil && n > 0 {
			err = errors.New("a copy into this database was interrupted: run the same lastlook migrate copy again, which goes on from there")
		}
		return err
	})
}

// begin makes sure that the database is empty, or holds what an earlier copy of the
// same file has written.
func (c *copier) begin(ctx context.Context) error {
	return c.db.Write(ctx, func(ctx context.Context, tx beside.Tx) error {
		there, err := beside.Number(ctx, tx, "there", c.store.Schema())
		if err != nil {
			return err
		}
		if there > 0 {
			return c.resume(ctx, tx)
		}
		for _, t := range copiedTables() {
			n, err := beside.Number(ctx, tx, "count "+t.name)
			if err != nil {
				return err
			}
			if n > 0 {
				return fmt.Errorf("%w: the database holds rows of lastlook's already (%d in %s): copy into another one, or another --schema", lastlook.ErrInvalid, n, t.table())
			}
		}
		if _, err := tx.Exec(ctx, "make"); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "note", "", c.path, 0)
		return err
	})
}

func (c *copier) resume(ctx context.Context, tx beside.Tx) error {
	var path string
	if err := tx.Query(ctx, "source", func(scan func(...any) error) error { return scan(&path) }); err != nil {
		return err
	}
	if path != c.path {
		return fmt.Errorf("%w: a copy of %s into this database was interrupted: finish that one, or copy into another --schema", lastlook.ErrInvalid, path)
	}
	return nil
}

// table copies what is left of a table.
func (c *copier) table(ctx context.Context, t copied) error {
	types, after, rows, err := c.standing(ctx, t)
	if err != nil {
		return err
	}
	c.out.Resumed += rows
	c.out.Rows += rows
	for {
		c.step(t.name, c.out.Rows, c.total)
		p, err := readPage(ctx, c.from, t, after, types)
		if err != nil {
			return err
		}
		if len(p.rows) == 0 {
			c.out.Tables[t.name] = rows
			return nil
		}
		if err := c.write(ctx, t, p, rows+int64(len(p.rows))); err != nil {
			return err
		}
		rows += int64(len(p.rows))
		c.out.Rows += int64(len(p.rows))
		after = p.last
	}
}

// standing reads how the database stores a table, and how far it was copied.
func (c *copier) standing(ctx context.Context, t copied) (types map[string]string, after []any, rows int64, err error) {
	var at string
	err = c.db.Read(ctx, func(ctx context.Context, tx beside.Tx) error {
		types = map[string]string{}
		err := tx.Query(ctx, "types", func(scan func(...any) error) error {
			var name, kind string
			err := scan(&name, &kind)
			types[name] = kind
			return err
		}, c.store.Schema(), t.table())
		if err != nil {
			return err
		}
		return tx.Query(ctx, "progress", func(scan func(...any) error) error { return scan(&at, &rows) }, t.name)
	})
	if err == nil {
		after, err = decodePosition(at)
	}
	return types, after, rows, err
}

func (c *copier) write(ctx context.Context, t copied, p rowPage, rows int64) error {
	b, err := json.Marshal(p.rows)
	if err != nil {
		return err
	}
	at, err := encodePosition(p.last)
	if err != nil {
		return err
	}
	return c.db.Write(ctx, func(ctx context.Context, tx beside.Tx) error {
		if _, err := tx.Exec(ctx, "write "+t.name, string(b)); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "note", t.name, at, rows)
		return err
	})
}

// finish compares the numbers of rows, has new rows numbered behind those copied,
// and opens the database for use.
func (c *copier) finish(ctx context.Context) error {
	q := copyStatements()
	restart := []string{}
	for _, t := range copiedTables() {
		text := restartOf(t)
		if text == "" {
			continue
		}
		n, err := given(ctx, c.from, t)
		if err != nil {
			return err
		}
		q["restart "+t.name] = fmt.Sprintf(text, n+1)
		restart = append(restart, "restart "+t.name)
	}
	return c.store.BesideText(q).Write(ctx, func(ctx context.Context, tx beside.Tx) error {
		for _, t := range copiedTables() {
			there, err := beside.Number(ctx, tx, "count "+t.name)
			if err != nil {
				return err
			}
			here, err := countRows(ctx, c.from, t)
			if err != nil {
				return err
			}
			if there != here {
				return fmt.Errorf("%s has %d rows in the file and %d in the database: the file was changed while it was copied; drop what is in the schema, and copy again with nothing else using the file", t.table(), here, there)
			}
		}
		for _, name := range append(restart, "claims", "end") {
			if _, err := tx.Exec(ctx, name); err != nil {
				return err
			}
		}
		return nil
	})
}

// restartOf is the statement that has a table's new rows numbered from a number on;
// "" if they have none.
func restartOf(t copied) string {
	switch t.name {
	case "keys":
		return "ALTER SEQUENCE {s}lastlook_key_ids RESTART WITH %d"
	case "notifications":
		return "ALTER SEQUENCE {s}lastlook_ids RESTART WITH %d"
	case "lanes", "marks", "watch_listings", "watch_watches", "watch_observations", "device_devices", "access_keys":
		return "ALTER TABLE {s}" + t.table() + " ALTER COLUMN " + t.key[0] + " RESTART WITH %d"
	}
	return ""
}
