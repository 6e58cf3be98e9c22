-- Reading. The Go code reads columns by their position, in the order given
-- here. "{name}" stands for the fragment of that name, {s} for the schema. From a
-- list to its rows there is one way only, which the planner cannot turn around:
-- CROSS JOIN LATERAL (… LIMIT 1), or OFFSET 0 for several.

-- fragment: listing
l.n, l.id, l.source, l.url, l.options, l.private, l.interval, l.slowest, l.pace, l.next_look,
l.last_ok, l.last_tried, l.last_error, l.failures, l.missing_since, l.failing_since, l.standing

-- fragment: observation
o.n, o.at, o.amount, o.currency, o.availability, o.sku, o.title, o.image, o.evidence, o.facts

-- fragment: watch
w.n, w.id, w.listing, w.interval, w.name, w.recipient, w.channels, w.triggers,
w.ignore_stock, w.zone, w.paused, w.snoozed_until, w.created_at, w.slowest, w.group_name, w.details

-- fragment: last
LEFT JOIN LATERAL (SELECT * FROM {s}lastlook_watch_observations o WHERE o.n = l.last_observation LIMIT 1) o ON true

-- fragment: list
-- A JSON array of texts or numbers.
json_array_elements_text($1::text::json) AS v(value)

-- name: due
SELECT {listing} FROM {s}lastlook_watch_listings l
WHERE l.active AND l.next_look <= $1::bigint AND l.claimed_until <= $1::bigint
ORDER BY l.next_look, l.n LIMIT $2::bigint;

-- name: next_due
SELECT l.next_look FROM {s}lastlook_watch_listings l
WHERE l.active AND l.claimed_until <= $1::bigint
ORDER BY l.next_look, l.n LIMIT 1;

-- name: listing_by_id
SELECT {listing}, {observation}
FROM (SELECT * FROM {s}lastlook_watch_listings l WHERE l.id = $1::text LIMIT 1) l
{last};

-- name: listing_by_url
SELECT {listing}, {observation}
FROM (SELECT * FROM {s}lastlook_watch_listings l
    WHERE md5(l.url) = md5($1::text) AND md5(l.source || ' ' || l.options) = md5($2::text || ' ' || $3::text) AND l.private = $4::boolean
        AND l.url = $1::text AND l.source = $2::text AND l.options = $3::text LIMIT 1) l
{last};

-- name: listings_by_number
SELECT {listing}, {observation}
FROM {list}
CROSS JOIN LATERAL (SELECT * FROM {s}lastlook_watch_listings l WHERE l.n = v.value::bigint LIMIT 1) l
{last};

-- name: watches_by_id
SELECT {watch} FROM {list}
CROSS JOIN LATERAL (SELECT * FROM {s}lastlook_watch_watches w WHERE w.id = v.value LIMIT 1) w;

-- name: watches_by_listing
SELECT {watch} FROM {s}lastlook_watch_watches w WHERE w.listing = $1::bigint ORDER BY w.n;

-- name: watches_by_group
-- A JSON array of [recipient, group].
SELECT {watch} FROM json_array_elements($1::text::json) AS v(value)
CROSS JOIN LATERAL (SELECT * FROM {s}lastlook_watch_watches w
    WHERE w.recipient = v.value ->> 0 AND w.group_name = v.value ->> 1 AND w.group_name <> '' ORDER BY w.n OFFSET 0) w;

-- name: watches_all
SELECT {watch} FROM {s}lastlook_watch_watches w ORDER BY w.created_at, w.n;

-- name: watches_by_recipient
SELECT {watch} FROM {s}lastlook_watch_watches w WHERE w.recipient = $1::text ORDER BY w.created_at, w.n;

-- name: states_by_watch
SELECT s.watch, s.trigger_id, s.known, s.holding, s.episode, s.since, s.memory
FROM {list}
CROSS JOIN LATERAL (SELECT * FROM {s}lastlook_watch_states s WHERE s.watch = v.value::bigint OFFSET 0) s;

-- name: demand
-- Whether anybody wants a listing looked at, how often, and how rarely at least.
SELECT count(*) > 0, coalesce(min(w.interval), 0), coalesce(min(greatest(w.interval, w.slowest)), 0)
FROM {s}lastlook_watch_watches w WHERE w.listing = $1::bigint AND NOT w.paused;

-- name: watched
SELECT count(*) FROM (SELECT 1 FROM {s}lastlook_watch_watches w WHERE w.listing = $1::bigint LIMIT 1) x;

-- name: history
SELECT {observation} FROM {s}lastlook_watch_observations o
WHERE o.listing = $1::bigint
ORDER BY o.at DESC, o.n DESC LIMIT $2::bigint;

-- name: lows
-- The lows of a listing from a day on, oldest first.
SELECT w.day, w.currency, w.buyable, w.amount FROM {s}lastlook_watch_lows w
WHERE w.listing = $1::bigint AND w.day >= $2::bigint ORDER BY w.day, w.currency, w.buyable;
