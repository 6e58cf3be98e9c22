package sqlitebench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mikestefanello/backlite"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"maragu.dev/goqite"

	"github.com/lastlook/lastlook/store/sqlite"
)

// peerDrivers are the SQLite drivers that the peers are tried on; the better one
// counts.
var peerDrivers = []string{"sqlite", "sqlite3"}

// Peers measures the drain beside other queues that keep their jobs in SQLite:
// each with no work to do, the journal and the sync of ours, and the settings
// that made it fastest here. None of them looks again, fences what it writes, or
// keeps how a job ended (River does), which is work that we do within the time.
func (b *Bench) Peers(ctx context.Context) error {
	n, few := b.pick(20_000, 3_000), b.pick(3_000, 300)
	q, err := loadQueries()
	if err != nil {
		return err
	}
	type peer struct {
		name string
		n    int
		run  func(ctx context.Context, db *sql.DB, n int) (time.Duration, error)
		got  map[string][]float64 // by driver
	}
	peers := []*peer{
		{name: "river", n: few, run: drainRiver},
		{name: "goqite", n: few, run: drainGoqite},
		{name: "backlite", n: b.pick(10_000, 1_000), run: drainBacklite},
	}
	var engine, raw []float64
	for range b.pick(7, 1) {
		for _, m := range []struct {
			to  *[]float64
			run func(ctx context.Context, s *sqlite.Store, warm, n int) (time.Duration, error)
		}{{&engine, drainEngine}, {&raw, q.drain}} {
			if err := b.withStore(ctx, func(s *sqlite.Store) error {
				if err := fill(ctx, s, 0, warmUp+n); err != nil {
					return err
				}
				took, err := m.run(ctx, s, warmUp, n)
				*m.to = append(*m.to, rate(n, took))
				return err
			}); err != nil {
				return fmt.Errorf("drain: %w", err)
			}
		}
		for _, p := range peers {
			for _, driver := range peerDrivers {
				took, err := b.drainPeer(ctx, driver, p.n, p.run)
				if err != nil {
					return fmt.Errorf("%s on %s: %w", p.name, driver, err)
				}
				if p.got == nil {
					p.got = map[string][]float64{}
				}
				p.got[driver] = append(p.got[driver], rate(p.n, took))
			}
		}
	}
	b.add("SQLite drain, engine", unitRate, "claim → look → sending → sent, every default", engine...)
	b.add("SQLite drain, raw bound", unitRate, "the same statements in a loop, no engine", raw...)
	for _, p := range peers {
		best := peerDrivers[0]
		for _, driver := range peerDrivers {
			b.add(fmt.Sprintf("SQLite drain, %s on %s", p.name, driverNames[driver]), unitRate, "", p.got[driver]...)
			if median(p.got[driver]) > median(p.got[best]) {
				best = driver
			}
		}
		b.Summary["sqlite_drain_vs_"+p.name] = b.add("SQLite drain: engine ÷ "+p.name, "×", "on "+driverNames[best]+", the faster driver for it", ratios(engine, p.got[best])...)
	}
	b.Summary["sqlite_drain_vs_raw"] = b.add("SQLite drain: engine ÷ raw bound", "×", "aim: ≥ 0.5", ratios(engine, raw)...)
	return nil
}

var driverNames = map[string]string{"sqlite": "modernc.org/sqlite", "sqlite3": "mattn/go-sqlite3"}

// drainPeer runs a peer on a fresh file.
func (b *Bench) drainPeer(ctx context.Context, driver string, n int, run func(context.Context, *sql.DB, int) (time.Duration, error)) (took time.Duration, err error) {
	err = b.inFolder(func(dir string) (err error) {
		db, err := openSQL(driver, filepath.Join(dir, "peer.db"))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		took, err = run(ctx, db, n)
		return err
	})
	return took, err
}

// nothing is a job without work.
type nothing struct {
	Price string `json:"price"`
}

// Kind implements [river.JobArgs].
func (nothing) Kind() string { return "nothing" }

// nothingWorker does it.
type nothingWorker struct {
	river.WorkerDefaults[nothing]
}

// Work implements [river.Worker].
func (nothingWorker) Work(context.Context, *river.Job[nothing]) error { return nil }

func drainRiver(ctx context.Context, db *sql.DB, n int) (time.Duration, error) {
	driver := riversqlite.New(db)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return 0, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return 0, err
	}
	workers := river.NewWorkers()
	if err := river.AddWorkerSafely(workers, nothingWorker{}); err != nil {
		return 0, err
	}
	client, err := river.NewClient(driver, &river.Config{
		Logger: slog.New(slog.DiscardHandler), Workers: workers,
		FetchCooldown: time.Millisecond, FetchPollInterval: 10 * time.Millisecond,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 1000}},
	})
	if err != nil {
		return 0, err
	}
	for left := n; left > 0; left -= 500 {
		jobs := make([]river.InsertManyParams, min(left, 500))
		for i := range jobs {
			jobs[i].Args = nothing{Price: "479.00"}
		}
		if _, err := client.InsertMany(ctx, jobs); err != nil {
			return 0, err
		}
	}
	events, cancel := client.SubscribeConfig(&river.SubscribeConfig{ChanSize: n + 1, Kinds: []river.EventKind{river.EventKindJobCompleted}})
	defer cancel()
	start := time.Now()
	if err := client.Start(ctx); err != nil {
		return 0, err
	}
	for range n {
		select {
		case <-events:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	took := time.Since(start)
	return took, client.Stop(ctx)
}

// drainGoqite receives and deletes in a loop, which is less than its runner
// does; one at a time is the only way that it has.
func drainGoqite(ctx context.Context, db *sql.DB, n int) (time.Duration, error) {
	schema, err := goqiteSchema(ctx)
	if err != nil {
		return 0, err
	}
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return 0, err
	}
	q := goqite.New(goqite.NewOpts{DB: db, Name: "q", Timeout: time.Minute})
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	for range n {
		if err := q.SendTx(ctx, tx, goqite.Message{Body: []byte(asserted)}); err != nil {
			return 0, errors.Join(err, tx.Rollback())
		}
	}
	if err := tx.Commit(); err != nil {
		return 0, err
	}
	start := time.Now()
	for done := range n {
		m, err := q.Receive(ctx)
		if err != nil || m == nil {
			return 0, errors.Join(err, fmt.Errorf("%d of %d messages came", done, n))
		}
		if err := q.Delete(ctx, m.ID); err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}

// goqiteSchema reads the tables that goqite wants from its module: it has no
// function that makes them.
func goqiteSchema(ctx context.Context) (string, error) {
	dir, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "maragu.dev/goqite").Output()
	if err != nil {
		return "", fmt.Errorf("where is goqite's module? run it in the bench module: %w", err)
	}
	b, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "schema_sqlite.sql"))
	return string(b), err
}

// Config implements [backlite.Task].
func (nothing) Config() backlite.QueueConfig {
	return backlite.QueueConfig{Name: "nothing", MaxAttempts: 3, Timeout: time.Minute}
}

func drainBacklite(ctx context.Context, db *sql.DB, n int) (time.Duration, error) {
	client, err := backlite.NewClient(backlite.ClientConfig{DB: db, Logger: quiet{}, NumWorkers: 10, ReleaseAfter: time.Hour})
	if err != nil {
		return 0, err
	}
	if err := client.Install(); err != nil {
		return 0, err
	}
	var left atomic.Int64
	left.Store(int64(n))
	done := make(chan struct{})
	client.Register(backlite.NewQueue(func(context.Context, nothing) error {
		if left.Add(-1) == 0 {
			close(done)
		}
		return nil
	}))
	for added := 0; added < n; added += 500 {
		tasks := make([]backlite.Task, min(n-added, 500))
		for i := range tasks {
			tasks[i] = nothing{Price: "479.00"}
		}
		if _, err := client.Add(tasks...).Ctx(ctx).Save(); err != nil {
			return 0, err
		}
	}
	start := time.Now()
	client.Start(ctx)
	select {
	case <-done:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if !client.Stop(ctx) {
		return 0, errors.New("backlite did not stop")
	}
	took := time.Since(start)
	var rows int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM backlite_tasks").Scan(&rows); err != nil || rows != 0 {
		return 0, errors.Join(err, fmt.Errorf("%d tasks are left", rows))
	}
	return took, nil
}

// quiet is a logger that says nothing.
type quiet struct{}

// Info implements [backlite.Logger].
func (quiet) Info(string, ...any) {}

// Error implements [backlite.Logger].
func (quiet) Error(string, ...any) {}
