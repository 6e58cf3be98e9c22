-- Get, List, Stats and KeyRowsTx.

-- name: get
-- One notification with its story and its key.
SELECT {record_columns}, coalesce(l.story, o.story, ''), {key_columns}
FROM (SELECT * FROM {s}lastlook_notifications n WHERE n.id = $1::bigint LIMIT 1) n
{of_notification};

-- The four ways to list, by what is selective: a subject, a recipient, live rows,
-- or nothing. Parameters: 1 topic, 2 subject, 3 recipient, 4 channel, 5 states (a
-- bit set), 6 reason, 7 before, 8 limit; '' and 0 select all.

-- fragment: filter
-- What every way to list compares.
$1::text IN ('', k.topic) AND $2::text IN ('', k.subject) AND $3::text IN ('', k.recipient) AND $4::text IN ('', k.channel)
AND ($5::bigint = 0 OR ($5::bigint >> coalesce(l.state, o.state)::integer) & 1 = 1) AND $6::text IN ('', coalesce(o.reason, ''))

-- name: list_subject
-- By topic and subject, through the keys' unique index.
SELECT {record_columns}
FROM {s}lastlook_keys s
CROSS JOIN LATERAL (SELECT * FROM {s}lastlook_notifications n WHERE n.key_id = s.id AND n.id < $7::bigint ORDER BY n.key_id DESC, n.id DESC OFFSET 0) n
{of_notification}
WHERE s.topic = $1::text AND s.subject = $2::text AND {filter}
ORDER BY n.id DESC LIMIT $8::bigint;

-- name: list_recipient
-- By recipient, through the recipients' index.
SELECT {record_columns}
FROM {s}lastlook_keys s
CROSS JOIN LATERAL (SELECT * FROM {s}lastlook_notifications n WHERE n.key_id = s.id AND n.id < $7::bigint ORDER BY n.key_id DESC, n.id DESC OFFSET 0) n
{of_notification}
WHERE (s.recipient || '') = $3::text AND {filter}
ORDER BY n.id DESC LIMIT $8::bigint;

-- name: list_live
-- Live rows only, newest first, without a look at the history.
SELECT {record_columns}
FROM (SELECT v.id FROM {s}lastlook_live v WHERE v.id < $7::bigint ORDER BY v.id DESC OFFSET 0) v
CROSS JOIN LATERAL (SELECT * FROM {s}lastlook_notifications n WHERE n.id = v.id LIMIT 1) n
{of_notification}
WHERE {filter}
ORDER BY v.id DESC LIMIT $8::bigint;

-- name: list_all
-- Everything, newest first.
SELECT {record_columns}
FROM (SELECT * FROM {s}lastlook_notifications n WHERE n.id < $7::bigint ORDER BY n.id DESC OFFSET 0) n
{of_notification}
WHERE {filter}
ORDER BY n.id DESC LIMIT $8::bigint;

-- name: list_full
-- The stories and keys of a list's notifications.
SELECT v.n, coalesce(l.story, o.story, ''), {key_columns}
FROM unnest($1::bigint[]) WITH ORDINALITY AS v(id, n)
CROSS JOIN LATERAL (SELECT * FROM {s}lastlook_notifications n WHERE n.id = v.id LIMIT 1) n
{of_notification};

-- name: stats_live
-- Live rows by lane and state: one walk through the table.
SELECT a.id, a.topic, a.channel, a.lane, a.priority, s.state, s.rows, s.leased, s.due
FROM (SELECT l.lane_id, l.state, count(*) AS rows, count(*) FILTER (WHERE l.lease > $1::bigint) AS leased, min(l.due) AS due
    FROM {s}lastlook_live l GROUP BY l.lane_id, l.state) s
CROSS JOIN LATERAL (SELECT * FROM {s}lastlook_lanes a WHERE a.id = s.lane_id LIMIT 1) a
ORDER BY a.topic, a.channel, a.lane, a.priority DESC, s.state;

-- name: stats_ended
-- What ended since a moment, by topic, state and reason: one range of one covering
-- index, then a handful of lanes.
SELECT a.topic, s.state, s.reason, sum(s.rows)::bigint
FROM (SELECT o.lane_id, o.state, o.reason, count(*) AS rows
    FROM {s}lastlook_outcomes o WHERE o.ended_at >= $1::bigint GROUP BY o.lane_id, o.state, o.reason) s
CROSS JOIN LATERAL (SELECT * FROM {s}lastlook_lanes a WHERE a.id = s.lane_id LIMIT 1) a
GROUP BY a.topic, s.state, s.reason
ORDER BY a.topic, s.state, s.reason;

-- name: stats_others
-- Waiting marks and mutes.
SELECT (SELECT count(*) FROM {s}lastlook_marks), (SELECT count(*) FROM {s}lastlook_muted);

-- name: key_rows
-- Key rows by their keys, for those who keep tables of their own beside the outbox.
SELECT v.n, {key_columns}
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS v(topic, subject, recipient, channel, n)
CROSS JOIN LATERAL (SELECT * FROM {s}lastlook_keys k
    WHERE k.topic = v.topic AND k.subject = v.subject AND k.recipient = v.recipient AND k.channel = v.channel LIMIT 1) k;
