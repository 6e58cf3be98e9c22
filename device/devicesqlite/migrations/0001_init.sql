-- Devices: who may be told without an account. They stand in the outbox's file.
--
-- Times are INTEGER microseconds since the Unix epoch, UTC. n is a row's own
-- number within the file, id what everybody else knows it by.

CREATE TABLE lastlook_device_devices (
    n            INTEGER PRIMARY KEY,
    id           TEXT    NOT NULL UNIQUE,
    -- SHA-256 of the token; the token itself is the device's alone.
    token        BLOB    NOT NULL UNIQUE CHECK (length(token) = 32),
    name         TEXT    NOT NULL CHECK (name <> ''),
    created_at   INTEGER NOT NULL CHECK (created_at BETWEEN 0 AND 253402300799999999),
    seen_at      INTEGER NOT NULL CHECK (seen_at BETWEEN 0 AND 253402300799999999),
    -- The push subscription, as browsers write it; its endpoint once more,
    -- since it belongs to one device; the public key that it was made with.
    subscription TEXT CHECK (json_valid(subscription)),
    endpoint     TEXT    UNIQUE,
    key          TEXT,
    since        INTEGER,
    gone_at      INTEGER,
    lost_at      INTEGER,
    back_at      INTEGER,
    CHECK ((subscription IS NULL) = (endpoint IS NULL) AND (subscription IS NULL) = (key IS NULL) AND (subscription IS NULL) = (since IS NULL)),
    CHECK (gone_at IS NULL OR subscription IS NOT NULL)
) STRICT;

-- Who subscribed lately, and who has not been seen for long.
CREATE INDEX lastlook_device_devices_since ON lastlook_device_devices (since) WHERE since IS NOT NULL;
CREATE INDEX lastlook_device_devices_seen ON lastlook_device_devices (seen_at);
