package lanes

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lastlook/lastlook"
)

// Person is when, and how often, one recipient wants to be told. The zero value
// is at any time.
type Person struct {
	// Zone is the recipient's time zone; nil means UTC.
	Zone *time.Location
	// Quiet are hours in which they are not told.
	Quiet Quiet
	// PerDay bounds the messages of a day in their zone; 0 means no bound.
	// Messages of which nobody knows whether they arrived count.
	PerDay int
}

// People know recipients.
type People struct {
	// Of returns what a recipient asks for. nil: nobody asks for anything.
	Of func(recipient string) Person
	// Told returns how many messages a recipient was told since a moment: asked
	// once per recipient and day, for what happened before the process began.
	// nil means that nothing had.
	Told func(ctx context.Context, recipient string, since time.Time) (int, error)
}

// people holds back the rows of those who are not to be told now.
type people struct {
	cfg People

	mu   sync.Mutex
	days map[string]*day // by recipient
}

// day is what a recipient was told on one day.
type day struct {
	from, to time.Time
	told     int
	// promised are rows let through and not yet settled: until when they
	// count.
	promised map[lastlook.ID]time.Time
}

// promiseFor is how long a row let through counts without word of it: its
// claim is lost by then.
const promiseFor = 5 * time.Minute

func newPeople(c People) *people { return &people{cfg: c, days: map[string]*day{}} }

// Hold implements [lastlook.Holder].
func (g *Gate) Hold(ctx context.Context, rows []lastlook.Held, now time.Time) ([]lastlook.Wait, error) {
	out := make([]lastlook.Wait, len(rows))
	if g.people.cfg.Of == nil {
		return out, nil
	}
	asked := map[string]Person{}
	for i := range rows {
		who := rows[i].Key.Recipient
		p, ok := asked[who]
		if !ok {
			p = g.people.cfg.Of(who)
			if p.Zone == nil {
				p.Zone = time.UTC
			}
			asked[who] = p
		}
		var err error
		if out[i], err = g.people.hold(ctx, p, &rows[i], now); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (p *people) hold(ctx context.Context, who Person, r *lastlook.Held, now time.Time) (lastlook.Wait, error) {
	if until := who.Quiet.Until(now, who.Zone); !until.IsZero() {
		return lastlook.Wait{Until: until, Why: fmt.Sprintf("quiet hours of %s: %s", r.Key.Recipient, who.Quiet)}, nil
	}
	if who.PerDay <= 0 {
		return lastlook.Wait{}, nil
	}
	d, err := p.today(ctx, r.Key.Recipient, who, now)
	if err != nil {
		return lastlook.Wait{}, err
	}
	if p.promise(d, r.ID, who.PerDay, now) {
		return lastlook.Wait{}, nil
	}
	return lastlook.Wait{Until: d.to, Why: fmt.Sprintf("%s is told at most %d times a day", r.Key.Recipient, who.PerDay)}, nil
}

// today returns the count of a recipient's day, which begins with what the
// outbox knows.
func (p *people) today(ctx context.Context, recipient string, who Person, now time.Time) (*day, error) {
	p.mu.Lock()
	d := p.days[recipient]
	p.mu.Unlock()
	if d != nil && !now.Before(d.from) && now.Before(d.to) {
		return d, nil
	}
	y, m, date := now.In(who.Zone).Date()
	from, _ := instants(y, m, date, 0, who.Zone)
	to := Clock(0).Next(now, who.Zone)
	told := 0
	if p.cfg.Told != nil {
		var err error
		if told, err = p.cfg.Told(ctx, recipient, from); err != nil {
			return nil, fmt.Errorf("count what %s was told today: %w", recipient, err)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if other := p.days[recipient]; other != nil && other != d {
		return other, nil // counted meanwhile by another batch
	}
	fresh := &day{from: from, to: to, told: told, promised: map[lastlook.ID]time.Time{}}
	if d != nil {
		fresh.promised = d.promised // under way over midnight
	}
	p.days[recipient] = fresh
	return fresh, nil
}

// promise counts a row in, if there is room for it.
func (p *people) promise(d *day, id lastlook.ID, limit int, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for other, until := range d.promised {
		if !until.After(now) {
			delete(d.promised, other)
		}
	}
	if _, again := d.promised[id]; !again && d.told+len(d.promised) >= limit {
		return false
	}
	d.promised[id] = now.Add(promiseFor)
	return true
}

// observe counts what became of rows.
func (p *people) observe(t lastlook.Transition) {
	if t.Event == lastlook.EventSending {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.days[t.Key.Recipient]
	if d == nil {
		return
	}
	delete(d.promised, t.ID)
	class, _ := lastlook.Classify(t.Err)
	if !t.Lost && (t.To == lastlook.StateSent || !t.Called.IsZero() && t.Err != nil && class == lastlook.ClassUnknown) && !t.At.Before(d.from) && t.At.Before(d.to) {
		d.told++
	}
}
