package watch_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/price"
)

func TestRedundant(t *testing.T) {
	day := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	var list []watch.Observation
	var want []bool
	for _, c := range []struct {
		hour  int
		price string
		stock watch.Availability
		stays bool
	}{
		{0, "9 EUR", watch.OutOfStock, true}, // the lowest at which it could not be ordered
		{1, "30 EUR", watch.InStock, false},
		{2, "20 EUR", watch.InStock, true}, // the lowest
		{3, "20.00 EUR", watch.InStock, false},
		{4, "", watch.InStock, false},
		{5, "40 USD", watch.InStock, true}, // the lowest in its currency
		{6, "25 EUR", watch.InStock, false},
		{23, "50 EUR", watch.InStock, true}, // the last
		{24, "60 EUR", watch.InStock, false},
		{25, "", watch.Unknown, false},
		{26, "55 EUR", watch.InStock, true}, // the lowest and the last of the next day
	} {
		o := watch.Observation{At: day.Add(time.Duration(c.hour) * time.Hour), Availability: c.stock}
		if c.price != "" {
			var err error
			if o.Price, err = price.Parse(c.price); err != nil {
				t.Fatal(err)
			}
		}
		list, want = append(list, o), append(want, !c.stays)
	}
	if got := watch.Redundant(list); !reflect.DeepEqual(got, want) {
		t.Errorf("redundant are %v, want %v", got, want)
	}
	if got := watch.Redundant(nil); len(got) != 0 {
		t.Error(got)
	}
	if d := watch.DayOf(day); !watch.DayStart(d).Equal(day) {
		t.Errorf("day %d begins at %s", d, watch.DayStart(d))
	}
}
