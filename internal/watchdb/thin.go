package watchdb

import (
	"context"
	"time"

	"github.com/lastlook/lastlook/watch"
)

// maxThinned bounds the observations of a listing that are looked at together.
const maxThinned = 10_000

// unthinned is a listing with days that are over and not thinned.
type unthinned struct {
	n, from int64
	last    int64 // the observation that decides
}

// Thin implements [watch.Store]. Each listing is a transaction of its own, which
// locks nothing but what it deletes: no look waits for it for long.
func (s *Store) Thin(ctx context.Context, before time.Time, limit int) (out watch.Thinned, err error) {
	day := int64(watch.DayOf(before))
	var list []unthinned
	err = s.read(ctx, "find days to be thinned", func(ctx context.Context, q *session) error {
		list = nil
		return q.query(ctx, "unthinned", func(scan func(...any) error) error {
			var u unthinned
			err := scan(&u.n, &u.from, &u.last)
			list = append(list, u)
			return err
		}, day, max(limit, 0))
	})
	if err != nil {
		return out, err
	}
	for _, u := range list {
		n, err := s.thin(ctx, u, day)
		if err != nil {
			return out, err
		}
		out.Listings++
		out.Observations += n
	}
	return out, nil
}

// thin thins the days of a listing before one, or as many of them as are read
// together.
func (s *Store) thin(ctx context.Context, u unthinned, day int64) (deleted int, err error) {
	numbers, until := []int64(nil), day
	err = s.read(ctx, "read days to be thinned", func(ctx context.Context, q *session) error {
		numbers, until = nil, day
		var at []int64
		var seen []watch.Observation
		from, to := watch.DayStart(int(u.from)), watch.DayStart(int(day))
		err := q.query(ctx, "old_observations", func(scan func(...any) error) error {
			var r observationRow
			if err := scan(r.targets()...); err != nil {
				return err
			}
			o, err := r.observation()
			if err == nil {
				at, seen = append(at, r.n.Int64), append(seen, *o)
			}
			return err
		}, u.n, from.UnixMicro(), to.UnixMicro(), maxThinned)
		if err != nil {
			return err
		}
		if len(seen) == maxThinned { // the last day may go on: another time, unless it is all
			if last := int64(watch.DayOf(seen[len(seen)-1].At)); last > int64(watch.DayOf(seen[0].At)) {
				until = last
			}
		}
		for i, gone := range watch.Redundant(seen) {
			if gone && at[i] != u.last && int64(watch.DayOf(seen[i].At)) < until {
				numbers = append(numbers, at[i])
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	var n int64
	err = s.write(ctx, "thin observations", func(ctx context.Context, q *session) error {
		n = 0
		if len(numbers) > 0 {
			arg, err := jsonText(numbers)
			if err != nil {
				return err
			}
			if n, err = q.exec(ctx, "delete_thinned", u.n, arg); err != nil {
				return err
			}
		}
		_, err := q.exec(ctx, "thinned", u.n, until)
		return err
	})
	return int(n), err
}
