-- Apply: changes that the core has decided. The fence is the whole policy
-- that stands here.
--
-- What every row needs is a statement for one row, prepared once and run for
-- each: an UPDATE from a list of many would collect them in a table of its own
-- first. How many rows a run changed says whether the fence held.

-- name: apply_sending
-- To sending: what is told, and the renewed lease. The token stays, and no
-- index changes.
UPDATE lastlook_live SET
    state = 2, attempt = ?6, lease = ?7, looked_at = ?8, window_policy = ?9, window_start = ?10, seq = ?11, guarantee = ?12,
    asserted = ?13, story = coalesce(?14, story)
WHERE {fence};

-- name: apply_maybe
-- What a row that goes to retry has maybe told. It runs before apply_waiting,
-- under the same fence, since that clears state and token. A key that would
-- move backwards is left out: then the counts differ and the call fails.
UPDATE lastlook_keys SET
    maybe = ?10, seq = ?9, told_policy = ?7, told_start = ?8, told_by = ?1, told_at = ?6
WHERE id = (SELECT key_id FROM lastlook_live WHERE {fence})
    AND (told_policy = '' OR ?7 = '' OR (told_policy = 'episodes') <> (?7 = 'episodes') OR ?8 >= told_start);

-- name: apply_waiting
-- To pending or retry: the claim and its assertion are over.
UPDATE lastlook_live SET
    state = ?6, attempt = ?7, due = ?8, token = NULL, lease = NULL, looked_at = NULL,
    window_policy = NULL, window_start = NULL, seq = NULL, guarantee = NULL, asserted = NULL,
    story = coalesce(?9, story)
WHERE {fence};

-- name: apply_end
-- How a row ended. The assertion is known if the row was being delivered.
INSERT INTO lastlook_outcomes (id, key_id, lane_id, state, ended_at, attempt, reason, looked_at, window_policy, window_start, seq, asserted, seen, story)
SELECT id, key_id, lane_id, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, coalesce(?16, story)
FROM lastlook_live WHERE {fence};

-- name: apply_end_key
-- The key row of a row that has just ended (?1); ?2 is the effect: 1 delivered,
-- 2 maybe. A key that would move backwards is left out, as in apply_maybe.
UPDATE lastlook_keys SET
    baseline    = CASE ?2 WHEN 1 THEN ?10 ELSE baseline END,
    baseline_at = CASE ?2 WHEN 1 THEN ?6 ELSE baseline_at END,
    maybe       = CASE ?2 WHEN 1 THEN NULL WHEN 2 THEN ?10 ELSE maybe END,
    seq         = CASE ?2 WHEN 0 THEN seq ELSE ?9 END,
    told_policy = CASE ?2 WHEN 0 THEN told_policy ELSE ?7 END,
    told_start  = CASE ?2 WHEN 0 THEN told_start ELSE ?8 END,
    told_by     = CASE ?2 WHEN 0 THEN told_by ELSE ?1 END,
    told_at     = CASE ?2 WHEN 0 THEN told_at ELSE ?6 END,
    last_id = ?1, last_state = ?4, last_reason = ?5, last_at = ?6,
    failures    = CASE ?2 WHEN 1 THEN 0 ELSE failures + ?3 END
WHERE id = (SELECT key_id FROM lastlook_live WHERE id = ?1)
    AND (?2 = 0 OR told_policy = '' OR ?7 = '' OR (told_policy = 'episodes') <> (?7 = 'episodes') OR ?8 >= told_start);

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
-- The live row of an ended notification.
DELETE FROM lastlook_live WHERE id = ?1;

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
