package postgres_test

import (
	"slices"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
)

// While a backlog is drained fast, claims do not start at the head of the lane;
// what comes to lie there is claimed all the same: soon while the rush lasts, at
// once when a claim finds less than it asked for.
func TestRush(t *testing.T) {
	k := newKit(t)
	k.now = time.Now()
	const n = 9000
	for lo := 0; lo < n; lo += 1000 {
		k.enqueue(items(lo, lo+1000)...)
	}
	order := []lastlook.ID{}
	for range 8 {
		var changes []change
		rows := k.claim(1000)
		for i := range rows {
			order = append(order, rows[i].ID)
			changes = append(changes, k.dropped(&rows[i]))
		}
		k.apply(changes...)
	}
	if !slices.IsSorted(order) || len(order) != 8000 {
		t.Errorf("%d rows were claimed, in order: %v", len(order), slices.IsSorted(order))
	}
	early := item(key(20000))
	early.Due = k.now.Add(-time.Hour)
	id := k.inserted(early)
	found := false
	rows := k.claim(1500) // more than are left
	for i := range rows {
		found = found || rows[i].ID == id
	}
	if len(rows) != 1001 || !found {
		t.Errorf("%d rows were claimed at the end, want 1001; the one due before all others among them: %v", len(rows), found)
	}
}
