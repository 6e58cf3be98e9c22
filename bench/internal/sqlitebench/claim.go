package sqlitebench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/sqlite"
)

const claimSize = 200

// Claim measures a claim in a file with a long history beside one with a short.
func (b *Bench) Claim(ctx context.Context) error {
	many := b.pick(1_000_000, 50_000)
	rounds := b.pick(60, 15)
	return b.inFolder(func(dir string) (err error) {
		var took [2][]float64
		var files [2]*sqlite.Store
		for i, outcomes := range []int{1_000, many} {
			b.Say("a file with %d outcomes", outcomes)
			files[i], err = history(ctx, filepath.Join(dir, fmt.Sprintf("history-%d.db", i)), outcomes)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, files[i].Close()) }()
			if err := fill(ctx, files[i], 1, (rounds+1)*claimSize); err != nil {
				return err
			}
		}
		for round := range rounds + 1 {
			for i, s := range files {
				d, err := oneClaim(ctx, s)
				if err != nil {
					return err
				}
				if round > 0 { // the first is for the caches
					took[i] = append(took[i], float64(d.Microseconds()))
				}
			}
		}
		b.add(fmt.Sprintf("claim of %d rows, 1 000 outcomes", claimSize), "µs", "Lanes and Claim", took[0]...)
		b.add(fmt.Sprintf("claim of %d rows, %d outcomes", claimSize, many), "µs", "Lanes and Claim", took[1]...)
		b.Summary["claim_1m_vs_1k"] = b.add("claim: long history ÷ short", "×", "aim: ≤ 1.2", median(took[1])/median(took[0]))
		return nil
	})
}

// oneClaim lists the lanes and claims from the one there is.
func oneClaim(ctx context.Context, s *sqlite.Store) (time.Duration, error) {
	start := time.Now()
	lanes, err := s.Lanes(ctx, lastlook.LaneQuery{Now: start, Topics: []string{topicName}, Channels: []string{channelName}})
	if err != nil || len(lanes) != 1 {
		return 0, errors.Join(err, fmt.Errorf("%d lanes", len(lanes)))
	}
	rows, err := s.Claim(ctx, lastlook.ClaimRequest{Now: start, Token: lastlook.NewToken(),
		Lanes: []lastlook.LaneClaim{{Lane: lanes[0].Lane, N: claimSize, MaxAttempts: 10, Lease: time.Hour}}})
	if err != nil || len(rows) != claimSize {
		return 0, errors.Join(err, fmt.Errorf("claimed %d", len(rows)))
	}
	return time.Since(start), nil
}

// history makes a file in which n notifications have ended: each key's tenth was
// the last. It writes what as many tellings would have left.
func history(ctx context.Context, path string, n int) (*sqlite.Store, error) {
	s, err := sqlite.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	// One real row makes the lane, and shows what a telling leaves.
	if err := fill(ctx, s, 0, 1); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if _, err := drainEngine(ctx, s, 0, 1); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	db, err := openSQL("sqlite", path)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	for _, text := range []string{
		`WITH RECURSIVE i(x) AS (SELECT 2 UNION ALL SELECT x + 1 FROM i WHERE x <= ?1 / 10)
		 INSERT INTO lastlook_keys SELECT x, topic, 'old-' || x, recipient, channel, seq, told_policy, told_start, told_by, told_at,
		     last_id, last_state, last_reason, last_at, failures, baseline_at, baseline, maybe FROM i, lastlook_keys k WHERE k.id = 1`,
		`WITH RECURSIVE i(x) AS (SELECT 2 UNION ALL SELECT x + 1 FROM i WHERE x < ?1)
		 INSERT INTO lastlook_notifications (id, key_id, lane_id, created_at, expires_at, detection)
		 SELECT x, 1 + x / 10, lane_id, created_at + x, expires_at, detection FROM i, lastlook_notifications n WHERE n.id = 1`,
		`WITH RECURSIVE i(x) AS (SELECT 2 UNION ALL SELECT x + 1 FROM i WHERE x < ?1)
		 INSERT INTO lastlook_outcomes (id, key_id, lane_id, state, ended_at, attempt, reason, looked_at, window_policy, window_start, seq, asserted, story)
		 SELECT x, 1 + x / 10, lane_id, state, ended_at + x, attempt, reason, looked_at, window_policy, window_start, seq, asserted, story
		 FROM i, lastlook_outcomes o WHERE o.id = 1`,
	} {
		if _, err := db.ExecContext(ctx, text, n); err != nil {
			return nil, errors.Join(fmt.Errorf("make a history: %w", err), db.Close(), s.Close())
		}
	}
	if _, err := db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		return nil, errors.Join(fmt.Errorf("make a history: %w", err), db.Close(), s.Close())
	}
	return s, db.Close()
}
