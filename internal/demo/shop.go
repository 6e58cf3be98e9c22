package demo

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lastlook/lastlook/watch"
)

// The scale of the simulation.
const (
	simulated  = 10 * time.Hour // unless a test asks for less
	sweepEvery = 5 * time.Minute
	tickEvery  = time.Minute
	products   = 12
)

// begin is when the simulated night starts; it goes over a UTC midnight.
var begin = time.Date(2026, 3, 1, 20, 0, 0, 0, time.UTC)

// seeded is a source of random numbers that depends on the seed and on what it
// is for, never on who asks first: all policies meet the same world.
type seeded struct{ seed uint64 }

func (s seeded) rand(what ...any) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintln(h, what...)
	return rand.New(rand.NewPCG(s.seed, h.Sum64()))
}

// fact is what is true of a product from a moment on. What its cents are in money
// is its market's affair.
type fact struct {
	at    time.Time
	cents int
	stock watch.Availability
}

// trouble is a stretch in which a shop, or the receiver, does not answer well.
type trouble struct {
	from, to time.Time
	status   int
}

func in(ts []trouble, t time.Time) (status int, ok bool) {
	for _, x := range ts {
		if !t.Before(x.from) && t.Before(x.to) {
			return x.status, true
		}
	}
	return 0, false
}

// product is one page of the shop, with its whole future.
type product struct {
	id, title string
	market    *market
	log       []fact // the shop's own log, in order of time
	troubles  []trouble
	// target is the price that its watchers wait for, in cents.
	target int
	// stockWatch says that they wait for it to come back instead.
	stockWatch bool
}

// at returns what is true at a moment.
func (p *product) at(t time.Time) fact {
	i, found := slices.BinarySearchFunc(p.log, t, func(f fact, t time.Time) int { return f.at.Compare(t) })
	if !found {
		i--
	}
	return p.log[max(i, 0)]
}

// holds reports whether the condition that the watchers wait for is true.
func (p *product) holds(f fact) bool {
	if f.stock != watch.InStock {
		return false
	}
	return p.stockWatch || f.cents < p.target
}

// world is everything that happens whatever the policy does.
type world struct {
	seeded
	end      time.Time
	products []*product
	receiver []trouble // the receiver is down
	slow     []trouble // shop and receiver take long, so that runs overlap
	crashes  []crash
}

// crash kills the first process that starts at or after a moment, at its n-th
// step.
type crash struct {
	at   time.Time
	step int
}

var names = []string{"Desk lamp", "Office chair", "Kettle", "Headphones", "Running shoes", "Drill", "Coffee beans", "E-reader",
	"Rain jacket", "Bike light", "Camping stove", "Board game", "Monitor arm", "Router"}

// newWorld makes the shop's and the receiver's whole day from the seed.
func newWorld(seed uint64, simulated time.Duration) *world {
	end := begin.Add(simulated)
	w := &world{seeded: seeded{seed}, end: end}
	for i := range products {
		r := w.rand("product", i)
		p := &product{id: fmt.Sprintf("p%02d", i), title: names[i%len(names)], market: &markets[i%len(markets)], target: 50000, stockWatch: i%4 == 3}
		cents := 52000 + r.IntN(9000)
		stock := watch.InStock
		for t := begin; t.Before(end); {
			p.log = append(p.log, fact{at: t, cents: cents, stock: stock})
			// Some changes come minutes apart, so that what was noticed is often
			// over before it is told; some last for hours.
			stay := time.Duration(20+r.IntN(5000)) * time.Second
			if r.IntN(2) == 0 {
				stay = time.Duration(10+r.IntN(200)) * time.Second
			}
			t = t.Add(stay)
			switch {
			case p.stockWatch && stock == watch.InStock, r.IntN(12) == 0:
				stock = watch.OutOfStock
			default:
				stock = watch.InStock
			}
			if cents >= p.target && r.IntN(2) == 0 {
				cents = 42000 + r.IntN(7900)
			} else {
				cents = 50100 + r.IntN(10000)
			}
		}
		for range r.IntN(4) {
			from := begin.Add(time.Duration(r.Int64N(int64(simulated))))
			status := 503
			if r.IntN(2) == 0 {
				status = 403
			}
			p.troubles = append(p.troubles, trouble{from, from.Add(time.Duration(60+r.IntN(900)) * time.Second), status})
		}
		w.products = append(w.products, p)
	}
	r := w.rand("receiver")
	for range 8 + r.IntN(6) {
		from := begin.Add(time.Duration(r.Int64N(int64(simulated))))
		w.receiver = append(w.receiver, trouble{from, from.Add(time.Duration(60+r.IntN(600)) * time.Second), 503})
	}
	for range 4 + r.IntN(4) {
		from := begin.Add(time.Duration(r.Int64N(int64(simulated))))
		w.slow = append(w.slow, trouble{from, from.Add(time.Duration(300+r.IntN(900)) * time.Second), 0})
	}
	for range 20 + r.IntN(20) {
		w.crashes = append(w.crashes, crash{begin.Add(time.Duration(r.Int64N(int64(simulated)))), 1 + r.IntN(7)})
	}
	slices.SortFunc(w.crashes, func(a, b crash) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.step, b.step)) })
	return w
}

// pageTime is how long the shop takes to answer at a moment.
func (w *world) pageTime(p *product, t time.Time) time.Duration {
	r := w.rand("page", p.id, t.Truncate(time.Second).Unix())
	if _, slow := in(w.slow, t); slow || r.IntN(20) == 0 {
		return time.Duration(2000+r.IntN(7000)) * time.Millisecond
	}
	return time.Duration(100+r.IntN(900)) * time.Millisecond
}

// answer is how the receiver treats a call at a moment.
type answer struct {
	took     time.Duration
	accepted bool
	// timeout says that the caller never hears of it.
	timeout bool
	status  int
}

const callTimeout = 15 * time.Second

func (w *world) answer(p *product, channel string, t time.Time) answer {
	if status, down := in(w.receiver, t); down {
		return answer{took: 200 * time.Millisecond, status: status}
	}
	r := w.rand("receiver", p.id, channel, t.Truncate(time.Second).Unix())
	n := r.IntN(12)
	_, slow := in(w.slow, t)
	switch {
	case n == 0: // accepted, but the answer is lost
		return answer{took: callTimeout, accepted: true, timeout: true}
	case n == 1 || slow:
		return answer{took: time.Duration(3000+r.IntN(9000)) * time.Millisecond, accepted: true, status: 202}
	}
	return answer{took: time.Duration(50+r.IntN(900)) * time.Millisecond, accepted: true, status: 202}
}

// channels are what every watch tells through.
var channels = []string{"phone", "mail"}
