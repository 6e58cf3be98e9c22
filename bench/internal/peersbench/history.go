package peersbench

import (
	"context"
	"fmt"

	"github.com/lastlook/lastlook/store/postgres"
)

// past writes n notifications that have ended, of as many keys as fit ten each.
func past(ctx context.Context, s *postgres.Store, n int) error {
	keys := max(n/10, 1)
	indexes := map[string]string{
		"lastlook_notifications_key": "CREATE INDEX lastlook_notifications_key ON lastlook_notifications (key_id, id)",
		"lastlook_outcomes_ended":    "CREATE INDEX lastlook_outcomes_ended ON lastlook_outcomes (ended_at, id, state, reason, lane_id)",
	}
	var statements []string
	for name := range indexes {
		statements = append(statements, "DROP INDEX "+name)
	}
	// What was told long ago, by the clock of a year before.
	const then = "1764547200000000"
	statements = append(statements,
		"SELECT setval('lastlook_ids', "+fmt.Sprint(2*n)+"), setval('lastlook_key_ids', "+fmt.Sprint(2*keys)+")",
		fmt.Sprintf(`INSERT INTO lastlook_keys (id, seq, told_start, told_by, told_at, last_id, last_at, baseline_at, last_state, topic, subject, recipient, channel, told_policy, baseline)
			SELECT i, 10, %[1]s, i, %[1]s, i, %[1]s, %[1]s, 4, '%[2]s', 'past' || i, 'device-' || i %% 5000, '%[3]s', 'always', '%[4]s' FROM generate_series(1, %[5]d) i`,
			then, topicName, channelName, asserted, keys),
		fmt.Sprintf(`INSERT INTO lastlook_notifications (id, key_id, lane_id, created_at, expires_at, detection)
			SELECT i, 1 + i %% %[1]d, 1, %[2]s + i, %[2]s + i, '%[3]s' FROM generate_series(1, %[4]d) i`, keys, then, asserted, n),
		fmt.Sprintf(`INSERT INTO lastlook_outcomes (id, key_id, lane_id, ended_at, attempt, state, looked_at, window_start, seq, reason, window_policy, asserted)
			SELECT i, 1 + i %% %[1]d, 1, %[2]s + i, 1, 4, %[2]s + i, %[2]s + i, 1, '', 'always', '%[3]s' FROM generate_series(1, %[4]d) i`, keys, then, asserted, n))
	for _, text := range indexes {
		statements = append(statements, text)
	}
	// A vacuum that comes by itself would come into the measurement.
	statements = append(statements, "VACUUM ANALYZE lastlook_notifications", "VACUUM ANALYZE lastlook_outcomes", "VACUUM ANALYZE lastlook_keys", "CHECKPOINT")
	for _, text := range statements {
		if _, err := s.Pool().Exec(ctx, text); err != nil {
			return fmt.Errorf("%.40s…: %w", text, err)
		}
	}
	return nil
}

// history measures the drain with a long history and without, in turns.
func (b *Bench) history(ctx context.Context) error {
	n, rounds := b.pick(40_000, 3_000), b.pick(5, 1)
	var short, long []float64
	err := b.rig.withStore(ctx, func(_ *database, young *postgres.Store) error {
		return b.rig.withStore(ctx, func(_ *database, old *postgres.Store) error {
			for _, s := range []*postgres.Store{young, old} { // the lane
				if err := fill(ctx, s, 0, warmUp); err != nil {
					return err
				}
				if _, err := drainStore(ctx, b.rig, 0, s); err != nil {
					return err
				}
			}
			if _, err := old.Pool().Exec(ctx, "DELETE FROM lastlook_notifications; DELETE FROM lastlook_outcomes; DELETE FROM lastlook_keys"); err != nil {
				return err
			}
			if err := past(ctx, old, b.History); err != nil {
				return err
			}
			for round := range rounds {
				for i := range 2 {
					s, to := young, &short
					if (i+round)%2 == 1 {
						s, to = old, &long
					}
					if err := fill(ctx, s, warmUp+round*(warmUp+n), warmUp+n); err != nil {
						return err
					}
					u, err := drainStore(ctx, b.rig, n, s)
					if err != nil {
						return err
					}
					*to = append(*to, u.rate)
				}
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	b.add("drain, no history", unitRate, "", short...)
	b.add(fmt.Sprintf("drain, %d notifications have ended before", b.History), unitRate, "", long...)
	b.ratio("history_slowdown", "a long history: how many times slower", "aim: ≤ 1.1", ratios(short, long))
	return nil
}
