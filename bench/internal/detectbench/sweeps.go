package detectbench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"strconv"
	"syscall"
	"time"

	"github.com/lastlook/lastlook/watch/price"
)

// sweeps has listings that are all due looked at, round after round.
func (b *Bench) sweeps(ctx context.Context) error {
	n, rounds := b.pick(10_000, 300), b.pick(3, 2)
	return b.withRig(ctx, func(r *rig) error {
		// One price in a hundred is below what its watch waits for, so that some
		// rows are written for the outbox as well: the rest of the work is the same.
		target, err := price.Parse("79.01 EUR")
		if err != nil {
			return err
		}
		for i := range n {
			if err := r.add(ctx, i, "r"+strconv.Itoa(i), target); err != nil {
				return err
			}
		}
		var profile bytes.Buffer
		if err := pprof.StartCPUProfile(&profile); err != nil {
			return fmt.Errorf("detectbench: it makes a profile of its own: %w", err)
		}
		all, err := b.rounds(ctx, r, n, rounds)
		pprof.StopCPUProfile()
		if err != nil {
			return err
		}
		got, err := r.shop.end()
		if err != nil {
			return err
		}
		// The rounds are so far apart that no remembered page is trusted: all are
		// fetched and read whole.
		if want := int64(n * rounds); got.Pages != want || got.Unchanged > 0 {
			return fmt.Errorf("detectbench: the shop served %d pages, and %d times that nothing has changed, for %d looks", got.Pages, got.Unchanged, want)
		}
		b.report(n, all)
		return b.shares(ctx, profile.Bytes())
	})
}

// round is what one round took.
type round struct {
	took, busy, peak float64 // seconds, seconds of processors, bytes
	left             float64 // bytes that stay in use after it
	sweeps, later    int     // later: postponed for a host's sake
}

func (b *Bench) rounds(ctx context.Context, r *rig, n, rounds int) ([]round, error) {
	var all []round
	for i := range rounds {
		r.clock.put(begin.Add(time.Duration(i) * 24 * time.Hour))
		one, err := r.round(ctx, n)
		if err != nil {
			return nil, err
		}
		b.Say("round %d: %d listings in %.1f s", i+1, n, one.took)
		all = append(all, one)
	}
	return all, nil
}

// round sweeps until all that was due has been looked at.
func (r *rig) round(ctx context.Context, n int) (one round, err error) {
	stop, peak := make(chan struct{}), make(chan uint64)
	go func() { peak <- heapPeak(stop) }()
	began, busy := time.Now(), busyTime()
	looked := 0
	for err == nil && looked < n {
		res, serr := r.service.Sweep(ctx, sweepLimit)
		looked += res.Looked
		one.sweeps++
		one.later += res.Postponed
		switch {
		case serr != nil:
			err = serr
		case res.Failed > 0:
			err = fmt.Errorf("detectbench: %d looks failed", res.Failed)
		case res.Looked == 0 && res.Postponed == 0:
			err = r.wait(ctx)
		}
	}
	one.took, one.busy = time.Since(began).Seconds(), (busyTime() - busy).Seconds()
	close(stop)
	one.peak = float64(<-peak)
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	one.left = float64(m.HeapAlloc)
	return one, err
}

// wait waits until the next listing is due: politeness has put it off.
func (r *rig) wait(ctx context.Context) error {
	next, err := r.watches.NextDue(ctx, r.clock.now())
	if err != nil {
		return err
	}
	wait := next.Sub(r.clock.now())
	if next.IsZero() || wait > interval/2 {
		return errors.New("detectbench: nothing is due, and not everything was looked at")
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

func busyTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func heapPeak(stop <-chan struct{}) (peak uint64) {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		metrics.Read(sample)
		peak = max(peak, sample[0].Value.Uint64())
		select {
		case <-stop:
			return peak
		case <-tick.C:
		}
	}
}

func (b *Bench) report(n int, all []round) {
	var rate, perPage, use, later []float64
	for _, r := range all {
		rate = append(rate, float64(n)/r.took)
		perPage = append(perPage, float64(n)/r.busy)
		use = append(use, r.busy/r.took/float64(runtime.NumCPU()))
		later = append(later, float64(r.later))
	}
	const mib = 1 << 20
	size := fmt.Sprintf("%d listings at %d hosts, pages of %d kB, 8 workers", n, hosts, pageSize/1000)
	b.Summary["pages_per_s"] = b.add("due listings, looked at and recorded", "pages/s", size+"; the shop runs on the same processors", rate...)
	b.Summary["pages_per_cpu_s"] = b.add("the same, per second of processor time", "pages/s", "of the sweeping process", perPage...)
	b.Summary["cpu_use"] = b.add("share of all processors that it used", "×", "near 1: they bound it; else the shop, the disk, others on the machine", use...)
	b.Summary["postponed"] = b.add("looks put off for a host's sake", "", fmt.Sprintf("a host is asked %d times at once, then %d times a second: %d hosts bound a sweep to %d pages/s once that is used up",
		looksAtOnce, looksPerSecond, hosts, hosts*looksPerSecond), later...)
	first, last := all[0], all[len(all)-1]
	b.add("memory in use after the first round", "MiB", "", first.left/mib)
	b.add("memory in use after the last round", "MiB", "", last.left/mib)
	b.Summary["memory_last_vs_first"] = b.add("in use: last round ÷ first", "×", "1 is flat", last.left/first.left)
	b.Summary["memory_peak_last_vs_first"] = b.add("peak of the heap: last round ÷ first", "×", fmt.Sprintf("1 is flat; %.0f MiB in the last one", last.peak/mib), last.peak/first.peak)
}
