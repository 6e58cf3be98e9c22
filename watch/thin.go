package watch

import "time"

// Thinned counts what a store has thinned out.
type Thinned struct {
	// Listings had observations of days that are over; Observations went.
	Listings     int `json:"listings"`
	Observations int `json:"observations"`
}

// DayStart returns when a day begins.
func DayStart(day int) time.Time { return time.Unix(int64(day)*24*60*60, 0).UTC() }

// Redundant returns which observations, oldest first and of days that are long
// over, say no more than others: of each day the lowest price stays, in each
// currency, apart for what could be ordered, and the last look. Of several that are
// as low the first stays.
func Redundant(list []Observation) []bool {
	gone := make([]bool, len(list))
	for i := range gone {
		gone[i] = i+1 < len(list) && DayOf(list[i].At) == DayOf(list[i+1].At)
	}
	type kind struct {
		day      int
		currency string
		buyable  bool
	}
	lowest := map[kind]int{}
	for i := range list {
		low, ok := LowOf(&list[i])
		if !ok {
			continue
		}
		k := kind{low.Day, low.Price.Currency(), low.Buyable}
		if at, there := lowest[k]; !there || less(low.Price, certainPrice(&list[at])) {
			lowest[k] = i
		}
	}
	for _, i := range lowest {
		gone[i] = false
	}
	return gone
}
