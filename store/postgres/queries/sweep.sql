-- Sweep: dead leases, expired rows, marks without a live row. Each finds its own
-- by an index, in pages.

-- name: sweep_claims
-- Claims whose lease has passed, from a position on.
SELECT c.id, c.lease, c.token, c.ids FROM {s}lastlook_claims c
WHERE c.lease <= $1::bigint AND (c.lease, c.id) >= ($2::bigint, $3::bigint)
ORDER BY c.lease, c.id
LIMIT $4::bigint;

-- name: sweep_leases
-- Which rows still hold the token of the claim (n) that took them.
SELECT v.n, l.id, l.lease
FROM unnest($1::bigint[], $2::bigint[], $3::uuid[]) AS v(n, id, token)
CROSS JOIN LATERAL (SELECT * FROM {s}lastlook_live l WHERE l.id = v.id LIMIT 1) l
WHERE l.token = v.token;

-- name: sweep_dead
-- Rows whose lease has passed, whole.
SELECT {live_columns}, {notification_columns}
FROM unnest($1::bigint[], $2::uuid[]) AS v(id, token)
CROSS JOIN LATERAL (SELECT * FROM {s}lastlook_live l WHERE l.id = v.id LIMIT 1) l
{of_live}
WHERE l.token = v.token;

-- name: sweep_expired
-- Pending and retry rows whose expiry has passed, claimed or not.
SELECT {live_columns}, {notification_columns}
FROM (SELECT * FROM {s}lastlook_live l
    WHERE l.expires_at <= $1::bigint AND (l.expires_at, l.id) > ($2::bigint, $3::bigint) AND l.state <> 2
    ORDER BY l.expires_at, l.id LIMIT $4::bigint) l
{of_live}
ORDER BY l.expires_at, l.id;

-- name: sweep_marks
-- A page of the keys that have marks, and whether they have a live row. Hops over
-- the index from key to key.
WITH RECURSIVE p(key_id, i) AS (
    (SELECT m.key_id, 1::bigint FROM {s}lastlook_marks m WHERE m.key_id > $1::bigint ORDER BY m.key_id, m.id LIMIT 1)
    UNION ALL
    SELECT (SELECT m.key_id FROM {s}lastlook_marks m WHERE m.key_id > p.key_id ORDER BY m.key_id, m.id LIMIT 1), p.i + 1
    FROM p WHERE p.key_id IS NOT NULL AND p.i < $2::bigint)
SELECT p.key_id, NOT EXISTS (SELECT 1 FROM {s}lastlook_live l WHERE l.key_id = p.key_id OFFSET 0)
FROM p WHERE p.key_id IS NOT NULL;

-- name: sweep_forget
-- Claims of which no live row holds the token any more. None ever will again.
DELETE FROM {s}lastlook_claims WHERE id = ANY($1::bigint[]);

-- name: sweep_renew
-- Claims whose rows have all been renewed: looked at again when the first of the
-- new leases passes.
UPDATE {s}lastlook_claims AS c SET lease = x.lease
FROM (
    SELECT v.*, t.tid FROM unnest($1::bigint[], $2::bigint[]) AS v(id, lease)
    CROSS JOIN LATERAL (SELECT t.ctid AS tid FROM {s}lastlook_claims t WHERE t.id = v.id LIMIT 1) t) x
WHERE c.ctid = x.tid;
