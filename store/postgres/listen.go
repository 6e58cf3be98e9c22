package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/lastlook/lastlook"
)

// notifyChannel is the channel of a schema. Names are cut at 63 bytes, so it has
// a hash of it.
func notifyChannel(schema string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(schema)) // never fails
	return "lastlook_" + hex.EncodeToString(h.Sum(nil))
}

// Listener wakes a dispatcher when another process has enqueued, of a [Store] or
// [Enqueuer] with [Config.Notify]. It is a hint only: a dispatcher that hears
// nothing finds the rows when it next asks.
//
// It keeps one connection of its own, which must be to the server, not through a
// pooler that mixes clients. On it, it sends itself a notification now and then:
// if that does not come back, the connection is taken for dead, and made anew.
type Listener struct {
	config *pgx.ConnConfig
	opt    ListenerConfig
	// channel is what is enqueued on, echo what the listener sends itself.
	channel, echo string
}

// ListenerConfig says how a [Listener] works. The zero value will do.
type ListenerConfig struct {
	// Schema is where lastlook's tables are; as in [Config].
	Schema string
	// PingEvery is how often the connection is tried (default 15 s), Timeout
	// how long connecting and an answer may take (default 5 s).
	PingEvery, Timeout time.Duration
	// Logger is told of lost connections; the default discards it.
	Logger *slog.Logger
}

// NewListener returns a listener. dsn is as in [Open].
func NewListener(dsn string, c ListenerConfig) (*Listener, error) {
	named, err := Config{Schema: c.Schema}.withDefaults()
	if err != nil {
		return nil, err
	}
	if min(c.PingEvery, c.Timeout) < 0 {
		return nil, fmt.Errorf("postgres: %w: a listener's times cannot be negative", lastlook.ErrInvalid)
	}
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w: %w", lastlook.ErrInvalid, err)
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	c.PingEvery, c.Timeout = cmp.Or(c.PingEvery, 15*time.Second), cmp.Or(c.Timeout, 5*time.Second)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	channel := notifyChannel(named.Schema)
	return &Listener{config: config, opt: c, channel: channel, echo: channel + "_" + rand.Text()}, nil
}

// maxListenWait bounds the wait between two attempts to connect.
const maxListenWait = 5 * time.Second

// Run listens until ctx ends, and returns nil then. It calls wake, which must
// not block, when somebody has enqueued, and after each time that it may have
// missed that.
func (l *Listener) Run(ctx context.Context, wake func()) error {
	for failures := 0; ctx.Err() == nil; {
		heard, err := l.listen(ctx, wake)
		if ctx.Err() != nil {
			return nil
		}
		if failures++; heard {
			failures = 1
		}
		wait := min(100*time.Millisecond<<min(failures-1, 10), maxListenWait)
		l.opt.Logger.Warn("postgres: not listening; connecting again", "error", err, "wait", wait)
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
	}
	return nil
}

// listen makes one connection and uses it until it fails. heard says that it
// worked for a while.
func (l *Listener) listen(ctx context.Context, wake func()) (heard bool, err error) {
	conn, err := l.connect(ctx)
	if err != nil {
		return false, err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.opt.Timeout)
		defer cancel()
		_ = conn.Close(end) // it is not used any more, whatever comes of it
	}()
	for {
		// The echo shows that the connection carries notifications.
		if err := l.ping(ctx, conn, wake); err != nil {
			return heard, err
		}
		if !heard {
			heard = true
			wake() // whoever enqueued before was not heard
		}
		err := l.wait(ctx, conn, l.opt.PingEvery, func(channel string) bool {
			if channel == l.channel {
				wake()
			}
			return false
		})
		if err != nil && !(errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil) {
			return heard, err
		}
	}
}

func (l *Listener) connect(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, l.opt.Timeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, l.config.Copy())
	if err != nil {
		return nil, err
	}
	_, err = conn.Exec(ctx, "LISTEN "+pgx.Identifier{l.channel}.Sanitize()+"; LISTEN "+pgx.Identifier{l.echo}.Sanitize())
	if err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return conn, nil
}

// ping sends a notification and waits for it.
func (l *Listener) ping(ctx context.Context, conn *pgx.Conn, wake func()) error {
	sending, cancel := context.WithTimeout(ctx, l.opt.Timeout)
	defer cancel()
	if _, err := conn.Exec(sending, "SELECT pg_notify($1, '')", l.echo); err != nil {
		return fmt.Errorf("no answer: %w", err)
	}
	err := l.wait(ctx, conn, l.opt.Timeout, func(channel string) bool {
		if channel == l.channel {
			wake()
		}
		return channel == l.echo
	})
	if err != nil {
		return fmt.Errorf("the connection answers, but carries no notification (is it through a pooler?): %w", err)
	}
	return nil
}

// wait reads notifications until done says so, or the time is over.
func (l *Listener) wait(ctx context.Context, conn *pgx.Conn, d time.Duration, done func(channel string) bool) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		if done(n.Channel) {
			return nil
		}
	}
}
