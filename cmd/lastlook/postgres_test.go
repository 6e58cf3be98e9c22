package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"testing"

	"github.com/lastlook/lastlook/internal/pgtest"
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
