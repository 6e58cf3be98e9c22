package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/postgres"
)

// A lock that a stranger keeps ends a call at its limit, and the store is well
// again after.
func TestTimeout(t *testing.T) {
	k := newKit(t)
	k.inserted(item(key(0)))
	tx, err := k.pool.Begin(t.Context())
	k.ok(err)
	_, err = tx.Exec(t.Context(), "LOCK TABLE "+k.table("live")+" IN ACCESS EXCLUSIVE MODE")
	k.ok(err)
	k.s.SetTimeout(300 * time.Millisecond)
	for name, call := range map[string]func() error{
		"Enqueue": func() error { _, err := k.s.Enqueue(t.Context(), k.now, items(1, 2)); return err },
		"Get":     func() error { _, err := k.s.Get(t.Context(), 1); return err },
	} {
		began := time.Now()
		if err := call(); !errors.Is(err, lastlook.ErrBusy) {
			t.Errorf("%s: %v, want %v", name, err, lastlook.ErrBusy)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
	k.ok(tx.Rollback(t.Context()))
	k.s.SetTimeout(30 * time.Second)
	k.inserted(item(key(1)))
}

// Nothing of the session is left behind: the settings end with the transaction.
func TestLeavesNoSettings(t *testing.T) {
	k := newKit(t)
	k.fill(1000)
	settings := []string{"enable_seqscan", "enable_hashjoin", "enable_mergejoin", "enable_bitmapscan", "jit", "statement_timeout", "lock_timeout",
		"idle_in_transaction_session_timeout", "synchronous_commit"}
	want := k.column("SELECT boot_val FROM pg_settings WHERE name = ANY($1) ORDER BY name", settings)
	for range 8 { // whichever connection
		got := k.column("SELECT setting FROM pg_settings WHERE name = ANY($1) ORDER BY name", settings)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("settings %v, want %v", got, want)
		}
	}
}

// Every commit but a claim's is durable, even if the server's default is not.
func TestDurability(t *testing.T) {
	dsn, err := url.Parse(cluster.DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	q := dsn.Query()
	q.Set("synchronous_commit", "off")
	dsn.RawQuery = q.Encode()
	pool := newPool(t, dsn.String(), 0)
	seen := map[string]string{}
	schema := newSchema(t, pool)
	s := openStore(t, pool, postgres.Config{Schema: schema})
	err = s.WithTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		var v string
		err := tx.QueryRow(ctx, "SHOW synchronous_commit").Scan(&v)
		seen["WithTx"] = v
		return err
	})
	if err != nil || seen["WithTx"] != "on" {
		t.Errorf("WithTx: synchronous_commit %q, %v, want on", seen["WithTx"], err)
	}
	table := pgx.Identifier{schema}.Sanitize() + ".lastlook_"
	for _, q := range []string{
		"CREATE TABLE " + table + "seen (what text, how text)",
		"CREATE FUNCTION " + table + "see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO " + table +
			"seen VALUES (TG_ARGV[0], current_setting('synchronous_commit')); RETURN NULL; END $$",
		"CREATE TRIGGER see AFTER INSERT ON " + table + "notifications EXECUTE FUNCTION " + table + "see('enqueue')",
		"CREATE TRIGGER see AFTER INSERT ON " + table + "claims EXECUTE FUNCTION " + table + "see('claim')",
		"CREATE TRIGGER see AFTER INSERT ON " + table + "outcomes EXECUTE FUNCTION " + table + "see('end')",
	} {
		if _, err := pool.Exec(t.Context(), q, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
	}
	k := &kit{T: t, s: s, pool: pool, now: start}
	k.inserted(item(key(1)))
	k.apply(k.dropped(k.claimOne()))
	if got := strings.Join(k.column("SELECT DISTINCT what || ' ' || how FROM "+table+"seen ORDER BY 1"), ", "); got != "claim off, end on, enqueue on" {
		t.Errorf("synchronous_commit: %s", got)
	}
}

// A connection that the server has ended is replaced; nobody notices.
func TestTerminatedConnections(t *testing.T) {
	k := newKit(t)
	app := "terminate-" + k.s.Schema()[3:10]
	dsn, err := url.Parse(cluster.DSN(t))
	k.ok(err)
	q := dsn.Query()
	q.Set("application_name", app)
	dsn.RawQuery = q.Encode()
	s := openStore(t, newPool(t, dsn.String(), 0), postgres.Config{Schema: k.s.Schema()})
	for i := range 10 {
		if _, err := s.Enqueue(t.Context(), k.now, items(i, i+1)); err != nil {
			t.Fatalf("enqueue %d: %v", i, err)
		}
		if n := k.column("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = $1", app)[0]; n == "0" {
			t.Fatal("no connection was ended")
		}
	}
	k.count("live", 10)
}

// A server that crashes between calls is found again when it is back, and has
// what it acknowledged.
func TestServerCrashes(t *testing.T) {
	k := newKit(t)
	server := cluster.Server(t)
	for i := range 3 {
		k.inserted(item(key(i)))
		k.ok(server.Stop("immediate"))
		if _, err := k.s.Enqueue(t.Context(), k.now, items(90, 91)); err == nil {
			t.Fatal("an enqueue succeeded without a server")
		}
		k.ok(server.Start())
		k.waitFor("the store to find the server", func() bool {
			_, err := k.s.Get(t.Context(), 1)
			return err == nil || errors.Is(err, lastlook.ErrNotFound)
		})
	}
	k.count("live", 3)
}

// What is said of a commit whose answer is missing.
func TestCommitUnknown(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		last bool
		want bool
	}{
		"a statement fails":       {&pgconn.PgError{Severity: "ERROR", Code: "40001"}, false, false},
		"the commit fails":        {&pgconn.PgError{Severity: "ERROR", Code: "40001"}, true, false},
		"ended before the commit": {&pgconn.PgError{Severity: "FATAL", Code: "57P01"}, false, false},
		"ended in the commit":     {&pgconn.PgError{Severity: "FATAL", Code: "57P01"}, true, true},
		"the connection breaks":   {fmt.Errorf("read: %w", io.ErrUnexpectedEOF), false, true},
		"the time is over":        {context.DeadlineExceeded, false, true},
	} {
		if got := postgres.CommitUnknown(tt.err, tt.last); got != tt.want {
			t.Errorf("%s: unknown %v, want %v", name, got, tt.want)
		}
	}
}

// A closed store says so, and a server that is not there is named without the
// password.
func TestClosedAndUnreachable(t *testing.T) {
	k := newKit(t)
	k.ok(k.s.Close())
	if _, err := k.s.Get(t.Context(), 1); !errors.Is(err, postgres.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	for _, dsn := range []string{"postgres://u:hunter2@127.0.0.1:1/x?connect_timeout=2", "postgres://u:hunter2@127.0.0.1:x/x", "postgres://u:hunter2@[::1"} {
		_, err := postgres.Open(t.Context(), dsn, postgres.Config{Timeout: 3 * time.Second})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("open: %v", err)
		}
	}
	if _, err := postgres.Open(t.Context(), cluster.DSN(t), postgres.Config{Timeout: -1}); !errors.Is(err, lastlook.ErrInvalid) {
		t.Errorf("a negative timeout: %v", err)
	}
}

// A role that may only read gets answers, and is told what it lacks.
func TestReadOnlyServer(t *testing.T) {
	k := newKit(t)
	k.inserted(item(key(1)))
	dsn, err := url.Parse(cluster.DSN(t))
	k.ok(err)
	q := dsn.Query()
	q.Set("default_transaction_read_only", "on")
	dsn.RawQuery = q.Encode()
	s, err := postgres.Open(t.Context(), dsn.String(), postgres.Config{Schema: k.s.Schema()})
	k.ok(err)
	defer func() { k.ok(s.Close()) }()
	if recs, err := s.List(t.Context(), lastlook.Query{}); err != nil || len(recs) != 1 {
		t.Errorf("list: %d rows, %v", len(recs), err)
	}
	if _, err := s.Enqueue(t.Context(), k.now, items(2, 3)); !errors.Is(err, lastlook.ErrReadOnly) {
		t.Errorf("enqueue: %v, want %v", err, lastlook.ErrReadOnly)
	}
}

// JSON that is not valid UTF-8 does not fail the batch that it is in.
func TestInvalidUTF8(t *testing.T) {
	k := newKit(t)
	bad := item(key(1))
	bad.Detection = []byte("\"a\xffb\"")
	res := k.enqueue(item(key(0)), bad)
	if got := string(k.get(res[1].ID).Detection); got != "\"a\uFFFDb\"" {
		t.Errorf("stored %q", got)
	}
	var changes []change
	for _, r := range k.claim(10) {
		changes = append(changes, k.must(r.Drop(k.now, lastlook.ReasonConditionLost, lastlook.Outcome{Value: []byte("\"\xff\"")})))
	}
	k.apply(changes...)
}
