package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/lastlook/lastlook"
	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

const (
	defaultTimeout = 30 * time.Second
	defaultReaders = 4
)

// Store keeps the outbox in one SQLite file. It implements [lastlook.Store] and
// [lastlook.DispatchLocker]; see the package documentation for what it promises.
//
// A Store is safe for concurrent use. Close it when it is not needed any more.
type Store struct {
	// path is absolute and free of symbolic links, since the dispatch lock
	// stands beside it.
	path     string
	timeout  time.Duration
	queries  queries
	enqueuer *Enqueuer

	// gate lets one writer at a time in. It is a channel and no mutex, so that
	// waiting ends with the caller's context.
	gate chan struct{}
	// Behind the gate: where the writer's connections come from, and the
	// writer; nil until it is (again) needed.
	writerURI string
	writerDB  *sql.DB
	writer    *writer
	// readers never wait for the writer, nor it for them.
	readers *sql.DB

	closing sync.Once
	closed  chan struct{}
}

var (
	_ lastlook.Store          = (*Store)(nil)
	_ lastlook.DispatchLocker = (*Store)(nil)
)

// Option adjusts a [Store].
type Option func(*config)

type config struct {
	timeout time.Duration
	readers int
	// params are further parameters of the data source name, for tests.
	params  url.Values
	rewrite rewriter
}

// WithTimeout bounds each call, waiting for locks included; the default is 30
// seconds. A call that takes longer fails with [lastlook.ErrBusy], also when its
// context has no deadline: a stalled disk or a stranger's lock holds nobody up
// for ever.
func WithTimeout(d time.Duration) Option { return func(c *config) { c.timeout = d } }

// WithReaders sets how many connections read side by side; the default is 4.
func WithReaders(n int) Option { return func(c *config) { c.readers = n } }

// Open opens the SQLite file at path, creates it if it is missing, and brings
// its tables up to date. The file may hold an application's own tables.
//
// It fails with [lastlook.ErrNewerSchema] if a newer lastlook has been there,
// and with [lastlook.ErrReadOnly] if the file would have to be written and
// cannot be. A read-only file whose tables are up to date can be opened to read.
func Open(ctx context.Context, path string, opts ...Option) (*Store, error) {
	c := config{timeout: defaultTimeout, readers: defaultReaders}
	for _, o := range opts {
		o(&c)
	}
	if c.timeout <= 0 || c.readers <= 0 {
		return nil, fmt.Errorf("sqlite: %w: a timeout of %s and %d readers: both must be positive", lastlook.ErrInvalid, c.timeout, c.readers)
	}
	if path == "" || strings.HasPrefix(path, ":") || strings.HasPrefix(path, "file:") {
		return nil, fmt.Errorf("sqlite: %w: path %q: want a file's path, not a URI nor a database in memory", lastlook.ErrInvalid, path)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: open %s: %w", path, err)
	}
	enq, err := newEnqueuer(c.timeout, c.rewrite)
	if err != nil {
		return nil, err
	}
	s := &Store{path: abs, timeout: c.timeout, queries: enq.queries, enqueuer: enq, gate: make(chan struct{}, 1), closed: make(chan struct{})}
	if s.writerDB, err = s.connect(c.params, "_pragma=journal_mode(WAL)"); err != nil {
		return nil, err
	}
	s.writerDB.SetMaxOpenConns(1)
	if s.readers, err = s.connect(c.params, "_query_only=1"); err != nil {
		return nil, errors.Join(err, s.writerDB.Close())
	}
	s.readers.SetMaxOpenConns(c.readers)
	s.readers.SetMaxIdleConns(c.readers)
	if err := s.migrate(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if s.path, err = filepath.EvalSymlinks(abs); err != nil {
		return nil, errors.Join(fmt.Errorf("sqlite: open %s: %w", path, err), s.Close())
	}
	s.writerURI = fileURI(s.path)
	if len(c.params) > 0 {
		s.writerURI += "?" + c.params.Encode()
	}
	return s, nil
}

// pragmas are set on every connection: names and values.
var pragmas = [...][2]string{
	{"synchronous", "FULL"},
	// Pages that many batches change are copied to the file less often.
	{"wal_autocheckpoint", "4000"},
	// What a batch sorts or returns stays in memory.
	{"temp_store", "MEMORY"},
	{"cache_size", "-16000"},
	{"journal_size_limit", "67108864"},
}

// connect makes a pool. It opens no connection yet.
func (s *Store) connect(extra url.Values, params ...string) (*sql.DB, error) {
	// busy_timeout is the whole time allowed: SQLite's own waiting is what
	// retries a locked BEGIN or COMMIT, and the context ends it early.
	for _, p := range pragmas {
		params = append(params, fmt.Sprintf("_pragma=%s(%s)", p[0], p[1]))
	}
	params = append(params, fmt.Sprintf("_busy_timeout=%d", max(s.timeout.Milliseconds(), 1)))
	if len(extra) > 0 {
		params = append(params, extra.Encode())
	}
	c, err := driver.NewConnector(fileURI(s.path) + "?" + strings.Join(params, "&"))
	if err != nil {
		return nil, fmt.Errorf("sqlite: open %s: %w", s.path, err)
	}
	return sql.OpenDB(c), nil
}

// fileURI is the path as SQLite's URIs want it, whatever characters it has.
func fileURI(path string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") { // a drive letter
		p = "/" + p
	}
	return (&url.URL{Scheme: "file", Path: p}).String()
}

// migrate brings the file's tables up to date.
func (s *Store) migrate(ctx context.Context) error {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	// Processes that open a new file at the same time get in each other's way
	// while it changes to WAL mode: SQLite does not wait there.
	wait := time.NewTicker(25 * time.Millisecond)
	defer wait.Stop()
	for {
		err := migrate(ctx, s.writerDB)
		if err == nil {
			return nil
		}
		if kind := code(err); kind == codes.SQLITE_BUSY || kind == codes.SQLITE_LOCKED {
			select {
			case <-wait.C:
				continue
			case <-ctx.Done():
			}
		}
		return s.explain(ctx, "open "+s.path, err)
	}
}

// Close waits for the calls under way and closes the file. Further calls fail
// with [ErrClosed], further Closes do nothing.
func (s *Store) Close() error {
	var err error
	s.closing.Do(func() {
		close(s.closed)
		s.gate <- struct{}{} // the writer under way ends within its timeout
		if s.writer != nil {
			err = s.writer.close()
			s.writer = nil
		}
		err = errors.Join(err, s.writerDB.Close(), s.readers.Close())
		<-s.gate
	})
	if err != nil {
		return fmt.Errorf("sqlite: close %s: %w", s.path, err)
	}
	return nil
}

// Path returns the file's absolute path.
func (s *Store) Path() string { return s.path }

// limit returns ctx with the store's own limit.
func (s *Store) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, s.timeout, errTimeout)
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
	if err == nil {
		return nil
	}
	if s.isClosed() && code(err) == 0 {
		return fmt.Errorf("sqlite: %s: %w: %w", op, ErrClosed, err)
	}
	if code(err) == codes.SQLITE_CANTOPEN && s.unwritable() {
		err = fmt.Errorf("%w: let this process write %s and its directory (SQLite keeps -wal and -shm files beside it): %w", lastlook.ErrReadOnly, s.path, err)
	}
	return explain(ctx, op, err)
}

// unwritable reports whether the file is there but may not be written, nor
// another beside it: SQLite says only that it "cannot open" then. It asks
// without opening the file, since closing it again would drop the locks that
// this process's connections have on it.
func (s *Store) unwritable() bool {
	if _, err := os.Stat(s.path); err != nil {
		return errors.Is(err, os.ErrPermission)
	}
	return !mayWrite(s.path) || !mayWrite(filepath.Dir(s.path))
}

// write runs f in one transaction on the writer's connection. f may run only
// once; nothing of it stays if it, or the commit, fails.
func (s *Store) write(ctx context.Context, op string, f func(context.Context, *writer) error) error {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	return s.explain(ctx, op, s.withWriter(ctx, func(w *writer) (bool, error) { return w.transaction(ctx, f) }))
}

// withWriter waits for the writer's turn and runs f with it. f says whether the
// connection can be used again.
func (s *Store) withWriter(ctx context.Context, f func(*writer) (usable bool, err error)) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer func() { <-s.gate }()
	if s.isClosed() {
		return ErrClosed
	}
	if s.writer == nil {
		w, err := openWriter(s.writerURI, s.timeout, s.writerDB, s.queries)
		if err != nil {
			return err
		}
		s.writer = w
	}
	usable := false
	defer func() {
		if !usable {
			// Whatever state the connection is in, after a panic too: closing
			// it rolls back.
			s.writer.discard()
			s.writer = nil
		}
	}()
	var err error
	usable, err = f(s.writer)
	return err
}

// enter waits for the gate.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.gate <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for another call of this process: %w", ctx.Err())
	}
}

// read runs f on one snapshot of the database.
func (s *Store) read(ctx context.Context, op string, f func(context.Context, session) error) error {
	if s.isClosed() {
		return fmt.Errorf("sqlite: %s: %w", op, ErrClosed)
	}
	ctx, cancel := s.limit(ctx)
	defer cancel()
	tx, err := s.readers.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return s.explain(ctx, op, err)
	}
	err = f(ctx, txSession{tx: tx, queries: s.queries})
	// The end of a transaction that wrote nothing can be ignored: the pool
	// drops a connection whose rollback failed.
	_ = tx.Rollback()
	return s.explain(ctx, op, err)
}
