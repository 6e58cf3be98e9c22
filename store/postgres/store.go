package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/lastlook/lastlook"
)

const (
	defaultTimeout = 30 * time.Second
	defaultSchema  = "public"
)

// Config says how a [Store] uses its database. The zero value will do.
type Config struct {
	// Schema is where lastlook's tables are, "public" if empty. Any name is
	// allowed; it is quoted. The search path does not matter.
	Schema string
	// Timeout bounds each call, waiting for a connection and for locks
	// included (default 30 s). A call that takes longer fails with
	// [lastlook.ErrBusy], also when its context has no deadline.
	Timeout time.Duration
	// Pooler says that a pooler which mixes the statements of clients stands
	// before the server, such as PgBouncer in transaction mode: no named
	// prepared statements are used then. For [New] the pool's own setting
	// decides (pgx.ConnConfig.DefaultQueryExecMode).
	Pooler bool
	// NoMigrate makes [Open] leave the tables as they are, and fail with
	// [ErrSchema] if they are missing or old: for roles that may not change
	// tables. See [MigrationSQL].
	NoMigrate bool
	// Notify makes each transaction that enqueues rows send a NOTIFY, which
	// wakes the dispatchers that use a [Listener]. Without it they find new rows
	// when they next ask (lastlook.Config.Poll). The server lets transactions
	// that notify commit one at a time: leave it off where many enqueue.
	Notify bool

	rewrite rewriter
}

func (c Config) withDefaults() (Config, error) {
	if c.Schema == "" {
		c.Schema = defaultSchema
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	switch {
	case c.Timeout < 0:
		return c, fmt.Errorf("postgres: %w: a timeout of %s: it must be positive", lastlook.ErrInvalid, c.Timeout)
	case strings.ContainsRune(c.Schema, 0) || len(c.Schema) > 63:
		return c, fmt.Errorf("postgres: %w: schema %q: names have up to 63 bytes, and no NUL", lastlook.ErrInvalid, c.Schema)
	}
	return c, nil
}

// Store keeps the outbox in a PostgreSQL database. It implements
// [lastlook.Store]; see the package documentation for what it promises. It is
// safe for concurrent use.
type Store struct {
	*Enqueuer
	pool   *pgxpool.Pool
	rush   rush
	groups groups
	// own says that Close closes the pool.
	own     bool
	closing sync.Once
	closed  chan struct{}
}

var _ lastlook.Store = (*Store)(nil)

// Open connects to a database, and brings lastlook's tables in it up to date,
// unless c says otherwise. dsn is a URL or a list of settings, as libpq and
// [pgxpool.ParseConfig] read it, with the PG* environment variables as defaults;
// pool_max_conns bounds the connections. Several hosts and
// target_session_attrs=read-write find the primary of a cluster. Close the store
// when it is not needed any more.
//
// It fails with [lastlook.ErrNewerSchema] if a newer lastlook has been there.
func Open(ctx context.Context, dsn string, c Config) (*Store, error) {
	s, err := connect(ctx, dsn, c)
	if err != nil {
		return nil, err
	}
	if c.NoMigrate {
		err = s.checkSchema(ctx)
	} else {
		err = s.Migrate(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// connect makes a store with a pool of its own.
func connect(ctx context.Context, dsn string, c Config) (*Store, error) {
	pc, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w: %w", lastlook.ErrInvalid, err) // pgx has taken the password out
	}
	if c.Pooler {
		pc.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("postgres: open: %w", err)
	}
	s, err := New(pool, c)
	if err != nil {
		pool.Close()
		return nil, err
	}
	s.own = true
	return s, nil
}

// New returns a store on a pool that the caller goes on owning. It does not ask
// the database anything: call [Store.Migrate] once, if nobody else does.
func New(pool *pgxpool.Pool, c Config) (*Store, error) {
	enq, err := NewEnqueuer(c)
	if err != nil {
		return nil, err
	}
	return &Store{Enqueuer: enq, pool: pool, closed: make(chan struct{})}, nil
}

// Close makes further calls fail with [ErrClosed]. If [Open] made the pool, it
// waits for the calls under way and closes that.
func (s *Store) Close() error {
	s.closing.Do(func() {
		close(s.closed)
		if s.own {
			s.pool.Close()
		}
	})
	return nil
}

// Pool returns the store's pool, for those who keep tables of their own in the
// same database.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// Schema returns the name of the schema that lastlook's tables are in.
func (e *Enqueuer) Schema() string { return e.schema }

// limit returns ctx with the store's own limit.
func (e *Enqueuer) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, e.timeout, errTimeout)
}

func (s *Store) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

// explain is [explain] with what only the store knows.
func (s *Store) explain(ctx context.Context, op string, err error) error {
	if err != nil && s.isClosed() && state(err) == "" {
		return fmt.Errorf("postgres: %s: %w: %w", op, ErrClosed, err)
	}
	return explain(ctx, op, err)
}
