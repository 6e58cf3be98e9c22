-- Enqueue and EnqueueTx.

-- name: enqueue_standing
-- What is known of each key, and numbers for what may have to be written. Large
-- columns are left out: admitting does not look at them.
SELECT v.n, coalesce(l.id, 0), coalesce(l.state, 0), m.since IS NOT NULL,
    CASE WHEN l.id IS NULL THEN nextval({ids}::regclass) ELSE 0 END,
    CASE WHEN k.id IS NULL THEN nextval({key_ids}::regclass) ELSE 0 END,
    coalesce(k.id, 0), coalesce(k.seq, 0), coalesce(k.told_policy, ''), coalesce(k.told_start, 0), coalesce(k.told_by, 0), coalesce(k.told_at, -1),
    coalesce(k.last_id, 0), coalesce(k.last_state, 0), coalesce(k.last_reason, ''), coalesce(k.last_at, -1), coalesce(k.failures, 0)
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS v(topic, subject, recipient, channel, n)
LEFT JOIN LATERAL (SELECT * FROM {s}lastlook_keys k
    WHERE k.topic = v.topic AND k.subject = v.subject AND k.recipient = v.recipient AND k.channel = v.channel LIMIT 1) k ON true
LEFT JOIN LATERAL (SELECT l.id, l.state FROM {s}lastlook_live l WHERE l.key_id = k.id LIMIT 1) l ON true
LEFT JOIN LATERAL (SELECT m.since FROM {s}lastlook_muted m WHERE m.recipient = v.recipient AND m.channel = v.channel LIMIT 1) m ON true;

-- name: enqueue_lanes
-- The numbers of lanes.
SELECT v.n, a.id
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) WITH ORDINALITY AS v(topic, channel, lane, priority, n)
CROSS JOIN LATERAL (SELECT a.id FROM {s}lastlook_lanes a
    WHERE a.topic = v.topic AND a.channel = v.channel AND a.lane = v.lane AND a.priority = v.priority::smallint LIMIT 1) a;

-- name: enqueue_add_lanes
-- Lanes seen for the first time.
INSERT INTO {s}lastlook_lanes (topic, channel, lane, priority)
SELECT v.topic, v.channel, v.lane, v.priority
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS v(topic, channel, lane, priority)
ON CONFLICT DO NOTHING;

-- name: enqueue_keys
-- Keys seen for the first time. If somebody else made one meanwhile, this fails
-- (after waiting for the end of that transaction), and the call looks again.
INSERT INTO {s}lastlook_keys (id, topic, subject, recipient, channel)
SELECT v.id, v.topic, v.subject, v.recipient, v.channel
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[]) AS v(id, topic, subject, recipient, channel);

-- name: enqueue_clear_told
-- Whoever enqueued accepts a repeat.
UPDATE {s}lastlook_keys SET told_policy = '', told_start = 0, told_by = 0, told_at = NULL
WHERE id = ANY($1::bigint[]);

-- name: insert_live
-- The rows of new notifications: pending, unclaimed. If the key has got a live
-- row meanwhile, this fails (after waiting for the end of that transaction); if
-- the key was deleted meanwhile, its number is NULL, and this fails as well. The
-- lock keeps retention from deleting it until our row is there to be seen.
INSERT INTO {s}lastlook_live (id, key_id, lane_id, state, due, expires_at, attempt)
SELECT v.id, (SELECT k.id FROM {s}lastlook_keys k WHERE k.id = v.key_id FOR KEY SHARE), v.lane_id, 1, v.due, v.expires_at, 0
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) AS v(id, key_id, lane_id, due, expires_at);

-- name: insert_live_new
-- The same for keys that this transaction has made itself: nobody else sees them.
INSERT INTO {s}lastlook_live (id, key_id, lane_id, state, due, expires_at, attempt)
SELECT v.id, v.key_id, v.lane_id, 1, v.due, v.expires_at, 0
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) AS v(id, key_id, lane_id, due, expires_at);

-- name: insert_notifications
INSERT INTO {s}lastlook_notifications (id, key_id, lane_id, created_at, expires_at, episode, retry_of, may_repeat, trace, detection)
SELECT v.id, v.key_id, v.lane_id, $4::bigint, v.expires_at, v.episode, v.retry_of, v.may_repeat <> 0, v.trace, v.detection
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::text[], $10::text[])
    AS v(id, key_id, lane_id, expires_at, episode, retry_of, may_repeat, trace, detection);

-- name: enqueue_marks
-- Edges that met a live row. That row is not locked: if it ends before we commit,
-- a sweep makes a row of the mark.
INSERT INTO {s}lastlook_marks (key_id, lane_id, created_at, due, expires_at, episode, trace, detection)
SELECT (SELECT k.id FROM {s}lastlook_keys k WHERE k.id = v.key_id FOR KEY SHARE), v.lane_id, $3::bigint, v.due, v.expires_at, v.episode, v.trace, v.detection
FROM unnest($1::bigint[], $2::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[])
    AS v(key_id, lane_id, due, expires_at, episode, trace, detection);
