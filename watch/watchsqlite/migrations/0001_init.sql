-- Listings, watches, where their triggers stand, and what was seen. They stand
-- in the outbox's file, so that an observation, what it means, and what is to
-- be told of it are one transaction.
--
-- Times are INTEGER microseconds since the Unix epoch, UTC, durations INTEGER
-- microseconds; money is an amount as TEXT and its ISO 4217 currency, never a
-- float; lists are JSON. n is a row's own number within the file, id what
-- everybody else knows it by.

-- What is looked at, shared by all who watch it. A private one (its address
-- was typed by the operator, and may lead into a private network) is never
-- shared with watches whose address came from elsewhere.
CREATE TABLE lastlook_watch_listings (
    n                INTEGER PRIMARY KEY,
    id               TEXT    NOT NULL UNIQUE,
    source           TEXT    NOT NULL CHECK (source <> ''),
    url              TEXT    NOT NULL CHECK (url <> ''),
    private          INTEGER NOT NULL CHECK (private IN (0, 1)),
    -- Whether a watch that is not paused wants it looked at, and how often.
    active           INTEGER NOT NULL CHECK (active IN (0, 1)),
    interval         INTEGER NOT NULL CHECK (interval > 0),
    next_look        INTEGER NOT NULL CHECK (next_look BETWEEN 0 AND 253402300799999999),
    last_ok          INTEGER,
    last_tried       INTEGER,
    missing_since    INTEGER,
    failures         INTEGER NOT NULL DEFAULT 0 CHECK (failures >= 0),
    -- The observation that decides where the triggers stand. One that was made
    -- before it and comes late is kept, but decides nothing.
    last_observation INTEGER,
    last_error       TEXT    NOT NULL DEFAULT '',
    UNIQUE (url, source, private)
) STRICT;

-- What is due, in order, without those that nobody waits for.
CREATE INDEX lastlook_watch_listings_due ON lastlook_watch_listings (next_look) WHERE active = 1;

CREATE TABLE lastlook_watch_watches (
    n             INTEGER PRIMARY KEY,
    id            TEXT    NOT NULL UNIQUE,
    listing       INTEGER NOT NULL,
    -- How often this watch asks for a look; the listing has the shortest.
    interval      INTEGER NOT NULL CHECK (interval > 0),
    paused        INTEGER NOT NULL CHECK (paused IN (0, 1)),
    snoozed_until INTEGER,
    created_at    INTEGER NOT NULL CHECK (created_at BETWEEN 0 AND 253402300799999999),
    ignore_stock  INTEGER NOT NULL CHECK (ignore_stock IN (0, 1)),
    zone          TEXT    NOT NULL,
    name          TEXT    NOT NULL,
    recipient     TEXT    NOT NULL CHECK (recipient <> ''),
    channels      TEXT    NOT NULL CHECK (json_valid(channels)),
    triggers      TEXT    NOT NULL CHECK (json_valid(triggers))
) STRICT;

-- The watches of a listing, and the shortest interval of those not paused.
CREATE INDEX lastlook_watch_watches_listing ON lastlook_watch_watches (listing, paused, interval);

-- Where a watch's triggers stand with its listing, whatever has been told.
CREATE TABLE lastlook_watch_states (
    watch      INTEGER NOT NULL,
    trigger_id TEXT    NOT NULL,
    known      INTEGER NOT NULL CHECK (known IN (0, 1)),
    holding    INTEGER NOT NULL CHECK (holding IN (0, 1)),
    episode    INTEGER NOT NULL CHECK (episode >= 0),
    since      INTEGER,
    PRIMARY KEY (watch, trigger_id)
) STRICT, WITHOUT ROWID;

-- What looks saw. A row never changes.
CREATE TABLE lastlook_watch_observations (
    n            INTEGER PRIMARY KEY,
    listing      INTEGER NOT NULL,
    at           INTEGER NOT NULL CHECK (at BETWEEN 0 AND 253402300799999999),
    amount       TEXT,
    currency     TEXT CHECK (length(currency) = 3),
    availability TEXT NOT NULL,
    sku          TEXT NOT NULL,
    title        TEXT NOT NULL,
    image        TEXT NOT NULL,
    evidence     TEXT CHECK (json_valid(evidence)),
    CHECK ((amount IS NULL) = (currency IS NULL))
) STRICT;

CREATE INDEX lastlook_watch_observations_listing ON lastlook_watch_observations (listing, at);
