package pushbench

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/push"
	"github.com/lastlook/lastlook/internal/door"
	"github.com/lastlook/lastlook/webpush"
)

// workers is how many messages are under way at a time, and how many
// connections there are.
const workers = 64

// quiet is the part of all processors that the floor must have got, for rates
// to be comparable.
const quiet = 0.85

// pace is how fast calls went, and what each took of this process's time on
// processors, which says more where others use them as well.
type pace struct{ rate, micros float64 }

// each calls f with 0 to n-1, by all workers.
func each(ctx context.Context, n int, f func(ctx context.Context, i int) error) (pace, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	used, began := processorTime(), time.Now()
	for range workers {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := f(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	took, used := time.Since(began), processorTime()-used
	return pace{float64(n) / took.Seconds(), float64(used.Microseconds()) / float64(n)}, context.Cause(ctx)
}

// processorTime is what this process has used of processors.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0 // which no system answers
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// floor is the cryptography that no sender can do without: a key pair, the
// agreement with the browser's key, AES-GCM over payload, padding and all.
func floor(keys []*ecdh.PublicKey, size int) func(context.Context, int) error {
	plain := make([]byte, size)
	return func(_ context.Context, i int) error {
		own, err := ecdh.P256().GenerateKey(rand.Reader)
		if err != nil {
			return err
		}
		shared, err := own.ECDH(keys[i%len(keys)])
		if err != nil {
			return err
		}
		block, err := aes.NewCipher(shared[:16])
		if err != nil {
			return err
		}
		gcm, err := cipher.NewGCM(block)
		if err != nil {
			return err
		}
		_ = gcm.Seal(nil, shared[:12], plain, nil)
		return nil
	}
}

// directory knows every browser by its number.
type directory []webpush.Subscription

func (d directory) Subscription(_ context.Context, recipient string) (webpush.Subscription, error) {
	var i int
	if _, err := fmt.Sscan(recipient, &i); err != nil || i >= len(d) {
		return webpush.Subscription{}, push.ErrNoSubscription
	}
	return d[i], nil
}

// senders are the package alone, and the channel as the dispatcher calls it.
func senders(subs []webpush.Subscription) (map[string]func(context.Context, int) error, func(), error) {
	keys, err := webpush.GenerateKeys()
	if err != nil {
		return nil, nil, err
	}
	client, err := door.New(door.Config{Trust: door.Operator, Allow: door.Loopback(), MaxIdle: workers, MaxIdlePerHost: workers})
	if err != nil {
		return nil, nil, err
	}
	web, err := webpush.New(webpush.Config{Keys: keys, Subject: "mailto:" + subject, Doer: client, UserAgent: "lastlook-bench"})
	if err != nil {
		return nil, nil, err
	}
	channel, err := push.New(push.Config{Keys: keys, Subject: "mailto:" + subject, Subscriptions: directory(subs), Client: client})
	if err != nil {
		return nil, nil, err
	}
	deliveries := make([]lastlook.Delivery, len(subs))
	for i := range deliveries {
		k := lastlook.Key{Topic: "watch", Subject: "w7", Recipient: fmt.Sprint(i), Channel: "push"}
		deliveries[i] = lastlook.Delivery{
			Key: k, DeliveryKey: lastlook.DeliveryKey(k, 1), ReplaceKey: lastlook.ReplaceKey(k), ExpiresAt: time.Now().Add(24 * time.Hour),
			Message: lastlook.Message{Title: "Espresso machine: 470.00 EUR", Body: "Below your 500.00 EUR.", URL: "https://shop.example/espresso"},
		}
	}
	return map[string]func(context.Context, int) error{
		"package": func(ctx context.Context, i int) error {
			_, err := web.Send(ctx, subs[i%len(subs)], webpush.Message{Payload: payload, TTL: time.Hour, Topic: "topic"})
			return err
		},
		"channel": func(ctx context.Context, i int) error {
			_, err := channel.Deliver(ctx, deliveries[i%len(deliveries)])
			return err
		},
	}, client.CloseIdleConnections, nil
}

// throughput sends 100 000 messages to one service on loopback.
func (b *Bench) throughput(ctx context.Context) (err error) {
	service, err := b.start(ctx)
	if err != nil {
		return err
	}
	stopped := false
	defer func() {
		if !stopped {
			_, failed := service.stop()
			err = errors.Join(err, failed)
		}
	}()
	send, done, err := senders(service.subs)
	if err != nil {
		return err
	}
	defer done()
	keys := make([]*ecdh.PublicKey, len(service.subs))
	for i, s := range service.subs {
		if keys[i], err = ecdh.P256().NewPublicKey(s.P256dh()); err != nil {
			return err
		}
	}
	crypto := floor(keys, webpush.Bucket)
	rounds, n := b.pick(10, 2), b.pick(10_000, 200)
	rates, micros := map[string][]float64{}, map[string][]float64{}
	warm := b.pick(2_000, 100)
	for i := range rounds + 1 {
		count := n
		if i == 0 {
			count = warm // connections are made
		}
		for _, name := range []string{"floor", "package", "channel"} {
			f := crypto
			if name != "floor" {
				f = send[name]
			}
			r, err := each(ctx, count, f)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if i > 0 {
				rates[name] = append(rates[name], r.rate)
				micros[name] = append(micros[name], r.micros)
			}
		}
	}
	stopped = true
	rep, err := service.stop()
	if err != nil {
		return err
	}
	if want := 2 * (rounds*n + warm); rep.Taken != want || rep.Checked == 0 {
		return fmt.Errorf("the push service took %d messages and checked %d, want %d", rep.Taken, rep.Checked, want)
	}
	b.add("floor of cryptography", "1/s", "key pair, ECDH and AES-GCM of each message, on as many goroutines, nothing else", rates["floor"])
	b.add("pushes, package webpush", "1/s", fmt.Sprintf("%d to one service on loopback, %d connections", rounds*n, workers), rates["package"])
	b.add("pushes, channel push", "1/s", fmt.Sprintf("%d, as the dispatcher calls it", rounds*n), rates["channel"])
	took := map[string]float64{}
	for _, name := range []string{"floor", "package", "channel"} {
		took[name] = b.add("processor time per message, "+name, "µs", "of the sending process", micros[name])
	}
	took["service"] = b.add("processor time per message, service", "µs", "of the push service's process", []float64{float64(service.used.Microseconds()) / float64(rep.Taken)})
	b.Summary["push_vs_floor_processor"] = b.add("processor time: floor ÷ (package + service)", "×", "the ratio to expect where both share all processors and nobody else uses them",
		[]float64{took["floor"] / (took["package"] + took["service"])})
	share := b.add("processors that the floor got", "×", "of all; far below 1, others used the machine, and rates of two processes beside those of one say nothing",
		[]float64{median(rates["floor"]) * took["floor"] / 1e6 / float64(runtime.GOMAXPROCS(0))})
	alone := b.add("pushes: package ÷ floor", "×", "aim: ≥ 0.6; the service runs on the same processors", ratios(rates["package"], rates["floor"]))
	channel := b.add("pushes: channel ÷ floor", "×", "", ratios(rates["channel"], rates["floor"]))
	if share < quiet {
		b.Say("The machine was busy: push_vs_floor is not among the results. Measure again when it is quiet.")
		return nil
	}
	b.Summary["push_vs_floor"], b.Summary["push_channel_vs_floor"] = alone, channel
	return nil
}
