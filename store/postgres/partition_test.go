package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
)

// partition is what docs/scaling.md says: the two tables that grow for ever, by
// ranges of their ids.
const partition = `
ALTER TABLE {s}outcomes RENAME TO lastlook_outcomes_old;
ALTER TABLE {s}notifications RENAME TO lastlook_notifications_old;
CREATE TABLE {s}outcomes (LIKE {s}outcomes_old INCLUDING ALL) PARTITION BY RANGE (id);
CREATE TABLE {s}notifications (LIKE {s}notifications_old INCLUDING ALL) PARTITION BY RANGE (id);
CREATE TABLE {s}outcomes_p0 PARTITION OF {s}outcomes FOR VALUES FROM (0) TO (11);
CREATE TABLE {s}outcomes_p1 PARTITION OF {s}outcomes FOR VALUES FROM (11) TO (1000000);
CREATE TABLE {s}notifications_p0 PARTITION OF {s}notifications FOR VALUES FROM (0) TO (11);
CREATE TABLE {s}notifications_p1 PARTITION OF {s}notifications FOR VALUES FROM (11) TO (1000000);`

// The store does not mind that its history is partitioned, nor that an old
// partition is dropped.
func TestPartitionedHistory(t *testing.T) {
	k := newKit(t)
	view := k.column("SELECT pg_get_viewdef($1::regclass)", k.table("outbox"))[0] // it follows tables that are renamed
	k.exec("DROP VIEW " + k.table("outbox"))
	for text := range strings.SplitSeq(strings.TrimSpace(partition), ";\n") {
		k.exec(strings.ReplaceAll(text, "{s}", k.table("")))
	}
	k.exec("CREATE VIEW " + k.table("outbox") + " AS " + view)
	k.enqueue(items(0, 20)...)
	rows := k.claim(20)
	if len(rows) != 20 {
		t.Fatalf("claimed %d rows", len(rows))
	}
	var changes []change
	for i := range rows {
		changes = append(changes, k.dropped(&rows[i]))
	}
	k.apply(changes...)
	for _, part := range []string{"outcomes_p0", "outcomes_p1", "notifications_p0", "notifications_p1"} {
		k.count(part, 10)
	}
	if rec := k.get(rows[3].ID); rec.State != lastlook.StateDropped || rec.Key != rows[3].Key {
		t.Errorf("%+v", rec)
	}
	for _, table := range []string{"outcomes", "notifications"} {
		k.exec("DROP TABLE " + k.table(table+"_p0"))
	}
	list, err := k.s.List(t.Context(), lastlook.Query{Limit: 100})
	if err != nil || len(list) != 10 {
		t.Errorf("%d rows are listed, %v", len(list), err)
	}
	k.now = k.now.Add(time.Hour)
	got, err := k.s.Prune(t.Context(), lastlook.PruneRequest{EndedBefore: k.now, KeysIdleBefore: k.now})
	if want := (lastlook.Pruned{Notifications: 10, Keys: 20}); err != nil || got != want {
		t.Errorf("pruned %+v, %v, want %+v", got, err, want)
	}
	if plan := strings.Join(k.explain("claim_read", k.statement("claim_read")), "\n"); !strings.Contains(plan, "_p1") || strings.Contains(plan, "Seq Scan on lastlook_notifications") {
		t.Errorf("the plan of a claim's read:\n%s", plan)
	}
	k.inserted(item(key(0)))
}

func (k *kit) statement(name string) string {
	_, text := k.s.Statements()
	return text(name)
}
