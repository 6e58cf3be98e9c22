package watch

import "github.com/lastlook/lastlook/watch/price"

// EffectivePrice is effectivePrice, without points of the watch's own.
func EffectivePrice(o *Observation) (price.Money, string) { return effectivePrice(o, nil) }
