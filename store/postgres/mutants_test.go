//go:build !race

// Planting mistakes tests the suite, mostly in one goroutine: `make mutants`
// runs it, without the race detector, which would find nothing and take long.

package postgres_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lastlook/lastlook/store/storetest"
)

// TestMutants plants mistakes, those of the suite and those that only these
// statements can make, and demands that the suite notices each.
func TestMutants(t *testing.T) {
	h := harness(newPool(t, cluster.DSN(t), 0))
	h.Mutants = sqlMutants()
	storetest.RunMutants(t, h)
}

// edit makes a mutant of a statement, or several, by replacing a piece of its text.
func edit(statement, clause, mistake, from, to string) storetest.Mutant {
	return storetest.Mutant{Name: "sql/" + statement + "/" + mistake, Mistake: mistake, Clause: clause, SQL: func(name, text string) string {
		if !slices.Contains(strings.Fields(statement), name) {
			return text
		}
		if !strings.Contains(text, from) {
			panic("mutant of " + statement + ": no " + from)
		}
		return strings.ReplaceAll(text, from, to)
	}}
}

func sqlMutants() []storetest.Mutant {
	const token = "l.token = x.token AND "
	return []storetest.Mutant{
		edit("apply_end", "fence/stale token while sending", "ends without the token", token, ""),
		edit("apply_end", "fence/the state is compared", "ends from any state", "l.state = x.from_state\nAND", ""),
		edit("apply_end", "lease/the reaper waits for it", "ends under a living lease", " AND l.lease <= x.lease_until", ""),
		edit("apply_end", "fence/stale token while pending", "ends what has no claim", "x.token IS NULL OR", "l.token IS NULL OR x.token IS NULL OR"),
		edit("apply_end", "story/each step", "the story is lost", "coalesce(nullif(x.story, ''), l.story)", "l.story"),
		edit("apply_end", "keyrow/a delivery clears maybe", "maybe stays", "WHEN 1 THEN NULL WHEN 2", "WHEN 2"),
		edit("apply_end", "keyrow/nothing else does", "maybe moves the baseline", "baseline    = CASE x.effect WHEN 1 THEN", "baseline    = CASE WHEN x.effect > 0 THEN"),
		edit("apply_end", "failures/a delivery resets them", "failures stay", "CASE x.effect WHEN 1 THEN 0 ELSE k.failures + x.failed END", "k.failures + x.failed"),
		edit("apply_end", "failures/which ends count", "failures are not counted", "k.failures + x.failed", "k.failures"),
		edit("apply_end", "failures/which ends count", "the last end is not kept", "last_reason = x.reason, ", ""),
		edit("apply_sending", "lease/sending needs a living one", "sends under a dead lease", "AND l.lease > x.lease_after ", ""),
		edit("apply_sending", "fence/stale token while pending", "sends without the token", token, ""),
		edit("apply_sending", "lease/sending renews it", "the lease stays", "lease = x.lease, ", ""),
		edit("apply_sending", "story/each step", "the story is lost", "coalesce(nullif(x.story, ''), l.story)", "nullif(x.story, '')"),
		edit("apply_waiting", "fence/stale token while sending", "steps without the token", token, ""),
		edit("apply_waiting", "fence/the state is compared", "steps from any state", "l.state = x.from_state\nAND", ""),
		edit("apply_waiting", "rules/each as stored", "due stays", "due = x.due, ", ""),
		edit("apply_waiting", "rules/each as stored", "the attempt is not given back", "attempt = x.attempt, ", ""),
		edit("apply_waiting", "told/an unknown outcome counts", "maybe is not kept", "maybe = x.asserted, ", ""),
		edit("apply_waiting", "told/except by this very row", "told by nobody", "told_by = x.id", "told_by = 0"),
		edit("apply_waiting", "keyrow/sequence of assertions", "the sequence stays", "maybe = x.asserted, seq = x.seq,", "maybe = x.asserted,"),
		edit("apply_mute", "mute/by a recipient that is gone", "does not mute", "ON CONFLICT DO NOTHING", "LIMIT 0 ON CONFLICT DO NOTHING"),
		edit("marks_lock", "marks/unread becomes a row", "no mark is seen", "m.key_id = v.key_id", "m.key_id = -v.key_id"),
		edit("marks_delete", "marks/read goes with the row", "no mark is deleted", "WHERE id", "WHERE false AND id"),
		edit("marks_read", "marks/the new row waits as any other", "the mark's time does not count", "m.due,", "0,"),
		edit("claim_rows", "claim/not under a living claim", "claims what is claimed", "(l.lease IS NULL OR l.lease <= $1::bigint)", "(l.lease IS NULL OR l.lease <= $1::bigint OR true)"),
		edit("claim_rows", "claim/not under a living claim", "claims only what nobody ever claimed", "(l.lease IS NULL OR l.lease <= $1::bigint)", "l.lease IS NULL"),
		edit("claim_rows", "claim/never a row in sending", "claims what is being sent", "l.state <> 2 AND", ""),
		edit("claim_rows", "claim/attempt cap", "no cap", "l.attempt < v.cap", "l.attempt < 1000 + v.cap"),
		edit("claim_rows", "claim/only due rows", "claims before the time", "l.due <= $1::bigint", "l.due <= 1000 * $1::bigint"),
		edit("claim_rows", "claim/longest due first", "newest first", "ORDER BY l.due, l.id", "ORDER BY l.due DESC, l.id DESC"),
		edit("claim_rows", "claim/attempts are counted at the claim", "attempts are not counted", "l.attempt + 1", "l.attempt"),
		edit("claim_rows", "claim/retry rows become pending", "a retry row cannot be claimed", "l.state <> 2 AND", "l.state = 1 AND"),
		edit("claim_read", "mute/is seen by the claim", "mutes of other channels count", "AND m.channel = k.channel", "AND m.channel <> k.channel"),
		edit("claim_marks", "marks/read goes with the row", "marks are not read", "AND key_id", "AND false AND key_id"),
		edit("claim_marks", "marks/of other keys are left alone", "all marks are read", "AND key_id", "OR key_id"),
		edit("lanes", "lanes/living claims do not count", "claimed rows count", "(l.lease IS NULL OR l.lease <= $1::bigint)", "(l.lease IS NULL OR l.lease <= $1::bigint OR true)"),
		edit("lanes", "lanes/earliest due", "the latest due", "ORDER BY l.due, l.id LIMIT 1), -1", "ORDER BY l.due DESC LIMIT 1), -1"),
		edit("enqueue_standing", "live/one row per key", "sees only pending rows", "WHERE l.key_id = k.id", "WHERE l.key_id = k.id AND l.state = 1"),
		edit("enqueue_standing", "mute/keeps items out", "sees no mutes", "m.recipient = v.recipient", "m.recipient = '?' || v.recipient"),
		edit("enqueue_standing", "keys/each part counts", "the channel does not count", "k.channel = v.channel", "k.channel >= ''"),
		edit("enqueue_clear_told", "enqueue/may repeat", "told stays", "told_policy = '', told_start = 0,", "told_policy = told_policy,"),
		edit("sweep_claims", "sweep/finds dead claims", "finds nothing", "c.lease <= $1::bigint", "c.lease <= -$1::bigint"),
		edit("sweep_expired", "expiry/not while being sent", "expires what is being sent", " AND l.state <> 2", ""),
		edit("sweep_expired", "expiry/finds what has passed", "a microsecond late", "l.expires_at <= $1", "l.expires_at < $1"),
		edit("sweep_marks", "marks/without a live row are swept up", "finds only marks with a row", "NOT EXISTS", "EXISTS"),
		edit("sweep_renew", "sweep/finds dead claims", "a renewed claim is forgotten", "SET lease = x.lease", "SET lease = 200000000000000000"),
		edit("prune_find", "prune/by time and reason", "reasons do not count", "$2::bigint <> 0 OR", "$2::bigint >= 0 OR"),
		edit("prune_find", "prune/by time and reason", "younger ones too", "o.ended_at < $1", "o.ended_at <= $1"),
		edit("prune_find_keys prune_keys", "prune/keys told without end", "forgets what was told for ever", " AND k.told_policy NOT IN ('once', 'episodes')", ""),
		edit("prune_find_keys prune_keys", "prune/idle keys", "keys in use", "< $2::bigint", "< 9e18 + 0 * $2::bigint"),
		edit("list_subject", "list/filters", "the channel does not count", "$4::text IN ('', k.channel)", "$4::text = $4::text"),
		edit("list_all", "list/newest first, by pages", "pages overlap", "n.id < $7", "n.id <= $7"),
		edit("stats_live", "stats/live rows", "dead leases count", "l.lease > $1::bigint", "l.lease > 0 * $1::bigint"),
		edit("mute_lift", "mute/keeps items out", "does not lift", "WHERE m.ctid", "WHERE false AND m.ctid"),
	}
}
