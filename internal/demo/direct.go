package demo

import (
	"errors"
	"time"
)

// direct sends what it noticed at once, and again if that fails.
type direct struct {
	due   map[*product]time.Time
	held  map[*product]bool
	queue []*resend
}

// resend is a message to be sent again, in memory.
type resend struct {
	m     accepted
	tries int
	due   time.Time
}

func newDirect() *direct {
	return &direct{due: map[*product]time.Time{}, held: map[*product]bool{}}
}

func (*direct) name() string { return "direct" }

func (d *direct) minute(p *process) error {
	queue := d.queue
	d.queue = nil // taken into this process's memory, and lost with it
	for i, r := range queue {
		if r.due.After(p.s.now) {
			d.queue = append(d.queue, r)
			continue
		}
		if err := d.send(p, r); errors.Is(err, errCrashed) {
			_ = queue[i:] // what it held is gone
			return err
		}
	}
	for _, pr := range p.w.products {
		if d.due[pr].After(p.s.now) {
			continue
		}
		d.due[pr] = p.s.now.Add(sweepEvery)
		f, looked, err := p.look(pr, true)
		if errors.Is(err, errCrashed) {
			return err
		}
		if err != nil {
			continue
		}
		was := d.held[pr]
		d.held[pr] = pr.holds(f)
		if was || !d.held[pr] {
			continue
		}
		for _, ch := range channels {
			if err := d.send(p, &resend{m: accepted{product: pr, channel: ch, looked: looked, cents: f.cents}}); errors.Is(err, errCrashed) {
				return err
			}
		}
	}
	return nil
}

func (d *direct) send(p *process, r *resend) error {
	err := p.deliver(r.m)
	if err == nil || errors.Is(err, errCrashed) {
		return err
	}
	if r.tries++; r.tries < 6 {
		r.due = p.s.now.Add(time.Minute << r.tries)
		d.queue = append(d.queue, r)
	}
	return nil
}
