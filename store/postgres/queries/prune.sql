-- Prune and Mute. What may go is looked for first, and deleted by number in short
-- transactions.

-- name: prune_find
-- Notifications that ended before a moment, oldest first, from a position on; of
-- some reasons only, unless $2 says all.
SELECT o.id, o.ended_at FROM {s}lastlook_outcomes o
WHERE o.ended_at < $1::bigint AND (o.ended_at, o.id) > ($4::bigint, $5::bigint) AND ($2::bigint <> 0 OR o.reason = ANY($3::text[]))
ORDER BY o.ended_at, o.id
LIMIT $6::bigint;

-- name: prune_outcomes
-- Ended rows only: what an id names is never live again.
DELETE FROM {s}lastlook_outcomes WHERE id = ANY($1::bigint[])
RETURNING id;

-- name: prune_notifications
DELETE FROM {s}lastlook_notifications WHERE id = ANY($1::bigint[]);

-- name: prune_find_keys
-- Keys from a number on that nothing refers to, last used before a moment, and not
-- told in a window without end.
SELECT k.id FROM {s}lastlook_keys k
WHERE k.id > $1::bigint AND greatest(k.last_at, k.told_at, 0) < $2::bigint AND k.told_policy NOT IN ('once', 'episodes')
    AND NOT EXISTS (SELECT 1 FROM {s}lastlook_live l WHERE l.key_id = k.id OFFSET 0)
    AND NOT EXISTS (SELECT 1 FROM {s}lastlook_marks m WHERE m.key_id = k.id OFFSET 0)
    AND NOT EXISTS (SELECT 1 FROM {s}lastlook_notifications n WHERE n.key_id = k.id OFFSET 0)
ORDER BY k.id
LIMIT $3::bigint;

-- name: prune_lock_keys
-- Keys that nobody is just using. An enqueue that comes from here on waits, and
-- finds the key gone.
SELECT k.id FROM {s}lastlook_keys k WHERE k.id = ANY($1::bigint[]) ORDER BY k.id FOR UPDATE SKIP LOCKED;

-- name: prune_keys
-- Those of them that nothing refers to, as seen after the lock was got.
DELETE FROM {s}lastlook_keys k WHERE k.id = ANY($1::bigint[])
    AND greatest(k.last_at, k.told_at, 0) < $2::bigint AND k.told_policy NOT IN ('once', 'episodes')
    AND NOT EXISTS (SELECT 1 FROM {s}lastlook_live l WHERE l.key_id = k.id OFFSET 0)
    AND NOT EXISTS (SELECT 1 FROM {s}lastlook_marks m WHERE m.key_id = k.id OFFSET 0)
    AND NOT EXISTS (SELECT 1 FROM {s}lastlook_notifications n WHERE n.key_id = k.id OFFSET 0);

-- name: mute_set
-- A mute that is there keeps its date.
INSERT INTO {s}lastlook_muted (recipient, channel, since)
SELECT v.recipient, v.channel, $3::bigint FROM unnest($1::text[], $2::text[]) AS v(recipient, channel)
ON CONFLICT DO NOTHING;

-- name: mute_lift
DELETE FROM {s}lastlook_muted AS m
USING (
    SELECT t.tid FROM unnest($1::text[], $2::text[]) AS v(recipient, channel)
    CROSS JOIN LATERAL (SELECT t.ctid AS tid FROM {s}lastlook_muted t WHERE t.recipient = v.recipient AND t.channel = v.channel LIMIT 1) t) x
WHERE m.ctid = x.tid;
