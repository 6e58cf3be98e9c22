-- API keys, the operator's among them. They stand in the outbox's file.
--
-- Times are INTEGER microseconds since the Unix epoch, UTC.

CREATE TABLE lastlook_access_keys (
    n          INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    -- SHA-256 of the token; the token itself is shown once and not kept.
    token      BLOB    NOT NULL UNIQUE CHECK (length(token) = 32),
    name       TEXT    NOT NULL CHECK (name <> ''),
    owner      TEXT    NOT NULL,
    scopes     TEXT    NOT NULL,
    per_minute INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    used_at    INTEGER,
    revoked_at INTEGER
) STRICT;

-- What was enqueued under an idempotency key, so that the same request gets the
-- same answer.
CREATE TABLE lastlook_access_once (
    caller      TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    fingerprint BLOB    NOT NULL,
    results     TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (caller, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX lastlook_access_once_created ON lastlook_access_once (created_at);
