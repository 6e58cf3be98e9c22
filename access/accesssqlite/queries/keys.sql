-- The Go code reads columns by their position, in the order given here.

-- fragment: key
id, name, owner, scopes, per_minute, created_at, used_at, revoked_at

-- name: by_id
SELECT {key} FROM lastlook_access_keys WHERE id = ?;

-- name: by_token
SELECT {key} FROM lastlook_access_keys WHERE token = ? AND revoked_at IS NULL;

-- name: all
SELECT {key} FROM lastlook_access_keys WHERE id <> ? ORDER BY n;

-- name: count
SELECT count(*) FROM lastlook_access_keys WHERE revoked_at IS NULL;

-- name: count_of
SELECT count(*) FROM lastlook_access_keys WHERE id = ?;

-- name: insert
INSERT INTO lastlook_access_keys (id, token, name, owner, scopes, per_minute, created_at) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: first
INSERT INTO lastlook_access_keys (id, token, name, owner, scopes, per_minute, created_at) VALUES (?, ?, 'operator', '', '', 0, ?)
ON CONFLICT (id) DO NOTHING;

-- name: rotate
INSERT INTO lastlook_access_keys (id, token, name, owner, scopes, per_minute, created_at) VALUES (?, ?, 'operator', '', '', 0, ?)
ON CONFLICT (id) DO UPDATE SET token = excluded.token, created_at = excluded.created_at, used_at = NULL;

-- name: used
UPDATE lastlook_access_keys SET used_at = ?2 WHERE id = ?1;

-- name: revoke
UPDATE lastlook_access_keys SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL;

-- name: once
SELECT fingerprint, results FROM lastlook_access_once WHERE caller = ? AND key = ?;

-- name: keep
INSERT INTO lastlook_access_once (caller, key, fingerprint, results, created_at) VALUES (?, ?, ?, ?, ?);

-- name: forget
DELETE FROM lastlook_access_once WHERE (caller, key) IN (
    SELECT caller, key FROM lastlook_access_once WHERE created_at < ? ORDER BY created_at LIMIT ?);
