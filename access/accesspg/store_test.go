package accesspg_test

import (
	"os"
	"testing"

	"github.com/lastlook/lastlook/access/accesspg"
	"github.com/lastlook/lastlook/access/accesstest"
	"github.com/lastlook/lastlook/internal/pgtest"
	"github.com/lastlook/lastlook/store/postgres"
)

// cluster is the server that this package's tests share.
var cluster pgtest.Cluster

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

func TestConformance(t *testing.T) {
	cluster.DSN(t)
	accesstest.Run(t, accesstest.Harness{Open: func(tb testing.TB) *accesstest.Opened {
		r := cluster.NewRaw(tb)
		db, err := postgres.Open(tb.Context(), cluster.DSN(tb), postgres.Config{Schema: r.Schema})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() {
			if err := db.Close(); err != nil {
				tb.Error(err)
			}
		})
		s, err := accesspg.Open(tb.Context(), db)
		if err != nil {
			tb.Fatal(err)
		}
		return &accesstest.Opened{Store: s, Outbox: db, Rows: func() (out []string) {
			for _, rows := range r.Dump() {
				out = append(out, rows...)
			}
			return out
		}}
	}})
}
