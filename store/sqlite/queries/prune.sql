-- Prune and Mute. What may go is looked for on a reader, so that a long look
-- holds up no writer, and deleted by number in short transactions.

-- name: prune_find
-- Notifications that ended before a moment, oldest first; of some reasons only
-- if the second parameter is 0.
WITH r(reason) AS (VALUES (?)...)
SELECT o.id FROM lastlook_outcomes o
WHERE o.ended_at < ? AND (? OR o.reason IN (SELECT reason FROM r))
ORDER BY o.ended_at
LIMIT ?;

-- name: prune_outcomes
-- Ended rows only: what an id names is never live again.
DELETE FROM lastlook_outcomes WHERE id IN (VALUES (?)...)
RETURNING id;

-- name: prune_notifications
DELETE FROM lastlook_notifications WHERE id IN (VALUES (?)...);

-- name: prune_find_keys
-- Keys from a number on that nothing refers to, last used before a moment, and
-- not told in a window without end.
SELECT k.id FROM lastlook_keys k
WHERE k.id > ? AND max(coalesce(k.last_at, 0), coalesce(k.told_at, 0)) < ? AND k.told_policy NOT IN ('once', 'episodes')
    AND NOT EXISTS (SELECT 1 FROM lastlook_live l WHERE l.key_id = k.id)
    AND NOT EXISTS (SELECT 1 FROM lastlook_marks m WHERE m.key_id = k.id)
    AND NOT EXISTS (SELECT 1 FROM lastlook_notifications n WHERE n.key_id = k.id)
ORDER BY k.id
LIMIT ?;

-- name: prune_keys
-- Those of them that still nothing refers to. A key that was used meanwhile
-- has a notification.
DELETE FROM lastlook_keys WHERE id IN (VALUES (?)...)
    AND NOT EXISTS (SELECT 1 FROM lastlook_live l WHERE l.key_id = lastlook_keys.id)
    AND NOT EXISTS (SELECT 1 FROM lastlook_marks m WHERE m.key_id = lastlook_keys.id)
    AND NOT EXISTS (SELECT 1 FROM lastlook_notifications n WHERE n.key_id = lastlook_keys.id);

-- name: mute_set
-- A mute that is there keeps its date.
WITH v(recipient, channel) AS (VALUES (?, ?)...)
INSERT INTO lastlook_muted (recipient, channel, since)
SELECT v.recipient, v.channel, ? FROM v WHERE v.recipient IS NOT NULL
ON CONFLICT DO NOTHING;

-- name: mute_lift
DELETE FROM lastlook_muted WHERE (recipient, channel) IN (VALUES (?, ?)...);
