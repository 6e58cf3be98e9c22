package devicepg_test

import (
	"errors"
	"os"
	"testing"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/device/devicepg"
	"github.com/lastlook/lastlook/device/devicetest"
	"github.com/lastlook/lastlook/internal/pgtest"
	"github.com/lastlook/lastlook/store/postgres"
)

// cluster is the server that this package's tests share.
var cluster pgtest.Cluster

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

func open(tb testing.TB, r pgtest.Raw) (*postgres.Store, *devicepg.Store) {
	tb.Helper()
	db, err := postgres.Open(tb.Context(), cluster.DSN(tb), postgres.Config{Schema: r.Schema})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	s, err := devicepg.Open(tb.Context(), db)
	if err != nil {
		tb.Fatal(err)
	}
	return db, s
}

func TestConformance(t *testing.T) {
	cluster.DSN(t)
	devicetest.Run(t, devicetest.Harness{Open: func(tb testing.TB) *devicetest.Opened {
		r := cluster.NewRaw(tb)
		_, s := open(tb, r)
		return &devicetest.Opened{Store: s, Exec: r.Exec, Column: r.Column, Hex: func(c string) string { return "encode(" + c + ", 'hex')" }}
	}})
}

func TestNewerSchema(t *testing.T) {
	r := cluster.NewRaw(t)
	db, _ := open(t, r)
	r.Exec("INSERT INTO lastlook_device_schema (version, name) VALUES (99, 'later')")
	if _, err := devicepg.Open(t.Context(), db); !errors.Is(err, lastlook.ErrNewerSchema) {
		t.Errorf("error %v", err)
	}
}
