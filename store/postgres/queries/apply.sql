-- Apply: changes that the core has decided. The fence is the whole policy that
-- stands here. Batches are in the order of ids, so that rows are locked in it.

-- name: apply_lock
-- Rows whose changes compare the state alone: they are compared with what is there
-- when the lock is got, whoever changed it meanwhile.
SELECT l.id FROM {s}lastlook_live l WHERE l.id = ANY($1::bigint[]) ORDER BY l.id FOR UPDATE;

-- name: apply_sending
-- To sending: what is told, and the renewed lease. The token stays, and no index
-- changes.
UPDATE {s}lastlook_live AS l SET
    state = 2, attempt = x.attempt, lease = x.lease, looked_at = x.looked_at,
    window_policy = x.window_policy, window_start = x.window_start, seq = x.seq, guarantee = x.guarantee,
    asserted = x.asserted, story = coalesce(nullif(x.story, ''), l.story)
FROM (
    SELECT v.*, t.tid
    FROM unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::bigint[], $5::bigint[],
            $6::bigint[], $7::bigint[], $8::bigint[], $9::text[], $10::bigint[], $11::bigint[], $12::bigint[], $13::text[], $14::text[])
        AS v(id, from_state, token, lease_after, lease_until, attempt, lease, looked_at, window_policy, window_start, seq, guarantee, asserted, story)
    CROSS JOIN LATERAL (SELECT t.ctid AS tid FROM {s}lastlook_live t WHERE t.id = v.id LIMIT 1) t) x
WHERE l.ctid = x.tid AND {fence}
RETURNING l.id;

-- name: apply_waiting
-- To pending or retry: the claim and its assertion are over. A row that goes to
-- retry may have told something (effect 2); a key that would move backwards is
-- left out. Answers (1, id) for each row, (2, id) for each key written.
WITH moved AS (
    UPDATE {s}lastlook_live AS l SET
        state = x.state, attempt = x.attempt, due = x.due, token = NULL, lease = NULL, looked_at = NULL,
        window_policy = NULL, window_start = NULL, seq = NULL, guarantee = NULL, asserted = NULL,
        story = coalesce(nullif(x.story, ''), l.story)
    FROM (
        SELECT v.*, t.tid
        FROM unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::bigint[], $5::bigint[],
                $6::bigint[], $7::bigint[], $8::bigint[], $9::text[], $10::bigint[], $11::bigint[], $12::text[], $13::bigint[], $14::bigint[], $15::text[])
            AS v(id, from_state, token, lease_after, lease_until, state, attempt, due, story, effect, at, window_policy, window_start, seq, asserted)
        CROSS JOIN LATERAL (SELECT t.ctid AS tid FROM {s}lastlook_live t WHERE t.id = v.id LIMIT 1) t) x
    WHERE l.ctid = x.tid AND {fence}
    RETURNING l.id, l.key_id, x.effect, x.at, x.window_policy, x.window_start, x.seq, x.asserted),
keyed AS (
    UPDATE {s}lastlook_keys AS k SET
        maybe = x.asserted, seq = x.seq,
        told_policy = x.window_policy, told_start = x.window_start, told_by = x.id, told_at = x.at
    FROM (
        SELECT v.*, t.tid FROM moved v
        CROSS JOIN LATERAL (SELECT t.ctid AS tid FROM {s}lastlook_keys t WHERE t.id = v.key_id LIMIT 1) t
        WHERE v.effect = 2) x
    WHERE k.ctid = x.tid AND {forward}
    RETURNING x.id)
SELECT 1, id FROM moved UNION ALL SELECT 2, id FROM keyed;

-- name: apply_end
-- The end of rows: the live row goes, its outcome comes, and the key row says so.
-- effect: 1 delivered, 2 maybe. The assertion is known if the row was being
-- delivered. A key that would move backwards is left out. Answers (1, id, key,
-- token) for each row, and then (2, n, 0, none): how many keys were written.
WITH gone AS (
    DELETE FROM {s}lastlook_live AS l
    USING (
        SELECT v.*, t.tid
        FROM unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::bigint[], $5::bigint[],
                $6::bigint[], $7::bigint[], $8::bigint[], $9::text[], $10::bigint[], $11::text[], $12::bigint[], $13::bigint[], $14::text[],
                $15::text[], $16::text[], $17::bigint[], $18::bigint[])
            AS v(id, from_state, token, lease_after, lease_until, state, ended_at, attempt, reason, looked_at, window_policy, window_start, seq, asserted,
                seen, story, effect, failed)
        CROSS JOIN LATERAL (SELECT t.ctid AS tid FROM {s}lastlook_live t WHERE t.id = v.id LIMIT 1) t) x
    WHERE l.ctid = x.tid AND {fence}
    RETURNING l.id, l.key_id, l.lane_id, l.token, x.state, x.ended_at, x.attempt, x.reason, x.looked_at, x.window_policy, x.window_start, x.seq,
        nullif(x.asserted, '') AS asserted, nullif(x.seen, '') AS seen, coalesce(nullif(x.story, ''), l.story) AS story, x.effect, x.failed),
ended AS (
    INSERT INTO {s}lastlook_outcomes (id, key_id, lane_id, state, ended_at, attempt, reason, looked_at, window_policy, window_start, seq, asserted, seen, story)
    SELECT g.id, g.key_id, g.lane_id, g.state, g.ended_at, g.attempt, g.reason,
        CASE WHEN g.asserted IS NOT NULL THEN g.looked_at END, CASE WHEN g.asserted IS NOT NULL THEN g.window_policy END,
        CASE WHEN g.asserted IS NOT NULL THEN g.window_start END, CASE WHEN g.asserted IS NOT NULL THEN g.seq END,
        g.asserted, g.seen, g.story
    FROM gone g),
keyed AS (
    UPDATE {s}lastlook_keys AS k SET
        baseline    = CASE x.effect WHEN 1 THEN x.asserted ELSE k.baseline END,
        baseline_at = CASE x.effect WHEN 1 THEN x.ended_at ELSE k.baseline_at END,
        maybe       = CASE x.effect WHEN 1 THEN NULL WHEN 2 THEN x.asserted ELSE k.maybe END,
        seq         = CASE x.effect WHEN 0 THEN k.seq ELSE x.seq END,
        told_policy = CASE x.effect WHEN 0 THEN k.told_policy ELSE x.window_policy END,
        told_start  = CASE x.effect WHEN 0 THEN k.told_start ELSE x.window_start END,
        told_by     = CASE x.effect WHEN 0 THEN k.told_by ELSE x.id END,
        told_at     = CASE x.effect WHEN 0 THEN k.told_at ELSE x.ended_at END,
        last_id = x.id, last_state = x.state, last_reason = x.reason, last_at = x.ended_at,
        failures    = CASE x.effect WHEN 1 THEN 0 ELSE k.failures + x.failed END
    FROM (
        SELECT v.*, t.tid FROM gone v
        CROSS JOIN LATERAL (SELECT t.ctid AS tid FROM {s}lastlook_keys t WHERE t.id = v.key_id LIMIT 1) t) x
    WHERE k.ctid = x.tid AND (x.effect = 0 OR {forward})
    RETURNING 1)
SELECT 1, id, key_id, token FROM gone UNION ALL SELECT 2, count(*), 0, NULL FROM keyed;

-- name: apply_backwards
-- Which change would move a told window back, for the error.
SELECT x.id, k.told_policy, k.told_start
FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS x(id, window_policy, window_start)
CROSS JOIN LATERAL (SELECT n.key_id FROM {s}lastlook_notifications n WHERE n.id = x.id LIMIT 1) n
CROSS JOIN LATERAL (SELECT * FROM {s}lastlook_keys k WHERE k.id = n.key_id LIMIT 1) k
WHERE NOT {forward};

-- name: apply_mute
-- Recipients that turned out to be gone.
INSERT INTO {s}lastlook_muted (recipient, channel, since)
SELECT k.recipient, k.channel, v.since
FROM unnest($1::bigint[], $2::bigint[]) AS v(id, since)
CROSS JOIN LATERAL (SELECT n.key_id FROM {s}lastlook_notifications n WHERE n.id = v.id LIMIT 1) n
CROSS JOIN LATERAL (SELECT k.recipient, k.channel FROM {s}lastlook_keys k WHERE k.id = n.key_id LIMIT 1) k
ON CONFLICT DO NOTHING;

-- name: marks_any
-- Whether there are marks at all: usually not.
SELECT EXISTS (SELECT 1 FROM {s}lastlook_marks);

-- name: marks_lock
-- The marks of keys, key by key. They are locked, so that of two who would make a
-- row of them one finds them gone.
SELECT m.id, m.key_id, m.token
FROM unnest($1::bigint[]) AS v(key_id)
CROSS JOIN LATERAL (SELECT * FROM {s}lastlook_marks m WHERE m.key_id = v.key_id ORDER BY m.key_id, m.id FOR UPDATE) m;

-- name: marks_read
-- Marks that are to become rows, with what their keys say about when.
SELECT m.id, m.lane_id, m.due, m.expires_at, m.episode, m.trace, m.detection, nextval({ids}::regclass), {key_columns}
FROM unnest($1::bigint[]) AS v(id)
CROSS JOIN LATERAL (SELECT * FROM {s}lastlook_marks m WHERE m.id = v.id LIMIT 1) m
CROSS JOIN LATERAL (SELECT * FROM {s}lastlook_keys k WHERE k.id = m.key_id LIMIT 1) k;

-- name: marks_delete
DELETE FROM {s}lastlook_marks WHERE id = ANY($1::bigint[]);

-- name: revive_live
-- As insert_live; but a key that has got a live row meanwhile is left out.
INSERT INTO {s}lastlook_live (id, key_id, lane_id, state, due, expires_at, attempt)
SELECT v.id, v.key_id, v.lane_id, 1, v.due, v.expires_at, 0
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) AS v(id, key_id, lane_id, due, expires_at)
ON CONFLICT (key_id) DO NOTHING
RETURNING id;
