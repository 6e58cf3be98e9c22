package pgtest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestServer starts a server, crashes it, and starts it again.
func TestServer(t *testing.T) {
	var c Cluster
	if c.DSN(t); os.Getenv(Env) != "start" {
		t.Skip("make test-postgres: needs a server of its own")
	}
	s := c.Server(t)
	t.Cleanup(func() {
		if err := s.Remove(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(s.Dir()); err == nil {
			t.Errorf("%s is left", s.Dir())
		}
	})
	psql := func(query string) string {
		t.Helper()
		out, err := output(t.Context(), s.Dir(), filepath.Join(s.Bin(), "psql"), "-X", "-At", "-d", s.DSN(), "-c", query)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out)
	}
	if got := psql("CREATE TABLE x (n) AS SELECT 1; SELECT n FROM x"); got != "SELECT 1\n1" && got != "1" {
		t.Errorf("the server answered %q", got)
	}
	for _, mode := range []string{"immediate", "fast"} {
		if err := s.Stop(mode); err != nil {
			t.Fatal(err)
		}
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		if got := psql("SELECT n FROM x"); got != "1" {
			t.Errorf("after stop -m %s the server answered %q", mode, got)
		}
	}
	through := Bouncer(t, s.DSN())
	out, err := output(t.Context(), s.Dir(), filepath.Join(s.Bin(), "psql"), "-X", "-At", "-d", through, "-c", "SELECT n FROM x")
	if err != nil || strings.TrimSpace(out) != "1" {
		t.Errorf("through PgBouncer: %q, %v", out, err)
	}
}

// TestDiesWithUs: the program ends when the shell's input does, as it does when
// the process of the tests dies.
func TestDiesWithUs(t *testing.T) {
	dir, err := tempDir("lastlook-pgtest-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p, err := launch(dir, "TERM", "sleep", "600")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
		t.Fatal("it goes on without us: pid " + strconv.Itoa(p.cmd.Process.Pid))
	}
}

// TestStandby loses a server whose standby was synchronous: what it has committed
// is there.
func TestStandby(t *testing.T) {
	var c Cluster
	if c.DSN(t); os.Getenv(Env) != "start" {
		t.Skip("make test-postgres: needs servers of its own")
	}
	s := c.Server(t)
	remove := func(s *Server) {
		if err := s.Remove(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() { remove(s) })
	psql := func(s *Server, query string) string {
		t.Helper()
		out, err := output(t.Context(), s.Dir(), filepath.Join(s.Bin(), "psql"), "-X", "-At", "-d", s.DSN(), "-c", query)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out)
	}
	b, err := s.Standby(0, map[string]string{"wal_retrieve_retry_interval": "200ms"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(b) })
	psql(s, "ALTER SYSTEM SET synchronous_standby_names = '*'")
	psql(s, "SELECT pg_reload_conf()")
	psql(s, "CREATE TABLE x AS SELECT 1 AS n")
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := b.Promote(); err != nil {
		t.Fatal(err)
	}
	if got := psql(b, "UPDATE x SET n = n + 1 RETURNING n"); !strings.HasPrefix(got, "2") {
		t.Errorf("the standby answered %q", got)
	}
}
