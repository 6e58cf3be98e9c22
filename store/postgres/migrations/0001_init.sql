-- The tables of lastlook's outbox.
--
-- Times are bigint microseconds since the Unix epoch, UTC; JSON is text, kept
-- byte by byte. States: 1 pending, 2 sending, 3 retry, 4 sent, 5 dropped,
-- 6 failed. There are no foreign keys: each would read, and lock, a row more per
-- row written. The statements keep what they would.

-- Ids are given out before rows are written, so that no insert has to report
-- back. An id that was given out is never given out again.
CREATE SEQUENCE {s}lastlook_ids AS bigint;
CREATE SEQUENCE {s}lastlook_key_ids AS bigint;

-- What is claimed together. A lane is never deleted.
CREATE TABLE {s}lastlook_lanes (
    id       bigint   GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    priority smallint NOT NULL CHECK (priority BETWEEN -1 AND 1),
    topic    text     COLLATE "C" NOT NULL,
    channel  text     COLLATE "C" NOT NULL,
    lane     text     COLLATE "C" NOT NULL,
    UNIQUE (topic, channel, lane, priority)
);

-- The key rows: what is known of a key across its notifications. The end of a
-- row writes its key row in place: no index has a column that changes, and pages
-- keep room for it (HOT). The first telling makes a row half as large again, so
-- that is more than half.
CREATE TABLE {s}lastlook_keys (
    id          bigint   PRIMARY KEY CHECK (id > 0),
    seq         bigint   NOT NULL DEFAULT 0 CHECK (seq >= 0),
    told_start  bigint   NOT NULL DEFAULT 0,
    told_by     bigint   NOT NULL DEFAULT 0 CHECK (told_by >= 0),
    told_at     bigint            CHECK (told_at BETWEEN 0 AND 253402300799999999),
    last_id     bigint   NOT NULL DEFAULT 0 CHECK (last_id >= 0),
    last_at     bigint            CHECK (last_at BETWEEN 0 AND 253402300799999999),
    failures    bigint   NOT NULL DEFAULT 0 CHECK (failures >= 0),
    baseline_at bigint            CHECK (baseline_at BETWEEN 0 AND 253402300799999999),
    last_state  smallint NOT NULL DEFAULT 0 CHECK (last_state IN (0, 4, 5, 6)),
    topic       text     COLLATE "C" NOT NULL CHECK (topic <> ''),
    subject     text     COLLATE "C" NOT NULL CHECK (subject <> ''),
    recipient   text     COLLATE "C" NOT NULL CHECK (recipient <> ''),
    channel     text     COLLATE "C" NOT NULL CHECK (channel <> ''),
    told_policy text     NOT NULL DEFAULT '',
    last_reason text     NOT NULL DEFAULT '',
    baseline    text,
    maybe       text,
    CHECK (told_policy <> '' OR told_start = 0),
    CHECK ((baseline IS NULL) = (baseline_at IS NULL))
) WITH (fillfactor = 36, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);

CREATE UNIQUE INDEX lastlook_keys_parts ON {s}lastlook_keys (topic, subject, recipient, channel);

-- "What was told to this recipient?" It is an expression so that no plan can
-- prefer it to the one above.
CREATE INDEX lastlook_keys_recipient ON {s}lastlook_keys ((recipient || ''));

-- The notifications. A row never changes; retention deletes it.
CREATE TABLE {s}lastlook_notifications (
    id         bigint  PRIMARY KEY CHECK (id > 0),
    key_id     bigint  NOT NULL,
    lane_id    bigint  NOT NULL,
    created_at bigint  NOT NULL CHECK (created_at BETWEEN 0 AND 253402300799999999),
    expires_at bigint  NOT NULL CHECK (expires_at BETWEEN 0 AND 253402300799999999),
    episode    bigint  NOT NULL DEFAULT 0,
    retry_of   bigint  NOT NULL DEFAULT 0 CHECK (retry_of >= 0),
    may_repeat boolean NOT NULL DEFAULT false,
    trace      text    NOT NULL DEFAULT '',
    detection  text    NOT NULL
) WITH (autovacuum_vacuum_insert_scale_factor = 0.05);

CREATE INDEX lastlook_notifications_key ON {s}lastlook_notifications (key_id, id);

-- One row per notification that may still be told, at most one per key (G1).
-- state, attempt, token and lease stand in no index: a claim, and the move to
-- sending, write nothing but the row, into its own page (HOT): the first version
-- fills a page to 20 %, since the other two are larger, and the old ones may not be
-- removed in time. Rows come and go fast, so vacuum comes often.
CREATE TABLE {s}lastlook_live (
    id            bigint   PRIMARY KEY,
    key_id        bigint   NOT NULL,
    lane_id       bigint   NOT NULL,
    due           bigint   NOT NULL CHECK (due BETWEEN 0 AND 253402300799999999),
    expires_at    bigint   NOT NULL CHECK (expires_at BETWEEN 0 AND 253402300799999999),
    attempt       integer  NOT NULL CHECK (attempt >= 0),
    state         smallint NOT NULL CHECK (state IN (1, 2, 3)),
    guarantee     smallint          CHECK (guarantee IN (0, 1)),
    token         uuid,
    lease         bigint            CHECK (lease BETWEEN 0 AND 253402300799999999),
    -- What is being told; in state sending only.
    looked_at     bigint,
    window_start  bigint,
    seq           bigint,
    window_policy text,
    asserted      text,
    -- The story so far, JSON.
    story         text,
    CHECK ((token IS NULL) = (lease IS NULL)),
    CHECK ((state = 2) = (asserted IS NOT NULL)),
    CHECK (CASE state WHEN 2 THEN token IS NOT NULL WHEN 3 THEN token IS NULL ELSE true END)
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.1);

CREATE UNIQUE INDEX lastlook_live_key ON {s}lastlook_live (key_id);

-- What is due in a lane, in order.
CREATE INDEX lastlook_live_due ON {s}lastlook_live (lane_id, due, id);

-- What has expired, whatever its lane.
CREATE INDEX lastlook_live_expiry ON {s}lastlook_live (expires_at, id);

-- One row per claim, so that dead leases are found without a scan of the
-- backlog. A claim's row stays until a sweep finds its lease passed and no live
-- row with its token.
CREATE TABLE {s}lastlook_claims (
    id    bigint   GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    lease bigint   NOT NULL CHECK (lease BETWEEN 0 AND 253402300799999999),
    token uuid     NOT NULL,
    ids   bigint[] NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX lastlook_claims_lease ON {s}lastlook_claims (lease, id);

-- How notifications ended. A row never changes; retention deletes it.
CREATE TABLE {s}lastlook_outcomes (
    id            bigint   PRIMARY KEY,
    key_id        bigint   NOT NULL,
    lane_id       bigint   NOT NULL,
    ended_at      bigint   NOT NULL CHECK (ended_at BETWEEN 0 AND 253402300799999999),
    attempt       integer  NOT NULL CHECK (attempt >= 0),
    state         smallint NOT NULL CHECK (state IN (4, 5, 6)),
    looked_at     bigint,
    window_start  bigint,
    seq           bigint,
    reason        text     COLLATE "C" NOT NULL CHECK ((state = 4) = (reason = '')),
    window_policy text,
    asserted      text,
    seen          text,
    story         text,
    CHECK (state <> 4 OR asserted IS NOT NULL)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.05);

-- Covers the statistics, and what retention looks for.
CREATE INDEX lastlook_outcomes_ended ON {s}lastlook_outcomes (ended_at, id, state, reason, lane_id);

-- Edges that met a live row (G8). token is the claim that has read the mark.
CREATE TABLE {s}lastlook_marks (
    id         bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key_id     bigint  NOT NULL,
    lane_id    bigint  NOT NULL,
    created_at bigint  NOT NULL CHECK (created_at BETWEEN 0 AND 253402300799999999),
    due        bigint  NOT NULL CHECK (due BETWEEN 0 AND 253402300799999999),
    expires_at bigint  NOT NULL CHECK (expires_at BETWEEN 0 AND 253402300799999999),
    episode    bigint  NOT NULL DEFAULT 0,
    token      uuid,
    trace      text    NOT NULL DEFAULT '',
    detection  text    NOT NULL
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200);

CREATE INDEX lastlook_marks_key ON {s}lastlook_marks (key_id, id);

-- Who must not be told through which channel.
CREATE TABLE {s}lastlook_muted (
    recipient text   COLLATE "C" NOT NULL,
    channel   text   COLLATE "C" NOT NULL,
    since     bigint NOT NULL CHECK (since BETWEEN 0 AND 253402300799999999),
    PRIMARY KEY (recipient, channel)
);

-- For people with a shell: everything in one table. No code reads it.
CREATE VIEW {s}lastlook_outbox AS
SELECT
    n.id,
    CASE coalesce(l.state, o.state) WHEN 1 THEN 'pending' WHEN 2 THEN 'sending' WHEN 3 THEN 'retry'
        WHEN 4 THEN 'sent' WHEN 5 THEN 'dropped' WHEN 6 THEN 'failed' END AS state,
    o.reason,
    k.topic, k.subject, k.recipient, k.channel, a.lane, a.priority,
    timestamptz 'epoch' + n.created_at * interval '1 microsecond'         AS created_at,
    timestamptz 'epoch' + l.due * interval '1 microsecond'                AS due,
    timestamptz 'epoch' + n.expires_at * interval '1 microsecond'         AS expires_at,
    coalesce(l.attempt, o.attempt)                                        AS attempt,
    timestamptz 'epoch' + l.lease * interval '1 microsecond'              AS leased_until,
    timestamptz 'epoch' + o.ended_at * interval '1 microsecond'           AS ended_at,
    n.detection,
    coalesce(l.asserted, o.asserted)                                      AS asserted,
    o.seen,
    k.baseline,
    k.failures,
    coalesce(l.story, o.story)                                            AS story
FROM {s}lastlook_notifications n
JOIN {s}lastlook_keys k ON k.id = n.key_id
JOIN {s}lastlook_lanes a ON a.id = n.lane_id
LEFT JOIN {s}lastlook_live l ON l.id = n.id
LEFT JOIN {s}lastlook_outcomes o ON o.id = n.id;
