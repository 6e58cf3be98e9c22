-- Writing. Whoever changes a listing, its watches or their states has locked the
-- listing, in the order of numbers.

-- name: lock_listings
SELECT l.n FROM {s}lastlook_watch_listings l
WHERE l.id = ANY(ARRAY(SELECT json_array_elements_text($1::text::json))) ORDER BY l.n FOR UPDATE;

-- name: lock_listing_of
SELECT l.n FROM {s}lastlook_watch_listings l
WHERE l.n = ANY(ARRAY(SELECT w.listing FROM {s}lastlook_watch_watches w WHERE w.id = $1::text LIMIT 1)) FOR UPDATE;

-- name: insert_listing
-- Nothing, if somebody else has just made it.
INSERT INTO {s}lastlook_watch_listings (id, source, url, options, private, active, interval, next_look)
VALUES ($1::text, $2::text, $3::text, $4::text, $5::boolean, false, $6::bigint, $7::bigint)
ON CONFLICT DO NOTHING RETURNING n;

-- name: claim_due
-- Passes over what others are just claiming.
UPDATE {s}lastlook_watch_listings AS l SET claimed_until = $2::bigint
WHERE l.n = ANY(ARRAY(
    SELECT d.n FROM {s}lastlook_watch_listings d
    WHERE d.active AND d.next_look <= $1::bigint AND d.claimed_until <= $1::bigint
    ORDER BY d.next_look, d.n LIMIT $3::bigint FOR UPDATE SKIP LOCKED))
RETURNING {listing};

-- name: release
UPDATE {s}lastlook_watch_listings SET claimed_until = 0
WHERE id = ANY(ARRAY(SELECT json_array_elements_text($1::text::json))) AND claimed_until = $2::bigint;

-- name: schedule
UPDATE {s}lastlook_watch_listings SET active = $2::boolean, interval = $3::bigint, slowest = $4::bigint, next_look = $5::bigint WHERE n = $1::bigint;

-- name: looked
-- A look that gave an observation, which decides unless it came late ($4 and $5
-- are NULL then).
UPDATE {s}lastlook_watch_listings
SET last_ok = $2::bigint, last_tried = $2::bigint, last_error = '', failures = 0, missing_since = NULL, failing_since = NULL,
    next_look = coalesce($3::bigint, next_look), claimed_until = CASE WHEN $3::bigint IS NULL THEN claimed_until ELSE 0 END,
    last_observation = coalesce($4::bigint, last_observation), standing = coalesce($5::text, standing), pace = coalesce($6::bigint, pace)
WHERE n = $1::bigint;

-- name: failed
-- A look that gave none. The first answer that the page does not exist counts,
-- until it is seen again.
UPDATE {s}lastlook_watch_listings
SET last_tried = $2::bigint, last_error = $3::text, failures = failures + 1,
    missing_since = CASE WHEN $4::boolean THEN coalesce(missing_since, $2::bigint) ELSE missing_since END,
    failing_since = coalesce(failing_since, $2::bigint),
    next_look = coalesce($5::bigint, next_look), claimed_until = CASE WHEN $5::bigint IS NULL THEN claimed_until ELSE 0 END
WHERE id = $1::text;

-- name: postpone
-- Moves listings' next look: a JSON array of [id, next look].
UPDATE {s}lastlook_watch_listings AS l SET next_look = greatest(l.next_look, x.at), claimed_until = 0
FROM (
    SELECT t.n, (v.value ->> 1)::bigint AS at FROM json_array_elements($1::text::json) AS v(value)
    CROSS JOIN LATERAL (SELECT t.n FROM {s}lastlook_watch_listings t WHERE t.id = v.value ->> 0 LIMIT 1) t) x
WHERE l.n = x.n;

-- name: accept
UPDATE {s}lastlook_watch_listings SET standing = $2::text WHERE n = $1::bigint;

-- name: delete_listing
DELETE FROM {s}lastlook_watch_listings WHERE n = $1::bigint;

-- name: delete_observations
DELETE FROM {s}lastlook_watch_observations WHERE listing = $1::bigint;

-- name: delete_lows
DELETE FROM {s}lastlook_watch_lows WHERE listing = $1::bigint;

-- name: write_low
INSERT INTO {s}lastlook_watch_lows (listing, day, currency, buyable, amount)
VALUES ($1::bigint, $2::bigint, $3::text, $4::boolean, $5::text)
ON CONFLICT (listing, day, currency, buyable) DO UPDATE SET amount = excluded.amount;

-- name: insert_watch
INSERT INTO {s}lastlook_watch_watches
    (id, listing, interval, created_at, name, recipient, channels, triggers, ignore_stock, zone, paused, snoozed_until,
    slowest, group_name, details)
VALUES ($1::text, $2::bigint, $3::bigint, $4::bigint, $5::text, $6::text, $7::text, $8::text, $9::boolean, $10::text, $11::boolean, $12::bigint,
    $13::bigint, $14::text, $15::text);

-- name: update_watch
UPDATE {s}lastlook_watch_watches
SET name = $2::text, recipient = $3::text, channels = $4::text, triggers = $5::text, ignore_stock = $6::boolean, zone = $7::text,
    paused = $8::boolean, snoozed_until = $9::bigint, slowest = $10::bigint, group_name = $11::text, details = $12::text
WHERE n = $1::bigint;

-- name: delete_watch
DELETE FROM {s}lastlook_watch_watches WHERE n = $1::bigint;

-- name: delete_states
DELETE FROM {s}lastlook_watch_states WHERE watch = $1::bigint;

-- name: keep_states
-- Drops the states of triggers that a watch has no more. $2 is a JSON array of
-- those that it has.
DELETE FROM {s}lastlook_watch_states
WHERE watch = $1::bigint AND trigger_id <> ALL(ARRAY(SELECT json_array_elements_text($2::text::json)));

-- name: write_states
-- A JSON array of [watch, trigger, known, holding, episode, since, memory], so
-- that any number of watches is one statement.
INSERT INTO {s}lastlook_watch_states (watch, trigger_id, known, holding, episode, since, memory)
SELECT (v.value ->> 0)::bigint, v.value ->> 1, (v.value ->> 2)::boolean, (v.value ->> 3)::boolean,
    (v.value ->> 4)::bigint, (v.value ->> 5)::bigint, v.value ->> 6
FROM json_array_elements($1::text::json) AS v(value)
ON CONFLICT (watch, trigger_id) DO UPDATE
SET known = excluded.known, holding = excluded.holding, episode = excluded.episode, since = excluded.since,
    memory = excluded.memory;

-- name: insert_observation
INSERT INTO {s}lastlook_watch_observations (listing, at, amount, currency, availability, sku, title, image, evidence, facts)
VALUES ($1::bigint, $2::bigint, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text, $9::text, $10::text) RETURNING n;

-- name: admit_host
-- Asks to look at a host now ($2): $3 is the time between two looks, $4 how far
-- ahead of it the slot may be. Nothing comes back if it is to wait.
INSERT INTO {s}lastlook_watch_hosts AS h (host, slot) VALUES ($1::text, $2::bigint + $3::bigint)
ON CONFLICT (host) DO UPDATE SET slot = greatest(h.slot, $2::bigint) + $3::bigint
WHERE greatest(h.slot, $2::bigint) + $3::bigint <= $2::bigint + $4::bigint
RETURNING h.slot;

-- name: host_slot
SELECT h.slot FROM {s}lastlook_watch_hosts h WHERE h.host = $1::text;

-- name: forget_hosts
-- A host whose slot has passed is as one that was never asked.
DELETE FROM {s}lastlook_watch_hosts WHERE host = ANY(ARRAY(
    SELECT h.host FROM {s}lastlook_watch_hosts h WHERE h.slot < $1::bigint LIMIT $2::bigint FOR UPDATE SKIP LOCKED));

-- name: unthinned
-- Listings with days before one that are not thinned yet.
SELECT l.n, l.thinned_before, coalesce(l.last_observation, 0) FROM {s}lastlook_watch_listings l
WHERE l.thinned_before < $1::bigint ORDER BY l.thinned_before, l.n LIMIT $2::bigint;

-- name: old_observations
SELECT {observation} FROM {s}lastlook_watch_observations o
WHERE o.listing = $1::bigint AND o.at >= $2::bigint AND o.at < $3::bigint ORDER BY o.at, o.n LIMIT $4::bigint;

-- name: delete_thinned
-- $2 is a JSON array of numbers. What decides by now stays.
DELETE FROM {s}lastlook_watch_observations
WHERE n = ANY(ARRAY(SELECT json_array_elements_text($2::text::json)::bigint)) AND listing = $1::bigint
    AND n <> coalesce((SELECT l.last_observation FROM {s}lastlook_watch_listings l WHERE l.n = $1::bigint), 0);

-- name: thinned
UPDATE {s}lastlook_watch_listings SET thinned_before = greatest(thinned_before, $2::bigint) WHERE n = $1::bigint;
