-- Lanes and Claim.

-- name: lanes
-- Every lane that has live rows, with the earliest due time among its pending and
-- retry rows that are under no living claim; -1 if it has none. busy hops over the
-- index from lane to lane, so that lanes of the past cost nothing.
WITH RECURSIVE busy(id) AS (
    (SELECT l.lane_id FROM {s}lastlook_live l ORDER BY l.lane_id, l.due, l.id LIMIT 1)
    UNION ALL
    SELECT (SELECT l.lane_id FROM {s}lastlook_live l WHERE l.lane_id > busy.id ORDER BY l.lane_id, l.due, l.id LIMIT 1)
    FROM busy WHERE busy.id IS NOT NULL)
SELECT a.id, a.topic, a.channel, a.lane, a.priority, coalesce((
    SELECT l.due FROM {s}lastlook_live l
    WHERE l.lane_id = busy.id AND (l.lease IS NULL OR l.lease <= $1::bigint) AND l.state <> 2
    ORDER BY l.due, l.id LIMIT 1), -1)
FROM busy
CROSS JOIN LATERAL (SELECT * FROM {s}lastlook_lanes a WHERE a.id = busy.id LIMIT 1) a
ORDER BY a.topic, a.channel, a.lane, a.priority DESC;

-- name: claim_rows
-- Claims rows of several lanes: n of each, longest due first. Rows that somebody
-- else is just claiming or writing are passed over. Nothing that an index holds is
-- written. The inner statement locks rows in the state that it returns them in;
-- = ANY(ARRAY(…)) runs it once, whatever the planner believes. $1 now, $2 token;
-- then arrays, by lane: number, n, cap, lease, and where to start from (due, id).
UPDATE {s}lastlook_live AS l SET
    state = 1, token = $2::uuid, attempt = l.attempt + 1,
    lease = ($6::bigint[])[array_position($3::bigint[], l.lane_id)]
WHERE l.id = ANY(ARRAY(
    SELECT c.id
    FROM unnest($3::bigint[], $4::bigint[], $5::bigint[], $7::bigint[], $8::bigint[]) AS v(lane_id, n, cap, start_due, start_id)
    CROSS JOIN LATERAL (
        SELECT l.id FROM {s}lastlook_live l
        WHERE l.lane_id = v.lane_id AND (l.due, l.id) >= (v.start_due, v.start_id) AND l.due <= $1::bigint
            AND l.state <> 2 AND (l.lease IS NULL OR l.lease <= $1::bigint) AND l.attempt < v.cap
        ORDER BY l.due, l.id LIMIT v.n
        FOR UPDATE SKIP LOCKED) c))
RETURNING l.id, l.key_id, l.lane_id, l.due, l.attempt, l.lease, coalesce(l.story, '');

-- name: claim_read
-- What the core wants to know of the rows just claimed: a statement of its own,
-- since only a snapshot younger than the locks shows what their last holder wrote
-- to the key.
SELECT v.n, {notification_columns}
FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS v(id, key_id, n)
CROSS JOIN LATERAL (SELECT * FROM {s}lastlook_notifications n WHERE n.id = v.id LIMIT 1) n
CROSS JOIN LATERAL (SELECT * FROM {s}lastlook_keys k WHERE k.id = v.key_id LIMIT 1) k
LEFT JOIN LATERAL (SELECT m.since FROM {s}lastlook_muted m WHERE m.recipient = k.recipient AND m.channel = k.channel LIMIT 1) m ON true;

-- name: claim_marks
-- The claim has read these keys' marks: its look is newer than they are. Usually
-- there is no mark at all, and this ends there.
UPDATE {s}lastlook_marks SET token = $1::uuid
WHERE EXISTS (SELECT 1 FROM {s}lastlook_marks) AND key_id = ANY($2::bigint[]);

-- name: claim_record
-- Where the sweep finds the claim's rows once its lease has passed.
INSERT INTO {s}lastlook_claims (lease, token, ids) VALUES ($1::bigint, $2::uuid, $3::bigint[]);
