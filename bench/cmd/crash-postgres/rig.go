package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/lastlook/lastlook/internal/pgtest"
)

// rig is the server under test, and its standby when it has one. Clients are given
// the addresses of both from the start; a standby that replaces a dead server
// listens where that did.
type rig struct {
	ports            [2]int
	primary, standby *pgtest.Server
	all              []*pgtest.Server
}

// settings are those of a server that is crashed: it writes to the disk, and
// starts quickly.
var settings = map[string]string{"wal_keep_size": "256MB", "max_wal_senders": "8", "wal_retrieve_retry_interval": "200ms"}

func newRig() (*rig, error) {
	r := &rig{}
	for i := range r.ports {
		var err error
		if r.ports[i], err = pgtest.FreePort(); err != nil {
			return nil, err
		}
	}
	var err error
	r.primary, err = pgtest.Start(pgtest.Options{Durable: true, Settings: settings, Port: r.ports[0]})
	if err != nil {
		return nil, err
	}
	r.all = append(r.all, r.primary)
	return r, nil
}

func (r *rig) close() error {
	var errs []error
	for _, s := range r.all {
		errs = append(errs, s.Remove())
	}
	return errors.Join(errs...)
}

// dsn has both addresses.
func (r *rig) dsn() string {
	return fmt.Sprintf("postgres://lastlook@127.0.0.1:%d,127.0.0.1:%d/postgres?sslmode=disable&target_session_attrs=read-write&connect_timeout=3&pool_max_conns=8",
		r.ports[0], r.ports[1])
}

// exec runs statements on the primary, each in a transaction of its own.
func (r *rig) exec(ctx context.Context, statements ...string) error {
	conn, err := pgx.Connect(ctx, r.primary.DSN())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for _, s := range statements {
		if _, err := conn.Exec(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// Terminate implements [crash.Server].
func (r *rig) Terminate(ctx context.Context) error {
	return r.exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")
}

// Restart implements [crash.Server].
func (r *rig) Restart(context.Context) error {
	return errors.Join(r.primary.Stop("immediate"), r.primary.Start())
}

// Standby implements [crash.Server].
func (r *rig) Standby(ctx context.Context) error {
	free := r.ports[0]
	if free == r.primary.Port() {
		free = r.ports[1]
	}
	s, err := r.primary.Standby(free, settings)
	if err != nil {
		return err
	}
	r.standby, r.all = s, append(r.all, s)
	if err := r.exec(ctx, "ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"); err != nil {
		return err
	}
	return r.synchronous(ctx)
}

// synchronous waits until the primary waits for its standby.
func (r *rig) synchronous(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, r.primary.DSN())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		var n int
		if err := conn.QueryRow(ctx, "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'").Scan(&n); err != nil {
			return fmt.Errorf("the standby does not become synchronous: %w", err)
		}
		if n > 0 {
			return nil
		}
		<-tick.C
	}
}

// Failover implements [crash.Server].
func (r *rig) Failover(context.Context) error {
	if err := r.primary.Kill(); err != nil {
		return err
	}
	if err := r.standby.Promote(); err != nil {
		return err
	}
	r.primary, r.standby = r.standby, nil
	return nil
}
