-- The Go code reads columns by their position, in the order given here.

-- fragment: key
k.id, k.name, k.owner, k.scopes, k.per_minute, k.created_at, k.used_at, k.revoked_at

-- name: lock_all
-- Keys are added one at a time, since there is a limit to their number.
SELECT g.n FROM {s}lastlook_access_gate g WHERE g.n = 1 FOR UPDATE;

-- name: lock_once
-- Requests under the same idempotency keys, a JSON array of [caller, key], wait for
-- each other, always in the same order.
SELECT pg_advisory_xact_lock(o.lock)
FROM (SELECT hashtextextended('lastlook once ' || v.value, 0) AS lock FROM json_array_elements_text($1::text::json) AS v(value)
    ORDER BY 1 OFFSET 0) o;

-- name: by_id
SELECT {key} FROM {s}lastlook_access_keys k WHERE k.id = $1::text;

-- name: by_token
SELECT {key} FROM {s}lastlook_access_keys k WHERE k.token = $1::bytea AND k.revoked_at IS NULL;

-- name: all
SELECT {key} FROM {s}lastlook_access_keys k WHERE k.id <> $1::text ORDER BY k.n;

-- name: count
SELECT count(*) FROM {s}lastlook_access_keys k WHERE k.revoked_at IS NULL;

-- name: count_of
SELECT count(*) FROM {s}lastlook_access_keys k WHERE k.id = $1::text;

-- name: insert
INSERT INTO {s}lastlook_access_keys (id, token, name, owner, scopes, per_minute, created_at)
VALUES ($1::text, $2::bytea, $3::text, $4::text, $5::text, $6::bigint, $7::bigint);

-- name: first
INSERT INTO {s}lastlook_access_keys (id, token, name, owner, scopes, per_minute, created_at)
VALUES ($1::text, $2::bytea, 'operator', '', '', 0, $3::bigint)
ON CONFLICT (id) DO NOTHING;

-- name: rotate
INSERT INTO {s}lastlook_access_keys (id, token, name, owner, scopes, per_minute, created_at)
VALUES ($1::text, $2::bytea, 'operator', '', '', 0, $3::bigint)
ON CONFLICT (id) DO UPDATE SET token = excluded.token, created_at = excluded.created_at, used_at = NULL;

-- name: used
UPDATE {s}lastlook_access_keys SET used_at = $2::bigint WHERE id = $1::text;

-- name: revoke
UPDATE {s}lastlook_access_keys SET revoked_at = $2::bigint WHERE id = $1::text AND revoked_at IS NULL;

-- name: once
SELECT o.fingerprint, o.results FROM {s}lastlook_access_once o WHERE o.caller = $1::text AND o.key = $2::text;

-- name: keep
INSERT INTO {s}lastlook_access_once (caller, key, fingerprint, results, created_at)
VALUES ($1::text, $2::text, $3::bytea, $4::text, $5::bigint);

-- name: forget
DELETE FROM {s}lastlook_access_once WHERE (caller, key) IN (
    SELECT o.caller, o.key FROM {s}lastlook_access_once o WHERE o.created_at < $1::bigint ORDER BY o.created_at LIMIT $2::bigint FOR UPDATE SKIP LOCKED);
