//go:build !race

// Planting mistakes tests the suite, mostly in one goroutine: `make mutants`
// runs it, without the race detector, which would find nothing and take long.

package sqlite_test

import (
	"strings"
	"testing"

	"github.com/lastlook/lastlook/store/storetest"
)

// TestMutants plants mistakes, those of the suite and those that only these
// statements can make, and demands that the suite notices each.
func TestMutants(t *testing.T) {
	h := harness()
	h.Mutants = sqlMutants()
	storetest.RunMutants(t, h)
}

// edit makes a mutant of one statement by replacing a piece of its text.
func edit(statement, clause, mistake, from, to string) storetest.Mutant {
	return storetest.Mutant{Name: "sql/" + statement + "/" + mistake, Mistake: mistake, Clause: clause, SQL: func(name, text string) string {
		if name != statement {
			return text
		}
		if !strings.Contains(text, from) {
			panic("mutant of " + statement + ": no " + from)
		}
		return strings.ReplaceAll(text, from, to)
	}}
}

func sqlMutants() []storetest.Mutant {
	return []storetest.Mutant{
		edit("apply_end", "fence/stale token while sending", "ends without the token", "token = ?3 AND ", ""),
		edit("apply_end", "fence/the state is compared", "ends from any state", " AND state = ?2", ""),
		edit("apply_end", "lease/the reaper waits for it", "ends under a living lease", " AND lease <= ?5", ""),
		edit("apply_end", "fence/stale token while pending", "ends what has no claim", "?3 IS NULL OR", "token IS NULL OR ?3 IS NULL OR"),
		edit("apply_end", "story/each step", "the story is lost", "coalesce(?16, story)", "story"),
		edit("apply_sending", "lease/sending needs a living one", "sends under a dead lease", " AND lease > ?4", ""),
		edit("apply_sending", "fence/stale token while pending", "sends without the token", "token = ?3 AND ", ""),
		edit("apply_sending", "lease/sending renews it", "the lease stays", "lease = ?7, ", ""),
		edit("apply_sending", "story/each step", "the story is lost", "story = coalesce(?14, story)", "story = ?14"),
		edit("apply_waiting", "fence/stale token while sending", "steps without the token", "token = ?3 AND ", ""),
		edit("apply_waiting", "fence/the state is compared", "steps from any state", " AND state = ?2", ""),
		edit("apply_waiting", "rules/each as stored", "due stays", "due = ?8, ", ""),
		edit("apply_waiting", "rules/each as stored", "the attempt is not given back", "attempt = ?7, ", ""),
		edit("apply_maybe", "told/an unknown outcome counts", "maybe is not kept", "maybe = ?10, ", ""),
		edit("apply_maybe", "told/except by this very row", "told by nobody", "told_by = ?1", "told_by = 0"),
		edit("apply_maybe", "keyrow/sequence of assertions", "the sequence stays", "seq = ?9,", ""),
		edit("apply_end_key", "keyrow/a delivery clears maybe", "maybe stays", "WHEN 1 THEN NULL WHEN 2", "WHEN 2"),
		edit("apply_end_key", "keyrow/nothing else does", "maybe moves the baseline", "baseline    = CASE ?2 WHEN 1 THEN ?10", "baseline    = CASE WHEN ?2 THEN ?10"),
		edit("apply_end_key", "failures/a delivery resets them", "failures stay", "CASE ?2 WHEN 1 THEN 0 ELSE failures + ?3 END", "failures + ?3"),
		edit("apply_end_key", "failures/which ends count", "failures are not counted", "failures + ?3", "failures"),
		edit("apply_end_key", "failures/which ends count", "the last end is not kept", "last_reason = ?5, ", ""),
		edit("apply_marks_read", "marks/unread becomes a row", "the ender takes all marks", " AND m.token = l.token", ""),
		edit("apply_marks_read", "marks/read goes with the row", "the ender takes no mark", "m.token = l.token", "m.token < l.token"),
		edit("apply_marks_all", "marks/of other keys are left alone", "takes other keys' marks", "m.key_id = l.key_id", "m.key_id > 0"),
		edit("apply_mute", "mute/by a recipient that is gone", "does not mute", "WHERE true", "WHERE false"),
		edit("revive_marks", "marks/the new row is the last mark's", "the first mark counts", "max(x.id)", "min(x.id)"),
		edit("revive_done", "marks/unread becomes a row", "revived marks stay", "WHERE key_id", "WHERE 0 AND key_id"),
		edit("revive_keys", "marks/unread becomes a row", "nothing is revived", "m.key_id = o.key_id", "m.key_id = -o.key_id"),
		edit("claim_lane", "claim/not under a living claim", "claims what is claimed", "(l.lease IS NULL OR l.lease <= ?)", "(l.lease IS NULL OR l.lease <= ? OR 1)"),
		edit("claim_lane", "claim/not under a living claim", "claims only what nobody ever claimed", "(l.lease IS NULL OR l.lease <= ?)", "(l.lease IS NULL AND ? > 0)"),
		edit("claim_lane", "claim/never a row in sending", "claims what is being sent", "l.state <> 2 AND", ""),
		edit("claim_lane", "claim/attempt cap", "no cap", "l.attempt < ?", "(l.attempt < ? OR 1)"),
		edit("claim_lane", "claim/only due rows", "claims before the time", "l.due <= ?", "l.due <= 1000 * ?"),
		edit("claim_lane", "claim/longest due first", "newest first", "ORDER BY l.due, l.id", "ORDER BY l.due DESC, l.id DESC"),
		edit("claim_lane", "mute/is seen by the claim", "mutes of other channels count", "AND m.channel = k.channel", "AND m.channel <> k.channel"),
		edit("claim_row", "claim/attempts are counted at the claim", "attempts are not counted", "attempt + 1", "attempt"),
		edit("claim_row", "claim/retry rows become pending", "retry rows stay so", "state = 1, ", "state = state, "),
		edit("claim_marks", "marks/read goes with the row", "marks are not read", "WHERE key_id", "WHERE 0 AND key_id"),
		edit("claim_marks", "marks/of other keys are left alone", "all marks are read", "WHERE key_id", "WHERE 1 OR key_id"),
		edit("lanes", "lanes/living claims do not count", "claimed rows count", "(l.lease IS NULL OR l.lease <= ?)", "(l.lease IS NULL OR l.lease <= ? OR 1)"),
		edit("lanes", "lanes/earliest due", "the latest due", "ORDER BY l.due, l.id", "ORDER BY l.due DESC"),
		edit("enqueue_standing", "live/one row per key", "sees only pending rows", "ON l.key_id = k.id", "ON l.key_id = k.id AND l.state = 1"),
		edit("enqueue_standing", "mute/keeps items out", "sees no mutes", "m.recipient = v.recipient", "m.recipient = '' || v.n"),
		edit("enqueue_standing", "keys/each part counts", "the channel does not count", "k.channel = v.channel", "k.channel >= ''"),
		edit("enqueue_clear_told", "enqueue/may repeat", "told stays", "told_policy = '', told_start = 0,", "told_policy = told_policy,"),
		edit("sweep_claims", "sweep/finds dead claims", "finds nothing", "lease <= ?", "lease <= -?"),
		edit("sweep_expired", "expiry/not while being sent", "expires what is being sent", " AND l.state <> 2", ""),
		edit("sweep_expired", "expiry/finds what has passed", "a microsecond late", "l.expires_at <= ?", "l.expires_at < ?"),
		edit("sweep_marks", "marks/without a live row are swept up", "finds only marks with a row", "l.id IS NULL", "l.id IS NOT NULL"),
		edit("sweep_renew", "sweep/finds dead claims", "a renewed claim is forgotten", "SET lease = v.lease", "SET lease = 200000000000000000"),
		edit("prune_find", "prune/by time and reason", "reasons do not count", "(? OR", "(? >= 0 OR"),
		edit("prune_find", "prune/by time and reason", "younger ones too", "o.ended_at < ?", "o.ended_at <= ?"),
		edit("prune_find_keys", "prune/keys told without end", "forgets what was told for ever", " AND k.told_policy NOT IN ('once', 'episodes')", ""),
		edit("prune_find_keys", "prune/idle keys", "keys in use", "< ? AND k.told_policy", "< 9e18 + ? AND k.told_policy"),
		edit("list_subject", "list/filters", "the channel does not count", "?4 IN ('', k.channel)", "?4 = ?4"),
		edit("list_all", "list/newest first, by pages", "pages overlap", "n.id < ?7", "n.id <= ?7"),
		edit("stats_live", "stats/live rows", "dead leases count", "lease > ?", "lease > 0 * ?"),
		edit("mute_lift", "mute/keeps items out", "does not lift", "WHERE (", "WHERE 0 AND ("),
	}
}
