package crash

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lastlook/lastlook"
)

// Evidence is what is left when everything has ended.
type Evidence struct {
	Seed uint64
	// The journals.
	Enqueuer, Topics, Channels []Entry
	// Rows are all notifications, with their stories and key rows; Marks
	// counts the marks that are left.
	Rows  []lastlook.Record
	Marks int
	// Notes are the application's own rows.
	Notes []Note
	// Faults are what was done to children and their database, if there were
	// several children.
	Faults []Disturbance
	// Changed tells which final rows were seen to be otherwise later (see
	// [Ends.Compare]).
	Changed []string
}

// Fault is a kind of finding.
type Fault string

// What the judge may find.
const (
	// FaultLost: an acknowledged enqueue that neither ended nor is explained.
	FaultLost Fault = "lost"
	// FaultRepeat: a key was told twice in a window, or a row twice, and it was
	// not because nobody could know of the first time.
	FaultRepeat Fault = "disallowed_repeats"
	// FaultTwoKeys: one assertion was accepted under two delivery keys.
	FaultTwoKeys Fault = "two_keys_same_value"
	// FaultOneKey: two assertions were accepted under one delivery key.
	FaultOneKey Fault = "one_key_two_values"
	// FaultChanged: a final row is not what it was.
	FaultChanged Fault = "final_changed"
	// FaultBaseline: a key row or an outcome is not what was last accepted.
	FaultBaseline Fault = "baseline_wrong"
	// FaultToldBack: a telling, or a key row, is of an earlier window.
	FaultToldBack Fault = "told_moved_back"
	// FaultPhantom: a row is sent, and no channel accepted it.
	FaultPhantom Fault = "sent_undelivered"
	// FaultStale: a message says what was not to be seen at its look.
	FaultStale Fault = "stale_values"
	// FaultTorn: an application's transaction and its enqueue fell apart.
	FaultTorn Fault = "torn_transactions"
	// FaultLate: an old claim's change was applied.
	FaultLate Fault = "late_writes"
	// FaultZombie: a process that was stopped for longer than its lease changed
	// a row by a claim of before.
	FaultZombie Fault = "zombie_writes"
	// FaultDamaged: the database is damaged.
	FaultDamaged Fault = "damaged"
)

// Faults returns all kinds of findings.
func Faults() []Fault {
	return []Fault{FaultLost, FaultRepeat, FaultTwoKeys, FaultOneKey, FaultChanged, FaultBaseline, FaultToldBack,
		FaultPhantom, FaultStale, FaultTorn, FaultLate, FaultZombie, FaultDamaged}
}

// Finding is one thing that must not be.
type Finding struct {
	Fault Fault        `json:"fault"`
	ID    lastlook.ID  `json:"id,omitzero"`
	Key   lastlook.Key `json:"key,omitzero"`
	Text  string       `json:"text"`
}

// Ruling is what the judge says.
type Ruling struct {
	Rows     int
	Ended    map[string]int // rows by state and reason
	Enqueued map[string]int // acknowledged items by what they came to
	// Accepted counts the channels' acceptances, Repeats those that told again
	// what the outbox could not know to have been told.
	Accepted, Repeats int
	// Refused counts writes of children that had been stopped for longer than
	// their lease: none was made.
	Refused int
	// Resumed is how many seconds it took, by kind of [Disturbance], until the
	// next message was accepted.
	Resumed  map[string][]float64
	Findings []Finding
}

// Count returns how many findings are of a kind.
func (r *Ruling) Count(f Fault) int {
	n := 0
	for i := range r.Findings {
		if r.Findings[i].Fault == f {
			n++
		}
	}
	return n
}

// court is the evidence, in the order in which the rulings want it.
type court struct {
	Evidence
	ruling Ruling
	rows   map[lastlook.ID]*lastlook.Record
	byKey  map[lastlook.Key][]*lastlook.Record // in the order of ids
	// accepts are the acceptances, in the order of time.
	accepts []*acceptance
	steps   []Entry
}

// acceptance is one message that a channel accepted.
type acceptance struct {
	Entry
	calledAt int64
	// answer is what the channel then said, when; empty if it was killed before.
	answer     string
	answeredAt int64
	row        *lastlook.Record
}

// Judge holds the evidence against the promises. It is pure.
func Judge(ev Evidence) Ruling {
	c := &court{Evidence: ev, rows: map[lastlook.ID]*lastlook.Record{}, byKey: map[lastlook.Key][]*lastlook.Record{}}
	c.ruling = Ruling{Rows: len(ev.Rows), Ended: map[string]int{}, Enqueued: map[string]int{}}
	c.order()
	c.lost()
	c.marks()
	c.torn()
	c.repeats()
	c.deliveryKeys()
	c.outcomes()
	c.told()
	c.stale()
	c.zombies()
	c.ruling.Resumed = c.resumed()
	for _, t := range ev.Changed {
		c.find(FaultChanged, nil, "%s", t)
	}
	for i := range ev.Enqueuer {
		if e := &ev.Enqueuer[i]; e.Kind == KindLate {
			c.find(FaultLate, c.rows[e.ID], "an old %q of row %d was applied again in run %d", e.Text, e.ID, e.Run)
		}
	}
	return c.ruling
}

func (c *court) find(f Fault, row *lastlook.Record, format string, args ...any) {
	found := Finding{Fault: f, Text: fmt.Sprintf(format, args...)}
	if row != nil {
		found.ID, found.Key = row.ID, row.Key
	}
	c.ruling.Findings = append(c.ruling.Findings, found)
}

// order sorts the evidence.
func (c *court) order() {
	slices.SortFunc(c.Rows, func(a, b lastlook.Record) int { return cmp.Compare(a.ID, b.ID) })
	for i := range c.Rows {
		r := &c.Rows[i]
		c.rows[r.ID] = r
		c.byKey[r.Key] = append(c.byKey[r.Key], r)
		c.ruling.Ended[strings.TrimSuffix(r.State.String()+" "+string(r.Reason), " ")]++
	}
	type call struct {
		run int
		n   int64
	}
	called, accepted := map[call]int64{}, map[call]*acceptance{}
	for i := range c.Channels {
		e := c.Channels[i]
		id := call{e.Run, e.N}
		switch e.Kind {
		case KindCall:
			called[id] = e.At
		case KindAccept:
			a := &acceptance{Entry: e, calledAt: called[id], row: c.rows[e.ID]}
			accepted[id] = a
			c.accepts = append(c.accepts, a)
		case KindAnswer:
			if a := accepted[id]; a != nil {
				a.answer, a.answeredAt = e.Text, e.At
			}
		default: // the other journals'
		}
	}
	c.ruling.Accepted = len(c.accepts)
	for i := range c.Enqueuer {
		if e := c.Enqueuer[i]; e.Kind == KindStep {
			c.steps = append(c.steps, e)
		}
	}
}

// keys returns the keys that have rows, in order.
func (c *court) keys() []lastlook.Key {
	return slices.SortedFunc(maps.Keys(c.byKey), lastlook.Key.Compare)
}

// acceptsBy groups the acceptances, each group in the order of time.
func acceptsBy[K comparable](list []*acceptance, key func(*acceptance) K) map[K][]*acceptance {
	out := map[K][]*acceptance{}
	for _, a := range list {
		k := key(a)
		out[k] = append(out[k], a)
	}
	return out
}
