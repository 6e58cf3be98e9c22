package sqlite_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/sqlite"
	driver "modernc.org/sqlite"
)

var start = time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)

// kit is a store on a fresh file, a clock, and shorthands that fail the test.
type kit struct {
	*testing.T
	s    *sqlite.Store
	path string
	now  time.Time
}

func newKit(t *testing.T, opts ...sqlite.Option) *kit {
	t.Helper()
	return newKitAt(t, filepath.Join(t.TempDir(), "lastlook.db"), opts...)
}

func newKitAt(t *testing.T, path string, opts ...sqlite.Option) *kit {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, opts...)
	if err != nil {
		t.Fatal(err)
	}
	k := &kit{T: t, s: s, path: path, now: start}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		checkFile(t, path)
	})
	return k
}

// otherHandle opens the file as another program would.
func otherHandle(t testing.TB, path string, params string) *sql.DB {
	t.Helper()
	c, err := driver.NewConnector("file:" + path + "?" + params)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(c)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// broken lists what must never be found in a file: the name of the mistake and
// a query that finds it.
var broken = map[string]string{
	"a notification that is neither live nor ended, or both": `SELECT n.id FROM lastlook_notifications n
		WHERE (SELECT count(*) FROM lastlook_live WHERE id = n.id) + (SELECT count(*) FROM lastlook_outcomes WHERE id = n.id) <> 1`,
	"a live row without its notification":      `SELECT id FROM lastlook_live WHERE id NOT IN (SELECT id FROM lastlook_notifications)`,
	"a live row of another key":                `SELECT l.id FROM lastlook_live l JOIN lastlook_notifications n USING (id) WHERE l.key_id <> n.key_id OR l.lane_id <> n.lane_id`,
	"an outcome without its notification":      `SELECT id FROM lastlook_outcomes WHERE id NOT IN (SELECT id FROM lastlook_notifications)`,
	"a notification without its key":           `SELECT id FROM lastlook_notifications WHERE key_id NOT IN (SELECT id FROM lastlook_keys)`,
	"a notification without its lane":          `SELECT id FROM lastlook_notifications WHERE lane_id NOT IN (SELECT id FROM lastlook_lanes)`,
	"a mark without its key":                   `SELECT id FROM lastlook_marks WHERE key_id NOT IN (SELECT id FROM lastlook_keys)`,
	"a lane that differs from its key's parts": `SELECT n.id FROM lastlook_notifications n JOIN lastlook_lanes a ON a.id = n.lane_id JOIN lastlook_keys k ON k.id = n.key_id WHERE a.topic <> k.topic OR a.channel <> k.channel`,
	"a claimed row that no claim names":        `SELECT id FROM lastlook_live WHERE token IS NOT NULL AND token NOT IN (SELECT token FROM lastlook_claims)`,
	"a row that the view does not show":        `SELECT id FROM lastlook_notifications WHERE id NOT IN (SELECT id FROM lastlook_outbox WHERE state IS NOT NULL)`,
}

// checkFile looks for anything that must never be in a file.
func checkFile(t *testing.T, path string) {
	t.Helper()
	db := otherHandle(t, path, "")
	var result string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&result); err != nil || result != "ok" {
		t.Errorf("integrity check: %s, %v", result, err)
	}
	for name, query := range broken {
		if ids := column(t, db, query); len(ids) > 0 {
			t.Errorf("%s: %v", name, ids)
		}
	}
}

// column returns the first column of a query as text.
func column(t testing.TB, db *sql.DB, query string, args ...any) (out []string) {
	t.Helper()
	rows, err := db.Query(query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	for rows.Next() {
		var v sql.NullString
		if err := rows.Scan(&v); err != nil {
			t.Fatal(err)
		}
		out = append(out, v.String)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}

func key(n int) lastlook.Key {
	return lastlook.Key{Topic: "watch", Subject: fmt.Sprintf("s%04d", n), Recipient: "ann", Channel: "push"}
}

func item(k lastlook.Key) lastlook.Item {
	return lastlook.Item{Key: k, Detection: json.RawMessage(`{"price":480}`)}
}

func items(n int) []lastlook.Item {
	out := make([]lastlook.Item, n)
	for i := range out {
		out[i] = item(key(i))
	}
	return out
}

func (k *kit) enqueue(items ...lastlook.Item) []lastlook.EnqueueResult {
	k.Helper()
	res, err := k.s.Enqueue(k.Context(), k.now, items)
	if err != nil {
		k.Fatal(err)
	}
	return res
}

func (k *kit) inserted(it lastlook.Item) lastlook.ID {
	k.Helper()
	res := k.enqueue(it)
	if res[0].Status != lastlook.Inserted {
		k.Fatalf("enqueue %s: %+v, want inserted", it.Key, res[0])
	}
	return res[0].ID
}

func (k *kit) lanes() []lastlook.LaneState {
	k.Helper()
	lanes, err := k.s.Lanes(k.Context(), lastlook.LaneQuery{Now: k.now, Topics: []string{"watch", "order"}, Channels: []string{"push", "mail"}})
	if err != nil {
		k.Fatal(err)
	}
	return lanes
}

const lease = time.Minute

// claim claims up to n rows from each lane.
func (k *kit) claim(n int) []lastlook.Row {
	k.Helper()
	r := lastlook.ClaimRequest{Now: k.now, Token: lastlook.NewToken()}
	for _, l := range k.lanes() {
		r.Lanes = append(r.Lanes, lastlook.LaneClaim{Lane: l.Lane, N: n, MaxAttempts: 3, Lease: lease})
	}
	rows, err := k.s.Claim(k.Context(), r)
	if err != nil {
		k.Fatal(err)
	}
	return rows
}

// claimOne claims the only row there is to claim.
func (k *kit) claimOne() *lastlook.Row {
	k.Helper()
	rows := k.claim(10)
	if len(rows) != 1 {
		k.Fatalf("claimed %d rows, want 1", len(rows))
	}
	return &rows[0]
}

func (k *kit) try(changes ...lastlook.Change) []bool {
	k.Helper()
	done, err := k.s.Apply(k.Context(), k.now, changes)
	if err != nil {
		k.Fatal(err)
	}
	return done
}

// apply makes changes that must all apply.
func (k *kit) apply(changes ...lastlook.Change) {
	k.Helper()
	if done := k.try(changes...); slices.Contains(done, false) {
		k.Fatalf("applied: %v", done)
	}
}

// must returns a transition that must be legal.
func (k *kit) must(c lastlook.Change, err error) lastlook.Change {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
	return c
}

func (k *kit) day() lastlook.Window { return lastlook.Day(time.UTC).At(k.now, 0) }

// sending moves a claimed row to sending with a value.
func (k *kit) sending(r *lastlook.Row, value string) {
	k.Helper()
	k.apply(k.must(r.Sending(k.now, k.assertion(r, value), k.now.Add(lease))))
}

func (k *kit) assertion(r *lastlook.Row, value string) lastlook.Assertion {
	return lastlook.Assertion{Value: json.RawMessage(value), LookedAt: k.now, Window: r.KeyRow.Told.Later(k.day()), Seq: r.KeyRow.Seq + 1}
}

// deliver takes a key from enqueue to sent.
func (k *kit) deliver(it lastlook.Item, value string) lastlook.ID {
	k.Helper()
	id := k.inserted(it)
	r := k.claimOne()
	k.sending(r, value)
	k.apply(k.must(r.Accepted(k.now, lastlook.Outcome{Answer: "201"})))
	return id
}

func (k *kit) get(id lastlook.ID) lastlook.Record {
	k.Helper()
	rec, err := k.s.Get(k.Context(), id)
	if err != nil {
		k.Fatal(err)
	}
	return rec
}

// sweep goes through all pages.
func (k *kit) sweep(limit int) lastlook.Swept {
	k.Helper()
	var all lastlook.Swept
	for cursor := ""; ; {
		s, err := k.s.Sweep(k.Context(), lastlook.SweepRequest{Now: k.now, Limit: limit, Cursor: cursor})
		if err != nil {
			k.Fatal(err)
		}
		if len(s.Dead) > limit || len(s.Expired) > limit || len(s.Revived) > limit {
			k.Fatalf("a page of %d, %d and %d rows, the limit is %d", len(s.Dead), len(s.Expired), len(s.Revived), limit)
		}
		all.Dead, all.Expired, all.Revived = append(all.Dead, s.Dead...), append(all.Expired, s.Expired...), append(all.Revived, s.Revived...)
		if cursor = s.Next; cursor == "" {
			return all
		}
	}
}

func ids(rows []lastlook.Row) []lastlook.ID {
	out := make([]lastlook.ID, len(rows))
	for i := range rows {
		out[i] = rows[i].ID
	}
	return out
}
