package sqlitebench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/sqlite"
)

// Backlog measures how many due rows one tick sends from behind retries that are
// not due yet, in the same lane.
func (b *Bench) Backlog(ctx context.Context) error {
	retries := b.pick(100_000, 10_000)
	if err := b.withStore(ctx, func(s *sqlite.Store) error {
		sent, took, err := tickBehind(ctx, s, retries)
		if err != nil {
			return err
		}
		b.Summary["sent_per_tick"] = b.add(fmt.Sprintf("sent by one tick behind %d retries", retries), "rows",
			fmt.Sprintf("of %d due; the limit of a tick is %d; it took %s", drainBatch, drainBatch, took.Round(time.Millisecond)), float64(sent))
		return nil
	}); err != nil {
		return fmt.Errorf("backlog: %w", err)
	}
	return b.inFolder(func(dir string) (err error) {
		o, err := openOriginal(ctx, dir)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, o.close()) }()
		if err := o.fill(ctx, 0, retries, "retry", time.Now().Add(time.Hour).UnixMilli()); err != nil {
			return err
		}
		if err := o.fill(ctx, retries, originalLimit, "pending", nil); err != nil {
			return err
		}
		told, err := o.tick(ctx)
		b.add(fmt.Sprintf("the original: sent by one tick behind %d retries", retries), "rows", fmt.Sprintf("of %d due, which is its limit", originalLimit), float64(told))
		return err
	})
}

// tickBehind makes rows that have been tried and wait, then as many due ones as a
// tick takes, and returns how many of these one tick sends.
func tickBehind(ctx context.Context, s *sqlite.Store, retries int) (int, time.Duration, error) {
	if err := fill(ctx, s, 0, retries); err != nil {
		return 0, 0, err
	}
	now := time.Now()
	for left := retries; left > 0; {
		lanes, err := s.Lanes(ctx, lastlook.LaneQuery{Now: now, Topics: []string{topicName}, Channels: []string{channelName}})
		if err != nil || len(lanes) != 1 {
			return 0, 0, errors.Join(err, fmt.Errorf("%d lanes", len(lanes)))
		}
		rows, err := s.Claim(ctx, lastlook.ClaimRequest{Now: now, Token: lastlook.NewToken(),
			Lanes: []lastlook.LaneClaim{{Lane: lanes[0].Lane, N: 5000, MaxAttempts: 10, Lease: time.Minute}}})
		if err != nil || len(rows) == 0 {
			return 0, 0, errors.Join(err, fmt.Errorf("claimed %d of %d", len(rows), left))
		}
		if err := applyAll(ctx, s, now, rows, func(r *lastlook.Row) (lastlook.Change, error) {
			return r.LookUnknown(now, lastlook.Next{Due: now.Add(time.Hour)}, lastlook.ReasonLookUnavailable, lastlook.Outcome{Err: "HTTP 503"})
		}); err != nil {
			return 0, 0, err
		}
		left -= len(rows)
	}
	if _, err := s.Enqueue(ctx, time.Now(), items(retries, drainBatch)); err != nil {
		return 0, 0, err
	}
	d, err := dispatcher(s, nil)
	if err != nil {
		return 0, 0, err
	}
	start := time.Now()
	res, err := d.Tick(ctx)
	return res.Sent, time.Since(start), err
}
