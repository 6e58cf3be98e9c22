package postgres

import (
	"slices"
	"sync"
	"time"

	"github.com/lastlook/lastlook"
)

// What has ended stays in the index until vacuum may remove it, which is not
// before the oldest transaction of the whole server has ended. Every claim that
// starts at the head of its lane walks through all of that. So while a backlog is
// drained fast, claims start where the last one did, and the list of lanes is not
// asked for each time. Several times a second they do start at the head: for rows
// that were given back, that are retried, whose claim has died, or that were
// enqueued with an earlier time.

const (
	// rushRows within rushTime make a rush.
	rushRows = 5000
	rushTime = time.Second
	// rushTrust is how long what a claim or a list has found is trusted.
	rushTrust = 250 * time.Millisecond
)

// place is a row's place in its lane.
type place struct{ due, id int64 }

// rush notices that a backlog is drained fast. It goes by the machine's clock:
// what it decides is only what is looked at first.
type rush struct {
	mu sync.Mutex
	// rows were claimed since began, and before in the period before.
	began        time.Time
	rows, before int
	lanes        map[int64]head
	listed       time.Time
	list         []lastlook.LaneState
}

// head is what is known of a lane's head: before the place, nothing could be
// claimed when a claim last looked.
type head struct {
	place
	looked time.Time
}

// on reports whether there is a rush. The lock is held.
func (r *rush) on(now time.Time) bool {
	switch since := now.Sub(r.began); {
	case since > 2*rushTime:
		r.began, r.before, r.rows = now, 0, 0
	case since > rushTime:
		r.began, r.before, r.rows = now, r.rows, 0
	}
	return max(r.rows, r.before) >= rushRows
}

// starts says where claims of lanes may start; ok if anywhere but at the head.
func (r *rush) starts(now time.Time, lanes []lastlook.LaneClaim) (out []place, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out = make([]place, len(lanes))
	if !r.on(now) {
		return out, false
	}
	for i, l := range lanes {
		if h, known := r.lanes[l.Lane.ID]; known && now.Sub(h.looked) < rushTrust {
			out[i], ok = h.place, true
		}
	}
	return out, ok
}

// claimed notes the rows that a claim got, and from where it started.
func (r *rush) claimed(now time.Time, lanes []lastlook.LaneClaim, starts []place, rows []lastlook.Row) {
	first := map[int64]place{}
	for i := range rows {
		at := place{rows[i].Due.UnixMicro(), int64(rows[i].ID)}
		if f, ok := first[rows[i].Lane.ID]; !ok || at.due < f.due || at.due == f.due && at.id < f.id {
			first[rows[i].Lane.ID] = at
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	on := r.on(now)
	r.rows += len(rows)
	if !on {
		clear(r.lanes)
		r.list = nil
		return
	}
	if r.lanes == nil {
		r.lanes = map[int64]head{}
	}
	for i, l := range lanes {
		f, ok := first[l.Lane.ID]
		switch {
		case !ok:
			delete(r.lanes, l.Lane.ID)
		case starts[i] == place{}:
			r.lanes[l.Lane.ID] = head{f, now}
		default:
			r.lanes[l.Lane.ID] = head{f, r.lanes[l.Lane.ID].looked}
		}
	}
}

// know notes a list of lanes.
func (r *rush) know(now time.Time, list []lastlook.LaneState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listed, r.list = now, list
}

// doubt makes the next list be asked for: a claim got less than it hoped for.
func (r *rush) doubt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = nil
}

// known returns a list of lanes that may still be used; nil if there is none.
func (r *rush) known(now time.Time) []lastlook.LaneState {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.on(now) || now.Sub(r.listed) >= rushTrust {
		return nil
	}
	return slices.Clone(r.list)
}
