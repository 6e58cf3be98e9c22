-- What the further triggers need: how a listing is read, what is trusted of it,
-- all that a look states, what each trigger remembers, and the lowest price of
-- each day.

-- Options belong to what makes a listing one: another variant of one page is
-- another listing. A UNIQUE constraint cannot be changed, so the table is made
-- anew; what refers to it does so by n.
CREATE TABLE lastlook_watch_listings_2 (
    n                INTEGER PRIMARY KEY,
    id               TEXT    NOT NULL UNIQUE,
    source           TEXT    NOT NULL CHECK (source <> ''),
    url              TEXT    NOT NULL CHECK (url <> ''),
    -- JSON, always written in the same order, so that equal ones are equal.
    options          TEXT    NOT NULL CHECK (json_valid(options)),
    private          INTEGER NOT NULL CHECK (private IN (0, 1)),
    active           INTEGER NOT NULL CHECK (active IN (0, 1)),
    interval         INTEGER NOT NULL CHECK (interval > 0),
    -- How rarely it may be looked at while nothing changes there, and how often
    -- it is now; 0 is the interval.
    slowest          INTEGER NOT NULL DEFAULT 0 CHECK (slowest >= 0),
    pace             INTEGER NOT NULL DEFAULT 0 CHECK (pace >= 0),
    next_look        INTEGER NOT NULL CHECK (next_look BETWEEN 0 AND 253402300799999999),
    last_ok          INTEGER,
    last_tried       INTEGER,
    missing_since    INTEGER,
    failing_since    INTEGER,
    failures         INTEGER NOT NULL DEFAULT 0 CHECK (failures >= 0),
    last_observation INTEGER,
    last_error       TEXT    NOT NULL DEFAULT '',
    -- What is trusted of it, and what is not yet: JSON.
    standing         TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(standing)),
    UNIQUE (url, source, options, private)
) STRICT;

INSERT INTO lastlook_watch_listings_2 (n, id, source, url, options, private, active, interval, next_look, last_ok, last_tried,
    missing_since, failing_since, failures, last_observation, last_error)
SELECT n, id, source, url, '{}', private, active, interval, next_look, last_ok, last_tried,
    missing_since, CASE WHEN failures > 0 THEN coalesce(last_ok, last_tried) END, failures, last_observation, last_error
FROM lastlook_watch_listings;

DROP TABLE lastlook_watch_listings;
ALTER TABLE lastlook_watch_listings_2 RENAME TO lastlook_watch_listings;
CREATE INDEX lastlook_watch_listings_due ON lastlook_watch_listings (next_look) WHERE active = 1;

-- The last look of each listing was believed when it was made.
UPDATE lastlook_watch_listings AS l
SET standing = (
    SELECT json_object('price', json_object('amount', o.amount, 'currency', o.currency))
    FROM lastlook_watch_observations o WHERE o.n = l.last_observation
)
WHERE EXISTS (
    SELECT 1 FROM lastlook_watch_observations o
    WHERE o.n = l.last_observation AND CAST(o.amount AS REAL) > 0
);

ALTER TABLE lastlook_watch_watches ADD COLUMN slowest INTEGER NOT NULL DEFAULT 0 CHECK (slowest >= 0);
-- Watches of one recipient that wait for the same thing at several shops.
ALTER TABLE lastlook_watch_watches ADD COLUMN group_name TEXT NOT NULL DEFAULT '';
-- Points, cooldown, rearm: JSON.
ALTER TABLE lastlook_watch_watches ADD COLUMN details TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(details));
CREATE INDEX lastlook_watch_watches_group ON lastlook_watch_watches (recipient, group_name) WHERE group_name <> '';

-- What a trigger has seen, as far as it asks for that: JSON.
ALTER TABLE lastlook_watch_states ADD COLUMN memory TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(memory));

-- All else that a look states: JSON.
ALTER TABLE lastlook_watch_observations ADD COLUMN facts TEXT CHECK (json_valid(facts));

-- The lowest trusted price of each day (counted from 1970-01-01, UTC), apart for
-- looks at which the item could be ordered. A year of a listing is a few hundred
-- rows, however often it is looked at.
CREATE TABLE lastlook_watch_lows (
    listing  INTEGER NOT NULL,
    day      INTEGER NOT NULL,
    currency TEXT    NOT NULL CHECK (length(currency) = 3),
    buyable  INTEGER NOT NULL CHECK (buyable IN (0, 1)),
    amount   TEXT    NOT NULL,
    PRIMARY KEY (listing, day, currency, buyable)
) STRICT, WITHOUT ROWID;

-- What was seen so far. The float only finds the row; its amount is kept as it
-- was read.
INSERT INTO lastlook_watch_lows (listing, day, currency, buyable, amount)
SELECT listing, day, currency, buyable, amount FROM (
    SELECT listing, at / 86400000000 AS day, currency, availability IN ('in_stock', 'limited', 'preorder', 'backorder') AS buyable,
        amount, min(CAST(amount AS REAL))
    FROM lastlook_watch_observations WHERE CAST(amount AS REAL) > 0
    GROUP BY listing, at / 86400000000, currency, availability IN ('in_stock', 'limited', 'preorder', 'backorder')
);
