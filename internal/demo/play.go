package demo

import (
	"errors"
	"fmt"
	"time"
)

// policy is a way to notify, played in the world.
type policy interface {
	name() string
	// minute is what its process does when cron, or its timer, starts it; it
	// returns early with errCrashed when it dies.
	minute(p *process) error
}

// accepted is a message that the receiver took.
type accepted struct {
	product *product
	channel string
	at      time.Time
	// looked is when the value that it tells was looked at.
	looked time.Time
	cents  int
	// key recognizes a resend; empty if the policy has none.
	key string
}

// looked is a look that got an answer.
type lookedAt struct {
	at    time.Time
	holds bool
	sweep bool
}

// play is one policy's day.
type play struct {
	w        *world
	channels []string
	s        *sched
	tell     func(format string, args ...any)
	sent     []accepted
	looks    map[*product][]lookedAt
	// withheld counts what the policy decided not to send any more.
	withheld int
	onceADay bool
	crashes  []crash // not yet used
	running  int
	overlaps int
	died     int
}

// process is one run of a policy's program. It dies as the world says.
type process struct {
	*play
	doom int // the step at which it dies; 0: it does not
	step int
	dead bool
}

var errCrashed = errors.New("the process died")

// run plays a policy through the day.
func run(w *world, pol policy, tell func(string, ...any)) (*play, error) {
	_, daily := pol.(*original)
	pl := &play{w: w, channels: channels, s: newSched(begin), tell: tell, looks: map[*product][]lookedAt{}, crashes: w.crashes, onceADay: daily}
	var failed error
	for t := begin; t.Before(w.end); t = t.Add(tickEvery) {
		pl.s.at(t, func() {
			p := &process{play: pl}
			if len(pl.crashes) > 0 && !pl.crashes[0].at.After(pl.s.now) {
				p.doom = pl.crashes[0].step
				pl.crashes = pl.crashes[1:]
			}
			if pl.running > 0 {
				pl.overlaps++
			}
			pl.running++
			err := pol.minute(p)
			pl.running--
			switch {
			case p.dead:
				pl.died++
				pl.tell("%s  the dispatcher is killed in the middle of its work", clock(pl.s.now))
			case err != nil && failed == nil:
				failed = fmt.Errorf("%s at %s: %w", pol.name(), clock(pl.s.now), err)
			}
		})
	}
	pl.s.run()
	return pl, failed
}

func clock(t time.Time) string { return t.Format("15:04:05") }

// sleep lets time pass, unless the process dies meanwhile.
func (p *process) sleep(d time.Duration) error {
	if p.dead {
		return errCrashed
	}
	p.step++
	if p.step == p.doom {
		p.play.s.sleep(d / 2)
		p.dead = true
		return errCrashed
	}
	p.play.s.sleep(d)
	return nil
}

// errShop is a look that got no answer: nobody knows what is true.
type errShop struct{ status int }

func (e errShop) Error() string { return fmt.Sprintf("the shop answered %d", e.status) }

// look asks the shop, and takes the time that it takes. What it returns was
// true when it began.
func (p *process) look(pr *product, sweep bool) (fact, time.Time, error) {
	began := p.s.now
	f := pr.at(began)
	status, down := in(pr.troubles, began)
	if err := p.sleep(p.w.pageTime(pr, began)); err != nil {
		return fact{}, began, err
	}
	if down {
		return fact{}, began, errShop{status}
	}
	p.looks[pr] = append(p.looks[pr], lookedAt{at: began, holds: pr.holds(f), sweep: sweep})
	return f, began, nil
}

// errReceiver is a refused message, errTimeout one of which nobody knows.
type errReceiver struct{ status int }

func (e errReceiver) Error() string { return fmt.Sprintf("the receiver answered %d", e.status) }

var errTimeout = errors.New("the receiver did not answer in time")

// deliver calls the receiver. A message can be accepted although the caller
// never learns of it: it times out, or dies.
func (p *process) deliver(m accepted) error {
	if p.dead {
		return errCrashed
	}
	a := p.w.answer(m.product, m.channel, p.s.now)
	if !a.accepted {
		if err := p.sleep(a.took); err != nil {
			return err
		}
		return errReceiver{a.status}
	}
	before := min(a.took*3/4, 500*time.Millisecond)
	err := p.sleep(before) // even if it dies now: the request is written
	m.at = p.s.now
	p.sent = append(p.sent, m)
	if err == nil {
		err = p.sleep(a.took - before)
	}
	if err == nil && a.timeout {
		err = errTimeout
	}
	return err
}
