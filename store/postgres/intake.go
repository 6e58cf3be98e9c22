package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lastlook/lastlook"
)

func compareLanes(a, b laneKey) int {
	return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.channel, b.channel), cmp.Compare(a.lane, b.lane), cmp.Compare(a.priority, b.priority))
}

// standing is one key of a call, what is known of it, and what is to be written.
type standing struct {
	lastlook.Standing
	key lastlook.Key
	// nextID and nextKey are numbers kept for what may have to be written.
	nextID    lastlook.ID
	nextKey   int64
	newKey    bool
	clearTold bool
}

// admitted is an item that is to become a row or, if id is 0, a mark.
type admitted struct {
	item  *lastlook.Prepared
	stand *standing
	id    lastlook.ID
	due   time.Time
}

// intake is the work of one call: a look at the keys, the core's decisions, and
// the statements that carry them out.
type intake struct {
	e      *Enqueuer
	s      session
	now    time.Time
	items  []lastlook.Prepared
	stands []standing // one per key, in the order of keys
	of     []int      // the stand of each item
	rows   []admitted
	marks  []admitted
	lanes  map[laneKey]int64
}

func (e *Enqueuer) newIntake(s session, now time.Time, items []lastlook.Prepared) *intake {
	in := &intake{e: e, s: s, now: lastlook.Micro(now), items: items, of: make([]int, len(items))}
	for i := range items {
		// Items are sorted by key, so equal ones are neighbours.
		if n := len(in.stands); n == 0 || in.stands[n-1].key != items[i].Key {
			in.stands = append(in.stands, standing{key: items[i].Key})
		}
		in.of[i] = len(in.stands) - 1
	}
	return in
}

// look asks for each key's standing.
func (in *intake) look() []step {
	var k keyScan
	var n, liveID, liveState, nextID, nextKey int64
	var muted bool
	to := append([]any{&n, &liveID, &liveState, &muted, &nextID, &nextKey}, k.short()...)
	return []step{{name: "enqueue_standing", args: keyArgs(len(in.stands), func(i int) lastlook.Key { return in.stands[i].key }), each: func(r scanner) error {
		if err := r.Scan(to...); err != nil {
			return err
		}
		st := &in.stands[n-1]
		st.LiveID, st.LiveState, st.Muted = lastlook.ID(liveID), lastlook.State(liveState), muted
		st.nextID, st.nextKey, st.Standing.Key = lastlook.ID(nextID), nextKey, k.row()
		return nil
	}}}
}

// keyArgs are n keys as four arrays.
func keyArgs(n int, key func(int) lastlook.Key) []any {
	var parts [4][]string
	for i := range parts {
		parts[i] = make([]string, n)
	}
	for i := range n {
		k := key(i)
		parts[0][i], parts[1][i], parts[2][i], parts[3][i] = k.Topic, k.Subject, k.Recipient, k.Channel
	}
	return []any{parts[0], parts[1], parts[2], parts[3]}
}

// admit asks the core about each item, and returns the statements that write
// what it said. Several items of one key see each other: the first is inserted,
// the next meet it alive.
func (in *intake) admit(ctx context.Context) ([]lastlook.EnqueueResult, []step, error) {
	res := make([]lastlook.EnqueueResult, len(in.items))
	for i := range in.items {
		it := &in.items[i]
		st := &in.stands[in.of[i]]
		adm, err := lastlook.Admit(in.now, &it.Item, st.Standing)
		if err != nil {
			return nil, nil, fmt.Errorf("item %d: %w", it.Index, err)
		}
		switch adm.Status {
		case lastlook.Inserted:
			adm.ID = st.nextID
			if st.Standing.Key.ID == 0 {
				st.Standing.Key.ID, st.newKey = st.nextKey, true
			}
			st.LiveID, st.LiveState = adm.ID, lastlook.StatePending
			if adm.ClearTold {
				st.clearTold = !st.newKey
				st.Standing.Key.Told, st.Standing.Key.ToldBy, st.Standing.Key.ToldAt = lastlook.Window{}, 0, time.Time{}
			}
			in.rows = append(in.rows, admitted{item: it, stand: st, id: adm.ID, due: adm.Due})
		case lastlook.Marked:
			in.marks = append(in.marks, admitted{item: it, stand: st})
		case lastlook.Duplicate, lastlook.AlreadyTold, lastlook.Muted:
		}
		res[it.Index] = adm.EnqueueResult
	}
	if len(in.rows)+len(in.marks) == 0 {
		return res, nil, nil
	}
	if err := in.findLanes(ctx); err != nil {
		return nil, nil, err
	}
	return res, in.write(), nil
}

// findLanes numbers the lanes of all rows and marks. In a caller's transaction,
// lanes that are new are added there.
func (in *intake) findLanes(ctx context.Context) error {
	in.lanes = map[laneKey]int64{}
	for _, list := range [...][]admitted{in.rows, in.marks} {
		for _, a := range list {
			in.lanes[laneOf(a.item)] = 0
		}
	}
	missing := in.e.lanes.find(in.lanes)
	for _, before := range [...]bool{false, true} {
		if len(missing) == 0 {
			return nil
		}
		var add []step
		if before {
			add = []step{{name: "enqueue_add_lanes", args: laneArgs(missing)}}
		}
		var err error
		if missing, err = findLanes(ctx, in.s, missing, in.lanes, add...); err != nil {
			return err
		}
	}
	if len(missing) > 0 { // added by a transaction that this one's snapshot does not see
		return fmt.Errorf("%w: %d lanes", errRaced, len(missing))
	}
	return nil
}

// write returns the statements for new keys, rows and marks.
func (in *intake) write() []step {
	var steps []step
	var fresh []*standing
	var cleared []int64
	for i := range in.stands {
		if st := &in.stands[i]; st.newKey {
			fresh = append(fresh, st)
		} else if st.clearTold {
			cleared = append(cleared, st.Standing.Key.ID)
		}
	}
	if len(fresh) > 0 {
		ids := make([]int64, len(fresh))
		for i, st := range fresh {
			ids[i] = st.Standing.Key.ID
		}
		args := append([]any{ids}, keyArgs(len(fresh), func(i int) lastlook.Key { return fresh[i].key })...)
		steps = append(steps, step{name: "enqueue_keys", args: args, adjust: raced})
	}
	if len(cleared) > 0 {
		steps = append(steps, step{name: "enqueue_clear_told", args: []any{cleared}})
	}
	if len(in.rows) > 0 {
		steps = append(steps, in.writeRows()...)
		if in.e.channel != "" {
			steps = append(steps, step{name: "notify", args: []any{in.e.channel}, each: discard})
		}
	}
	if len(in.marks) > 0 {
		steps = append(steps, in.writeMarks())
	}
	return steps
}

// writeRows writes new rows: those of keys that are new as well come last.
func (in *intake) writeRows() []step {
	slices.SortStableFunc(in.rows, func(a, b admitted) int {
		switch {
		case a.stand.newKey == b.stand.newKey:
			return 0
		case a.stand.newKey:
			return 1
		}
		return -1
	})
	b := newRows(len(in.rows))
	known := 0
	for i := range in.rows {
		a := &in.rows[i]
		b.ids[i], b.keys[i], b.lanes[i] = int64(a.id), a.stand.Standing.Key.ID, in.lanes[laneOf(a.item)]
		b.due[i], b.expires[i], b.episodes[i] = a.due.UnixMicro(), a.item.ExpiresAt.UnixMicro(), a.item.Episode
		b.retryOf[i], b.traces[i], b.detections[i] = int64(a.item.RetryOf), a.item.Trace, textOf(a.item.Detection)
		if a.item.MayRepeat {
			b.mayRepeat[i] = 1
		}
		if !a.stand.newKey {
			known++
		}
	}
	var steps []step
	for _, part := range []struct {
		name     string
		from, to int
	}{{"insert_live", 0, known}, {"insert_live_new", known, len(in.rows)}} {
		if f, t := part.from, part.to; f < t {
			steps = append(steps, step{name: part.name, adjust: raced, args: []any{b.ids[f:t], b.keys[f:t], b.lanes[f:t], b.due[f:t], b.expires[f:t]}})
		}
	}
	return append(steps, b.notifications(in.now))
}

func (in *intake) writeMarks() step {
	b := newRows(len(in.marks))
	for i := range in.marks {
		a := &in.marks[i]
		b.keys[i], b.lanes[i], b.due[i], b.expires[i] = a.stand.Standing.Key.ID, in.lanes[laneOf(a.item)], a.item.Due.UnixMicro(), a.item.ExpiresAt.UnixMicro()
		b.episodes[i], b.traces[i], b.detections[i] = a.item.Episode, a.item.Trace, textOf(a.item.Detection)
	}
	return step{name: "enqueue_marks", adjust: raced,
		args: []any{b.keys, b.lanes, in.now.UnixMicro(), b.due, b.expires, b.episodes, b.traces, b.detections}}
}

// rowColumns are the columns of notifications to be written.
type rowColumns struct {
	ids, keys, lanes, due, expires, episodes, retryOf, mayRepeat []int64
	traces, detections                                           []string
}

func newRows(n int) *rowColumns {
	ints := func() []int64 { return make([]int64, n) }
	return &rowColumns{ids: ints(), keys: ints(), lanes: ints(), due: ints(), expires: ints(), episodes: ints(), retryOf: ints(), mayRepeat: ints(),
		traces: make([]string, n), detections: make([]string, n)}
}

func (b *rowColumns) notifications(created time.Time) step {
	return step{name: "insert_notifications",
		args: []any{b.ids, b.keys, b.lanes, created.UnixMicro(), b.expires, b.episodes, b.retryOf, b.mayRepeat, b.traces, b.detections}}
}
