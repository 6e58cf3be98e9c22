package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/lastlook/lastlook"
)

// mark is an edge that met a live row, locked.
type mark struct {
	id, key int64
	token   pgtype.UUID
}

// lockMarks locks the marks of keys and returns them, those of a key in the order
// in which they were left.
func lockMarks(ctx context.Context, t *transaction, keys []int64) ([]mark, error) {
	slices.Sort(keys)
	var marks []mark
	err := t.run(ctx, step{name: "marks_lock", args: []any{keys}, each: func(r scanner) error {
		var m mark
		err := r.Scan(&m.id, &m.key, &m.token)
		marks = append(marks, m)
		return err
	}})
	return marks, err
}

// endMarks deletes the marks that the claims of ended rows have read, and turns
// what is left of each key into one new row. It returns statements that are still
// to be run. Marks that others commit after this are a sweep's to find.
func (a *applier) endMarks(ctx context.Context) ([]step, error) {
	byKey := make(map[int64]*ended, len(a.ended))
	keys := make([]int64, len(a.ended))
	for i := range a.ended {
		keys[i], byKey[a.ended[i].key] = a.ended[i].key, &a.ended[i]
	}
	marks, err := lockMarks(ctx, a.t, keys)
	if err != nil || len(marks) == 0 {
		return nil, err
	}
	var gone []int64
	left := map[int64][]int64{}
	for _, m := range marks {
		e := byKey[m.key]
		if e.change.DropMarks || m.token.Valid && m.token == e.token {
			gone = append(gone, m.id)
		} else {
			left[m.key] = append(left[m.key], m.id)
		}
	}
	var steps []step
	if len(gone) > 0 {
		steps = append(steps, step{name: "marks_delete", args: []any{gone}})
	}
	_, more, err := revive(ctx, a.t, a.now, left)
	return append(steps, more...), err
}

// revive makes one new row for each of the keys, of the last of its locked
// marks, unless the key has a live row, and deletes those marks. It returns the
// rows, and statements that are still to be run.
func revive(ctx context.Context, t *transaction, now time.Time, marks map[int64][]int64) ([]lastlook.ID, []step, error) {
	if len(marks) == 0 {
		return nil, nil, nil
	}
	last := make([]int64, 0, len(marks))
	for _, ids := range marks {
		last = append(last, slices.Max(ids))
	}
	slices.Sort(last)
	b := newRows(0)
	var id, lane, due, expires, episode, next int64
	var trace, detection string
	var key keyScan
	to := append([]any{&id, &lane, &due, &expires, &episode, &trace, &detection, &next}, key.all()...)
	err := t.run(ctx, step{name: "marks_read", args: []any{last}, each: func(r scanner) error {
		if err := r.Scan(to...); err != nil {
			return err
		}
		b.ids, b.keys, b.lanes = append(b.ids, next), append(b.keys, key.id), append(b.lanes, lane)
		b.due = append(b.due, lastlook.ReviveDue(now, timeOf(due), timeOf(expires), key.row()).UnixMicro())
		b.expires, b.episodes, b.traces, b.detections = append(b.expires, expires), append(b.episodes, episode), append(b.traces, trace), append(b.detections, detection)
		b.retryOf, b.mayRepeat = append(b.retryOf, 0), append(b.mayRepeat, 0)
		return nil
	}})
	if err != nil || len(b.ids) == 0 {
		return nil, nil, err
	}
	made := map[int64]bool{}
	err = t.run(ctx, step{name: "revive_live", args: []any{b.ids, b.keys, b.lanes, b.due, b.expires}, each: func(r scanner) error {
		err := r.Scan(&id)
		made[id] = true
		return err
	}})
	if err != nil || len(made) == 0 {
		return nil, nil, err
	}
	kept := newRows(0)
	var ids []lastlook.ID
	var gone []int64
	for i, id := range b.ids {
		if made[id] {
			kept.take(b, i)
			ids = append(ids, lastlook.ID(id))
			gone = append(gone, marks[b.keys[i]]...)
		}
	}
	return ids, []step{kept.notifications(now), {name: "marks_delete", args: []any{gone}}}, nil
}

// take appends the i-th of other rows.
func (b *rowColumns) take(from *rowColumns, i int) {
	b.ids, b.keys, b.lanes = append(b.ids, from.ids[i]), append(b.keys, from.keys[i]), append(b.lanes, from.lanes[i])
	b.due, b.expires, b.episodes = append(b.due, from.due[i]), append(b.expires, from.expires[i]), append(b.episodes, from.episodes[i])
	b.retryOf, b.mayRepeat = append(b.retryOf, from.retryOf[i]), append(b.mayRepeat, from.mayRepeat[i])
	b.traces, b.detections = append(b.traces, from.traces[i]), append(b.detections, from.detections[i])
}
