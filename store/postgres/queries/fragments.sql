-- Column lists and conditions that several statements share. The Go code reads
-- columns by their position, in the order given here; none of them is NULL.
--
-- In all these files: {s} is the schema, "{name}" the fragment of that name.
--
-- No plan may depend on statistics: they are those of an empty queue as often as
-- not, and a plan that walks through a table once per row of a batch is slower by
-- a factor of a thousand. So a table is reached from a batch in one way only:
-- CROSS JOIN LATERAL (SELECT … WHERE id = v.id LIMIT 1). The LIMIT keeps the
-- planner from turning the join around. Updates and deletes find their rows by the
-- ctid that such a join has found, and compare the row itself (WHERE …) again,
-- since it may have changed since. Scans and joins of other kinds are turned off
-- for the transaction (settings).

-- fragment: key_columns
-- A key row (k).
k.id, k.seq, k.told_policy, k.told_start, k.told_by, coalesce(k.told_at, -1),
k.last_id, k.last_state, k.last_reason, coalesce(k.last_at, -1), k.failures,
coalesce(k.baseline_at, -1), coalesce(k.baseline, ''), coalesce(k.maybe, '')

-- fragment: notification_columns
-- What a claim wants to know of a notification (n), its key (k) and mute (m).
n.created_at, n.expires_at, n.episode, n.retry_of, n.trace, n.detection,
k.topic, k.subject, k.recipient, k.channel, m.since IS NOT NULL,
{key_columns}

-- fragment: live_columns
-- A live row (l) with its lane (a), as the sweep reads it.
l.id, l.due, l.attempt, coalesce(l.story, ''), l.state, l.token, coalesce(l.lease, -1),
coalesce(l.asserted, ''), coalesce(l.looked_at, -1), coalesce(l.window_policy, ''), coalesce(l.window_start, 0), coalesce(l.seq, 0), coalesce(l.guarantee, 0),
a.id, a.lane, a.priority

-- fragment: of_live
-- What belongs to a live row.
CROSS JOIN LATERAL (SELECT * FROM {s}lastlook_notifications n WHERE n.id = l.id LIMIT 1) n
CROSS JOIN LATERAL (SELECT * FROM {s}lastlook_keys k WHERE k.id = l.key_id LIMIT 1) k
CROSS JOIN LATERAL (SELECT * FROM {s}lastlook_lanes a WHERE a.id = l.lane_id LIMIT 1) a
LEFT JOIN LATERAL (SELECT m.since FROM {s}lastlook_muted m WHERE m.recipient = k.recipient AND m.channel = k.channel LIMIT 1) m ON true

-- fragment: record_columns
-- A notification as people see it.
n.id, k.topic, k.subject, k.recipient, k.channel, a.lane, a.priority,
coalesce(l.state, o.state, 0), coalesce(o.reason, ''), n.detection, n.created_at, n.expires_at, n.trace, n.episode, n.retry_of,
coalesce(l.due, -1), coalesce(l.lease, -1), CASE WHEN l.id IS NULL THEN 0 ELSE (SELECT count(*) FROM {s}lastlook_marks x WHERE x.key_id = l.key_id) END,
coalesce(l.attempt, o.attempt, 0), coalesce(l.asserted, o.asserted, ''), coalesce(l.looked_at, o.looked_at, -1), coalesce(o.seen, ''),
coalesce(l.window_policy, o.window_policy, ''), coalesce(l.window_start, o.window_start, 0), coalesce(l.seq, o.seq, 0), coalesce(o.ended_at, -1), n.may_repeat

-- fragment: of_notification
-- What belongs to a notification.
CROSS JOIN LATERAL (SELECT * FROM {s}lastlook_keys k WHERE k.id = n.key_id LIMIT 1) k
CROSS JOIN LATERAL (SELECT * FROM {s}lastlook_lanes a WHERE a.id = n.lane_id LIMIT 1) a
LEFT JOIN LATERAL (SELECT * FROM {s}lastlook_live l WHERE l.id = n.id LIMIT 1) l ON true
LEFT JOIN LATERAL (SELECT * FROM {s}lastlook_outcomes o WHERE o.id = n.id LIMIT 1) o ON true

-- fragment: fence
-- What a change (x) compares with the live row (l). A NULL token fences by
-- state alone; lease_after and lease_until bound the lease of a fence that wants
-- it alive or dead.
l.state = x.from_state
AND (x.token IS NULL OR (l.token = x.token AND l.lease > x.lease_after AND l.lease <= x.lease_until))

-- fragment: forward
-- Whether a telling (x) does not move the key's told window (k) back. Episodes
-- and times are two scales; windows of different scales have no order.
(k.told_policy = '' OR x.window_policy = '' OR (k.told_policy = 'episodes') <> (x.window_policy = 'episodes')
    OR x.window_start >= k.told_start)
