package watch

import (
	"time"

	"github.com/lastlook/lastlook/watch/price"
)

// Low is the lowest price of a day at which an item was seen: one for the looks
// at which it could be ordered, one for all others.
type Low struct {
	// Day counts from 1970-01-01, UTC.
	Day     int         `json:"day"`
	Price   price.Money `json:"price"`
	Buyable bool        `json:"buyable,omitzero"`
}

// History is what a listing's triggers know of the days before a look: the lows
// of each day, oldest first.
type History struct {
	Lows []Low `json:"lows,omitzero"`
}

// DayOf returns the day that a moment belongs to, as in [Low.Day].
func DayOf(at time.Time) int {
	const day = 24 * 60 * 60
	s := at.Unix()
	if s < 0 {
		s -= day - 1
	}
	return int(s / day)
}

// LowOf returns the day's low that a trusted look may be; false if it states no
// price that could be one.
func LowOf(o *Observation) (Low, bool) {
	p := certainPrice(o)
	if !p.Positive() {
		return Low{}, false
	}
	yes, _ := o.Availability.Orderable()
	return Low{Day: DayOf(o.At), Price: p, Buyable: yes}, true
}

// Improves reports whether a low is lower than the one of its day, or the first.
func (h History) Improves(l Low) bool {
	for i := range h.Lows {
		if o := &h.Lows[i]; o.Day == l.Day && o.Buyable == l.Buyable && o.Price.Currency() == l.Price.Currency() {
			return less(l.Price, o.Price)
		}
	}
	return true
}

// bridged is for how many days a look counts: a listing that is looked at every
// other day has no holes, one that was paused for weeks has.
const bridged = 3

// lowest returns the lowest price of the last days, in the currency and, unless
// stock is ignored, at which it could be ordered; none if there is none. covered
// is how many of the days are known.
func (h History) lowest(days int, currency string, ignoreStock bool, at time.Time) (low price.Money, covered int) {
	today := DayOf(at)
	last := today
	for i := len(h.Lows) - 1; i >= 0 && h.Lows[i].Day >= today-days; i-- {
		l := &h.Lows[i]
		if l.Price.Currency() != currency {
			continue
		}
		if l.Day < last {
			covered += min(last-l.Day, bridged)
			last = l.Day
		}
		if c, ok := l.Price.Cmp(low); (l.Buyable || ignoreStock) && (low.IsZero() || ok && c < 0) {
			low = l.Price
		}
	}
	return low, covered
}

// HistoryDays returns how many days of history the triggers of a watch ask for.
func HistoryDays(w *Watch) int {
	days := 0
	for _, t := range w.Triggers {
		if t.Kind == LowestInDays {
			days = max(days, t.Days)
		}
	}
	return days
}
