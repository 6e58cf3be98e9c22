package peersbench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	watermillsql "github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/vgarvardt/gue/v5"
	"github.com/vgarvardt/gue/v5/adapter/pgxv5"
)

// drainWatermill reads a log: one subscriber with one offset, large batches. It
// neither claims nor ends anything row by row.
func (b *Bench) drainWatermill(ctx context.Context, db *database, n int) (u use, err error) {
	pool, err := db.pool(ctx, connections)
	if err != nil {
		return u, err
	}
	defer pool.Close()
	schema := watermillsql.DefaultPostgreSQLSchema{SubscribeBatchSize: 1000}
	beginner := watermillsql.BeginnerFromPgx(pool)
	pub, err := watermillsql.NewPublisher(beginner, watermillsql.PublisherConfig{SchemaAdapter: schema, AutoInitializeSchema: true}, watermill.NopLogger{})
	if err != nil {
		return u, err
	}
	defer func() { err = errors.Join(err, pub.Close()) }()
	for at := 0; at < warmUp+n; at += fillBatch {
		var batch []*message.Message
		for range min(fillBatch, warmUp+n-at) {
			batch = append(batch, message.NewMessage(watermill.NewUUID(), message.Payload(asserted)))
		}
		if err := pub.Publish(topicName, batch...); err != nil {
			return u, err
		}
	}
	sub, err := watermillsql.NewSubscriber(beginner, watermillsql.SubscriberConfig{
		ConsumerGroup: "bench", SchemaAdapter: schema, OffsetsAdapter: watermillsql.DefaultPostgreSQLOffsetsAdapter{}, InitializeSchema: true,
		PollInterval: time.Millisecond,
	}, watermill.NopLogger{})
	if err != nil {
		return u, err
	}
	defer func() { err = errors.Join(err, sub.Close()) }()
	messages, err := sub.Subscribe(ctx, topicName)
	if err != nil {
		return u, err
	}
	c := newCounter(warmUp, n)
	go func() {
		for m := range messages {
			m.Ack()
			c.one()
		}
	}()
	return c.measure(ctx, b.rig, nil)
}

// gueWorkers is the number of workers that was fastest here; each needs a
// connection, since a job is a transaction.
const gueWorkers = 32

// drainGue works jobs one by one, each in its own transaction.
func (b *Bench) drainGue(ctx context.Context, db *database, n int) (u use, err error) {
	schema, err := moduleFile(ctx, "github.com/vgarvardt/gue/v5", "migrations/schema.sql")
	if err != nil {
		return u, err
	}
	if err := db.exec(ctx, schema); err != nil {
		return u, err
	}
	pool, err := db.pool(ctx, gueWorkers+2)
	if err != nil {
		return u, err
	}
	defer pool.Close()
	client, err := gue.NewClient(pgxv5.NewConnPool(pool))
	if err != nil {
		return u, err
	}
	args, err := json.Marshal(job{Subject: subject(0), Recipient: recipient(0)})
	if err != nil {
		return u, err
	}
	for at := 0; at < warmUp+n; at += 500 {
		var batch []*gue.Job
		for range min(500, warmUp+n-at) {
			batch = append(batch, &gue.Job{Type: topicName, Args: args})
		}
		if err := client.EnqueueBatch(ctx, batch); err != nil {
			return u, err
		}
	}
	c := newCounter(warmUp, n)
	workers, err := gue.NewWorkerPool(client, gue.WorkMap{topicName: func(context.Context, *gue.Job) error { return nil }}, gueWorkers,
		gue.WithPoolPollInterval(time.Millisecond),
		gue.WithPoolHooksJobDone(func(context.Context, *gue.Job, error) { c.one() }))
	if err != nil {
		return u, err
	}
	ctx, stop := context.WithCancel(ctx)
	failed, ended := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(ended)
		if err := workers.Run(ctx); err != nil && ctx.Err() == nil {
			failed <- err
		}
	}()
	u, err = c.measure(ctx, b.rig, failed)
	stop()
	<-ended
	return u, err
}

// moduleFile reads a file of a module: some peers have no function that makes
// their tables.
func moduleFile(ctx context.Context, module, path string) (string, error) {
	dir, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("where is the module %s? run it in the bench module: %w", module, err)
	}
	b, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), filepath.FromSlash(path)))
	return string(b), err
}
