package extract

import (
	"context"
	"errors"
	"strings"

	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/price"
)

// Product returns what the page states of the product that it is about. The
// price is left out where the page states none, or several; the evidence tells
// which. At is left to who fetched the page.
//
// The error is a [NotProductError] or a [NoOfferError] if the page can be read
// and states nothing, and wraps [ErrSelector] if nothing stands any more where
// the user points.
func (d *Document) Product(ctx context.Context) (watch.Observation, error) {
	if d.urls.sentHome {
		return watch.Observation{}, &NotProductError{Reason: HomePage}
	}
	all, err := d.findings(ctx)
	if err != nil {
		return watch.Observation{}, err
	}
	pointed, sErr := d.selectorFinding()
	if err := d.refused(all, pointed, sErr); err != nil {
		listCandidates(ctx, append([]finding{pointed}, all...), nil)
		return watch.Observation{}, err
	}
	all = append([]finding{pointed}, all...)
	d.lendCurrency(all)
	o := decide(all)
	stockOf(&o, all)
	listCandidates(ctx, all, &o)
	for i := range all {
		all[i].describeInto(&o)
	}
	showBare(&o, all)
	if o.Title == "" {
		o.Title = d.name()
		note(&o, FactTitle, fact{o.Title, "the page's title"})
	}
	if s := absolute(d.urls.base, d.ogImage); s != "" && o.Image == "" {
		o.Image = s
		note(&o, FactImage, fact{s, "meta og:image"})
	}
	return o, nil
}

// showBare notes the amount that is no price for lack of a currency.
func showBare(o *watch.Observation, all []finding) {
	if !o.Price.IsZero() || o.Ambiguous {
		return
	}
	for i := range all {
		if f := &all[i]; len(f.bare) == 1 {
			note(o, FactAmount, fact{f.bare[0].bare.String(), f.bare[0].amount.where})
			return
		}
	}
}

// findings are those of the rules, in the order in which they count.
func (d *Document) findings(ctx context.Context) ([]finding, error) {
	g, err := readGraph(ctx, d.blocks)
	if err != nil {
		return nil, err
	}
	out := []finding{d.graphFinding(g, RuleJSONLD)}
	if d.root != nil {
		items, beside := d.items()
		m := newGraph([][]value{items}, "microdata")
		m.nested += beside
		m.listing = m.listing || len(items) == 0 && beside > 1
		f := d.graphFinding(m, RuleMicrodata)
		if v, ok := d.looseItem(); ok && f.err != nil {
			v.keys, v.items = append(v.keys, "@type"), append(v.items, value{kind: text, text: "Offer"})
			f = d.graphFinding(newGraph([][]value{{v}}, "microdata"), RuleMicrodata)
		}
		out = append(out, f)
	}
	out = append(out, d.metaFinding())
	if d.root != nil {
		out = append(out, d.visibleFinding())
	}
	return out, ctx.Err()
}

// showsSoldOut reports whether people see one thing that cannot be had: shops
// often take the price away with the stock.
func (d *Document) showsSoldOut(f *finding) bool {
	can, known := f.Availability.Orderable()
	return known && !can && d.h1 != "" && f.cards == 0
}

// refused says why the page states no product; nil if it states one.
func (d *Document) refused(all []finding, pointed finding, selErr error) error {
	if selErr != nil && !errors.As(selErr, new(*selectorError)) {
		return selErr
	}
	own, listing, any := false, error(nil), false
	var noOffer error
	for i := range all {
		f := &all[i]
		own = own || f.own
		if n, ok := errors.AsType[*NotProductError](f.err); ok && n.Reason == ListingPage && listing == nil {
			listing = f.err
		}
		if _, ok := errors.AsType[*NoOfferError](f.err); ok && noOffer == nil {
			noOffer = f.err
		}
	}
	if d.urls.callsHome && !own {
		return &NotProductError{Reason: HomePage}
	}
	if selErr != nil {
		for i := range all {
			if yes, known := all[i].Availability.Orderable(); known && !yes {
				return nil // what is sold out has no price to point at
			}
		}
		return selErr
	}
	if pointed.pricePointed {
		return nil
	}
	if all[0].err != nil && !own {
		if says := d.saysMissing(); says != "" {
			return &NotProductError{Reason: MissingPage, Found: shorten(says)}
		}
	}
	for i := range all {
		f := &all[i]
		visible := f.rule == RuleVisible
		if visible && listing != nil {
			continue
		}
		says := f.err == nil && (f.rule == RuleJSONLD || f.rule == RuleMicrodata || !f.Price.IsZero() || f.Ambiguous && !visible || f.Availability != "" && !visible || len(f.bare) > 0)
		any = any || says || visible && d.showsSoldOut(f)
	}
	v := &all[len(all)-1]
	switch {
	case any, pointed.stockPointed:
		return nil
	case listing != nil:
		return listing
	case v.inMain && v.Availability != "" && v.Availability != watch.Unknown && v.cards < manyCards:
		return nil // the product's own box says that there is none
	case noOffer != nil && v.Availability != "" && v.Availability != watch.Unknown:
		return nil // a product, and what stands there of its stock
	case noOffer != nil:
		return noOffer
	case v.rule == RuleVisible && v.cards >= manyCards:
		return &NotProductError{Reason: ListingPage, Found: "many prices, none of them the page's own"}
	}
	if all[0].listing && d.seen.heading == 0 || all[0].listing && v.Price.IsZero() {
		return &NotProductError{Reason: ListingPage, Found: "a list, and no product"}
	}
	return all[0].err
}

// missingWords are what sites call a page that is not there, as [plainWords]
// writes it.
var missingWords = []string{
	"page not found", "not found", "page doesn't exist", "page does not exist", "page can't be found", "page cannot be found", "page isn't available", "product not found", "we can't find that page", "we couldn't find", "no longer exists",
	"seite nicht gefunden", "seite existiert nicht", "seite wurde nicht gefunden", "nicht gefunden", "page introuvable", "page non trouvee", "cette page n'existe", "n'existe plus", "produit introuvable", "pagina non trovata", "la pagina non esiste", "pagina no encontrada", "no se ha encontrado la pagina", "no encontrado",
	"pagina nao encontrada", "produto nao encontrado", "pagina niet gevonden", "niet gevonden", "sidan hittades inte", "sidan kunde inte hittas", "siden ble ikke funnet", "siden blev ikke fundet", "sivua ei loytynyt", "strona nie znaleziona", "nie znaleziono strony", "stranka nenalezena", "stranka nebyla nalezena", "az oldal nem talalhato", "pagina nu a fost gasita",
	"sayfa bulunamadi", "страница не найдена", "сторінку не знайдено", "η σελιδα δεν βρεθηκε", "ページが見つかりません", "ページは存在しません", "見つかりませんでした", "页面不存在", "找不到页面", "页面未找到", "找不到頁面", "頁面不存在", "페이지를 찾을 수 없습니다", "존재하지 않는 페이지",
}

// saysMissing returns the heading or title that says that there is no such page.
func (d *Document) saysMissing() string {
	for _, s := range []string{d.h1, d.title} {
		const longest = 120
		t := plainWords(s)
		if t == "" || len(t) > longest {
			continue
		}
		if t == "404" || strings.HasPrefix(t, "404 ") || strings.HasPrefix(t, "error 404") || strings.HasPrefix(t, "404:") {
			return s
		}
		for _, w := range missingWords {
			if strings.Contains(t, plainWords(w)) {
				return s
			}
		}
	}
	return ""
}

// lendCurrency completes prices that lack a currency: by a price of the same
// amount elsewhere in the page, or, where the user points, by the only currency
// that the page names.
func (d *Document) lendCurrency(all []finding) {
	names := map[string]fact{}
	for i := range all {
		for _, e := range all[i].Evidence {
			if code := strings.ToUpper(e.Text); e.Fact == FactCurrency && isCurrency(code) {
				names[code] = fact{e.Text, e.Where}
			}
		}
	}
	if code := strings.ToUpper(d.pageCurrency()); isCurrency(code) {
		names[code] = fact{code, "the page's currency"}
	}
	for i := range all {
		f := &all[i]
		if len(f.bare) != 1 || f.settled() {
			continue
		}
		b := f.bare[0]
		var code fact
		for j := range all {
			if o := &all[j]; o.settled() && o.Price.Amount().Cmp(*b.bare) == 0 {
				code = fact{o.Price.Currency(), o.factOf(FactCurrency).Where}
				break
			}
		}
		if !code.ok() && len(names) == 1 && (f.pricePointed || errors.Is(b.err, errNoCurrency) && f.rule != RuleVisible) {
			for _, c := range names {
				code = c
			}
		}
		if code.ok() {
			f.dropFact(FactNoPrice)
			f.settle(d, []quote{b.with(code)})
		}
	}
}

// pageCurrency is the currency that the page's meta elements name for all of it.
func (d *Document) pageCurrency() string {
	for _, n := range []string{"product:price:currency", "og:price:currency", "og:currency", "currency", "pricecurrency", "price:currency"} {
		if c := d.meta(n); c != "" {
			return strings.TrimSpace(c)
		}
	}
	return ""
}

func (f *finding) factOf(name string) watch.Evidence {
	for _, e := range f.Evidence {
		if e.Fact == name {
			return e
		}
	}
	return watch.Evidence{}
}

func (f *finding) dropFact(name string) {
	kept := f.Evidence[:0]
	for _, e := range f.Evidence {
		if e.Fact != name {
			kept = append(kept, e)
		}
	}
	f.Evidence = kept
}

// priceFacts are what a finding says of the price.
var priceFacts = map[string]bool{
	FactPrice: true, FactCurrency: true, FactHigh: true, FactListPrice: true, FactUnitPrice: true, FactTaxIncluded: true, FactAmbiguous: true, FactNoPrice: true,
	FactMemberPrice: true, FactQuantityPrice: true, FactInstalment: true, FactOtherPrice: true, FactValidUntil: true, FactQuantity: true,
}

// decide takes the price of the first rule that states one.
func decide(all []finding) (o watch.Observation) {
	o.Availability = watch.Unknown
	first := -1
	for i := range all {
		f := &all[i]
		if f.err == nil && (!f.Price.IsZero() || f.Ambiguous || f.pricePointed || f.elsewhere) {
			first = i
			break
		}
	}
	if first < 0 {
		for i := range all {
			if all[i].err == nil {
				all[i].give(&o)
			}
		}
		return o
	}
	first = sale(all, first)
	f := &all[first]
	f.give(&o)
	if o.Price.IsZero() {
		return o
	}
	for i := range all {
		other := &all[i]
		if i == first || !other.settled() {
			continue
		}
		if c, same := other.Price.Cmp(o.Price); !same || c != 0 {
			e := other.factOf(FactPrice)
			note(&o, FactContradiction, fact{other.Price.String(), e.Where})
			continue
		}
		o.Agreed = true
		other.complete(&o)
	}
	for i := range all {
		if i != first && all[i].err == nil && o.List.IsZero() && higher(all[i].List, o.Price) && all[i].Price.IsZero() {
			o.List = all[i].List
			note(&o, FactListPrice, fact{all[i].factOf(FactListPrice).Text, all[i].factOf(FactListPrice).Where})
		}
	}
	return o
}

func higher(a, b price.Money) bool {
	c, same := a.Cmp(b)
	return same && c > 0
}

// sale returns the visible finding in the place of one for machines that states
// what people see crossed out: it was not told of the sale.
func sale(all []finding, first int) int {
	f, v := &all[first], &all[len(all)-1]
	if f.pricePointed || f.Price.IsZero() || v.rule != RuleVisible || !v.settled() || v.List.IsZero() {
		return first
	}
	c, same := v.List.Cmp(f.Price)
	if same && c == 0 && higher(f.Price, v.Price) {
		return len(all) - 1
	}
	return first
}

// give gives what a finding says of the price.
func (f *finding) give(o *watch.Observation) {
	if !f.Price.IsZero() {
		o.Price, o.Rule = f.Price, f.rule
	}
	o.Ambiguous = o.Ambiguous || f.Ambiguous
	for _, e := range f.Evidence {
		if priceFacts[e.Fact] {
			o.Evidence = append(o.Evidence, e)
		}
	}
	f.fill(o)
}

func (f *finding) fill(o *watch.Observation) (filled map[string]bool) {
	filled = map[string]bool{}
	if o.High.IsZero() && higher(f.High, o.Price) {
		o.High, filled[FactHigh] = f.High, true
	}
	if o.List.IsZero() && (o.Price.IsZero() || higher(f.List, o.Price)) && !f.List.IsZero() {
		o.List, filled[FactListPrice] = f.List, true
	}
	if o.Unit.Per == "" && f.Unit.Per != "" {
		o.Unit, filled[FactUnitPrice] = f.Unit, true
	}
	if o.Quantity.Unit == "" && f.Quantity.Unit != "" {
		o.Quantity, filled[FactQuantity] = f.Quantity, true
	}
	if o.Tax == "" && f.Tax != "" {
		o.Tax, filled[FactTaxIncluded] = f.Tax, true
	}
	if o.ValidUntil.IsZero() && !f.ValidUntil.IsZero() {
		o.ValidUntil, filled[FactValidUntil] = f.ValidUntil, true
	}
	return filled
}

// complete adds what a rule that agrees says besides.
func (f *finding) complete(o *watch.Observation) {
	for name := range f.fill(o) {
		e := f.factOf(name)
		note(o, name, fact{e.Text, e.Where})
	}
}

// stockOf takes the availability of the first rule that states one. What people
// see counts against it where it says that nothing is there and no button says
// otherwise: feeds are slower than shops.
func stockOf(o *watch.Observation, all []finding) {
	var first *finding
	for i := range all {
		f := &all[i]
		if f.err == nil && f.Availability != "" && f.Availability != watch.Unknown || f.stockPointed || f.elsewhere {
			first = f
			break
		}
	}
	if first == nil {
		for i := range all {
			all[i].giveStock(o) // why it is not known
		}
		return
	}
	v := &all[len(all)-1]
	can, _ := first.Availability.Orderable()
	visibleCan, visibleKnown := v.Availability.Orderable()
	if can && !first.stockPointed && v.rule == RuleVisible && visibleKnown && !visibleCan && v.err == nil {
		if b, known := v.button.is.Orderable(); !known || !b {
			e := first.factOf(FactAvailability)
			note(o, FactContradiction, fact{e.Text, e.Where})
			first = v
		}
	}
	o.Availability = first.Availability
	if o.Availability == "" {
		o.Availability = watch.Unknown
	}
	first.giveStock(o)
}

func (f *finding) giveStock(o *watch.Observation) {
	for _, e := range f.Evidence {
		if e.Fact == FactAvailability || e.Fact == FactAmbiguousStock {
			o.Evidence = append(o.Evidence, e)
		}
	}
}

// describeInto adds what the product is, where nothing before said so.
func (f *finding) describeInto(o *watch.Observation) {
	if f.err != nil {
		return
	}
	for _, x := range []struct {
		name string
		to   *string
		is   string
	}{{FactTitle, &o.Title, f.Title}, {FactImage, &o.Image, f.Image}, {FactSKU, &o.SKU, f.SKU}} {
		if *x.to == "" && x.is != "" {
			*x.to = x.is
			e := f.factOf(x.name)
			note(o, x.name, fact{e.Text, e.Where})
		}
	}
	if e := f.factOf(FactURL); e.Text != "" {
		for _, have := range o.Evidence {
			if have.Fact == FactURL {
				return
			}
		}
		o.Evidence = append(o.Evidence, e)
	}
}
