package pgtest

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
)

// Env is the environment variable that says which server to use.
const Env = "LASTLOOK_TEST_POSTGRES"

// ErrMissing says that a program is not installed.
var ErrMissing = errors.New("pgtest: not installed")

// Cluster is the server that the tests of one package share. The zero value
// starts it when it is first asked for.
type Cluster struct {
	// Options are for a server that is started.
	Options Options

	mu     sync.Mutex
	server *Server
	err    error
}

// Main runs the tests, and stops the server after them.
func (c *Cluster) Main(m *testing.M) int {
	code := m.Run()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server != nil {
		if err := c.server.Remove(); err != nil {
			fmt.Fprintln(os.Stderr, "pgtest:", err)
			code = max(code, 1)
		}
	}
	return code
}

// DSN returns the server's address, or skips or fails the test.
func (c *Cluster) DSN(tb testing.TB) string {
	tb.Helper()
	switch where := os.Getenv(Env); where {
	case "":
		tb.Skip("make test-postgres: runs this on a PostgreSQL server; " + Env + " is not set")
		return ""
	case "start":
		return c.Server(tb).DSN()
	default:
		return where
	}
}

// Server returns the server that was started, and starts it if need be. Tests
// that stop or restart one want this. They are skipped if the server is another's.
func (c *Cluster) Server(tb testing.TB) *Server {
	tb.Helper()
	if where := os.Getenv(Env); where != "start" {
		tb.Skip("make test-postgres: needs a server of its own; " + Env + " is not \"start\"")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server == nil && c.err == nil {
		c.server, c.err = Start(c.Options)
	}
	check(tb, c.err)
	return c.server
}

// check ends a test whose programs are missing or do not run.
func check(tb testing.TB, err error) {
	tb.Helper()
	switch {
	case err == nil:
	case errors.Is(err, ErrMissing) && os.Getenv("CI") != "true":
		tb.Skipf("NOT TESTED: %v", err)
	default:
		tb.Fatal(err)
	}
}
