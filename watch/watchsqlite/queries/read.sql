-- Reading. The Go code reads columns by their position, in the order given
-- here. "{name}" stands for the fragment of that name.

-- fragment: listing
l.n, l.id, l.source, l.url, l.options, l.private, l.interval, l.slowest, l.pace, l.next_look,
l.last_ok, l.last_tried, l.last_error, l.failures, l.missing_since, l.failing_since, l.standing

-- fragment: claimed
-- The same, as UPDATE returns it.
n, id, source, url, options, private, interval, slowest, pace, next_look,
last_ok, last_tried, last_error, failures, missing_since, failing_since, standing

-- fragment: observation
o.n, o.at, o.amount, o.currency, o.availability, o.sku, o.title, o.image, o.evidence, o.facts

-- fragment: watch
w.n, w.id, w.listing, w.interval, w.name, w.recipient, w.channels, w.triggers,
w.ignore_stock, w.zone, w.paused, w.snoozed_until, w.created_at, w.slowest, w.group_name, w.details

-- name: due
-- The partial index's condition stands here word for word, or it would not be
-- used.
SELECT {listing} FROM lastlook_watch_listings l
WHERE l.active = 1 AND l.next_look <= ?1 AND l.claimed_until <= ?1
ORDER BY l.next_look, l.n LIMIT ?2;

-- name: next_due
SELECT l.next_look FROM lastlook_watch_listings l
WHERE l.active = 1 AND l.claimed_until <= ?
ORDER BY l.next_look LIMIT 1;

-- name: listing_by_id
SELECT {listing}, {observation}
FROM lastlook_watch_listings l
LEFT JOIN lastlook_watch_observations o ON o.n = l.last_observation
WHERE l.id = ?;

-- name: listing_by_url
SELECT {listing}, {observation}
FROM lastlook_watch_listings l
LEFT JOIN lastlook_watch_observations o ON o.n = l.last_observation
WHERE l.url = ? AND l.source = ? AND l.options = ? AND l.private = ?;

-- name: listings_by_number
SELECT {listing}, {observation}
FROM json_each(?) v
CROSS JOIN lastlook_watch_listings l ON l.n = v.value
LEFT JOIN lastlook_watch_observations o ON o.n = l.last_observation;

-- name: watches_by_id
SELECT {watch} FROM json_each(?) v CROSS JOIN lastlook_watch_watches w ON w.id = v.value;

-- name: watches_by_listing
SELECT {watch} FROM lastlook_watch_watches w WHERE w.listing = ? ORDER BY w.n;

-- name: watches_by_group
-- A JSON array of [recipient, group].
SELECT {watch} FROM json_each(?) v
CROSS JOIN lastlook_watch_watches w ON w.recipient = v.value ->> 0 AND w.group_name = v.value ->> 1 AND w.group_name <> '';

-- name: watches_all
SELECT {watch} FROM lastlook_watch_watches w ORDER BY w.created_at, w.n;

-- name: watches_by_recipient
SELECT {watch} FROM lastlook_watch_watches w WHERE w.recipient = ? ORDER BY w.created_at, w.n;

-- name: states_by_watch
SELECT s.watch, s.trigger_id, s.known, s.holding, s.episode, s.since, s.memory
FROM json_each(?) v CROSS JOIN lastlook_watch_states s ON s.watch = v.value;

-- name: demand
-- Whether anybody wants a listing looked at, how often, and how rarely at least.
SELECT EXISTS (SELECT 1 FROM lastlook_watch_watches WHERE listing = ?1 AND paused = 0),
    coalesce((SELECT min(interval) FROM lastlook_watch_watches WHERE listing = ?1 AND paused = 0), 0),
    coalesce((SELECT min(max(interval, slowest)) FROM lastlook_watch_watches WHERE listing = ?1 AND paused = 0), 0);

-- name: watched
SELECT EXISTS (SELECT 1 FROM lastlook_watch_watches WHERE listing = ?);

-- name: history
SELECT {observation} FROM lastlook_watch_observations o
WHERE o.listing = ?
ORDER BY o.at DESC, o.n DESC LIMIT ?;

-- name: lows
-- The lows of a listing from a day on, oldest first.
SELECT w.day, w.currency, w.buyable, w.amount FROM lastlook_watch_lows w
WHERE w.listing = ? AND w.day >= ? ORDER BY w.day;
