package crash

import (
	"slices"
	"time"

	"github.com/lastlook/lastlook"
)

// Disturbance is something that was done to a child, or to the database that all
// of them share.
type Disturbance struct {
	// Kind says what: "kill", "stop" (until it was continued), or what the
	// [Server] calls it.
	Kind string `json:"kind"`
	// Run is the child's; 0 if it was done to the database.
	Run int `json:"run,omitzero"`
	// From and Until are Unix microseconds.
	From  int64 `json:"from"`
	Until int64 `json:"until"`
}

// DisturbStop is a child that was stopped and continued.
const DisturbStop = "stop"

// undisturbed reports whether the child that was given the first acceptance could
// know and write that until the second.
func (c *court) undisturbed(first, second *acceptance) bool {
	if len(c.Faults) == 0 {
		return first.Run == second.Run
	}
	for i := range c.Faults {
		f := &c.Faults[i]
		if (f.Run == 0 || f.Run == first.Run) && f.From <= second.At && f.Until >= first.calledAt {
			return false
		}
	}
	return true
}

// absorbTime is how soon a sweep finds a mark that was committed while its row
// ended, some starvation allowed for.
const absorbTime = 2 * time.Second

// absorbed reports whether the key's next row was enqueued before a sweep could
// make one of the mark, and was looked at instead. Where enqueuers do not wait for
// those who end rows, a mark may be committed just after the end of its row.
func (c *court) absorbed(r *lastlook.Record, since int64, looks []int64) bool {
	rows := c.byKey[r.Key]
	i := slices.Index(rows, r) + 1
	return len(c.Faults) > 0 && i < len(rows) && rows[i].CreatedAt.Sub(r.EndedAt) < absorbTime && lookedAt(rows[i], since, looks)
}

// zombies finds writes by claims that are older than a stop which outlived them:
// their rows were others' by then.
func (c *court) zombies() {
	for i := range c.Faults {
		f := &c.Faults[i]
		if f.Kind != DisturbStop {
			continue
		}
		for j := range c.Enqueuer {
			e := &c.Enqueuer[j]
			if e.Run != f.Run || e.At < f.Until || e.LookedAt > f.From {
				continue
			}
			switch e.Kind {
			case KindRefused:
				c.ruling.Refused++
			case KindWrote:
				c.find(FaultZombie, c.rows[e.ID], "run %d claimed it at %s, was stopped from %s to %s, and its %q was applied",
					e.Run, clock(e.LookedAt), clock(f.From), clock(f.Until), e.Text)
			default: // of no interest here
			}
		}
	}
}

// resumed returns, by kind, how many seconds passed from the beginning of each
// disturbance of the database to the first acceptance of a message whose look came
// after its end: whatever was written for it, the server that came back has.
func (c *court) resumed() map[string][]float64 {
	out := map[string][]float64{}
	for i := range c.Faults {
		f := &c.Faults[i]
		if f.Run != 0 {
			continue
		}
		for _, a := range c.accepts {
			if a.LookedAt > f.Until {
				out[f.Kind] = append(out[f.Kind], float64(a.At-f.From)/1e6)
				break
			}
		}
	}
	return out
}
