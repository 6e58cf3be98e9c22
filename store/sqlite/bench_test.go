package sqlite_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/sqlite"
)

// The benchmarks report rows per second of batches of 500 and 1000, each in a
// transaction of its own with its fsync.

var benchStart = time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)

func benchStore(b *testing.B) *sqlite.Store {
	b.Helper()
	s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "bench.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

func benchItems(from, n int) []lastlook.Item {
	items := make([]lastlook.Item, n)
	for i := range items {
		items[i] = lastlook.Item{
			Key:       lastlook.Key{Topic: "watch", Subject: fmt.Sprintf("w%07d", from+i), Recipient: fmt.Sprintf("device-%05d", (from+i)%5000), Channel: "push"},
			Detection: json.RawMessage(fmt.Sprintf(`{"price":"%d.99","currency":"EUR","available":true}`, from+i)),
			Lane:      "push.example.com",
		}
	}
	return items
}

func benchRates(b *testing.B, f func(b *testing.B, size int)) {
	for _, size := range []int{1, 500, 1000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.ReportAllocs()
			f(b, size)
			b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

func BenchmarkEnqueue(b *testing.B) {
	benchRates(b, func(b *testing.B, size int) {
		s := benchStore(b)
		n := 0
		for b.Loop() {
			b.StopTimer()
			items := benchItems(n, size)
			n += size
			b.StartTimer()
			if _, err := s.Enqueue(b.Context(), benchStart, items); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// benchFill enqueues rows with the numbers from up to to, and returns their lane.
func benchFill(b *testing.B, s *sqlite.Store, from, to int) lastlook.Lane {
	b.Helper()
	for ; from < to; from += 5000 {
		if _, err := s.Enqueue(b.Context(), benchStart, benchItems(from, min(5000, to-from))); err != nil {
			b.Fatal(err)
		}
	}
	lanes, err := s.Lanes(b.Context(), lastlook.LaneQuery{Now: benchStart, Topics: []string{"watch"}, Channels: []string{"push"}})
	if err != nil || len(lanes) != 1 {
		b.Fatalf("lanes: %v, %v", lanes, err)
	}
	return lanes[0].Lane
}

func benchClaim(b *testing.B, s *sqlite.Store, lane lastlook.Lane, n int) []lastlook.Row {
	rows, err := s.Claim(b.Context(), lastlook.ClaimRequest{Now: benchStart, Token: lastlook.NewToken(),
		Lanes: []lastlook.LaneClaim{{Lane: lane, N: n, MaxAttempts: 10, Lease: time.Minute}}})
	if err != nil || len(rows) != n {
		b.Fatalf("claim: %d rows, %v", len(rows), err)
	}
	return rows
}

func benchApply(b *testing.B, s *sqlite.Store, changes []lastlook.Change) {
	done, err := s.Apply(b.Context(), benchStart, changes)
	if err != nil {
		b.Fatal(err)
	}
	for _, ok := range done {
		if !ok {
			b.Fatal("a change was not applied")
		}
	}
}

func benchChanges(b *testing.B, rows []lastlook.Row, f func(*lastlook.Row) (lastlook.Change, error)) []lastlook.Change {
	changes := make([]lastlook.Change, len(rows))
	for i := range rows {
		var err error
		if changes[i], err = f(&rows[i]); err != nil {
			b.Fatal(err)
		}
	}
	return changes
}

func benchSending(r *lastlook.Row) (lastlook.Change, error) {
	return r.Sending(benchStart, lastlook.Assertion{Value: r.Detection, LookedAt: benchStart,
		Window: lastlook.Day(time.UTC).At(benchStart, 0), Seq: r.KeyRow.Seq + 1}, benchStart.Add(time.Minute))
}

func benchSent(r *lastlook.Row) (lastlook.Change, error) {
	return r.Accepted(benchStart, lastlook.Outcome{Answer: "201 Created"})
}

func benchDropped(r *lastlook.Row) (lastlook.Change, error) {
	return r.Drop(benchStart, lastlook.ReasonConditionLost, lastlook.Outcome{Value: r.Detection})
}

// stage is one call on a batch of rows.
type stage int

const (
	stageClaim stage = iota
	stageSending
	stageSent
	stageDropped
)

// benchStages drives batches through the life of a row and times one stage.
func benchStages(b *testing.B, timed stage) {
	benchRates(b, func(b *testing.B, size int) {
		s := benchStore(b)
		var lane lastlook.Lane
		done, filled := 0, 0
		step := func(st stage, f func()) {
			if st == timed {
				b.StartTimer()
				defer b.StopTimer()
			}
			f()
		}
		for b.Loop() {
			b.StopTimer()
			if done == filled {
				filled += 20 * size
				lane = benchFill(b, s, done, filled)
			}
			done += size
			var rows []lastlook.Row
			step(stageClaim, func() { rows = benchClaim(b, s, lane, size) })
			if timed == stageDropped {
				changes := benchChanges(b, rows, benchDropped)
				step(stageDropped, func() { benchApply(b, s, changes) })
				b.StartTimer()
				continue
			}
			changes := benchChanges(b, rows, benchSending)
			step(stageSending, func() { benchApply(b, s, changes) })
			changes = benchChanges(b, rows, benchSent)
			step(stageSent, func() { benchApply(b, s, changes) })
			b.StartTimer() // Loop wants it running
		}
	})
}

func BenchmarkClaim(b *testing.B)        { benchStages(b, stageClaim) }
func BenchmarkApplySending(b *testing.B) { benchStages(b, stageSending) }
func BenchmarkApplySent(b *testing.B)    { benchStages(b, stageSent) }
func BenchmarkApplyDropped(b *testing.B) { benchStages(b, stageDropped) }

// BenchmarkDrain is the whole cycle: claim, sending, sent.
func BenchmarkDrain(b *testing.B) {
	benchRates(b, func(b *testing.B, size int) {
		s := benchStore(b)
		var lane lastlook.Lane
		done, filled := 0, 0
		for b.Loop() {
			if done == filled {
				b.StopTimer()
				filled += 20 * size
				lane = benchFill(b, s, done, filled)
				b.StartTimer()
			}
			done += size
			rows := benchClaim(b, s, lane, size)
			benchApply(b, s, benchChanges(b, rows, benchSending))
			benchApply(b, s, benchChanges(b, rows, benchSent))
		}
	})
}
