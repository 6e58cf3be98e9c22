-- Lanes and Claim.

-- name: lanes
-- Every lane that has live rows, with the earliest due time among its pending
-- and retry rows that are under no living claim; NULL if it has none. Claimed
-- rows stay in the index: those in flight are few. busy hops over the index
-- from lane to lane, so that lanes of the past cost nothing.
WITH RECURSIVE busy(id) AS (
    SELECT min(lane_id) FROM lastlook_live
    UNION ALL
    SELECT (SELECT min(l.lane_id) FROM lastlook_live l WHERE l.lane_id > busy.id) FROM busy WHERE busy.id IS NOT NULL)
SELECT a.id, a.topic, a.channel, a.lane, a.priority, (
    SELECT l.due FROM lastlook_live l
    WHERE l.lane_id = a.id AND (l.lease IS NULL OR l.lease <= ?) AND l.state <> 2
    ORDER BY l.due, l.id LIMIT 1)
FROM busy
CROSS JOIN lastlook_lanes a ON a.id = busy.id
ORDER BY a.topic, a.channel, a.lane, a.priority DESC;

-- name: claim_lane
-- The rows of one lane that may be claimed, with all that the core wants to
-- know of them. The transaction holds the write lock, so that what is read
-- here still holds when claim_rows writes.
SELECT {row_columns}
FROM lastlook_live l
CROSS JOIN lastlook_notifications n ON n.id = l.id
CROSS JOIN lastlook_keys k ON k.id = l.key_id
LEFT JOIN lastlook_muted m ON m.recipient = k.recipient AND m.channel = k.channel
WHERE l.lane_id = ? AND l.due <= ? AND l.state <> 2 AND (l.lease IS NULL OR l.lease <= ?) AND l.attempt < ?
ORDER BY l.due, l.id
LIMIT ?;

-- name: claim_row
-- Claims a row. Nothing that an index holds is written.
UPDATE lastlook_live SET state = 1, token = ?2, lease = ?3, attempt = attempt + 1 WHERE id = ?1;

-- name: claim_marks
-- The claim has read these keys' marks: its look is newer than they are.
UPDATE lastlook_marks SET token = ?
WHERE key_id IN (VALUES (?)...);

-- name: claim_record
-- Where the sweep finds the claim's rows once its lease has passed.
INSERT INTO lastlook_claims (lease, token, ids) VALUES (?, ?, ?);

-- name: marks_any
-- Whether there are marks at all: usually not.
SELECT EXISTS (SELECT 1 FROM lastlook_marks);
