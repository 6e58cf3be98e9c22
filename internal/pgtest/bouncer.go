package pgtest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Bouncer starts a PgBouncer in transaction mode before the server at dsn, for one
// test, and returns its address. It keeps no prepared statements for anybody.
func Bouncer(tb testing.TB, dsn string) string {
	tb.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		if program = "/usr/sbin/pgbouncer"; !isFile(program) {
			check(tb, fmt.Errorf("%w: pgbouncer (Debian: pgbouncer)", ErrMissing))
		}
	}
	u, err := url.Parse(dsn)
	check(tb, err)
	if u.Host == "" {
		tb.Fatalf("pgtest: %s must be a URL with a host to put PgBouncer before it", Env)
	}
	dir, err := tempDir("lastlook-bouncer-")
	check(tb, err)
	port, err := freePort()
	check(tb, err)
	ini := filepath.Join(dir, "pgbouncer.ini")
	check(tb, os.WriteFile(ini, []byte(bouncerConfig(u, port)), 0o644))
	p, err := launch(dir, "TERM", program, ini)
	check(tb, err)
	tb.Cleanup(func() {
		if err := p.stop(); err != nil {
			tb.Error(err)
		}
		_ = os.RemoveAll(dir)
	})
	at := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	check(tb, p.ready(func(ctx context.Context) error {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", at)
		if err == nil {
			err = conn.Close()
		}
		return err
	}))
	through := url.URL{Scheme: "postgres", User: url.User(u.User.Username()), Host: at, Path: u.Path, RawQuery: "sslmode=disable"}
	return through.String()
}

func isFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func bouncerConfig(u *url.URL, port int) string {
	host, serverPort := u.Hostname(), u.Port()
	if serverPort == "" {
		serverPort = "5432"
	}
	target := fmt.Sprintf("host=%s port=%s user=%s", host, serverPort, u.User.Username())
	if password, ok := u.User.Password(); ok {
		target += " password='" + strings.ReplaceAll(password, "'", "''") + "'"
	}
	return strings.Join([]string{
		"[databases]", "* = " + target,
		"[pgbouncer]", "listen_addr = 127.0.0.1", "listen_port = " + strconv.Itoa(port), "unix_socket_dir =",
		"auth_type = any", "pool_mode = transaction",
		// Fewer connections than clients, so that these do share them.
		"default_pool_size = 3", "max_client_conn = 200", "query_wait_timeout = 60",
		"server_tls_sslmode = disable", "ignore_startup_parameters = extra_float_digits", "",
	}, "\n")
}
