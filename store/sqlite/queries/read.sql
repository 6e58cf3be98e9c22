-- Get, List and Stats.

-- name: get
-- One notification with its story and its key.
SELECT {record_columns}, coalesce(l.story, o.story), {key_columns}
FROM lastlook_notifications n
CROSS JOIN lastlook_keys k ON k.id = n.key_id
CROSS JOIN lastlook_lanes a ON a.id = n.lane_id
LEFT JOIN lastlook_live l ON l.id = n.id
LEFT JOIN lastlook_outcomes o ON o.id = n.id
WHERE n.id = ?;

-- The four ways to list, by what is selective: a subject, a recipient, live
-- rows, or nothing. Parameters: 1 topic, 2 subject, 3 recipient, 4 channel,
-- 5 states (a bit set), 6 reason, 7 before, 8 limit; '' and 0 select all.

-- fragment: filter
-- What every way to list compares.
?1 IN ('', k.topic) AND ?2 IN ('', k.subject) AND ?3 IN ('', k.recipient) AND ?4 IN ('', k.channel)
AND (?5 = 0 OR (?5 >> coalesce(l.state, o.state)) & 1) AND ?6 IN ('', o.reason)

-- name: list_subject
-- By topic and subject, through the keys' unique index.
SELECT {record_columns}
FROM lastlook_keys k
CROSS JOIN lastlook_notifications n ON n.key_id = k.id
CROSS JOIN lastlook_lanes a ON a.id = n.lane_id
LEFT JOIN lastlook_live l ON l.id = n.id
LEFT JOIN lastlook_outcomes o ON o.id = n.id
WHERE k.topic = ?1 AND k.subject = ?2 AND n.id < ?7 AND {filter}
ORDER BY n.id DESC LIMIT ?8;

-- name: list_recipient
-- By recipient, through the recipients' index.
SELECT {record_columns}
FROM lastlook_keys k
CROSS JOIN lastlook_notifications n ON n.key_id = k.id
CROSS JOIN lastlook_lanes a ON a.id = n.lane_id
LEFT JOIN lastlook_live l ON l.id = n.id
LEFT JOIN lastlook_outcomes o ON o.id = n.id
WHERE k.recipient = ?3 AND n.id < ?7 AND {filter}
ORDER BY n.id DESC LIMIT ?8;

-- name: list_live
-- Live rows only, newest first, without a look at the history.
SELECT {record_columns}
FROM lastlook_live l
CROSS JOIN lastlook_notifications n ON n.id = l.id
CROSS JOIN lastlook_keys k ON k.id = n.key_id
CROSS JOIN lastlook_lanes a ON a.id = n.lane_id
LEFT JOIN lastlook_outcomes o ON o.id = n.id
WHERE l.id < ?7 AND {filter}
ORDER BY l.id DESC LIMIT ?8;

-- name: list_all
-- Everything, newest first.
SELECT {record_columns}
FROM lastlook_notifications n
CROSS JOIN lastlook_keys k ON k.id = n.key_id
CROSS JOIN lastlook_lanes a ON a.id = n.lane_id
LEFT JOIN lastlook_live l ON l.id = n.id
LEFT JOIN lastlook_outcomes o ON o.id = n.id
WHERE n.id < ?7 AND {filter}
ORDER BY n.id DESC LIMIT ?8;

-- name: list_full
-- The stories and keys of a list's notifications.
WITH v(n, id) AS (VALUES (?, ?)...)
SELECT v.n, coalesce(l.story, o.story), {key_columns}
FROM v
CROSS JOIN lastlook_notifications n ON n.id = v.id
CROSS JOIN lastlook_keys k ON k.id = n.key_id
LEFT JOIN lastlook_live l ON l.id = n.id
LEFT JOIN lastlook_outcomes o ON o.id = n.id;

-- name: stats_live
-- Live rows by lane and state: one walk through the table, whose long columns
-- come last so that it reads no overflow pages.
WITH s AS (
    SELECT lane_id, state, count(*) AS rows, coalesce(sum(lease > ?), 0) AS leased, min(due) AS due
    FROM lastlook_live NOT INDEXED GROUP BY lane_id, state)
SELECT a.id, a.topic, a.channel, a.lane, a.priority, s.state, s.rows, s.leased, s.due
FROM s CROSS JOIN lastlook_lanes a ON a.id = s.lane_id
ORDER BY a.topic, a.channel, a.lane, a.priority DESC, s.state;

-- name: stats_ended
-- What ended since a moment, by topic, state and reason: one range of one
-- covering index, then a handful of lanes.
WITH s AS (
    SELECT lane_id, state, reason, count(*) AS rows
    FROM lastlook_outcomes WHERE ended_at >= ? GROUP BY lane_id, state, reason)
SELECT a.topic, s.state, s.reason, sum(s.rows)
FROM s CROSS JOIN lastlook_lanes a ON a.id = s.lane_id
GROUP BY a.topic, s.state, s.reason
ORDER BY a.topic, s.state, s.reason;

-- name: stats_others
-- Waiting marks and mutes.
SELECT (SELECT count(*) FROM lastlook_marks), (SELECT count(*) FROM lastlook_muted);
