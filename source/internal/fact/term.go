package fact

import (
	"strings"

	"github.com/lastlook/lastlook/watch"
)

// term reads schema.org's availabilities, as words or addresses, and what shops'
// services write in their place.
func term(s string) watch.Availability {
	s = strings.TrimRight(s, "/# ")
	if i := strings.LastIndexAny(s, "/#"); i >= 0 {
		s = s[i+1:]
	}
	s = strings.NewReplacer(" ", "", "_", "", "-", "").Replace(strings.ToLower(s))
	switch s {
	case "instock", "available", "availableforsale", "instoreonly", "onlineonly", "madetoorder", "orderable", "在庫あり", "auflager", "verfügbar", "enstock", "disponible":
		return watch.InStock
	case "limitedavailability", "limited", "lowstock", "limitedstock", "lowinventory":
		return watch.Limited
	case "preorder", "presale":
		return watch.PreOrder
	case "backorder", "backordered", "onbackorder", "availablefororder":
		return watch.BackOrder
	case "outofstock", "soldout", "oos", "unavailable", "notavailable", "notinstock", "nostock", "reserved", "在庫なし", "売り切れ", "ausverkauft", "nichtverfügbar", "épuisé", "agotado":
		return watch.OutOfStock
	case "discontinued":
		return watch.Discontinued
	}
	return watch.Unknown
}
