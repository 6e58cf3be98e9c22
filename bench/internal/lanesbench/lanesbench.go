// Package lanesbench measures that nobody waits for a stranger: how fast a
// healthy lane is told while another answers only after five seconds, and a
// third is dead, beside how fast it is told alone. Rows stand in SQLite, all
// lanes are webhooks on loopback, and the gate is the server's.
package lanesbench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/webhook"
	"github.com/lastlook/lastlook/internal/door"
	"github.com/lastlook/lastlook/internal/lanes"
	"github.com/lastlook/lastlook/store/sqlite"
)

// Bench is a run of all measurements.
type Bench struct {
	// Quick makes few rows and rounds do.
	Quick bool
	// Dir is where databases are made; "" is where temporary files go.
	Dir string
	// Say is told what is going on.
	Say func(format string, args ...any)

	Rows    []Row
	Summary map[string]float64
}

// Row is one measurement.
type Row struct {
	Name string `json:"name"`
	// Value is the median of Rounds.
	Value  float64   `json:"value"`
	Unit   string    `json:"unit"`
	Rounds []float64 `json:"rounds,omitempty"`
	Note   string    `json:"note,omitempty"`
}

// slowAnswer is how long the slow lane's receiver takes.
const slowAnswer = 5 * time.Second

// Run measures everything.
func (b *Bench) Run(ctx context.Context) error {
	rounds, n := 7, 10_000
	if b.Quick {
		rounds, n = 1, 300
	}
	var alone, among, ratios []float64
	for i := range rounds {
		// They take turns at going first.
		order := []bool{false, true}
		if i%2 == 1 {
			order = []bool{true, false}
		}
		var rates [2]float64
		for _, crowded := range order {
			rate, err := b.drain(ctx, n, crowded)
			if err != nil {
				return err
			}
			if crowded {
				rates[1] = rate
			} else {
				rates[0] = rate
			}
		}
		alone, among, ratios = append(alone, rates[0]), append(among, rates[1]), append(ratios, rates[1]/rates[0])
	}
	b.add("a healthy lane alone", "1/s", fmt.Sprintf("%d rows, webhooks on loopback", n), alone)
	b.add("the same beside a slow and a dead one", "1/s", fmt.Sprintf("%d rows in each lane; the slow receiver answers after %s", n, slowAnswer), among)
	b.Summary["healthy_lane_ratio"] = b.add("what it keeps of its speed", "×", "aim: 0.90", ratios)
	return nil
}

func (b *Bench) add(name, unit, note string, rounds []float64) float64 {
	r := Row{Name: name, Value: median(rounds), Unit: unit, Note: note, Rounds: slices.Clone(rounds)}
	if len(rounds) == 1 {
		r.Rounds = nil
	}
	b.Rows = append(b.Rows, r)
	b.Say("%-44s %12.4g %s", name, r.Value, unit)
	return r.Value
}

func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}

// drain tells n rows of the healthy lane, beside as many of the others if it
// is crowded, and returns how many a second.
func (b *Bench) drain(ctx context.Context, n int, crowded bool) (rate float64, err error) {
	dir, err := os.MkdirTemp(b.Dir, "lanes-*")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	names := []string{"healthy"}
	if crowded {
		names = []string{"slow", "dead", "healthy"} // the others came first
	}
	file := filepath.Join(dir, "lanes.db")
	if err := fill(ctx, file, names, n); err != nil {
		return 0, err
	}
	store, err := sqlite.Open(ctx, file)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	r, err := listen(n)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	channels, err := r.channels()
	if err != nil {
		return 0, err
	}
	outbox := lastlook.NewOutbox(store)
	gate, err := lanes.New(lanes.Config{})
	if err != nil {
		return 0, err
	}
	d, err := lastlook.NewDispatcher(outbox, lastlook.Config{
		Topics: []lastlook.Registration{topic()}, Channels: channels, Gate: gate, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return 0, err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	began := time.Now()
	go func() { done <- d.Run(running) }()
	select {
	case <-r.all:
	case err := <-done:
		return 0, cmp.Or(err, errors.New("the dispatcher stopped by itself"))
	case <-time.After(5 * time.Minute):
		stop()
		return 0, cmp.Or(<-done, fmt.Errorf("only %d of %d were told in five minutes", r.told.Load(), n))
	}
	took := time.Since(began)
	stop()
	return float64(n) / took.Seconds(), <-done
}

func topic() lastlook.Topic[int] {
	return lastlook.Topic[int]{
		Name: "price",
		Look: func(_ context.Context, subjects []string) []lastlook.Looked[int] {
			out := make([]lastlook.Looked[int], len(subjects))
			for i := range out {
				out[i].Value = 480
			}
			return out
		},
		Judge: func(lastlook.Case[int]) lastlook.Verdict { return lastlook.Send() },
		Word: func(c lastlook.Case[int]) lastlook.Message {
			return lastlook.Message{Title: fmt.Sprint(c.Key.Subject, ": ", c.Value)}
		},
		Windows: lastlook.Once(),
	}
}

// fill writes the rows, and closes the file, so that what that leaves to be
// done is not measured.
func fill(ctx context.Context, file string, channels []string, n int) (err error) {
	store, err := sqlite.Open(ctx, file)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, store.Close())
		runtime.GC()
	}()
	o, t := lastlook.NewOutbox(store), topic()
	for _, channel := range channels {
		for from := 0; from < n; from += 1000 {
			var items []lastlook.Item
			for i := from; i < min(from+1000, n); i++ {
				it, err := t.Item(lastlook.Target{Subject: fmt.Sprint("s", i), Recipient: "kim", Channel: channel}, 490)
				if err != nil {
					return err
				}
				items = append(items, it)
			}
			if _, err := o.Enqueue(ctx, items...); err != nil {
				return err
			}
		}
	}
	return nil
}

// receivers are a healthy and a slow one, and an address at which nobody listens.
type receivers struct {
	servers       []*http.Server
	healthy, slow string
	dead          string
	told          atomic.Int64
	all           chan struct{}
	ended         chan struct{}
}

func listen(n int) (*receivers, error) {
	r := &receivers{all: make(chan struct{}), ended: make(chan struct{})}
	serve := func(h http.HandlerFunc) (string, error) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
		r.servers = append(r.servers, s)
		go func() { _ = s.Serve(l) }() // until close
		return "http://" + l.Addr().String() + "/hook", nil
	}
	var err, err2 error
	r.healthy, err = serve(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
		if r.told.Add(1) == int64(n) {
			close(r.all)
		}
	})
	r.slow, err2 = serve(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case <-time.After(slowAnswer):
		case <-r.ended:
		}
		w.WriteHeader(http.StatusNoContent)
	})
	nobody, err3 := net.Listen("tcp", "127.0.0.1:0")
	if err := cmp.Or(err, err2, err3); err != nil {
		return nil, errors.Join(err, r.close())
	}
	r.dead = "http://" + nobody.Addr().String() + "/hook"
	return r, nobody.Close()
}

func (r *receivers) close() error {
	close(r.ended)
	var err error
	for _, s := range r.servers {
		err = errors.Join(err, s.Close())
	}
	return err
}

func (r *receivers) channels() (map[string]lastlook.Channel, error) {
	client, err := door.New(door.Config{Trust: door.Operator, Allow: door.Loopback(), MaxIdlePerHost: 64})
	if err != nil {
		return nil, err
	}
	out := map[string]lastlook.Channel{}
	for name, to := range map[string]string{"healthy": r.healthy, "slow": r.slow, "dead": r.dead} {
		if out[name], err = webhook.New(webhook.Config{URL: to, Secret: webhook.NewSecret(), Client: client}); err != nil {
			return nil, err
		}
	}
	return out, nil
}
