-- The tables of lastlook's outbox.
--
-- Times are INTEGER microseconds since the Unix epoch, UTC; JSON is TEXT.
-- States: 1 pending, 2 sending, 3 retry, 4 sent, 5 dropped, 6 failed.
--
-- The tables are not STRICT: a file with one STRICT table cannot be opened at
-- all by SQLite before 3.37, and applications may use any driver from 3.35.
-- The upper bounds of the checks do the same work: text and blobs sort after
-- every number. (9e18 stands for "any integer".)
--
-- Each statement ends with a semicolon at the end of a line; the migrator runs
-- them one by one, since not every driver runs several at once.

-- What is claimed together. A lane is never deleted.
CREATE TABLE lastlook_lanes (
    id       INTEGER PRIMARY KEY,
    topic    TEXT    NOT NULL,
    channel  TEXT    NOT NULL,
    lane     TEXT    NOT NULL,
    priority INTEGER NOT NULL CHECK (priority BETWEEN -1 AND 1),
    UNIQUE (topic, channel, lane, priority)
);

-- The key rows: what is known of a key across its notifications.
CREATE TABLE lastlook_keys (
    id          INTEGER PRIMARY KEY,
    topic       TEXT    NOT NULL CHECK (topic <> ''),
    subject     TEXT    NOT NULL CHECK (subject <> ''),
    recipient   TEXT    NOT NULL CHECK (recipient <> ''),
    channel     TEXT    NOT NULL CHECK (channel <> ''),
    seq         INTEGER NOT NULL DEFAULT 0 CHECK (seq BETWEEN 0 AND 9e18),
    told_policy TEXT    NOT NULL DEFAULT '',
    told_start  INTEGER NOT NULL DEFAULT 0 CHECK (told_start <= 9e18),
    told_by     INTEGER NOT NULL DEFAULT 0 CHECK (told_by BETWEEN 0 AND 9e18),
    told_at     INTEGER          CHECK (told_at BETWEEN 0 AND 253402300799999999),
    last_id     INTEGER NOT NULL DEFAULT 0 CHECK (last_id BETWEEN 0 AND 9e18),
    last_state  INTEGER NOT NULL DEFAULT 0 CHECK (last_state BETWEEN 0 AND 6),
    last_reason TEXT    NOT NULL DEFAULT '',
    last_at     INTEGER          CHECK (last_at BETWEEN 0 AND 253402300799999999),
    failures    INTEGER NOT NULL DEFAULT 0 CHECK (failures BETWEEN 0 AND 9e18),
    baseline_at INTEGER          CHECK (baseline_at BETWEEN 0 AND 253402300799999999),
    baseline    TEXT,
    maybe       TEXT,
    CHECK (told_policy <> '' OR told_start = 0),
    CHECK ((baseline IS NULL) = (baseline_at IS NULL))
);

CREATE UNIQUE INDEX lastlook_keys_parts ON lastlook_keys (topic, subject, recipient, channel);

-- "What was told to this recipient?", without a scan.
CREATE INDEX lastlook_keys_recipient ON lastlook_keys (recipient);

-- The notifications. A row never changes; retention deletes it. AUTOINCREMENT,
-- since an id that comes back would break the fences.
CREATE TABLE lastlook_notifications (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    key_id     INTEGER NOT NULL CHECK (key_id BETWEEN 1 AND 9e18),
    lane_id    INTEGER NOT NULL CHECK (lane_id BETWEEN 1 AND 9e18),
    created_at INTEGER NOT NULL CHECK (created_at BETWEEN 0 AND 253402300799999999),
    expires_at INTEGER NOT NULL CHECK (expires_at BETWEEN 0 AND 253402300799999999),
    episode    INTEGER NOT NULL DEFAULT 0 CHECK (episode <= 9e18),
    retry_of   INTEGER NOT NULL DEFAULT 0 CHECK (retry_of BETWEEN 0 AND 9e18),
    may_repeat INTEGER NOT NULL DEFAULT 0 CHECK (may_repeat BETWEEN 0 AND 1),
    trace      TEXT    NOT NULL DEFAULT '',
    detection  TEXT    NOT NULL
);

CREATE INDEX lastlook_notifications_key ON lastlook_notifications (key_id);

-- One row per notification that may still be told, at most one per key (G1).
-- state, attempt, token and lease stand in no index: a claim, and the move to
-- sending, write nothing but the row.
CREATE TABLE lastlook_live (
    id            INTEGER PRIMARY KEY,
    key_id        INTEGER NOT NULL,
    lane_id       INTEGER NOT NULL CHECK (lane_id BETWEEN 1 AND 9e18),
    state         INTEGER NOT NULL CHECK (state BETWEEN 1 AND 3),
    due           INTEGER NOT NULL CHECK (due BETWEEN 0 AND 253402300799999999),
    expires_at    INTEGER NOT NULL CHECK (expires_at BETWEEN 0 AND 253402300799999999),
    attempt       INTEGER NOT NULL CHECK (attempt BETWEEN 0 AND 9e18),
    lease         INTEGER          CHECK (lease BETWEEN 0 AND 253402300799999999),
    token         BLOB             CHECK (length(token) = 16),
    -- What is being told; in state sending only.
    looked_at     INTEGER,
    window_policy TEXT,
    window_start  INTEGER,
    seq           INTEGER,
    guarantee     INTEGER          CHECK (guarantee BETWEEN 0 AND 1),
    asserted      TEXT,
    -- The story so far, JSON; long columns last, so that scans skip them.
    story         TEXT,
    CHECK ((token IS NULL) = (lease IS NULL)),
    CHECK ((state = 2) = (asserted IS NOT NULL)),
    CHECK (CASE state WHEN 2 THEN token IS NOT NULL WHEN 3 THEN token IS NULL ELSE 1 END)
);

CREATE UNIQUE INDEX lastlook_live_key ON lastlook_live (key_id);

-- What is due in a lane, in order.
CREATE INDEX lastlook_live_due ON lastlook_live (lane_id, due);

-- What has expired, whatever its lane.
CREATE INDEX lastlook_live_expiry ON lastlook_live (expires_at);

-- One row per claim, so that dead leases are found without a scan of the
-- backlog. ids are the claimed rows: varints, each the distance to the one
-- before. A claim's row stays until a sweep finds its lease passed and no live
-- row with its token.
CREATE TABLE lastlook_claims (
    id    INTEGER PRIMARY KEY,
    lease INTEGER NOT NULL CHECK (lease BETWEEN 0 AND 253402300799999999),
    token BLOB    NOT NULL CHECK (length(token) = 16),
    ids   BLOB    NOT NULL
);

CREATE INDEX lastlook_claims_lease ON lastlook_claims (lease);

-- How notifications ended. A row never changes; retention deletes it.
CREATE TABLE lastlook_outcomes (
    id            INTEGER PRIMARY KEY,
    key_id        INTEGER NOT NULL,
    lane_id       INTEGER NOT NULL,
    state         INTEGER NOT NULL CHECK (state BETWEEN 4 AND 6),
    ended_at      INTEGER NOT NULL CHECK (ended_at BETWEEN 0 AND 253402300799999999),
    attempt       INTEGER NOT NULL CHECK (attempt BETWEEN 0 AND 9e18),
    reason        TEXT    NOT NULL CHECK ((state = 4) = (reason = '')),
    looked_at     INTEGER,
    window_policy TEXT,
    window_start  INTEGER,
    seq           INTEGER,
    asserted      TEXT,
    seen          TEXT,
    story         TEXT,
    CHECK (state <> 4 OR asserted IS NOT NULL)
);

-- Covers the statistics, and what retention looks for.
CREATE INDEX lastlook_outcomes_ended ON lastlook_outcomes (ended_at, state, reason, lane_id);

-- Edges that met a live row (G8). token is the claim that has read the mark.
CREATE TABLE lastlook_marks (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    key_id     INTEGER NOT NULL CHECK (key_id BETWEEN 1 AND 9e18),
    lane_id    INTEGER NOT NULL CHECK (lane_id BETWEEN 1 AND 9e18),
    created_at INTEGER NOT NULL CHECK (created_at BETWEEN 0 AND 253402300799999999),
    due        INTEGER NOT NULL CHECK (due BETWEEN 0 AND 253402300799999999),
    expires_at INTEGER NOT NULL CHECK (expires_at BETWEEN 0 AND 253402300799999999),
    episode    INTEGER NOT NULL DEFAULT 0 CHECK (episode <= 9e18),
    token      BLOB             CHECK (length(token) = 16),
    trace      TEXT    NOT NULL DEFAULT '',
    detection  TEXT    NOT NULL
);

CREATE INDEX lastlook_marks_key ON lastlook_marks (key_id);

-- Who must not be told through which channel.
CREATE TABLE lastlook_muted (
    recipient TEXT    NOT NULL,
    channel   TEXT    NOT NULL,
    since     INTEGER NOT NULL CHECK (since BETWEEN 0 AND 253402300799999999),
    PRIMARY KEY (recipient, channel)
) WITHOUT ROWID;

-- For people with a shell: everything in one table. No code reads it.
CREATE VIEW lastlook_outbox AS
SELECT
    n.id,
    CASE coalesce(l.state, o.state) WHEN 1 THEN 'pending' WHEN 2 THEN 'sending' WHEN 3 THEN 'retry'
        WHEN 4 THEN 'sent' WHEN 5 THEN 'dropped' WHEN 6 THEN 'failed' END                        AS state,
    o.reason,
    k.topic, k.subject, k.recipient, k.channel, a.lane, a.priority,
    strftime('%Y-%m-%dT%H:%M:%fZ', n.created_at / 1000000.0, 'unixepoch')                        AS created_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', l.due / 1000000.0, 'unixepoch')                               AS due,
    strftime('%Y-%m-%dT%H:%M:%fZ', n.expires_at / 1000000.0, 'unixepoch')                        AS expires_at,
    coalesce(l.attempt, o.attempt)                                                               AS attempt,
    strftime('%Y-%m-%dT%H:%M:%fZ', l.lease / 1000000.0, 'unixepoch')                             AS leased_until,
    strftime('%Y-%m-%dT%H:%M:%fZ', o.ended_at / 1000000.0, 'unixepoch')                          AS ended_at,
    n.detection,
    coalesce(l.asserted, o.asserted)                                                             AS asserted,
    o.seen,
    k.baseline,
    k.failures,
    coalesce(l.story, o.story)                                                                   AS story
FROM lastlook_notifications n
JOIN lastlook_keys k ON k.id = n.key_id
JOIN lastlook_lanes a ON a.id = n.lane_id
LEFT JOIN lastlook_live l ON l.id = n.id
LEFT JOIN lastlook_outcomes o ON o.id = n.id;
