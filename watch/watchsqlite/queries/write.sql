-- Writing. All of it runs under the write lock.

-- name: insert_listing
INSERT INTO lastlook_watch_listings (id, source, url, private, active, interval, next_look)
VALUES (?, ?, ?, ?, 0, ?, ?) RETURNING n;

-- name: schedule
UPDATE lastlook_watch_listings SET active = ?2, interval = ?3, next_look = ?4 WHERE n = ?1;

-- name: looked
-- A look that gave an observation, which decides unless it came late (?4 is
-- NULL then).
UPDATE lastlook_watch_listings
SET last_ok = ?2, last_tried = ?2, last_error = '', failures = 0, missing_since = NULL,
    next_look = coalesce(?3, next_look), last_observation = coalesce(?4, last_observation)
WHERE n = ?1;

-- name: failed
-- A look that gave none. The first answer that the page does not exist counts,
-- until it is seen again.
UPDATE lastlook_watch_listings
SET last_tried = ?2, last_error = ?3, failures = failures + 1,
    missing_since = CASE WHEN ?4 THEN coalesce(missing_since, ?2) ELSE missing_since END,
    next_look = coalesce(?5, next_look)
WHERE id = ?1;

-- name: delete_listing
DELETE FROM lastlook_watch_listings WHERE n = ?;

-- name: delete_observations
DELETE FROM lastlook_watch_observations WHERE listing = ?;

-- name: insert_watch
INSERT INTO lastlook_watch_watches
    (id, listing, interval, created_at, name, recipient, channels, triggers, ignore_stock, zone, paused, snoozed_until)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: update_watch
UPDATE lastlook_watch_watches
SET name = ?2, recipient = ?3, channels = ?4, triggers = ?5, ignore_stock = ?6, zone = ?7, paused = ?8, snoozed_until = ?9
WHERE n = ?1;

-- name: delete_watch
DELETE FROM lastlook_watch_watches WHERE n = ?;

-- name: delete_states
DELETE FROM lastlook_watch_states WHERE watch = ?;

-- name: keep_states
-- Drops the states of triggers that a watch has no more. ?2 is a JSON array of
-- those that it has.
DELETE FROM lastlook_watch_states
WHERE watch = ?1 AND trigger_id NOT IN (SELECT value FROM json_each(?2));

-- name: write_states
-- A JSON array of [watch, trigger, known, holding, episode, since], so that any
-- number of watches is one statement.
INSERT INTO lastlook_watch_states (watch, trigger_id, known, holding, episode, since)
SELECT v.value ->> 0, v.value ->> 1, v.value ->> 2, v.value ->> 3, v.value ->> 4, v.value ->> 5
FROM json_each(?) v
WHERE true -- or ON would be read as part of a join
ON CONFLICT (watch, trigger_id) DO UPDATE
SET known = excluded.known, holding = excluded.holding, episode = excluded.episode, since = excluded.since;

-- name: insert_observation
INSERT INTO lastlook_watch_observations (listing, at, amount, currency, availability, sku, title, image, evidence)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING n;
