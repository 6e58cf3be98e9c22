package lastlook

import (
	"cmp"
	"slices"
	"time"
)

// plan is what a dispatcher claims next, and when to look again if nothing
// else wakes it.
type plan struct {
	claims []LaneClaim
	wakeAt time.Time
	// held says that due rows were left because lanes or the dispatcher have
	// no room; a settled row makes some.
	held bool
}

// laneRoom says how many rows of a lane may be claimed now, or until when to
// wait (zero: until something changes).
type laneRoom func(l Lane) (n int, until time.Time)

// weight is a priority's part when room is divided: four times that of the
// next lower one, so that urgent rows go first and none starve.
func (p Priority) weight() int { return 1 << (2 * (p - PriorityLow)) }

// planClaims divides room for total rows among the lanes that have due rows,
// by the weight of their priority, so that no lane waits for another. It is
// pure.
func planClaims(now time.Time, states []LaneState, total int, room laneRoom, policyOf func(topic string) Policy) plan {
	var p plan
	wake := func(t time.Time) {
		if p.wakeAt.IsZero() || t.Before(p.wakeAt) {
			p.wakeAt = t
		}
	}
	states = slices.Clone(states)
	slices.SortStableFunc(states, func(a, b LaneState) int {
		return cmp.Or(-cmp.Compare(a.Priority, b.Priority), a.Due.Compare(b.Due))
	})
	// A lane's room is shared by its topics and priorities.
	left := map[laneKey]int{}
	asked := map[laneKey]int{} // the weights of the states that draw on it
	var due []LaneState
	weights := 0 // of due
	for _, s := range states {
		if s.Due.After(now) {
			wake(s.Due)
			continue
		}
		k := s.key()
		if _, ok := left[k]; !ok {
			n, until := room(s.Lane)
			left[k] = max(n, 0)
			if n <= 0 && until.After(now) {
				wake(until)
			} else if n <= 0 {
				p.held = true
			}
		}
		if left[k] > 0 {
			due = append(due, s)
			asked[k] += s.Priority.weight()
			weights += s.Priority.weight()
		}
	}
	for _, s := range due {
		k, w := s.key(), s.Priority.weight()
		// A share of what is left, rounded up, so that nothing is lost to
		// rounding and the last one may have the rest.
		share := min((total*w+weights-1)/weights, (left[k]*w+asked[k]-1)/asked[k])
		asked[k] -= w
		weights -= w
		if share <= 0 {
			p.held = true
			continue
		}
		left[k] -= share
		total -= share
		pol := policyOf(s.Topic)
		p.claims = append(p.claims, LaneClaim{Lane: s.Lane, N: share, MaxAttempts: pol.MaxAttempts, Lease: pol.Lease})
	}
	return p
}
