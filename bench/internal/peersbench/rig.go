package peersbench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/lastlook/lastlook/internal/pgtest"
)

// settings are the server's, for everybody: durable, and so that no checkpoint or
// its page images falls into one's turn rather than the other's.
var settings = map[string]string{
	"shared_buffers": "1GB", "max_wal_size": "16GB", "min_wal_size": "2GB", "checkpoint_timeout": "1h", "wal_buffers": "64MB",
	"max_connections": "200", "autovacuum_naptime": "5s", "log_min_messages": "error",
}

// connections are what each engine may have.
const connections = 8

// rig is the server, and what it and this process have used.
type rig struct {
	server *pgtest.Server
	admin  *pgx.Conn
	n      int
}

func newRig(ctx context.Context) (*rig, error) {
	server, err := pgtest.Start(pgtest.Options{Durable: true, Settings: settings})
	if err != nil {
		return nil, err
	}
	admin, err := pgx.Connect(ctx, server.DSN())
	if err != nil {
		return nil, errors.Join(err, server.Remove())
	}
	return &rig{server: server, admin: admin}, nil
}

func (r *rig) close(ctx context.Context) error {
	return errors.Join(r.admin.Close(context.WithoutCancel(ctx)), r.server.Remove())
}

// database is one of its own, for one turn.
type database struct {
	rig *rig
	dsn string
}

// fresh runs f on a database that is made for it.
func (r *rig) fresh(ctx context.Context, f func(db *database) error) (err error) {
	r.n++
	name := "bench" + strconv.Itoa(r.n)
	if _, err := r.admin.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return err
	}
	defer func() {
		_, e := r.admin.Exec(context.WithoutCancel(ctx), "DROP DATABASE "+name+" WITH (FORCE)")
		err = errors.Join(err, e)
	}()
	return f(&database{rig: r, dsn: fmt.Sprintf("postgres://lastlook@127.0.0.1:%d/%s?sslmode=disable", r.server.Port(), name)})
}

// pool connects to the database.
func (db *database) pool(ctx context.Context, conns int) (*pgxpool.Pool, error) {
	c, err := pgxpool.ParseConfig(db.dsn)
	if err != nil {
		return nil, err
	}
	c.MaxConns, c.MinConns = int32(conns), int32(conns)
	return pgxpool.NewWithConfig(ctx, c)
}

// exec runs statements, each in a transaction of its own.
func (db *database) exec(ctx context.Context, statements ...string) error {
	conn, err := pgx.Connect(ctx, db.dsn)
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

// reading is what had been used at a moment.
type reading struct {
	at  time.Time
	wal int64
	// cpu is the server's processor time and this process', together.
	cpu, client time.Duration
}

// use is what rows took.
type use struct {
	rate, cpu, wal float64 // rows/s, µs and bytes per row
	client         float64 // of cpu, this process'
}

func (r *rig) read(ctx context.Context) (m reading, err error) {
	m.at = time.Now()
	m.cpu, m.client = r.cpu()
	return m, r.admin.QueryRow(ctx, "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint").Scan(&m.wal)
}

// since says what n rows took since a reading.
func (r *rig) since(ctx context.Context, from reading, n int) (use, error) {
	to, err := r.read(ctx)
	return use{
		rate:   rate(n, to.at.Sub(from.at)),
		cpu:    float64((to.cpu - from.cpu).Microseconds()) / float64(n),
		client: float64((to.client - from.client).Microseconds()) / float64(n),
		wal:    float64(to.wal-from.wal) / float64(n),
	}, err
}

// cpu returns the server's time and this process' together, and the latter alone;
// 0 where there is no /proc.
func (r *rig) cpu() (total, client time.Duration) {
	var self syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &self); err != nil {
		return 0, 0
	}
	client = time.Duration(self.Utime.Nano() + self.Stime.Nano())
	total = client
	pid, err := os.ReadFile(filepath.Join(r.server.Dir(), "data", "postmaster.pid"))
	if err != nil {
		return 0, 0
	}
	first, _, _ := strings.Cut(string(pid), "\n")
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, 0
	}
	for _, path := range stats {
		total += ticks(path, strings.TrimSpace(first))
	}
	return total, client
}

// ticks is the time of a process that is the server or one of its children.
func ticks(path, server string) time.Duration {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0 // it has ended; its parent counts it
	}
	_, rest, ok := bytes.Cut(b, []byte(") "))
	f := strings.Fields(string(rest))
	if !ok || len(f) < 15 {
		return 0
	}
	own := strings.HasPrefix(path, "/proc/"+server+"/")
	if !own && f[1] != server {
		return 0
	}
	last := 13 // utime, stime
	if own {
		last = 15 // and those of children that have ended
	}
	var n int64
	for _, text := range f[11:last] {
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0
		}
		n += v
	}
	return time.Duration(n) * (time.Second / 100) // USER_HZ
}
