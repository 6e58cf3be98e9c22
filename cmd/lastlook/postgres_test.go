package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/pgtest"
	"github.com/lastlook/lastlook/internal/server"
	"github.com/rogpeppe/go-internal/testscript"
)

// withCluster runs the tests, and stops the PostgreSQL server that they share.
type withCluster struct{ m *testing.M }

var cluster pgtest.Cluster

func (w withCluster) Run() int { return cluster.Main(w.m) }

// onPostgres has a script's commands use a schema of its own on a PostgreSQL
// server.
func onPostgres(t *testing.T) func(*testscript.Env) error {
	dsn := cluster.DSN(t)
	return func(env *testscript.Env) error {
		env.Setenv("LASTLOOK_DATABASE", dsn)
		env.Setenv("LASTLOOK_SCHEMA", pgtest.SchemaName())
		return nil
	}
}

// sqlCommand runs a file on the server.
func sqlCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: sql FILE")
	}
	ts.Check(pgtest.Exec(ts.Getenv("LASTLOOK_DATABASE"), ts.ReadFile(args[0])))
}

// asCommand uses the server as another role.
func asCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: as ROLE")
	}
	u, err := url.Parse(ts.Getenv("LASTLOOK_DATABASE"))
	ts.Check(err)
	u.User = url.User(args[0])
	ts.Setenv("LASTLOOK_DATABASE", u.String())
}

// TestScriptsPostgres runs the scripts, and a few more, on PostgreSQL: what works
// with a file works with a server.
func TestScriptsPostgres(t *testing.T) {
	for _, dir := range []string{"testdata/script", "testdata/postgres"} {
		if _, err := os.Stat(dir); err != nil {
			t.Fatal(err)
		}
		testscript.Run(t, scripts(dir, onPostgres(t)))
	}
}

// Two serves at once on one database: each watch's news is told once, by whichever
// is free, and when one ends, the other goes on.
func TestTwoServesOnPostgres(t *testing.T) {
	dsn := cluster.DSN(t)
	h := newHome(t, "LASTLOOK_DATABASE="+dsn, "LASTLOOK_SCHEMA="+cluster.NewRaw(t).Schema)
	const watches = 12
	for i := range watches {
		h.run("watch", "add", fmt.Sprintf("%s?n=%d", h.shop.url(), i), "--below", "500 EUR", "--every", "1m", "--to", "work", "--no-check")
	}
	h.shop.set(func(s *shop) { s.prices = []string{"480.00"} })
	one, two := h.start("serve"), h.start("serve")
	told := map[string]int{}
	for range watches {
		e, err := h.receiver.next(h.context())
		if err != nil {
			t.Fatal(err)
		}
		var body struct {
			Data struct {
				Subject string `json:"subject"`
			} `json:"data"`
		}
		if err := json.Unmarshal(e.Body, &body); err != nil || body.Data.Subject == "" {
			t.Fatalf("%v: %s", err, e.Body)
		}
		told[body.Data.Subject]++
	}
	for subject, n := range told {
		if n != 1 {
			t.Errorf("%s was told %d times", subject, n)
		}
	}
	var n int
	h.shop.set(func(s *shop) { n = s.looks })
	if n > 2*watches {
		t.Errorf("%d looks at %d pages: want one each, and a last one", n, watches)
	}
	one.stop()
	h.run("watch", "add", h.shop.url()+"?late", "--below", "500 EUR", "--to", "work", "--no-check")
	if _, err := h.receiver.next(h.context()); err != nil {
		t.Error("the other serve does not go on", err)
	}
	two.stop()
}

// A copy that is killed goes on when it is made again, and nothing is lost or
// doubled. In between, the database cannot be used.
func TestCopyIsResumed(t *testing.T) {
	dsn := cluster.DSN(t)
	h := newHome(t)
	h.run("watch", "add", h.shop.url(), "--below", "500 EUR", "--to", "work")
	fill(t, h.dir, 30_000)
	schema := cluster.NewRaw(t)
	h.env = []string{"LASTLOOK_SCHEMA=" + schema.Schema}
	args := []string{"migrate", "copy", h.dir + "/lastlook.db", dsn}

	p := h.start(append([]string{"--log-level", "debug"}, args...)...)
	p.await(`copying.*table=notifications`)
	p.kill()
	if n := schema.Column("SELECT count(*) FROM lastlook_copy"); len(n) != 1 || n[0] == "0" {
		t.Fatalf("the copy was not interrupted: %v", n)
	}
	if _, errOut, code := h.try("watch", "list", "--database", dsn); code != exitFailed || !strings.Contains(errOut, "was interrupted") {
		t.Errorf("used in between: exit code %d, %s", code, errOut)
	}
	if out := h.run(args...); !strings.Contains(out, "before it was interrupted") {
		t.Errorf("the second run says %s", out)
	}
	for table, want := range map[string]string{"notifications": "30000", "live": "30000", "keys": "30000", "watch_watches": "1", "watch_observations": "1"} {
		if got := schema.Column("SELECT count(*) FROM lastlook_" + table)[0]; got != want {
			t.Errorf("%s has %s rows, want %s", table, got, want)
		}
	}
	if _, errOut, code := h.try(args...); code == exitOK || !strings.Contains(errOut, "holds rows") {
		t.Errorf("copied twice: exit code %d, %s", code, errOut)
	}
	// What is new gets numbers that nobody had.
	h.env = append(h.env, "LASTLOOK_DATABASE="+dsn)
	h.run("watch", "add", h.shop.url()+"?new", "--below", "700 EUR", "--to", "work")
	if got := schema.Column("SELECT max(id) FROM lastlook_notifications")[0]; got != "30001" {
		t.Errorf("the next notification is %s", got)
	}
}

// fill enqueues notifications in a data directory.
func fill(t *testing.T, dir string, n int) {
	t.Helper()
	db, _, closeStores, err := server.OpenStores(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	const batch = 5000
	for from := 0; from < n; from += batch {
		var items []lastlook.Item
		for i := range batch {
			items = append(items, lastlook.Item{Key: lastlook.Key{Topic: "order", Subject: fmt.Sprint(from + i), Recipient: "ann", Channel: "mail"}, Detection: json.RawMessage(`{"n":1}`)})
		}
		if _, err := db.Enqueue(t.Context(), time.Now(), items); err != nil {
			t.Fatal(err)
		}
	}
	if err := closeStores(); err != nil {
		t.Fatal(err)
	}
}

// A file that somebody dispatches from is not copied.
func TestCopyIsRefusedWhileServing(t *testing.T) {
	dsn := cluster.DSN(t)
	h := newHome(t)
	p := h.start("serve")
	p.await("serving")
	h.env = []string{"LASTLOOK_SCHEMA=" + cluster.NewRaw(t).Schema}
	if _, errOut, code := h.try("migrate", "copy", h.dir+"/lastlook.db", dsn); code != exitFailed || !strings.Contains(errOut, "already dispatching") {
		t.Errorf("exit code %d, %s", code, errOut)
	}
	p.stop()
}
