package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/postgres"
)

// Several processes that migrate at once do it once.
func TestMigrateAtOnce(t *testing.T) {
	pool := newPool(t, cluster.DSN(t), 0)
	schema := newSchema(t, pool)
	var wg sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		wg.Go(func() {
			s, err := postgres.New(pool, postgres.Config{Schema: schema})
			if err == nil {
				err = s.Migrate(t.Context())
			}
			errs[i] = err
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	k := &kit{T: t, s: openStore(t, pool, postgres.Config{Schema: schema}), pool: pool, now: start}
	k.inserted(item(key(1)))
}

// The exported SQL makes the same tables, and is known as that.
func TestMigrationSQL(t *testing.T) {
	byStore := newKit(t)
	pool := byStore.pool
	schema := newSchema(t, pool)
	text, err := postgres.MigrationSQL(schema, 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := postgres.New(pool, postgres.Config{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	before, err := s.Migrations(t.Context())
	if err != nil || len(before) == 0 || before[0].Applied {
		t.Errorf("before: %+v, %v", before, err)
	}
	if _, err := s.Stats(t.Context(), start, start); !errors.Is(err, postgres.ErrSchema) {
		t.Errorf("without tables: %v, want %v", err, postgres.ErrSchema)
	}
	if _, err := postgres.Open(t.Context(), cluster.DSN(t), postgres.Config{Schema: schema, NoMigrate: true}); !errors.Is(err, postgres.ErrSchema) {
		t.Errorf("open without tables: %v, want %v", err, postgres.ErrSchema)
	}
	if list, err := postgres.Status(t.Context(), cluster.DSN(t), postgres.Config{Schema: schema}); err != nil || list[0].Applied {
		t.Errorf("status: %+v, %v", list, err)
	}
	byStore.exec(text, pgx.QueryExecModeSimpleProtocol)
	after, err := s.Migrations(t.Context())
	if err != nil || !after[len(after)-1].Applied {
		t.Errorf("after: %+v, %v", after, err)
	}
	if none, err := postgres.MigrationSQL(schema, len(after)); err != nil || strings.TrimSpace(none) != "" {
		t.Errorf("after the last: %q, %v", none, err)
	}
	if _, err := postgres.MigrationSQL(schema, len(after)+1); !errors.Is(err, lastlook.ErrInvalid) {
		t.Errorf("behind the last: %v", err)
	}
	shape := func(schema string) string {
		return fmt.Sprint(byStore.column(`SELECT format('%s %s %s %s', table_name, column_name, data_type, is_nullable)
			FROM information_schema.columns WHERE table_schema = $1 ORDER BY table_name, ordinal_position`, schema))
	}
	if a, b := shape(schema), shape(byStore.s.Schema()); a != b || !strings.Contains(a, "lastlook_live") {
		t.Errorf("the tables differ:\n%s\n%s", a, b)
	}
	opened, err := postgres.Open(t.Context(), cluster.DSN(t), postgres.Config{Schema: schema, NoMigrate: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := opened.Close(); err != nil {
		t.Error(err)
	}
}

// A database that a newer program has migrated is refused.
func TestNewerSchema(t *testing.T) {
	k := newKit(t)
	k.exec("INSERT INTO " + k.table("schema") + " VALUES (999, 'from the future')")
	if err := k.s.Migrate(t.Context()); !errors.Is(err, lastlook.ErrNewerSchema) {
		t.Errorf("migrate: %v, want %v", err, lastlook.ErrNewerSchema)
	}
	if _, err := postgres.Open(t.Context(), cluster.DSN(t), postgres.Config{Schema: k.s.Schema()}); !errors.Is(err, lastlook.ErrNewerSchema) {
		t.Errorf("open: %v, want %v", err, lastlook.ErrNewerSchema)
	}
}

// The hot tables are vacuumed often, by migration.
func TestAutovacuumSettings(t *testing.T) {
	k := newKit(t)
	for _, table := range []string{"live", "claims", "keys", "marks"} {
		got := k.column("SELECT array_to_string(reloptions, ' ') FROM pg_class WHERE oid = $1::regclass", k.table(table))[0]
		if !strings.Contains(got, "autovacuum_vacuum_scale_factor=0.0") {
			t.Errorf("%s: %s", table, got)
		}
	}
}
