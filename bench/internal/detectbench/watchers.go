package detectbench

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/lastlook/lastlook/watch/price"
)

// watchers has one listing looked at that many people watch, all of whom are to be
// told.
func (b *Bench) watchers(ctx context.Context) error {
	n := b.pick(10_000, 200)
	return b.withRig(ctx, func(r *rig) error {
		target, err := price.Parse("100 EUR")
		if err != nil {
			return err
		}
		for i := range n {
			if err := r.add(ctx, 0, "r"+strconv.Itoa(i), target); err != nil {
				return err
			}
		}
		began := time.Now()
		res, err := r.service.Sweep(ctx, sweepLimit)
		took := time.Since(began)
		if err != nil {
			return err
		}
		got, err := r.shop.end()
		if err != nil {
			return err
		}
		if res.Looked != 1 || res.Enqueued != n {
			return fmt.Errorf("detectbench: one listing with %d watchers: %+v", n, res)
		}
		b.Summary["fetches_of_one_listing"] = b.add("fetches for one listing of many watchers", "", fmt.Sprintf("%d watchers; aim: 1", n), float64(got.Pages+got.Unchanged))
		b.Summary["detections_per_s"] = b.add("watchers of it, judged and enqueued", "1/s", "in one transaction, the fetch included", float64(n)/took.Seconds())
		return nil
	})
}
