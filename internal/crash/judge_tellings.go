package crash

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/lastlook/lastlook"
)

// repeats finds keys that were told twice in one window, and rows twice. That is
// right only for a row of which nobody could know that it was told: it was being
// delivered when the process died, or the answer was lost.
func (c *court) repeats() {
	type telling struct {
		key    lastlook.Key
		window lastlook.Window
		row    lastlook.ID // if the window cannot repeat
	}
	groups := acceptsBy(c.accepts, func(a *acceptance) telling {
		if a.Window.Policy == "always" {
			return telling{key: a.Key, row: a.ID}
		}
		return telling{key: a.Key, window: a.Window}
	})
	for _, list := range groups {
		for i := 1; i < len(list); i++ {
			c.ruling.Repeats++
			if why := c.disallowed(list[i-1], list[i]); why != "" {
				c.find(FaultRepeat, list[i].row, "told in %s by row %d at %s (run %d), and by row %d at %s (run %d): %s",
					list[i].Window, list[i-1].ID, clock(list[i-1].At), list[i-1].Run, list[i].ID, clock(list[i].At), list[i].Run, why)
			}
		}
	}
}

// disallowed says why one acceptance must not have followed another.
func (c *court) disallowed(first, second *acceptance) string {
	switch k := kindOf(first.Key.Topic); {
	case first.ID != second.ID:
		return "another row had told"
	case second.row == nil:
		return "the row is not there"
	case k == nil || k.guarantee == lastlook.AtMostOnce:
		return "at most once is what was promised"
	}
	policy := kindOf(first.Key.Topic).policy()
	alive := c.undisturbed(first, second) && first.answer == answerOK && first.answeredAt-first.calledAt < policy.CallTimeout.Microseconds()
	// The story must say that the outcome became unknown in between.
	for _, s := range second.row.Story {
		if at := s.At.UnixMicro(); s.Skipped == 0 && (s.Event != lastlook.EventOutcomeUnknown || at < first.calledAt || at > second.At) {
			continue
		}
		if alive && s.By == "reaper" && s.At.UnixMicro()-first.LookedAt < lease.Microseconds() {
			return "it was reaped under a living lease"
		}
		if alive && s.By == "" && s.Skipped == 0 {
			return "the channel had answered"
		}
		return ""
	}
	return "its story does not say that the outcome was unknown"
}

// deliveryKeys finds assertions with two delivery keys, and delivery keys with
// two assertions.
func (c *court) deliveryKeys() {
	values := map[string]*acceptance{}
	for _, a := range c.accepts {
		first := values[a.DeliveryKey]
		if first == nil {
			values[a.DeliveryKey] = a
		} else if string(first.Value) != string(a.Value) {
			c.find(FaultOneKey, a.row, "%s was accepted as %s, and as %s", a.DeliveryKey, first.Value, a.Value)
		}
	}
	last := acceptsBy(c.accepts, func(a *acceptance) lastlook.ID { return a.ID })
	for _, list := range acceptsBy(c.accepts, func(a *acceptance) lastlook.Key { return a.Key }) {
		for i := 1; i < len(list); i++ {
			first, second := list[i-1], list[i]
			if string(first.Value) != string(second.Value) || first.DeliveryKey == second.DeliveryKey {
				continue
			}
			// A telling that is known to have arrived is followed by a new one,
			// except where a value is told once only.
			known := first.row != nil && first.row.State == lastlook.StateSent && last[first.ID][len(last[first.ID])-1] == first
			if k := kindOf(first.Key.Topic); known && k != nil && !k.news || c.otherBetween(first, second) {
				continue
			}
			c.find(FaultTwoKeys, second.row, "%s was accepted as %s (row %d, run %d, %s), and as %s (row %d, run %d, %s)", first.Value,
				first.DeliveryKey, first.ID, first.Run, clock(first.At), second.DeliveryKey, second.ID, second.Run, clock(second.At))
		}
	}
}

// otherBetween reports whether another value of the key was on its way between
// two acceptances, as the rows' stories tell.
func (c *court) otherBetween(first, second *acceptance) bool {
	for _, r := range c.byKey[first.Key] {
		for _, s := range r.Story {
			at := s.At.UnixMicro()
			if s.Skipped > 0 && r.ID >= first.ID && r.ID <= second.ID {
				return true // nobody knows any more
			}
			if s.Event == lastlook.EventSending && at > first.LookedAt && at <= second.At && string(s.Value) != string(first.Value) {
				return true
			}
		}
	}
	return false
}

// told finds windows that go backwards.
func (c *court) told() {
	for key, list := range acceptsBy(c.accepts, func(a *acceptance) lastlook.Key { return a.Key }) {
		for i := 1; i < len(list); i++ {
			if w := list[i].Window; w.Policy == list[i-1].Window.Policy && w.Start < list[i-1].Window.Start {
				c.find(FaultToldBack, list[i].row, "told in %s after %s", w, list[i-1].Window)
			}
		}
		rows, last := c.byKey[key], list[len(list)-1]
		if len(rows) == 0 || rows[0].KeyRow == nil {
			continue // told of elsewhere
		}
		if w := rows[0].KeyRow.Told; w.Policy != last.Window.Policy || w.Start < last.Window.Start {
			c.find(FaultToldBack, last.row, "the key row says that it was told in %s, and it was in %s", w, last.Window)
		}
	}
}

// stale finds messages that say what was not to be seen between their look and
// their call, and such as should not have been sent.
func (c *court) stale() {
	for _, a := range c.accepts {
		k := kindOf(a.Key.Topic)
		var v Value
		if err := json.Unmarshal(a.Value, &v); err != nil || k == nil {
			c.find(FaultStale, a.row, "told %s of topic %q: %v", a.Value, a.Key.Topic, err)
			continue
		}
		if !v.holds() || v.Trouble != "" {
			c.find(FaultStale, a.row, "told %s, which does not hold", a.Value)
		}
		if maxAge := k.policy().MaxAge; a.calledAt-a.LookedAt > (maxAge + maxAge/2).Microseconds() {
			c.find(FaultStale, a.row, "told %s, seen %s before the call", a.Value, time.Duration(a.calledAt-a.LookedAt)*time.Microsecond)
		}
		// The step in force is set just after it is recorded.
		from, to := c.stepAt(a.LookedAt)-1, c.stepAt(a.calledAt)
		found := false
		for s := from; s <= to && !found; s++ {
			found = sightAt(c.Seed, k, a.Key.Subject, s).value == v
		}
		if !found {
			c.find(FaultStale, a.row, "told %s, which was not to be seen between steps %d and %d", a.Value, from, to)
		}
	}
}

// stepAt returns the last step recorded by a moment.
func (c *court) stepAt(at int64) int64 {
	i, _ := slices.BinarySearchFunc(c.steps, at, func(e Entry, at int64) int { return cmp.Compare(e.At, at+1) })
	if i == 0 {
		return 0
	}
	return c.steps[i-1].N
}

func clock(at int64) string { return time.UnixMicro(at).UTC().Format("15:04:05.000000") }
