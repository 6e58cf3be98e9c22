-- The Go code reads columns by their position, in the order given here.

-- fragment: device
d.id, d.name, d.created_at, d.seen_at, d.subscription, d.key, d.since, d.gone_at, d.lost_at, d.back_at

-- name: lock_all
-- Devices are added, and get subscriptions, one at a time: there is a limit to
-- their number, and each endpoint is one's only. Readers do not wait.
SELECT g.n FROM {s}lastlook_device_gate g WHERE g.n = 1 FOR UPDATE;

-- name: lock_device
SELECT d.n FROM {s}lastlook_device_devices d WHERE d.id = $1::text FOR UPDATE;

-- name: count
SELECT count(*) FROM {s}lastlook_device_devices;

-- name: by_id
SELECT {device} FROM {s}lastlook_device_devices d WHERE d.id = $1::text;

-- name: by_token
SELECT {device} FROM {s}lastlook_device_devices d WHERE d.token = $1::bytea;

-- name: all
SELECT {device} FROM {s}lastlook_device_devices d ORDER BY d.n;

-- name: changed
SELECT {device} FROM {s}lastlook_device_devices d WHERE d.since IS NOT NULL AND d.since >= $1::bigint ORDER BY d.n;

-- name: idle
SELECT {device} FROM {s}lastlook_device_devices d
WHERE d.seen_at < $1::bigint AND (d.subscription IS NULL OR d.gone_at IS NOT NULL) ORDER BY d.seen_at LIMIT $2::bigint;

-- name: keys
SELECT DISTINCT d.key FROM {s}lastlook_device_devices d WHERE d.key IS NOT NULL AND d.gone_at IS NULL ORDER BY d.key;

-- name: insert
INSERT INTO {s}lastlook_device_devices (id, token, name, created_at, seen_at) VALUES ($1::text, $2::bytea, $3::text, $4::bigint, $5::bigint);

-- name: update
UPDATE {s}lastlook_device_devices
SET name = $2::text, seen_at = $3::bigint, subscription = $4::text, endpoint = $5::text, key = $6::text, since = $7::bigint,
    gone_at = $8::bigint, lost_at = $9::bigint, back_at = $10::bigint
WHERE id = $1::text;

-- A subscription belongs to the device that gave it last, but its endpoint alone
-- gives nobody a right to it.

-- name: taken
SELECT count(*) FROM {s}lastlook_device_devices d
WHERE md5(d.endpoint) = md5($2::text) AND d.endpoint = $2::text AND d.id <> $1::text AND d.subscription <> $3::text;

-- name: take
UPDATE {s}lastlook_device_devices SET subscription = NULL, endpoint = NULL, key = NULL, since = NULL, gone_at = NULL
WHERE md5(endpoint) = md5($2::text) AND endpoint = $2::text AND id <> $1::text;

-- name: delete
DELETE FROM {s}lastlook_device_devices WHERE id = $1::text;
