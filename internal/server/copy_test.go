package server

import (
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/pgtest"
	"github.com/lastlook/lastlook/store/sqlite"
)

// cluster is the PostgreSQL server that this package's tests share.
var cluster pgtest.Cluster

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

func sqliteColumn(t *testing.T, db *sqlite.Store, query string, args ...any) (out []string) {
	t.Helper()
	err := db.WithReadTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var s sql.NullString
			if err := rows.Scan(&s); err != nil {
				return err
			}
			out = append(out, s.String)
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return out
}

// notCopied are tables that each database has for itself.
var notCopied = []string{"lastlook_claims"}

// Every table is copied, and has the same columns in both stores: a copy puts NULL
// where SQLite has none.
func TestCopyKnowsAllTables(t *testing.T) {
	cluster.DSN(t)
	r := cluster.NewRaw(t)
	st, err := openPostgres(t.Context(), Database{URL: cluster.DSN(t), Schema: r.Schema})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.outbox.Close(); err != nil {
		t.Error(err)
	}
	source, err := openSQLite(t.Context(), filepath.Join(t.TempDir(), "lastlook.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = source.outbox.Close() }()
	db, ok := source.outbox.(*sqlite.Store)
	if !ok {
		t.Fatalf("a store of type %T", source.outbox)
	}
	var known []string
	for _, c := range copiedTables() {
		known = append(known, c.table())
		here := sqliteColumn(t, db, "SELECT name FROM pragma_table_info(?) ORDER BY name", c.table())
		there := r.Column("SELECT column_name::text FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = '" + c.table() + "' ORDER BY column_name COLLATE \"C\"")
		if !slices.Equal(here, there) {
			t.Errorf("%s has the columns\n%v in SQLite,\n%v in PostgreSQL", c.table(), here, there)
		}
	}
	for _, table := range sqliteColumn(t, db, "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'lastlook!_%' ESCAPE '!'") {
		if !slices.Contains(known, table) && !slices.Contains(notCopied, table) && !strings.HasSuffix(table, "_schema") {
			t.Errorf("%s is not copied", table)
		}
	}
}

// What was under way goes on: a claimed row keeps its token, and is found when its
// lease ends; what was told stays told.
func TestCopyOfRowsUnderWay(t *testing.T) {
	cluster.DSN(t)
	r := cluster.NewRaw(t)
	path := filepath.Join(t.TempDir(), "lastlook.db")
	source, err := openSQLite(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	key := func(s string) lastlook.Key {
		return lastlook.Key{Topic: "order", Subject: s, Recipient: "ann", Channel: "mail"}
	}
	// A name as PostgreSQL does not take it.
	odd := lastlook.Item{Key: key("odd"), Detection: json.RawMessage(`"a\u0000b"`)}
	if _, err := source.outbox.Enqueue(t.Context(), now, []lastlook.Item{{Key: key("a"), Detection: json.RawMessage(`{"n":1}`)}, {Key: key("b"), Detection: json.RawMessage(`{"n":2}`)}, odd}); err != nil {
		t.Fatal(err)
	}
	lanes, err := source.outbox.Lanes(t.Context(), lastlook.LaneQuery{Now: now, Topics: []string{"order"}, Channels: []string{"mail"}})
	if err != nil {
		t.Fatal(err)
	}
	token := lastlook.NewToken()
	rows, err := source.outbox.Claim(t.Context(), lastlook.ClaimRequest{Now: now, Token: token, Lanes: []lastlook.LaneClaim{{Lane: lanes[0].Lane, N: 2, MaxAttempts: 3, Lease: time.Minute}}})
	if err != nil || len(rows) != 2 {
		t.Fatal(rows, err)
	}
	drop, err := rows[1].Drop(now, lastlook.ReasonConditionLost, lastlook.Outcome{Value: json.RawMessage(`{"n":3}`)})
	if err != nil {
		t.Fatal(err)
	}
	if done, err := source.outbox.Apply(t.Context(), now, []lastlook.Change{drop}); err != nil || !done[0] {
		t.Fatal(done, err)
	}
	if err := source.outbox.Mute(t.Context(), now, []lastlook.MuteChange{{Recipient: "bob", Channel: "mail"}}); err != nil {
		t.Fatal(err)
	}
	want, err := source.outbox.List(t.Context(), lastlook.Query{Full: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := source.outbox.Close(); err != nil {
		t.Fatal(err)
	}
	d := Database{URL: cluster.DSN(t), Schema: r.Schema}
	done, err := Copy(t.Context(), path, d, func(string, int64, int64) {})
	if err != nil || done.Tables["notifications"] != 3 || done.Tables["muted"] != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	st, err := openPostgres(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.outbox.Close() }()
	got, err := st.outbox.List(t.Context(), lastlook.Query{Full: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		want[i].KeyRow.ID, got[i].KeyRow.ID = 0, 0
		a, _ := json.Marshal(want[i])
		b, _ := json.Marshal(got[i])
		if string(a) != string(b) {
			t.Errorf("copied as\n%s\nwas\n%s", b, a)
		}
	}
	swept, err := st.outbox.Sweep(t.Context(), lastlook.SweepRequest{Now: now.Add(2 * time.Minute), Limit: 10})
	if err != nil || len(swept.Dead) != 1 || swept.Dead[0].ID != rows[0].ID || swept.Dead[0].Token != token {
		t.Errorf("swept: %+v, %v", swept, err)
	}
}
