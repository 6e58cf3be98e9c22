package postgres

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/lastlook/lastlook"
)

// A small enqueue is bound by its commit. So calls that come while others are
// being committed share the next transaction. Nobody waits for a stranger by that:
// a transaction of a group gives up soon where somebody else keeps a lock, and if
// it fails, for whatever reason that one of its calls may have given, each of them
// is made by itself.

const (
	// groupItems bounds the items of a call that may join a group, groupTotal
	// those of a group.
	groupItems, groupTotal = 32, 512
	// groupLeaders is how many groups are written at once.
	groupLeaders = 2
	// groupPatience is how long a group waits for a lock.
	groupPatience = 50 * time.Millisecond
	// groupClocks is how far the calls' times may be apart.
	groupClocks = time.Second
)

// grouped is the mode of their transactions.
var grouped = mode{begin: writing.begin, patience: groupPatience}

// groups forms them.
type groups struct {
	mu      sync.Mutex
	leaders int
	waiting []*joined
}

// joined is a call that is in a group, or waits for one.
type joined struct {
	now   time.Time
	items []lastlook.Prepared
	turn  chan turn // gets one value
	// What came of it; alone says that it is to be made by itself.
	res   []lastlook.EnqueueResult
	err   error
	alone bool
}

// turn is what a waiting call is told: that it is done, or to lead this group,
// itself included.
type turn struct{ lead []*joined }

// join makes a small call together with others. ok is false if the call is to be
// made by itself: nothing of it was written.
func (g *groups) join(ctx context.Context, now time.Time, items []lastlook.Prepared, write func([]*joined)) (j *joined, ok bool) {
	if len(items) > groupItems || ctx.Err() != nil {
		return nil, false
	}
	j = &joined{now: now, items: items, turn: make(chan turn, 1)}
	group := []*joined{j}
	g.mu.Lock()
	if g.leaders >= groupLeaders {
		g.waiting = append(g.waiting, j)
		g.mu.Unlock()
		select {
		case t := <-j.turn:
			group = t.lead
		case <-ctx.Done():
			if g.leave(j) {
				return nil, false // it says so
			}
			group = (<-j.turn).lead // it is being written already
		}
	} else {
		g.leaders++
		g.mu.Unlock()
	}
	if group != nil {
		g.lead(group, write)
	}
	return j, !j.alone
}

// leave takes a call out of those that wait.
func (g *groups) leave(j *joined) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, j)
	if i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	return i >= 0
}

// lead writes a group, and hands the lead to the first of those that wait.
func (g *groups) lead(group []*joined, write func([]*joined)) {
	written := false
	defer func() {
		for _, j := range group[1:] {
			if !written { // write has panicked
				j.alone = true
			}
			j.turn <- turn{}
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		next := g.next()
		if len(next) == 0 {
			g.leaders--
			return
		}
		next[0].turn <- turn{lead: next}
	}()
	write(group)
	written = true
}

// next takes the next group from those that wait. The lock is held.
func (g *groups) next() (group []*joined) {
	total := 0
	g.waiting = slices.DeleteFunc(g.waiting, func(j *joined) bool {
		fits := total+len(j.items) <= groupTotal && (group == nil || j.now.Sub(group[0].now).Abs() < groupClocks)
		if fits {
			total += len(j.items)
			group = append(group, j)
		}
		return fits
	})
	return group
}

// enqueueGroup writes the calls of a group in one transaction.
func (s *Store) enqueueGroup(ctx context.Context, group []*joined) {
	// The leader's end is not the others'.
	ctx = context.WithoutCancel(ctx)
	now, items := merge(group)
	res, err := s.enqueueAt(ctx, now, items, grouped)
	at := 0
	for _, j := range group {
		n := len(j.items)
		switch {
		case err == nil:
			j.res = res[at : at+n : at+n]
		case errors.Is(err, ErrCommitUnknown):
			j.err = err
		default:
			j.alone = true
		}
		at += n
	}
}

// merge makes one call of those of a group: the latest of their times, and their
// items in the order of keys, those of a key in the order of the calls.
func merge(group []*joined) (now time.Time, items []lastlook.Prepared) {
	if len(group) == 1 {
		return group[0].now, group[0].items
	}
	for _, j := range group {
		if j.now.After(now) {
			now = j.now
		}
		before := len(items)
		items = append(items, j.items...)
		for i := range items[before:] {
			items[before+i].Index += before
		}
	}
	slices.SortStableFunc(items, func(a, b lastlook.Prepared) int { return a.Key.Compare(b.Key) })
	return now, items
}
