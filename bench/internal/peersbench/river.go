package peersbench

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// job is what a River job is about: what an item's key and detection say.
type job struct {
	Subject   string `json:"subject" river:"unique"`
	Recipient string `json:"recipient" river:"unique"`
	Detection offer  `json:"detection"`
	// Number and At are for the latency.
	Number int   `json:"number,omitempty"`
	At     int64 `json:"at,omitempty"`
}

// Kind implements [river.JobArgs].
func (job) Kind() string { return topicName }

// worker calls a function.
type worker struct {
	river.WorkerDefaults[job]
	f func(j *river.Job[job])
}

// Work implements [river.Worker].
func (w worker) Work(_ context.Context, j *river.Job[job]) error {
	if w.f != nil {
		w.f(j)
	}
	return nil
}

// riverWorkers is the number of workers that was fastest here, of 100 to 10 000.
const riverWorkers = 2000

type riverClient = river.Client[pgx.Tx]

// riverOn makes a client that inserts and, if f is not nil, works. Its settings
// are those that made it fastest here: the shortest cooldown of fetches and of the
// notifications that inserts send, and as many workers as pay.
func riverOn(pool *pgxpool.Pool, w *worker) (*riverClient, error) {
	c := &river.Config{Logger: slog.New(slog.DiscardHandler), FetchCooldown: time.Millisecond, FetchPollInterval: time.Second}
	if w != nil {
		c.Workers = river.NewWorkers()
		if err := river.AddWorkerSafely(c.Workers, *w); err != nil {
			return nil, err
		}
		c.JobTimeout = -1
		c.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: riverWorkers}}
	}
	return river.NewClient(riverpgxv5.New(pool), c)
}

// river makes a pool and River's tables.
func (db *database) river(ctx context.Context) (*pgxpool.Pool, error) {
	pool, err := db.pool(ctx, connections)
	if err != nil {
		return nil, err
	}
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	return pool, nil
}

// jobs are n jobs, from the given number on.
func jobs(from, n int, unique bool) []river.InsertManyParams {
	out := make([]river.InsertManyParams, n)
	for i := range out {
		out[i].Args = job{Subject: subject(from + i), Recipient: recipient(from + i), Detection: offer{Price: "479.00", Currency: "EUR", Available: true}}
		if unique {
			out[i].InsertOpts = &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}}
		}
	}
	return out
}

// drainRiver inserts jobs into a fresh database, and lets River work them.
func (b *Bench) drainRiver(ctx context.Context, db *database, n int, unique bool) (filled, drained use, err error) {
	pool, err := db.river(ctx)
	if err != nil {
		return filled, drained, err
	}
	defer pool.Close()
	client, err := riverOn(pool, &worker{})
	if err != nil {
		return filled, drained, err
	}
	from, err := b.rig.read(ctx)
	if err != nil {
		return filled, drained, err
	}
	for at := 0; at < warmUp+n; at += fillBatch {
		batch := jobs(at, min(fillBatch, warmUp+n-at), unique)
		if unique {
			_, err = client.InsertMany(ctx, batch)
		} else {
			_, err = client.InsertManyFast(ctx, batch)
		}
		if err != nil {
			return filled, drained, err
		}
	}
	if filled, err = b.rig.since(ctx, from, warmUp+n); err != nil {
		return filled, drained, err
	}
	events, cancel := client.SubscribeConfig(&river.SubscribeConfig{ChanSize: warmUp + n + 1, Kinds: []river.EventKind{river.EventKindJobCompleted}})
	defer cancel()
	c := newCounter(warmUp, n)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for {
			select {
			case <-events:
				c.one()
			case <-stop:
				return
			}
		}
	}()
	if err := client.Start(ctx); err != nil {
		return filled, drained, err
	}
	drained, err = c.measure(ctx, b.rig, nil)
	return filled, drained, errors.Join(err, client.Stop(ctx))
}
