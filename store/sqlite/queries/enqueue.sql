-- Enqueue and EnqueueTx. These run on any SQLite from 3.35: no JSON functions.
--
-- In all these files: "(?, ?)..." stands for as many such tuples as the batch
-- has rows, padded with NULLs that match nothing; "{name}" for the fragment of
-- that name in fragments.sql.

-- name: enqueue_standing
-- What is known of each key. Baselines may be large and admitting does not
-- look at them. The indexes are named, since this runs on connections that may
-- have seen an ANALYZE of empty tables (see statistics.txt).
WITH v(n, topic, subject, recipient, channel) AS (VALUES (?, ?, ?, ?, ?)...)
SELECT v.n, l.id, l.state, m.since IS NOT NULL,
    k.id, k.seq, k.told_policy, k.told_start, k.told_by, k.told_at,
    k.last_id, k.last_state, k.last_reason, k.last_at, k.failures
FROM v
LEFT JOIN lastlook_keys k INDEXED BY lastlook_keys_parts
    ON k.topic = v.topic AND k.subject = v.subject AND k.recipient = v.recipient AND k.channel = v.channel
LEFT JOIN lastlook_live l INDEXED BY lastlook_live_key ON l.key_id = k.id
LEFT JOIN lastlook_muted m ON m.recipient = v.recipient AND m.channel = v.channel
WHERE v.n IS NOT NULL;

-- name: enqueue_lanes
-- The numbers of lanes.
WITH v(n, topic, channel, lane, priority) AS (VALUES (?, ?, ?, ?, ?)...)
SELECT v.n, a.id
FROM v
CROSS JOIN lastlook_lanes a
    ON a.topic = v.topic AND a.channel = v.channel AND a.lane = v.lane AND a.priority = v.priority;

-- name: enqueue_add_lanes
-- Lanes seen for the first time.
WITH v(topic, channel, lane, priority) AS (VALUES (?, ?, ?, ?)...)
INSERT INTO lastlook_lanes (topic, channel, lane, priority)
SELECT v.topic, v.channel, v.lane, v.priority FROM v WHERE v.topic IS NOT NULL;

-- name: enqueue_next_ids
-- The numbers that new keys and notifications start from. They are given out
-- here, under the write lock, so that no insert has to report back.
SELECT
    (SELECT coalesce(max(id), 0) + 1 FROM lastlook_keys),
    (SELECT max(
        coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'lastlook_notifications'), 0),
        coalesce((SELECT max(id) FROM lastlook_notifications), 0)) + 1);

-- name: enqueue_lock
-- Takes the write lock, as the first statement in a caller's transaction: one
-- that began deferred and reads first could not wait for the lock any more. It
-- changes nothing.
UPDATE lastlook_lanes SET priority = priority WHERE id = 0;

-- name: enqueue_keys
-- Keys seen for the first time.
WITH v(id, topic, subject, recipient, channel) AS (VALUES (?, ?, ?, ?, ?)...)
INSERT INTO lastlook_keys (id, topic, subject, recipient, channel)
SELECT v.id, v.topic, v.subject, v.recipient, v.channel FROM v WHERE v.id IS NOT NULL;

-- name: enqueue_clear_told
-- Whoever enqueued accepts a repeat.
UPDATE lastlook_keys SET told_policy = '', told_start = 0, told_by = 0, told_at = NULL
WHERE id IN (VALUES (?)...);

-- name: insert_notifications
WITH v(id, key_id, lane_id, created_at, expires_at, episode, retry_of, may_repeat, trace, detection) AS (VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)...)
INSERT INTO lastlook_notifications (id, key_id, lane_id, created_at, expires_at, episode, retry_of, may_repeat, trace, detection)
SELECT v.id, v.key_id, v.lane_id, v.created_at, v.expires_at, v.episode, v.retry_of, v.may_repeat, v.trace, v.detection
FROM v WHERE v.id IS NOT NULL;

-- name: insert_live
-- The rows of new notifications: pending, unclaimed.
WITH v(id, key_id, lane_id, due, expires_at) AS (VALUES (?, ?, ?, ?, ?)...)
INSERT INTO lastlook_live (id, key_id, lane_id, state, due, expires_at, attempt)
SELECT v.id, v.key_id, v.lane_id, 1, v.due, v.expires_at, 0
FROM v WHERE v.id IS NOT NULL;

-- name: enqueue_marks
-- Edges that met a live row.
WITH v(key_id, lane_id, created_at, due, expires_at, episode, trace, detection) AS (VALUES (?, ?, ?, ?, ?, ?, ?, ?)...)
INSERT INTO lastlook_marks (key_id, lane_id, created_at, due, expires_at, episode, trace, detection)
SELECT v.key_id, v.lane_id, v.created_at, v.due, v.expires_at, v.episode, v.trace, v.detection
FROM v WHERE v.key_id IS NOT NULL;
