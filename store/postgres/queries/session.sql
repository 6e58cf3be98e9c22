-- What stands at the start of each transaction of the store's own. All of it ends
-- with the transaction: a connection may serve others next (PgBouncer).

-- name: begin
BEGIN;

-- name: begin_read
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;

-- name: commit
COMMIT;

-- name: settings
-- $1, $2: how long a statement, and silence within the transaction, may last.
-- $3: whether the commit may be written behind ('on'). Else it is durable, even if
-- the server's default is not. $4: whether to walk through tables. $5: how long a lock
-- is waited for.
SELECT set_config('statement_timeout', $1::text, true), set_config('lock_timeout', $5::text, true),
    set_config('idle_in_transaction_session_timeout', $2::text, true),
    set_config('synchronous_commit', CASE WHEN $3::text = 'on' THEN 'off'
        WHEN current_setting('synchronous_commit') = 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true),
    set_config('enable_seqscan', $4::text, true), set_config('enable_hashjoin', 'off', true),
    set_config('enable_mergejoin', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config('enable_nestloop', 'on', true),
    set_config('enable_indexscan', 'on', true), set_config('enable_indexonlyscan', 'on', true),
    set_config('enable_tidscan', 'on', true), set_config('jit', 'off', true);

-- name: planner_ask
-- The settings of a caller's transaction that EnqueueTx changes and sets back.
SELECT current_setting('enable_seqscan'), current_setting('enable_hashjoin'), current_setting('enable_mergejoin'), current_setting('jit');

-- name: planner_set
SELECT set_config('enable_seqscan', $1::text, true), set_config('enable_hashjoin', $2::text, true),
    set_config('enable_mergejoin', $3::text, true), set_config('jit', $4::text, true);

-- name: savepoint
SAVEPOINT lastlook_enqueue;

-- name: savepoint_release
RELEASE SAVEPOINT lastlook_enqueue;

-- name: savepoint_rollback
ROLLBACK TO SAVEPOINT lastlook_enqueue;

-- name: notify
-- A hint, once per transaction.
SELECT pg_notify($1::text, '');

-- name: clock
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
