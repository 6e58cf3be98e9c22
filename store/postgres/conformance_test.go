package postgres_test

import (
	"context"
	"crypto/rand"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/pgtest"
	"github.com/lastlook/lastlook/store/postgres"
	"github.com/lastlook/lastlook/store/storetest"
)

// The suite runs whole in each way to speak to a server.

func TestConformance(t *testing.T) { storetest.Run(t, harness(newPool(t, cluster.DSN(t), 0))) }

func TestConformanceSimpleProtocol(t *testing.T) {
	fewer(t)
	storetest.Run(t, harness(newPool(t, cluster.DSN(t), pgx.QueryExecModeSimpleProtocol)))
}

func TestConformancePgBouncer(t *testing.T) {
	fewer(t)
	storetest.Run(t, harness(newPool(t, pgtest.Bouncer(t, cluster.DSN(t)), pgx.QueryExecModeCacheDescribe)))
}

// fewer makes the randomized run shorter: the clauses are what speak to the
// server in every way.
func fewer(t *testing.T) {
	const checks = "LASTLOOK_RAPID_CHECKS"
	if os.Getenv(checks) == "" {
		t.Setenv(checks, "5")
	}
}

// newPool connects to a server.
func newPool(t testing.TB, dsn string, mode pgx.QueryExecMode) *pgxpool.Pool {
	t.Helper()
	c, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	if mode != 0 {
		c.ConnConfig.DefaultQueryExecMode = mode
	}
	c.MaxConns = 8
	// Every schema has statements of its own, and there are hundreds.
	c.ConnConfig.StatementCacheCapacity = 2048
	c.ConnConfig.DescriptionCacheCapacity = 2048
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(t.Context()), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func harness(pool *pgxpool.Pool) storetest.Harness {
	free := &schemas{pool: pool}
	return storetest.Harness{
		Open: func(tb storetest.TB) lastlook.Store {
			return openStore(tb, pool, postgres.Config{Schema: free.take(tb)})
		},
		Reopen: reopenStore,
		Orphan: orphanMark,
		OpenSQL: func(tb storetest.TB, rewrite func(name, text string) string) lastlook.Store {
			return openStore(tb, pool, postgres.Rewritten(postgres.Config{Schema: free.take(tb)}, rewrite))
		},
	}
}

// schemas are those that tests are done with, emptied: making one takes a hundred
// times longer than emptying it.
type schemas struct {
	pool *pgxpool.Pool
	mu   sync.Mutex
	free []string
}

func (s *schemas) take(tb storetest.TB) string {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var schema string
	if n := len(s.free); n > 0 {
		schema, s.free = s.free[n-1], s.free[:n-1]
	} else {
		schema = schemaName()
	}
	tb.Cleanup(func() {
		q := pgx.Identifier{schema}.Sanitize() + ".lastlook_"
		var b pgx.Batch
		for _, table := range []string{"live", "claims", "marks", "outcomes", "notifications", "keys", "muted", "lanes"} {
			b.Queue("DELETE FROM " + q + table)
		}
		if err := s.pool.SendBatch(context.WithoutCancel(tb.Context()), &b).Close(); err != nil {
			return // it was never made, or a statement hangs in it
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.free = append(s.free, schema)
	})
	return schema
}

// schemaName is a name that nobody else uses, and that has to be quoted.
func schemaName() string { return `t "` + strings.ToLower(rand.Text()) + `" \'` }

func openStore(tb storetest.TB, pool *pgxpool.Pool, c postgres.Config) *postgres.Store {
	tb.Helper()
	s, err := postgres.New(pool, c)
	if err == nil {
		err = s.Migrate(tb.Context())
	}
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	return s
}

// reopenStore abandons a store as the death of its process would: what it has
// not committed is lost, what it has is in the database.
func reopenStore(tb storetest.TB, s lastlook.Store) lastlook.Store {
	tb.Helper()
	old, ok := s.(*postgres.Store)
	if !ok {
		tb.Fatalf("a store of type %T", s)
	}
	if err := old.Close(); err != nil {
		tb.Fatalf("close: %v", err)
	}
	return openStore(tb, old.Pool(), postgres.Config{Schema: old.Schema()})
}

// orphanMark writes the mark as an enqueue would that commits while the row ends.
func orphanMark(tb storetest.TB, s lastlook.Store, now time.Time, it lastlook.Item) {
	tb.Helper()
	st, ok := s.(*postgres.Store)
	if !ok {
		tb.Fatalf("a store of type %T", s)
	}
	prepared, err := lastlook.Prepare(now, []lastlook.Item{it})
	if err != nil {
		tb.Fatalf("orphan: %v", err)
	}
	p := prepared[0]
	tables := pgx.Identifier{st.Schema()}.Sanitize() + ".lastlook_"
	tag, err := st.Pool().Exec(tb.Context(), `INSERT INTO `+tables+`marks (key_id, lane_id, created_at, due, expires_at, episode, trace, detection)
		SELECT k.id, a.id, $1::bigint, $2::bigint, $3::bigint, $4::bigint, $5::text, $6::text FROM `+tables+`keys k, `+tables+`lanes a
		WHERE k.topic = $7::text AND k.subject = $8::text AND k.recipient = $9::text AND k.channel = $10::text
		AND a.topic = k.topic AND a.channel = k.channel AND a.lane = $11::text AND a.priority = $12::bigint`,
		now.UnixMicro(), p.Due.UnixMicro(), p.ExpiresAt.UnixMicro(), p.Episode, p.Trace, string(p.Detection),
		p.Topic, p.Subject, p.Recipient, p.Channel, p.Lane, int64(p.Priority))
	if err != nil || tag.RowsAffected() != 1 {
		tb.Fatalf("orphan: %d marks written, %v", tag.RowsAffected(), err)
	}
}

// newSchema names a schema for one test, which is dropped after it.
func newSchema(tb storetest.TB, pool *pgxpool.Pool) string {
	tb.Helper()
	schema := schemaName()
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), time.Minute)
		defer cancel()
		if _, err := pool.Exec(ctx, "DROP SCHEMA IF EXISTS "+pgx.Identifier{schema}.Sanitize()+" CASCADE"); err != nil {
			tb.Errorf("drop schema: %v", err)
		}
	})
	return schema
}
