-- Writing. All of it runs under the write lock.

-- name: insert_listing
INSERT INTO lastlook_watch_listings (id, source, url, options, private, active, interval, next_look)
VALUES (?, ?, ?, ?, ?, 0, ?, ?) RETURNING n;

-- name: claim_due
UPDATE lastlook_watch_listings AS l SET claimed_until = ?2
WHERE l.n IN (
    SELECT d.n FROM lastlook_watch_listings d
    WHERE d.active = 1 AND d.next_look <= ?1 AND d.claimed_until <= ?1
    ORDER BY d.next_look, d.n LIMIT ?3)
RETURNING {claimed};

-- name: release
-- ?1 is a JSON array of ids.
UPDATE lastlook_watch_listings SET claimed_until = 0
WHERE id IN (SELECT value FROM json_each(?1)) AND claimed_until = ?2;

-- name: schedule
UPDATE lastlook_watch_listings SET active = ?2, interval = ?3, slowest = ?4, next_look = ?5 WHERE n = ?1;

-- name: looked
-- A look that gave an observation, which decides unless it came late (?4 and ?5
-- are NULL then).
UPDATE lastlook_watch_listings
SET last_ok = ?2, last_tried = ?2, last_error = '', failures = 0, missing_since = NULL, failing_since = NULL,
    next_look = coalesce(?3, next_look), claimed_until = CASE WHEN ?3 IS NULL THEN claimed_until ELSE 0 END,
    last_observation = coalesce(?4, last_observation),
    standing = coalesce(?5, standing), pace = coalesce(?6, pace)
WHERE n = ?1;

-- name: failed
-- A look that gave none. The first answer that the page does not exist counts,
-- until it is seen again.
UPDATE lastlook_watch_listings
SET last_tried = ?2, last_error = ?3, failures = failures + 1,
    missing_since = CASE WHEN ?4 THEN coalesce(missing_since, ?2) ELSE missing_since END,
    failing_since = coalesce(failing_since, ?2),
    next_look = coalesce(?5, next_look), claimed_until = CASE WHEN ?5 IS NULL THEN claimed_until ELSE 0 END
WHERE id = ?1;

-- name: postpone
-- Moves listings' next look: a JSON array of [id, next look].
UPDATE lastlook_watch_listings AS l SET next_look = max(l.next_look, v.value ->> 1), claimed_until = 0
FROM json_each(?) v WHERE l.id = v.value ->> 0;

-- name: accept
UPDATE lastlook_watch_listings SET standing = ?2 WHERE n = ?1;

-- name: delete_listing
DELETE FROM lastlook_watch_listings WHERE n = ?;

-- name: delete_observations
DELETE FROM lastlook_watch_observations WHERE listing = ?;

-- name: delete_lows
DELETE FROM lastlook_watch_lows WHERE listing = ?;

-- name: write_low
INSERT INTO lastlook_watch_lows (listing, day, currency, buyable, amount) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (listing, day, currency, buyable) DO UPDATE SET amount = excluded.amount;

-- name: insert_watch
INSERT INTO lastlook_watch_watches
    (id, listing, interval, created_at, name, recipient, channels, triggers, ignore_stock, zone, paused, snoozed_until,
    slowest, group_name, details)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: update_watch
UPDATE lastlook_watch_watches
SET name = ?2, recipient = ?3, channels = ?4, triggers = ?5, ignore_stock = ?6, zone = ?7, paused = ?8, snoozed_until = ?9,
    slowest = ?10, group_name = ?11, details = ?12
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
-- A JSON array of [watch, trigger, known, holding, episode, since, memory], so
-- that any number of watches is one statement.
INSERT INTO lastlook_watch_states (watch, trigger_id, known, holding, episode, since, memory)
SELECT v.value ->> 0, v.value ->> 1, v.value ->> 2, v.value ->> 3, v.value ->> 4, v.value ->> 5, v.value ->> 6
FROM json_each(?) v
WHERE true -- or ON would be read as part of a join
ON CONFLICT (watch, trigger_id) DO UPDATE
SET known = excluded.known, holding = excluded.holding, episode = excluded.episode, since = excluded.since,
    memory = excluded.memory;

-- name: insert_observation
INSERT INTO lastlook_watch_observations (listing, at, amount, currency, availability, sku, title, image, evidence, facts)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING n;

-- name: unthinned
-- Listings with days before one that are not thinned yet.
SELECT l.n, l.thinned_before, coalesce(l.last_observation, 0) FROM lastlook_watch_listings l
WHERE l.thinned_before < ? ORDER BY l.thinned_before, l.n LIMIT ?;

-- name: old_observations
SELECT {observation} FROM lastlook_watch_observations o
WHERE o.listing = ? AND o.at >= ? AND o.at < ? ORDER BY o.at, o.n LIMIT ?;

-- name: delete_thinned
-- ?2 is a JSON array of numbers. What decides by now stays.
DELETE FROM lastlook_watch_observations
WHERE n IN (SELECT value FROM json_each(?2)) AND listing = ?1
    AND n <> coalesce((SELECT l.last_observation FROM lastlook_watch_listings l WHERE l.n = ?1), 0);

-- name: thinned
UPDATE lastlook_watch_listings SET thinned_before = max(thinned_before, ?2) WHERE n = ?1;
