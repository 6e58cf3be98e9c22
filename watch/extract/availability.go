package extract

import (
	"strings"

	"github.com/lastlook/lastlook/watch"
)

// availabilities are schema.org's ItemAvailability (https://schema.org/ItemAvailability)
// and the words that shops write in its place, without case, spaces and hyphens.
var availabilities = map[string]watch.Availability{
	"instock": watch.InStock, "available": watch.InStock, "instoreonly": watch.InStock, "onlineonly": watch.InStock, "madetoorder": watch.InStock,
	"true": watch.InStock, "yes": watch.InStock, "orderable": watch.InStock, "availableforsale": watch.InStock, "inventoryavailable": watch.InStock,
	"limitedavailability": watch.Limited, "limited": watch.Limited, "lowstock": watch.Limited, "limitedstock": watch.Limited, "lastunits": watch.Limited,
	"preorder": watch.PreOrder, "presale": watch.PreOrder, "preorderonly": watch.PreOrder, "comingsoon": watch.OutOfStock,
	"backorder": watch.BackOrder, "backordered": watch.BackOrder, "availablefororder": watch.BackOrder, "onbackorder": watch.BackOrder,
	"outofstock": watch.OutOfStock, "soldout": watch.OutOfStock, "oos": watch.OutOfStock, "unavailable": watch.OutOfStock,
	"notavailable": watch.OutOfStock, "notinstock": watch.OutOfStock, "reserved": watch.OutOfStock, "false": watch.OutOfStock, "no": watch.OutOfStock,
	"temporarilyoutofstock": watch.OutOfStock, "temporarilyunavailable": watch.OutOfStock, "nostock": watch.OutOfStock,
	"discontinued": watch.Discontinued, "obsolete": watch.Discontinued, "endoflife": watch.Discontinued,
}

// ReadAvailability returns what a stated availability means, be it schema.org's
// term or address, a number of pieces, or what a shop tells people in one of many
// languages; Unknown for anything else.
func ReadAvailability(s string) watch.Availability {
	s = strings.TrimSpace(s)
	if len(s) > maxStock {
		return watch.Unknown
	}
	if a, ok := availabilities[bareWord(s)]; ok {
		return a
	}
	// The address may stand in markup that a template put there.
	if _, after, ok := strings.Cut(strings.ToLower(s), "schema.org/"); ok {
		end := strings.IndexFunc(after, func(r rune) bool { return (r < 'a' || r > 'z') && r != '/' })
		if end < 0 {
			end = len(after)
		}
		if a, ok := availabilities[bareWord(after[:end])]; ok {
			return a
		}
	}
	if strings.Contains(s, "://") {
		return watch.Unknown // another vocabulary's address: its words are not read apart
	}
	return readStockText(s)
}

// maxStock bounds what is taken for a notice about the stock, in bytes: more is
// a text that happens to speak of it.
const maxStock = 240

// bareWord is a term without what makes it an address, and without case, spaces
// and hyphens.
func bareWord(s string) string {
	s = strings.TrimRight(s, "/#. ")
	if i := strings.LastIndexAny(s, "/#:"); i >= 0 && !strings.Contains(s, " ") {
		s = s[i+1:]
	}
	return strings.Map(func(r rune) rune {
		switch r {
		case ' ', '_', '-', '\u00a0', '\u2010', '\u2011', '!':
			return -1
		}
		return r
	}, strings.ToLower(s))
}

// byOrder lists the availabilities from the best for who wants to buy.
var byOrder = []watch.Availability{
	watch.InStock, watch.Limited, watch.PreOrder, watch.BackOrder, watch.OutOfStock, watch.Discontinued,
}

// stated is an availability, where it stands and of which offer.
type stated struct {
	fact
	is watch.Availability
	// ids are what tells the offer from others, by kind of mark; nil if it is
	// said of the offers together.
	ids []string
}

// availabilityOf decides between what the offers say. Of several variants the
// product has the best one: it can be had if one of them can. That needs
// variants: where nothing tells two offers apart, and where the price is not
// settled between them, opposite words contradict each other, and nobody knows.
// The evidence is one that decided, or all that contradict each other.
func availabilityOf(all []stated, settled bool) (is watch.Availability, evidence []stated) {
	found := map[watch.Availability]stated{}
	var known []stated
	for _, s := range all {
		if s.is == watch.Unknown {
			continue
		}
		known = append(known, s)
		if _, ok := found[s.is]; !ok {
			found[s.is] = s
		}
	}
	if len(known) == 0 {
		return watch.Unknown, all[:min(1, len(all))]
	}
	var yes, no bool
	for _, a := range byOrder {
		if s, ok := found[a]; ok {
			evidence = append(evidence, s)
			orderable, _ := a.Orderable()
			yes, no = yes || orderable, no || !orderable
		}
	}
	if yes && no && !(settled && apart(known)) {
		return watch.Unknown, evidence
	}
	return evidence[0].is, evidence[:1]
}

// apart reports whether there is a kind of mark (SKU, address, seller, name)
// that all the offers have, and by which no two that say different things are
// the same.
func apart(all []stated) bool {
	const kinds = 4
	for kind := range kinds {
		is := map[string]watch.Availability{}
		ok := true
		for _, s := range all {
			if s.ids == nil {
				continue
			}
			id := s.ids[kind]
			before, seen := is[id]
			ok = ok && id != "" && (!seen || before == s.is)
			is[id] = s.is
		}
		if ok {
			return true
		}
	}
	return false
}
