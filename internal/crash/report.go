package crash

import (
	"fmt"
	"maps"
	"slices"
)

// Line is the outcome in one line.
func (o *Outcome) Line() string {
	return fmt.Sprintf("crash: kills=%d rows=%d lost=%d repeats=%d two_keys_same_value=%d final_changed=%d",
		o.Kills, o.Rows, o.Count(FaultLost), o.Repeats, o.Count(FaultTwoKeys), o.Count(FaultChanged))
}

// Summary is the outcome as figures: those of the line, and the rest.
func (o *Outcome) Summary() map[string]float64 {
	out := map[string]float64{
		"kills": float64(o.Kills), "kills_random": float64(o.Random), "clean_stops": float64(o.Stops), "runs": float64(o.Runs),
		"rows": float64(o.Rows), "accepted": float64(o.Accepted), "repeats": float64(o.Repeats),
		"failpoints": float64(len(o.Points)), "failpoints_unreached": float64(len(o.Unreached)),
	}
	for _, f := range Faults() {
		out[string(f)] = float64(o.Count(f))
	}
	return out
}

// Row is one line of the detail.
type Row struct {
	What  string `json:"what"`
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// Details counts deaths at failpoints, and what became of items and rows.
func (o *Outcome) Details() []Row {
	var out []Row
	for _, part := range []struct {
		what   string
		counts map[string]int
	}{{"died at", o.Points}, {"enqueue answered", o.Enqueued}, {"ended", o.Ended}} {
		for _, name := range slices.Sorted(maps.Keys(part.counts)) {
			out = append(out, Row{part.what, name, part.counts[name]})
		}
	}
	return out
}

// Err says what speaks against the outbox, or against the run: nothing may have
// been found, every failpoint must have been reached, and there must have been
// something to judge.
func (o *Outcome) Err() error {
	switch {
	case len(o.Findings) > 0:
		return fmt.Errorf("crash: %d findings", len(o.Findings))
	case len(o.Unreached) > 0:
		return fmt.Errorf("crash: the child did not die often enough at %v", o.Unreached)
	case o.Accepted == 0 || o.Ended["sent"]*4 < o.Rows:
		return fmt.Errorf("crash: of %d rows, %d were sent: that proves nothing", o.Rows, o.Ended["sent"])
	}
	return nil
}
