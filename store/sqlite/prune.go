package sqlite

import (
	"context"
	"time"

	"github.com/lastlook/lastlook"
)

const (
	defaultPruneLimit = 1000
	// pruneBatch bounds the rows deleted in one transaction: writers wait as
	// long as that takes.
	pruneBatch = 500
)

// Prune implements [lastlook.Store]. It deletes in transactions of 500 rows;
// what an interrupted call has deleted stays deleted.
func (s *Store) Prune(ctx context.Context, r lastlook.PruneRequest) (lastlook.Pruned, error) {
	if r.Limit <= 0 {
		r.Limit = defaultPruneLimit
	}
	var out lastlook.Pruned
	for out.Notifications < r.Limit {
		n, found, err := s.pruneNotifications(ctx, r, min(pruneBatch, r.Limit-out.Notifications))
		out.Notifications += n
		if err != nil {
			return out, err
		}
		if found < pruneBatch {
			break
		}
	}
	if r.KeysIdleBefore.IsZero() {
		return out, nil
	}
	for after := int64(0); out.Keys < r.Limit; {
		n, found, err := s.pruneKeys(ctx, r.KeysIdleBefore, min(pruneBatch, r.Limit-out.Keys), &after)
		out.Keys += n
		if err != nil {
			return out, err
		}
		if found < pruneBatch {
			break
		}
	}
	return out, nil
}

// pruneNotifications deletes up to limit ended notifications. found is how many
// there were to delete.
func (s *Store) pruneNotifications(ctx context.Context, r lastlook.PruneRequest, limit int) (deleted, found int, err error) {
	var ids []int64
	find := batch{name: "prune_find", n: max(len(r.Reasons), 1), width: 1,
		tail: []any{r.EndedBefore.UnixMicro(), len(r.Reasons) == 0, int64(limit)},
		add: func(args []any, i int) []any {
			if len(r.Reasons) == 0 {
				return append(args, nil)
			}
			return append(args, string(r.Reasons[i]))
		}}
	err = s.read(ctx, "prune", func(ctx context.Context, q session) error {
		return find.each(ctx, q, func(r *row) error {
			ids = append(ids, r.int(0))
			return nil
		})
	})
	if err != nil || len(ids) == 0 {
		return 0, 0, err
	}
	var gone []int64
	err = s.write(ctx, "prune", func(ctx context.Context, q *writer) error {
		outcomes := batch{name: "prune_outcomes", n: len(ids), width: 1, add: func(args []any, i int) []any { return append(args, ids[i]) }}
		if err := outcomes.each(ctx, q, func(r *row) error {
			gone = append(gone, r.int(0))
			return nil
		}); err != nil {
			return err
		}
		rows := batch{name: "prune_notifications", n: len(gone), width: 1, add: func(args []any, i int) []any { return append(args, gone[i]) }}
		_, err := rows.exec(ctx, q)
		return err
	})
	if err != nil {
		return 0, len(ids), err
	}
	return len(gone), len(ids), nil
}

// pruneKeys deletes up to limit idle keys behind the number after, and moves it.
func (s *Store) pruneKeys(ctx context.Context, before time.Time, limit int, after *int64) (deleted, found int, err error) {
	var ids []int64
	err = s.read(ctx, "prune", func(ctx context.Context, q session) error {
		return selectRows(ctx, q, "prune_find_keys", []any{*after, before.UnixMicro(), int64(limit)}, func(r *row) error {
			ids = append(ids, r.int(0))
			return nil
		})
	})
	if err != nil || len(ids) == 0 {
		return 0, 0, err
	}
	*after = ids[len(ids)-1]
	var n int64
	err = s.write(ctx, "prune", func(ctx context.Context, q *writer) error {
		var err error
		n, err = batch{name: "prune_keys", n: len(ids), width: 1, add: func(args []any, i int) []any { return append(args, ids[i]) }}.exec(ctx, q)
		return err
	})
	if err != nil {
		return 0, len(ids), err
	}
	return int(n), len(ids), nil
}

// Mute implements [lastlook.Store]. Of several changes of one recipient and
// channel, the last one counts.
func (s *Store) Mute(ctx context.Context, now time.Time, changes []lastlook.MuteChange) error {
	type target struct{ recipient, channel string }
	last := make(map[target]bool, len(changes))
	for _, c := range changes {
		last[target{c.Recipient, c.Channel}] = c.Lift
	}
	var set, lift []target
	for t, lifted := range last {
		if lifted {
			lift = append(lift, t)
		} else {
			set = append(set, t)
		}
	}
	if len(last) == 0 {
		return nil
	}
	return s.write(ctx, "mute", func(ctx context.Context, q *writer) error {
		on := batch{name: "mute_set", n: len(set), width: 2, tail: []any{now.UnixMicro()}, add: func(args []any, i int) []any {
			return append(args, set[i].recipient, set[i].channel)
		}}
		if _, err := on.exec(ctx, q); err != nil {
			return err
		}
		off := batch{name: "mute_lift", n: len(lift), width: 2, add: func(args []any, i int) []any {
			return append(args, lift[i].recipient, lift[i].channel)
		}}
		_, err := off.exec(ctx, q)
		return err
	})
}
