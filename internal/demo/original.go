package demo

import (
	"errors"
	"time"
)

// original is the design that lastlook began from, as published: a queue with
// a re-check before sending, a unique index over (watch, channel, UTC day) of
// all rows, one baseline per watch, and a tick per minute. Its writes are each
// a transaction of their own. What is in it survives a crash.
type original struct {
	due      map[*product]time.Time
	seen     map[*product]bool // whether it held when last seen
	rows     []*originalRow    // in order of creation
	baseline map[*product]int  // the price last notified, per watch
}

type originalRow struct {
	product  *product
	channel  string
	day      string
	status   string // pending, sending, sent, dropped, retry, failed
	attempts int
	next     time.Time
}

const (
	originalLimit    = 20
	originalAttempts = 10
)

func newOriginal() *original {
	return &original{due: map[*product]time.Time{}, seen: map[*product]bool{}, baseline: map[*product]int{}}
}

func (*original) name() string { return "original" }

func (o *original) minute(p *process) error {
	if err := o.detect(p); err != nil {
		return err
	}
	return o.tick(p)
}

func (o *original) detect(p *process) error {
	for _, pr := range p.w.products {
		if o.due[pr].After(p.s.now) {
			continue
		}
		o.due[pr] = p.s.now.Add(sweepEvery)
		f, _, err := p.look(pr, true)
		if errors.Is(err, errCrashed) {
			return err
		}
		if err != nil {
			continue
		}
		was := o.seen[pr]
		o.seen[pr] = pr.holds(f)
		if o.news(pr, f) && !(pr.stockWatch && was) {
			for _, ch := range channels {
				o.insertOrIgnore(pr, ch, p.s.now.Format(time.DateOnly))
			}
		}
	}
	return nil
}

// news is the condition, at detection and at the re-check.
func (o *original) news(pr *product, f fact) bool {
	last, told := o.baseline[pr]
	return pr.holds(f) && (pr.stockWatch || !told || f.cents < last)
}

func (o *original) insertOrIgnore(pr *product, channel, day string) {
	for _, r := range o.rows {
		if r.product == pr && r.channel == channel && r.day == day {
			return // whatever became of it
		}
	}
	o.rows = append(o.rows, &originalRow{product: pr, channel: channel, day: day, status: "pending"})
}

// tick takes the oldest rows that are pending or to be retried; those whose
// time has not come are passed over only after the limit has counted them.
func (o *original) tick(p *process) error {
	var batch []*originalRow
	for _, r := range o.rows {
		if (r.status == "pending" || r.status == "retry") && len(batch) < originalLimit {
			batch = append(batch, r)
		}
	}
	for _, r := range batch {
		if r.status == "retry" && r.next.After(p.s.now) {
			continue
		}
		if err := o.dispatch(p, r); err != nil {
			return err
		}
	}
	return nil
}

func (o *original) dispatch(p *process, r *originalRow) error {
	r.status = "sending"
	f, looked, err := p.look(r.product, false)
	if errors.Is(err, errCrashed) {
		return err
	}
	if err != nil {
		o.fail(p, r)
		return nil
	}
	if !o.news(r.product, f) {
		r.status = "dropped"
		p.withheld++
		return nil
	}
	err = p.deliver(accepted{product: r.product, channel: r.channel, looked: looked, cents: f.cents})
	if errors.Is(err, errCrashed) {
		return err
	}
	if err != nil {
		o.fail(p, r)
		return nil
	}
	r.status = "sent"
	o.baseline[r.product] = f.cents
	return nil
}

func (o *original) fail(p *process, r *originalRow) {
	r.attempts++
	if r.attempts >= originalAttempts {
		r.status = "failed"
		return
	}
	r.status = "retry"
	r.next = p.s.now.Add(time.Minute << (r.attempts - 1))
}
