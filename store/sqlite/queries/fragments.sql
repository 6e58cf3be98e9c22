-- Column lists that several statements share. The Go code reads columns by
-- their position, in the order given here.

-- fragment: key_columns
-- A key row (k).
k.id, k.seq, k.told_policy, k.told_start, k.told_by, k.told_at,
k.last_id, k.last_state, k.last_reason, k.last_at, k.failures,
k.baseline_at, k.baseline, k.maybe

-- fragment: row_columns
-- A live row (l), its notification (n), key (k) and mute (m), as a claim
-- reads it.
l.id, l.due, l.attempt, l.story,
n.created_at, n.expires_at, n.episode, n.retry_of, n.trace, n.detection,
k.topic, k.subject, k.recipient, k.channel, m.since IS NOT NULL,
{key_columns}

-- fragment: claim_columns
-- The rest of a live row, with its lane (a), as the sweep reads it.
l.state, l.token, l.lease, l.asserted, l.looked_at, l.window_policy, l.window_start, l.seq, l.guarantee,
a.id, a.lane, a.priority

-- fragment: record_columns
-- A notification as people see it.
n.id, k.topic, k.subject, k.recipient, k.channel, a.lane, a.priority,
coalesce(l.state, o.state), o.reason, n.detection, n.created_at, n.expires_at, n.trace, n.episode, n.retry_of,
l.due, l.lease, CASE WHEN l.id IS NULL THEN 0 ELSE (SELECT count(*) FROM lastlook_marks WHERE key_id = l.key_id) END,
coalesce(l.attempt, o.attempt), coalesce(l.asserted, o.asserted), coalesce(l.looked_at, o.looked_at), o.seen,
coalesce(l.window_policy, o.window_policy), coalesce(l.window_start, o.window_start), coalesce(l.seq, o.seq), o.ended_at, n.may_repeat

-- fragment: fence
-- What a change compares with the live row before it touches it: ?1 its id, ?2
-- its state, ?3 the token. A NULL token fences by state alone; ?4 and ?5 bound
-- the lease of a fence that wants it alive or dead.
id = ?1 AND state = ?2 AND (?3 IS NULL OR (token = ?3 AND lease > ?4 AND lease <= ?5))
