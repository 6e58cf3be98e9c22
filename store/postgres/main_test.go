package postgres_test

import (
	"os"
	"testing"

	"github.com/lastlook/lastlook/internal/pgtest"
)

// cluster is the server that this package's tests share.
var cluster pgtest.Cluster

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }
