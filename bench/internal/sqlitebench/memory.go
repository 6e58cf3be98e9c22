package sqlitebench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"github.com/lastlook/lastlook/store/sqlite"
)

// Use is what memory a drain took.
type Use struct {
	// HeapPeak is the most that objects took, live or not yet collected; RSSPeak
	// the process's resident memory at its highest, SQLite's included; 0 where
	// the system does not tell.
	HeapPeak uint64 `json:"heap_peak"`
	RSSPeak  uint64 `json:"rss_peak"`
}

// MemoryCommand is the first argument by which this program drains a file and
// prints its [Use].
const MemoryCommand = "drain-and-report-memory"

// DrainAndReport drains the n rows of a file.
func DrainAndReport(ctx context.Context, path, count string) (u Use, err error) {
	n, err := strconv.Atoi(count)
	if err != nil {
		return u, fmt.Errorf("bench: %w", err)
	}
	s, err := sqlite.Open(ctx, path)
	if err != nil {
		return u, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	stop, peak := make(chan struct{}), make(chan uint64)
	go func() { peak <- watchHeap(stop) }()
	_, err = drainEngine(ctx, s, 0, n)
	close(stop)
	return Use{HeapPeak: <-peak, RSSPeak: residentPeak()}, err
}

func watchHeap(stop <-chan struct{}) (peak uint64) {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	tick := time.NewTicker(2 * time.Millisecond)
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

// residentPeak asks the system, where it says.
func residentPeak() uint64 {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	for s := bufio.NewScanner(f); s.Scan(); {
		if v, ok := strings.CutPrefix(s.Text(), "VmHWM:"); ok {
			kb, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(v), " kB"), 10, 64)
			if err != nil {
				return 0
			}
			return kb << 10
		}
	}
	return 0
}

// Memory drains a small file, a large one, and one three times as large, each in
// a process of its own.
func (b *Bench) Memory(ctx context.Context) error {
	var uses []Use
	small := b.pick(10_000, 2_000)
	for _, n := range []int{small, 10 * small, 30 * small} {
		if err := b.inFolder(func(dir string) error {
			path := filepath.Join(dir, "memory.db")
			s, err := sqlite.Open(ctx, path)
			if err != nil {
				return err
			}
			if err := errors.Join(fill(ctx, s, 0, n), s.Close()); err != nil {
				return err
			}
			out, err := b.Self(ctx, MemoryCommand, path, strconv.Itoa(n))
			if err != nil {
				return err
			}
			var u Use
			if err := json.Unmarshal(out, &u); err != nil {
				return fmt.Errorf("bench: %q: %w", out, err)
			}
			uses = append(uses, u)
			b.add(fmt.Sprintf("draining %d rows: peak of the heap", n), "MiB", "", mib(u.HeapPeak))
			b.add(fmt.Sprintf("draining %d rows: peak of resident memory", n), "MiB", "SQLite's caches included", mib(u.RSSPeak))
			return nil
		}); err != nil {
			return fmt.Errorf("memory: %w", err)
		}
	}
	ratio := func(name, what, note string, a, b0 uint64) {
		b.Summary[name] = b.add(what, "×", note, float64(a)/float64(max(b0, 1)))
	}
	ratio("heap_peak_10x_rows", "heap peak: 10 times the rows ÷ once", "1 is flat", uses[1].HeapPeak, uses[0].HeapPeak)
	ratio("heap_peak_30x_vs_10x", "heap peak: 30 times ÷ 10 times", "1 is flat", uses[2].HeapPeak, uses[1].HeapPeak)
	ratio("rss_peak_10x_rows", "resident peak: 10 times the rows ÷ once", "SQLite's caches fill up to their bound", uses[1].RSSPeak, uses[0].RSSPeak)
	ratio("rss_peak_30x_vs_10x", "resident peak: 30 times ÷ 10 times", "1 is flat", uses[2].RSSPeak, uses[1].RSSPeak)
	return nil
}

func mib(n uint64) float64 { return float64(n) / (1 << 20) }
