// Package pgtest gives tests a real PostgreSQL server, and a real PgBouncer before
// it. A package's tests share one:
//
//	var cluster pgtest.Cluster
//
//	func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }
//
//	func TestX(t *testing.T) { dsn := cluster.DSN(t); … }
//
// LASTLOOK_TEST_POSTGRES says which: "start" starts one from the machine's
// binaries in a temporary folder (LASTLOOK_POSTGRES_BIN, else the newest below
// /usr/lib/postgresql, else those in PATH); anything else is the address of one
// that runs already, as a URL. If it is not set, as under `make test`, the tests
// are skipped: `make test-postgres` runs them. Where it is "start" and the
// binaries are missing, tests fail if CI=true, and are skipped else.
//
// A server that was started dies with the process of the tests, however that ends.
package pgtest
