package demo

import (
	"container/heap"
	"time"
)

// sched is virtual time: one process runs at a time, and time passes only
// while all of them sleep, so that a seed gives the same story each time.
type sched struct {
	now    time.Time
	queue  wakeups
	seq    int
	parked chan struct{} // the running process sleeps, or has ended
}

type wakeup struct {
	at  time.Time
	seq int
	run func()
}

func newSched(now time.Time) *sched {
	return &sched{now: now, parked: make(chan struct{})}
}

// at has f run as a process of its own at the given time.
func (s *sched) at(t time.Time, f func()) {
	s.push(t, func() {
		go func() { // run waits for it to sleep or to end
			f()
			s.parked <- struct{}{}
		}()
	})
}

// sleep lets d pass for the calling process. A process may call it from any of
// its goroutines, but from one at a time.
func (s *sched) sleep(d time.Duration) {
	woken := make(chan struct{})
	s.push(s.now.Add(d), func() { close(woken) })
	s.parked <- struct{}{}
	<-woken
}

func (s *sched) push(t time.Time, run func()) {
	s.seq++
	heap.Push(&s.queue, wakeup{at: t, seq: s.seq, run: run})
}

// run lets time pass until nothing is left to happen.
func (s *sched) run() {
	for len(s.queue) > 0 {
		w := heap.Pop(&s.queue).(wakeup)
		if w.at.After(s.now) {
			s.now = w.at
		}
		w.run()
		<-s.parked
	}
}

// wakeups is a heap by time, then by the order in which they were asked for.
type wakeups []wakeup

func (q wakeups) Len() int { return len(q) }
func (q wakeups) Less(i, j int) bool {
	return q[i].at.Before(q[j].at) || q[i].at.Equal(q[j].at) && q[i].seq < q[j].seq
}
func (q wakeups) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *wakeups) Push(x any)   { *q = append(*q, x.(wakeup)) }
func (q *wakeups) Pop() any {
	old := *q
	w := old[len(old)-1]
	*q = old[:len(old)-1]
	return w
}
