package postgres

import (
	"context"
	"math"
	"time"

	"github.com/lastlook/lastlook"
)

const (
	defaultPruneLimit = 1000
	// pruneBatch bounds the rows deleted in one transaction.
	pruneBatch = 500
)

// Prune implements [lastlook.Store]. It deletes in transactions of 500 rows;
// what an interrupted call has deleted stays deleted. No claim waits for it, nor
// it for one. An enqueue may wait for one of its transactions if it names a key
// that is just being deleted.
func (s *Store) Prune(ctx context.Context, r lastlook.PruneRequest) (lastlook.Pruned, error) {
	if r.Limit <= 0 {
		r.Limit = defaultPruneLimit
	}
	var out lastlook.Pruned
	from := position{math.MinInt64, 0}
	for out.Notifications < r.Limit {
		n, found, err := s.pruneNotifications(ctx, r, min(pruneBatch, r.Limit-out.Notifications), &from)
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

// position is an outcome's place in the order of ends.
type position struct{ endedAt, id int64 }

// pruneNotifications deletes up to limit ended notifications behind a position,
// and moves it. found is how many there were to delete.
func (s *Store) pruneNotifications(ctx context.Context, r lastlook.PruneRequest, limit int, from *position) (deleted, found int, err error) {
	all, reasons := int64(1), []string{}
	for _, reason := range r.Reasons {
		all, reasons = 0, append(reasons, string(reason))
	}
	var ids []int64
	var last position
	err = s.transact(ctx, "prune", reading, func(ctx context.Context, t *transaction) error {
		ids = nil
		args := []any{r.EndedBefore.UnixMicro(), all, reasons, from.endedAt, from.id, int64(limit)}
		return t.commit(ctx, step{name: "prune_find", args: args, each: func(r scanner) error {
			err := r.Scan(&last.id, &last.endedAt)
			ids = append(ids, last.id)
			return err
		}})
	})
	if err != nil || len(ids) == 0 {
		return 0, 0, err
	}
	*from = last
	var gone []int64
	err = s.transact(ctx, "prune", writing, func(ctx context.Context, t *transaction) error {
		gone = nil
		if err := t.run(ctx, step{name: "prune_outcomes", args: []any{ids}, each: into(&gone)}); err != nil {
			return err
		}
		return t.commit(ctx, step{name: "prune_notifications", args: []any{gone}})
	})
	if err != nil {
		return 0, len(ids), err
	}
	return len(gone), len(ids), nil
}

// into collects a column of numbers.
func into(list *[]int64) func(scanner) error {
	return func(r scanner) error {
		var n int64
		err := r.Scan(&n)
		*list = append(*list, n)
		return err
	}
}

// pruneKeys deletes up to limit idle keys behind the number after, and moves it.
func (s *Store) pruneKeys(ctx context.Context, before time.Time, limit int, after *int64) (deleted, found int, err error) {
	var ids []int64
	err = s.transact(ctx, "prune", reading, func(ctx context.Context, t *transaction) error {
		ids = nil
		return t.commit(ctx, step{name: "prune_find_keys", args: []any{*after, before.UnixMicro(), int64(limit)}, each: into(&ids)})
	})
	if err != nil || len(ids) == 0 {
		return 0, 0, err
	}
	*after = ids[len(ids)-1]
	var n int64
	err = s.transact(ctx, "prune", writing, func(ctx context.Context, t *transaction) error {
		var locked []int64
		if err := t.run(ctx, step{name: "prune_lock_keys", args: []any{ids}, each: into(&locked)}); err != nil {
			return err
		}
		return t.commit(ctx, step{name: "prune_keys", args: []any{locked, before.UnixMicro()}, count: &n})
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
	if len(last) == 0 {
		return ctx.Err()
	}
	var recipients, channels [2][]string // of those to be muted, and lifted
	for t, lift := range last {
		i := 0
		if lift {
			i = 1
		}
		recipients[i], channels[i] = append(recipients[i], t.recipient), append(channels[i], t.channel)
	}
	var steps []step
	if len(recipients[0]) > 0 {
		steps = append(steps, step{name: "mute_set", args: []any{recipients[0], channels[0], now.UnixMicro()}})
	}
	if len(recipients[1]) > 0 {
		steps = append(steps, step{name: "mute_lift", args: []any{recipients[1], channels[1]}})
	}
	return s.transact(ctx, "mute", writing, func(ctx context.Context, t *transaction) error { return t.commit(ctx, steps...) })
}
