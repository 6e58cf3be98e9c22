-- Apply: changes that the core has decided. The fence is the whole policy
-- that stands here.

-- name: apply_sending
-- To sending: what is told, and the renewed lease. The token stays, and no
-- index changes.
WITH v(id, from_state, token, lease_after, lease_until, attempt, lease, looked_at, window_policy, window_start, seq, guarantee, asserted, story) AS (VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)...)
UPDATE lastlook_live AS l SET
    state = 2, attempt = v.attempt, lease = v.lease, looked_at = v.looked_at,
    window_policy = v.window_policy, window_start = v.window_start, seq = v.seq, guarantee = v.guarantee,
    asserted = v.asserted, story = coalesce(v.story, l.story)
FROM v WHERE {fence}
RETURNING id;

-- name: apply_maybe
-- What a row that goes to retry has maybe told. It runs before apply_waiting,
-- under the same fence, since that clears state and token. A key that would
-- move backwards is left out: then the counts differ and the call fails.
WITH v(id, from_state, token, lease_after, lease_until, at, window_policy, window_start, seq, asserted) AS (VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)...)
UPDATE lastlook_keys AS k SET
    maybe = v.asserted, seq = v.seq,
    told_policy = v.window_policy, told_start = v.window_start, told_by = v.id, told_at = v.at
FROM v, lastlook_live l
WHERE {fence} AND k.id = l.key_id
    AND (k.told_policy = '' OR v.window_policy = '' OR (k.told_policy = 'episodes') <> (v.window_policy = 'episodes')
        OR v.window_start >= k.told_start);

-- name: apply_waiting
-- To pending or retry: the claim and its assertion are over.
WITH v(id, from_state, token, lease_after, lease_until, state, attempt, due, story) AS (VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)...)
UPDATE lastlook_live AS l SET
    state = v.state, attempt = v.attempt, due = v.due, token = NULL, lease = NULL, looked_at = NULL,
    window_policy = NULL, window_start = NULL, seq = NULL, guarantee = NULL, asserted = NULL,
    story = coalesce(v.story, l.story)
FROM v WHERE {fence}
RETURNING id;

-- name: apply_end
-- How rows ended. The assertion is known if the row was being delivered.
WITH v(id, from_state, token, lease_after, lease_until, state, ended_at, attempt, reason, looked_at, window_policy, window_start, seq, asserted, seen, story) AS (VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)...)
INSERT INTO lastlook_outcomes (id, key_id, lane_id, state, ended_at, attempt, reason, looked_at, window_policy, window_start, seq, asserted, seen, story)
SELECT l.id, l.key_id, l.lane_id, v.state, v.ended_at, v.attempt, v.reason,
    v.looked_at, v.window_policy, v.window_start, v.seq, v.asserted, v.seen, coalesce(v.story, l.story)
FROM v CROSS JOIN lastlook_live l ON {fence}
RETURNING id;

-- name: apply_end_keys
-- The key rows of rows that have just ended. effect: 1 delivered, 2 maybe. A
-- key that would move backwards is left out, as in apply_maybe.
WITH v(id, effect, failed) AS (VALUES (?, ?, ?)...)
UPDATE lastlook_keys AS k SET
    baseline    = CASE v.effect WHEN 1 THEN o.asserted ELSE k.baseline END,
    baseline_at = CASE v.effect WHEN 1 THEN o.ended_at ELSE k.baseline_at END,
    maybe       = CASE v.effect WHEN 1 THEN NULL WHEN 2 THEN o.asserted ELSE k.maybe END,
    seq         = CASE v.effect WHEN 0 THEN k.seq ELSE o.seq END,
    told_policy = CASE v.effect WHEN 0 THEN k.told_policy ELSE o.window_policy END,
    told_start  = CASE v.effect WHEN 0 THEN k.told_start ELSE o.window_start END,
    told_by     = CASE v.effect WHEN 0 THEN k.told_by ELSE o.id END,
    told_at     = CASE v.effect WHEN 0 THEN k.told_at ELSE o.ended_at END,
    last_id = o.id, last_state = o.state, last_reason = o.reason, last_at = o.ended_at,
    failures    = CASE v.effect WHEN 1 THEN 0 ELSE k.failures + v.failed END
FROM v, lastlook_outcomes o
WHERE o.id = v.id AND k.id = o.key_id
    AND (v.effect = 0
        OR k.told_policy = '' OR o.window_policy = '' OR (k.told_policy = 'episodes') <> (o.window_policy = 'episodes')
        OR o.window_start >= k.told_start);

-- name: apply_backwards
-- Which change would move a told window back, for the error. Episodes and
-- times are two scales; windows of different scales have no order.
WITH v(id, window_policy, window_start) AS (VALUES (?, ?, ?)...)
SELECT v.id, k.told_policy, k.told_start
FROM v
CROSS JOIN lastlook_notifications n ON n.id = v.id
CROSS JOIN lastlook_keys k ON k.id = n.key_id
WHERE k.told_policy <> '' AND v.window_policy <> ''
    AND (k.told_policy = 'episodes') = (v.window_policy = 'episodes') AND v.window_start < k.told_start;

-- name: apply_marks_read
-- Marks that the claims of ended rows have read. It runs while the live rows,
-- which know the tokens, are still there.
DELETE FROM lastlook_marks WHERE id IN (
    WITH v(id) AS (VALUES (?)...)
    SELECT m.id FROM v
    CROSS JOIN lastlook_live l ON l.id = v.id
    CROSS JOIN lastlook_marks m ON m.key_id = l.key_id AND m.token = l.token);

-- name: apply_marks_all
-- All marks of keys whose subject is gone.
DELETE FROM lastlook_marks WHERE id IN (
    WITH v(id) AS (VALUES (?)...)
    SELECT m.id FROM v
    CROSS JOIN lastlook_live l ON l.id = v.id
    CROSS JOIN lastlook_marks m ON m.key_id = l.key_id);

-- name: apply_remove
-- The live rows of ended notifications.
DELETE FROM lastlook_live WHERE id IN (VALUES (?)...);

-- name: apply_mute
-- Recipients that turned out to be gone.
WITH v(id, since) AS (VALUES (?, ?)...)
INSERT INTO lastlook_muted (recipient, channel, since)
SELECT k.recipient, k.channel, v.since
FROM v
CROSS JOIN lastlook_notifications n ON n.id = v.id
CROSS JOIN lastlook_keys k ON k.id = n.key_id
WHERE true
ON CONFLICT DO NOTHING;

-- name: revive_marks
-- The last mark of each key that has marks but no live row, with the key.
WITH v(key_id) AS (VALUES (?)...)
SELECT m.lane_id, m.due, m.expires_at, m.episode, m.trace, m.detection, {key_columns}
FROM v
CROSS JOIN lastlook_marks m ON m.id = (SELECT max(x.id) FROM lastlook_marks x WHERE x.key_id = v.key_id)
CROSS JOIN lastlook_keys k ON k.id = m.key_id
WHERE NOT EXISTS (SELECT 1 FROM lastlook_live l WHERE l.key_id = v.key_id);

-- name: revive_keys
-- The keys of ended notifications that have marks left.
WITH v(id) AS (VALUES (?)...)
SELECT DISTINCT m.key_id FROM v
CROSS JOIN lastlook_outcomes o ON o.id = v.id
CROSS JOIN lastlook_marks m ON m.key_id = o.key_id;

-- name: revive_done
-- Marks that have become rows.
DELETE FROM lastlook_marks WHERE key_id IN (VALUES (?)...);
