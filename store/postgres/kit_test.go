package postgres_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/postgres"
)

var start = time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)

const lease = time.Minute

type change = lastlook.Change

// kit is a store in a schema of its own, a clock, and shorthands that fail the
// test.
type kit struct {
	*testing.T
	s    *postgres.Store
	pool *pgxpool.Pool
	now  time.Time
}

func newKit(t *testing.T) *kit { return newKitWith(t, postgres.Config{}) }

func newKitWith(t *testing.T, c postgres.Config) *kit {
	t.Helper()
	pool := newPool(t, cluster.DSN(t), 0)
	if c.Schema == "" {
		c.Schema = newSchema(t, pool)
	}
	k := &kit{T: t, s: openStore(t, pool, c), pool: pool, now: start}
	t.Cleanup(k.check)
	return k
}

// broken lists what must never be found: the name of the mistake and a query
// that finds it.
var broken = map[string]string{
	"a notification that is neither live nor ended, or both": `SELECT n.id FROM {s}notifications n
		WHERE (SELECT count(*) FROM {s}live WHERE id = n.id) + (SELECT count(*) FROM {s}outcomes WHERE id = n.id) <> 1`,
	"a live row without its notification":      `SELECT id FROM {s}live WHERE id NOT IN (SELECT id FROM {s}notifications)`,
	"a live row of another key":                `SELECT l.id FROM {s}live l JOIN {s}notifications n USING (id) WHERE l.key_id <> n.key_id OR l.lane_id <> n.lane_id`,
	"an outcome without its notification":      `SELECT id FROM {s}outcomes WHERE id NOT IN (SELECT id FROM {s}notifications)`,
	"a notification without its key":           `SELECT id FROM {s}notifications WHERE key_id NOT IN (SELECT id FROM {s}keys)`,
	"a notification without its lane":          `SELECT id FROM {s}notifications WHERE lane_id NOT IN (SELECT id FROM {s}lanes)`,
	"a mark without its key":                   `SELECT id FROM {s}marks WHERE key_id NOT IN (SELECT id FROM {s}keys)`,
	"a lane that differs from its key's parts": `SELECT n.id FROM {s}notifications n JOIN {s}lanes a ON a.id = n.lane_id JOIN {s}keys k ON k.id = n.key_id WHERE a.topic <> k.topic OR a.channel <> k.channel`,
	"a claimed row that no claim names":        `SELECT id FROM {s}live WHERE token IS NOT NULL AND token NOT IN (SELECT token FROM {s}claims)`,
	"a row that the view does not show":        `SELECT id FROM {s}notifications WHERE id NOT IN (SELECT id FROM {s}outbox WHERE state IS NOT NULL)`,
}

// check looks for anything that must never be in the tables.
func (k *kit) check() {
	k.analyze() // these queries do depend on statistics
	for name, query := range broken {
		if ids := k.column(strings.ReplaceAll(query, "{s}", k.table(""))); len(ids) > 0 {
			k.Errorf("%s: %v", name, ids)
		}
	}
}

func (k *kit) analyze() {
	k.Helper()
	for _, table := range []string{"live", "keys", "notifications", "outcomes", "claims", "marks", "lanes", "muted"} {
		k.exec("ANALYZE " + k.table(table))
	}
}

func (k *kit) table(name string) string {
	return pgx.Identifier{k.s.Schema()}.Sanitize() + ".lastlook_" + name
}

func (k *kit) exec(query string, args ...any) {
	k.Helper()
	if _, err := k.pool.Exec(context.WithoutCancel(k.Context()), query, args...); err != nil {
		k.Fatalf("%s: %v", query, err)
	}
}

// column returns the first column of a query as text.
func (k *kit) column(query string, args ...any) []string {
	k.Helper()
	rows, err := k.pool.Query(context.WithoutCancel(k.Context()), query, args...)
	if err != nil {
		k.Fatalf("%s: %v", query, err)
	}
	out, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (string, error) {
		v, err := r.Values()
		return fmt.Sprint(v[0]), err
	})
	if err != nil {
		k.Fatalf("%s: %v", query, err)
	}
	return out
}

func key(n int) lastlook.Key {
	return lastlook.Key{Topic: "watch", Subject: fmt.Sprintf("s%05d", n), Recipient: "ann", Channel: "push"}
}

func item(k lastlook.Key) lastlook.Item {
	return lastlook.Item{Key: k, Detection: json.RawMessage(`{"price":480}`)}
}

func items(from, to int) []lastlook.Item {
	var out []lastlook.Item
	for i := from; i < to; i++ {
		out = append(out, item(key(i)))
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

// claim claims up to n rows from each lane.
func (k *kit) claim(n int) []lastlook.Row {
	k.Helper()
	lanes, err := k.s.Lanes(k.Context(), lastlook.LaneQuery{Now: k.now, Topics: []string{"watch"}, Channels: []string{"push"}})
	if err != nil {
		k.Fatal(err)
	}
	r := lastlook.ClaimRequest{Now: k.now, Token: lastlook.NewToken()}
	for _, l := range lanes {
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

// apply makes changes that must all apply.
func (k *kit) apply(changes ...change) {
	k.Helper()
	done, err := k.s.Apply(k.Context(), k.now, changes)
	if err != nil {
		k.Fatal(err)
	}
	if slices.Contains(done, false) {
		k.Fatalf("applied: %v", done)
	}
}

// must returns a transition that must be legal.
func (k *kit) must(c change, err error) change {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
	return c
}

func (k *kit) dropped(r *lastlook.Row) change {
	k.Helper()
	return k.must(r.Drop(k.now, lastlook.ReasonConditionLost, lastlook.Outcome{}))
}

func (k *kit) get(id lastlook.ID) lastlook.Record {
	k.Helper()
	rec, err := k.s.Get(k.Context(), id)
	if err != nil {
		k.Fatal(err)
	}
	return rec
}
