-- Sweep: dead leases, expired rows, marks without a live row. Each finds its
-- own by an index, in pages.

-- name: sweep_claims
-- Claims whose lease has passed, from a position on.
SELECT id, lease, token, ids FROM lastlook_claims
WHERE lease <= ? AND (lease, id) >= (?, ?)
ORDER BY lease, id
LIMIT ?;

-- name: sweep_leases
-- Which rows still hold the token of the claim (n) that took them.
WITH v(n, id, token) AS (VALUES (?, ?, ?)...)
SELECT v.n, l.id, l.lease FROM v
CROSS JOIN lastlook_live l ON l.id = v.id AND l.token = v.token;

-- name: sweep_dead
-- Rows whose lease has passed, whole.
WITH v(id, token) AS (VALUES (?, ?)...)
SELECT {row_columns}, {claim_columns}
FROM v
CROSS JOIN lastlook_live l ON l.id = v.id AND l.token = v.token
CROSS JOIN lastlook_notifications n ON n.id = l.id
CROSS JOIN lastlook_keys k ON k.id = l.key_id
CROSS JOIN lastlook_lanes a ON a.id = l.lane_id
LEFT JOIN lastlook_muted m ON m.recipient = k.recipient AND m.channel = k.channel;

-- name: sweep_expired
-- Pending and retry rows whose expiry has passed, claimed or not.
SELECT {row_columns}, {claim_columns}
FROM lastlook_live l
CROSS JOIN lastlook_notifications n ON n.id = l.id
CROSS JOIN lastlook_keys k ON k.id = l.key_id
CROSS JOIN lastlook_lanes a ON a.id = l.lane_id
LEFT JOIN lastlook_muted m ON m.recipient = k.recipient AND m.channel = k.channel
WHERE l.expires_at <= ? AND (l.expires_at, l.id) > (?, ?) AND l.state <> 2
ORDER BY l.expires_at, l.id
LIMIT ?;

-- name: sweep_marks
-- A page of the keys that have marks, and whether they have a live row.
WITH p(key_id) AS (SELECT DISTINCT key_id FROM lastlook_marks WHERE key_id > ? ORDER BY key_id LIMIT ?)
SELECT p.key_id, l.id IS NULL
FROM p LEFT JOIN lastlook_live l ON l.key_id = p.key_id;

-- name: sweep_forget
-- Claims of which no live row holds the token any more. None ever will again.
DELETE FROM lastlook_claims WHERE id IN (VALUES (?)...);

-- name: sweep_renew
-- Claims whose rows have all been renewed: looked at again when the first of
-- the new leases passes.
WITH v(id, lease) AS (VALUES (?, ?)...)
UPDATE lastlook_claims AS c SET lease = v.lease
FROM v WHERE c.id = v.id;
