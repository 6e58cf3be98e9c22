package postgres

import (
	"testing"
	"time"

	"github.com/lastlook/lastlook"
)

// A rush begins with so many rows within a second. Then claims start where the
// last one did, for a quarter of a second since somebody looked from the head;
// it ends when rows come slowly again.
func TestRushDecides(t *testing.T) {
	now := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	lanes := []lastlook.LaneClaim{{Lane: lastlook.Lane{ID: 1}, N: 1000}, {Lane: lastlook.Lane{ID: 2}, N: 1000}}
	var r rush
	at := func(id int) place { return place{now.UnixMicro(), int64(id)} }
	due := now
	claim := func(first, n int) (from place, hinted bool) {
		starts, ok := r.starts(now, lanes)
		var rows []lastlook.Row
		for i := range n {
			rows = append(rows, lastlook.Row{ID: lastlook.ID(first + i), Due: due, Lane: lastlook.Lane{ID: 1}})
		}
		r.claimed(now, lanes, starts, rows)
		return starts[0], ok
	}
	expect := func(what string, first, n int, want place, hinted bool) {
		t.Helper()
		if from, ok := claim(first, n); from != want || ok != hinted {
			t.Errorf("%s: from %v, hinted %v; want %v, %v", what, from, ok, want, hinted)
		}
	}
	expect("the first claim", 0, 4999, place{}, false)
	expect("not yet a rush", 5000, 1, place{}, false)
	expect("a rush whose place is not known", 6000, 1000, place{}, false)
	origin := at(6000)
	expect("a rush", 7000, 1000, origin, true)
	expect("a rush goes on", 8000, 1000, place{origin.due, 7000}, true)
	now = now.Add(rushTrust)
	expect("the head again", 9000, 1000, place{}, false)
	expect("and on from there", 10000, 0, place{origin.due, 9000}, true)
	expect("nothing was found", 10000, 10, place{}, false)

	r.know(now, []lastlook.LaneState{{Lane: lastlook.Lane{ID: 1}}})
	if len(r.known(now)) != 1 {
		t.Error("in a rush the list is not used")
	}
	r.doubt()
	if r.known(now) != nil {
		t.Error("a list in doubt is used")
	}
	r.know(now, []lastlook.LaneState{{Lane: lastlook.Lane{ID: 1}}})
	if now = now.Add(rushTrust); r.known(now) != nil {
		t.Error("an old list is used")
	}
	now = now.Add(3 * rushTime)
	expect("long after", 11000, 10, place{}, false)
	r.know(now, []lastlook.LaneState{{Lane: lastlook.Lane{ID: 1}}})
	if r.known(now) != nil {
		t.Error("without a rush the list is used")
	}
}
