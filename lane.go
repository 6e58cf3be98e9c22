package lastlook

import (
	"sync"
	"time"
)

// laneKey names what is slow or broken together: the lane of a channel, across
// topics and priorities.
type laneKey struct{ channel, name string }

func (l Lane) key() laneKey { return laneKey{l.Channel, l.Name} }

// lanes is what a dispatcher knows of its lanes: how many rows it holds, how
// long calls take, which are parked. It is safe for concurrent use.
type lanes struct {
	mu          sync.Mutex
	concurrency int
	byKey       map[laneKey]*laneInfo
	total       int // rows in flight in all lanes
}

type laneInfo struct {
	// slots bounds the concurrent calls of the lane.
	slots    chan struct{}
	inFlight int
	// latency is a moving average of the calls' durations; unknown until the
	// first call.
	latency  time.Duration
	known    bool
	lastUsed time.Time
	// parkedUntil is set while our own settings are refused; parkings counts
	// how often in a row.
	parkedUntil time.Time
	parkings    int
}

func newLanes(concurrency int) *lanes {
	return &lanes{concurrency: concurrency, byKey: map[laneKey]*laneInfo{}}
}

func (l *lanes) get(k laneKey) *laneInfo {
	i := l.byKey[k]
	if i == nil {
		i = &laneInfo{slots: make(chan struct{}, l.concurrency)}
		l.byKey[k] = i
	}
	return i
}

// targetQueue is how long a claimed row should wait for its turn at most: what
// is claimed must be called while its look is fresh.
const targetQueue = time.Second

// room says how many more rows of the lane may be claimed, at most batch, and
// when to ask again if the lane is parked.
func (l *lanes) room(k laneKey, now time.Time, batch int) (n int, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := l.get(k)
	i.lastUsed = now
	if i.parkedUntil.After(now) {
		return 0, i.parkedUntil
	}
	if i.parkings > 0 {
		return max(1-i.inFlight, 0), time.Time{} // one row tries whether it works again
	}
	limit := l.concurrency
	if i.known {
		limit = batch
		if i.latency > 0 {
			limit = min(batch, int(int64(targetQueue)*int64(l.concurrency)/int64(i.latency)))
		}
		limit = max(limit, l.concurrency)
	}
	// Two batches' worth, so that one is looked at while another is delivered;
	// four where calls are so fast that the store sets the pace, so that each of
	// its writes takes a whole batch.
	worth := 2
	if i.known && limit == batch {
		worth = 4
	}
	return max(worth*limit-i.inFlight, 0), time.Time{}
}

// add counts claimed rows.
func (l *lanes) add(k laneKey, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.get(k).inFlight += n
	l.total += n
}

// done counts rows off.
func (l *lanes) done(counts map[laneKey]int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, n := range counts {
		l.get(k).inFlight -= n
		l.total -= n
	}
}

// inFlight returns the rows in flight in all lanes.
func (l *lanes) inFlight() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

// slots returns the lane's semaphore.
func (l *lanes) slots(k laneKey) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.get(k).slots
}

// answered records how long calls took, and that the lane's settings work.
func (l *lanes) answered(k laneKey, took time.Duration, accepted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := l.get(k)
	if i.known {
		i.latency += (took - i.latency) / 8
	} else {
		i.latency, i.known = took, true
	}
	if accepted {
		i.parkings, i.parkedUntil = 0, time.Time{}
	}
}

// park makes the lane wait, longer each time in a row, and returns until when.
// Rows of one batch that are refused together park it once.
func (l *lanes) park(k laneKey, now time.Time, p Policy) (until time.Time, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := l.get(k)
	if !i.parkedUntil.After(now) {
		first = i.parkings == 0
		i.parkedUntil = now.Add(backoff(i.parkings, p))
		i.parkings++
	}
	return i.parkedUntil, first
}

// forget drops what is known of lanes unused for a while.
func (l *lanes) forget(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, i := range l.byKey {
		if i.inFlight == 0 && len(i.slots) == 0 && i.parkings == 0 && now.Sub(i.lastUsed) > 10*time.Minute {
			delete(l.byKey, k)
		}
	}
}
