package demo

import (
	"slices"
	"time"
)

// maxAge is how old a look may be when a message is accepted before what it
// says counts as not looked at.
const maxAge = 10 * time.Second

// Counts is what a policy did, counted against the shop's own log.
type Counts struct {
	// Sent counts accepted messages.
	Sent int `json:"sent"`
	// FalseStale counts those whose condition was false when they were
	// accepted, and had been false already when it was looked at, or the look
	// was older than 10 s, or nobody looked again.
	FalseStale int `json:"false_stale"`
	// FalseInGap counts those whose condition became false between a fresh
	// look and the acceptance: nobody can prevent it.
	FalseInGap int `json:"false_in_gap"`
	// Duplicates counts messages beyond the first about one stretch in which
	// the condition was true.
	Duplicates int `json:"duplicates"`
	// NeverTold counts stretches that two sweeps in a row saw, with the
	// receiver up, and that were never told. A policy that tells once a day by
	// design is not blamed for the rest of a day on which it did tell.
	NeverTold int `json:"never_told"`
	// Withheld counts rows that a look before sending stopped.
	Withheld int `json:"withheld"`

	// recognizable counts the duplicates that carry the first one's key.
	recognizable int
}

// stretch is a time in which a condition was true all along.
type stretch struct{ from, to time.Time }

func (s stretch) contains(t time.Time) bool { return !t.Before(s.from) && t.Before(s.to) }

func stretches(p *product, end time.Time) []stretch {
	var out []stretch
	for i, f := range p.log {
		to := end
		if i+1 < len(p.log) {
			to = p.log[i+1].at
		}
		switch {
		case !p.holds(f), p.stockWatch && i == 0:
			// What was in stock from the start has not come back.
		case len(out) > 0 && out[len(out)-1].to.Equal(f.at):
			out[len(out)-1].to = to
		default:
			out = append(out, stretch{f.at, to})
		}
	}
	return out
}

// judge counts what a policy did.
func judge(pl *play) Counts {
	c := Counts{Sent: len(pl.sent), Withheld: pl.withheld}
	for _, m := range pl.sent {
		if m.product.holds(m.product.at(m.at)) {
			continue
		}
		if m.product.holds(m.product.at(m.looked)) && m.at.Sub(m.looked) <= maxAge {
			c.FalseInGap++
		} else {
			c.FalseStale++
		}
	}
	for _, p := range pl.w.products {
		all := stretches(p, pl.w.end)
		for _, ch := range pl.channels {
			var sent []accepted
			for _, m := range pl.sent {
				if m.product == p && m.channel == ch {
					sent = append(sent, m)
				}
			}
			for _, s := range all {
				c.countDuplicates(sent, s)
				if pl.seenTwice(p, s) && !told(sent, s) && !pl.followsUnseen(p, sent, s) && !(pl.onceADay && toldThatDay(sent, s)) {
					c.NeverTold++
				}
			}
		}
	}
	return c
}

func (c *Counts) countDuplicates(sent []accepted, s stretch) {
	keys := map[string]bool{}
	n := 0
	for _, m := range sent {
		if !s.contains(m.at) {
			continue
		}
		if n++; n > 1 {
			c.Duplicates++
			if m.key != "" && keys[m.key] {
				c.recognizable++
			}
		}
		keys[m.key] = true
	}
}

func told(sent []accepted, s stretch) bool {
	return slices.ContainsFunc(sent, func(m accepted) bool {
		// A message from a look within the stretch may arrive just after it.
		return s.contains(m.at) || s.contains(m.looked)
	})
}

func toldThatDay(sent []accepted, s stretch) bool {
	day := func(t time.Time) string { return t.Format(time.DateOnly) }
	return slices.ContainsFunc(sent, func(m accepted) bool { return day(m.at) == day(s.from) || day(m.at) == day(s.to) })
}

// seenTwice reports whether two sweeps in a row read the page within the
// stretch while the receiver was up: nothing but the policy was in the way.
func (pl *play) seenTwice(p *product, s stretch) bool {
	var last time.Time
	for _, l := range pl.looks[p] {
		if !l.sweep || !s.contains(l.at) {
			continue
		}
		if !last.IsZero() && !pl.downBetween(last, l.at) {
			return true
		}
		last = l.at
	}
	return false
}

func (pl *play) downBetween(from, to time.Time) bool {
	return slices.ContainsFunc(pl.w.receiver, func(t trouble) bool { return t.from.Before(to) && from.Before(t.to) })
}

// followsUnseen reports whether the stretch looks, to the policy, like one that
// it has told already, or, for what was in stock from the start, like the
// start: no look since then saw the condition false.
func (pl *play) followsUnseen(p *product, sent []accepted, s stretch) bool {
	var since time.Time
	for _, m := range sent {
		if m.at.Before(s.from) {
			since = m.looked
		}
	}
	if since.IsZero() && !p.stockWatch {
		return false
	}
	return !slices.ContainsFunc(pl.looks[p], func(l lookedAt) bool {
		return !l.holds && l.at.After(since) && l.at.Before(s.from)
	})
}
