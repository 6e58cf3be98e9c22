-- The Go code reads columns by their position, in the order given here.

-- fragment: device
id, name, created_at, seen_at, subscription, key, since, gone_at, lost_at, back_at

-- name: count
SELECT count(*) FROM lastlook_device_devices;

-- name: by_id
SELECT {device} FROM lastlook_device_devices WHERE id = ?;

-- name: by_token
SELECT {device} FROM lastlook_device_devices WHERE token = ?;

-- name: all
SELECT {device} FROM lastlook_device_devices ORDER BY n;

-- name: changed
SELECT {device} FROM lastlook_device_devices WHERE since IS NOT NULL AND since >= ? ORDER BY n;

-- name: idle
SELECT {device} FROM lastlook_device_devices
WHERE seen_at < ? AND (subscription IS NULL OR gone_at IS NOT NULL) ORDER BY seen_at LIMIT ?;

-- name: keys
SELECT DISTINCT key FROM lastlook_device_devices WHERE key IS NOT NULL AND gone_at IS NULL ORDER BY key;

-- name: insert
INSERT INTO lastlook_device_devices (id, token, name, created_at, seen_at) VALUES (?, ?, ?, ?, ?);

-- name: update
UPDATE lastlook_device_devices
SET name = ?2, seen_at = ?3, subscription = ?4, endpoint = ?5, key = ?6, since = ?7, gone_at = ?8, lost_at = ?9, back_at = ?10
WHERE id = ?1;

-- A subscription belongs to the device that gave it last, but its endpoint alone
-- gives nobody a right to it.

-- name: taken
SELECT count(*) FROM lastlook_device_devices WHERE endpoint = ?2 AND id <> ?1 AND subscription <> ?3;

-- name: take
UPDATE lastlook_device_devices SET subscription = NULL, endpoint = NULL, key = NULL, since = NULL, gone_at = NULL
WHERE endpoint = ?2 AND id <> ?1;

-- name: delete
DELETE FROM lastlook_device_devices WHERE id = ?;
