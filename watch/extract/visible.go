package extract

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/lastlook/lastlook/watch"
)

// manyCards prices of other products, and none of the page's own, are a list.
const manyCards = 4

// visibleFinding is what people see: the price in the box where it is bought, and
// what stands there of the stock.
func (d *Document) visibleFinding() finding {
	f := finding{rule: RuleVisible}
	if d.ogType == "article" || d.ogType == "blog" {
		return f
	}
	blocks := d.ranked()
	var best []ranked
	for _, b := range blocks {
		if len(best) > 0 && b.score < best[0].score {
			break
		}
		best = append(best, b)
	}
	var all priced
	for _, b := range best {
		all.now = append(all.now, b.now...)
		all.soldOut = all.soldOut || b.soldOut
		if all.list == nil {
			all.list = b.list
		}
		if all.unit == nil {
			all.unit = b.unit
		}
		all.none = append(all.none, b.none...)
	}
	for _, b := range blocks {
		// What was, and what a unit costs, may stand apart from the price.
		if all.list == nil && len(b.now) == 0 {
			all.list = b.list
		}
		if all.unit == nil {
			all.unit = b.unit
		}
	}
	all.resolve()
	f.take(d, all)
	f.cards = d.seen.cards
	d.visibleStock(&f)
	if f.Price.IsZero() && !f.Ambiguous && len(blocks) == 0 {
		d.amountByTheButton(&f)
	}
	return f
}

// ranked is a price element with how likely it is the page's own.
type ranked struct {
	priced
	score int
}

// ranked reads the price elements and sorts them, the likeliest first.
func (d *Document) ranked() []ranked {
	const most = 24
	var out []ranked
	blocks := d.seen.blocks
	if repeated := d.repeated(); len(repeated) > 0 {
		blocks = slices.DeleteFunc(slices.Clone(blocks), func(s spot) bool { return repeated[signature(s.n)] })
		d.seen.cards += len(d.seen.blocks) - len(blocks)
	}
	first := true
	for _, s := range blocks {
		if len(out) == most {
			break
		}
		if s.zone&inOption != 0 {
			continue
		}
		r := ranked{priced: d.readPriced(s.n, part{marks: s.marks & (tellsApart &^ saysUnit), struck: s.zone&inStruck != 0}, "the visible "+describe(s.n))}
		if len(r.now) == 0 && r.list == nil && r.unit == nil && !r.soldOut {
			continue
		}
		r.score = score(s, d.seen.heading)
		if len(r.now) > 0 && s.order > d.seen.heading && first {
			r.score += 2
			first = false
		}
		if len(r.now) == 0 {
			r.score -= 10
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b ranked) int { return b.score - a.score })
	return out
}

func score(s spot, heading int) (n int) {
	if s.zone&inMain != 0 {
		n += 4
	}
	if s.zone&inItem != 0 {
		n++
	}
	if heading > 0 && s.order > heading {
		n += 2
	}
	if s.marks&saysProduct != 0 || s.marks&saysNow != 0 || s.marks&saysBuy != 0 {
		n += 2
	}
	if s.marks&(saysOld|saysMember|saysParts|saysUnit) != 0 {
		n -= 6
	}
	if s.zone&inButton != 0 {
		n -= 2
	}
	for p, up := s.n, 0; p != nil && up < 8; p, up = p.Parent, up+1 {
		if p.DataAtom == atom.Aside || p.DataAtom == atom.Table {
			n -= 3
			break
		}
	}
	return n
}

// describe names an element as its class or test attribute does.
func describe(n *html.Node) string {
	for _, key := range []string{"class", "id", "data-test", "data-testid", "itemprop"} {
		if v := attr(n, key); v != "" {
			return n.Data + " " + key + "=" + shorten(v)
		}
	}
	return n.Data
}

// repeated returns the signatures of price elements that stand in lists: three or
// more in places alike, with different prices, none of them in the product's box.
func (d *Document) repeated() map[string]bool {
	const list = 3
	texts := map[string]map[string]bool{}
	mains := map[string]bool{}
	for _, s := range d.seen.blocks {
		key := signature(s.n)
		if s.zone&inMain != 0 {
			mains[key] = true
		}
		if texts[key] == nil {
			texts[key] = map[string]bool{}
		}
		texts[key][visibleText(s.n, maxPriceText)] = true
	}
	out := map[string]bool{}
	for key, t := range texts {
		if len(t) >= list && !mains[key] {
			out[key] = true
		}
	}
	return out
}

// signature is the same for elements in the same kind of place.
func signature(n *html.Node) string {
	var b strings.Builder
	for up := 0; n != nil && up < 3; up++ {
		b.WriteString(n.Data + "." + attr(n, "class") + ">")
		n = n.Parent
	}
	return b.String()
}

// amountByTheButton takes the one amount between heading and button of a page on
// which nothing is called a price.
func (d *Document) amountByTheButton(f *finding) {
	button := 0
	for _, b := range d.seen.buttons {
		if buys(stockTexts(b.n)) {
			button = b.order
			break
		}
	}
	if d.seen.heading == 0 {
		return
	}
	var all priced
	done := map[*html.Node]bool{}
	for _, s := range d.seen.amounts {
		const near = 30
		labelled := namesPrice(s.n)
		byButton := button > 0 && s.order <= button+near
		if s.order <= d.seen.heading || !byButton && !labelled || done[s.n] || s.zone&inStock != 0 {
			continue
		}
		done[s.n] = true
		at := s.n
		if struckBy(at) {
			p := d.readSelected(at)
			if all.list == nil && len(p.now) > 0 {
				all.list = &p.now[0]
			}
			continue
		}
		p := d.readPriced(at, part{}, "the visible text after the heading")
		all.now = append(all.now, p.now...)
		if all.list == nil {
			all.list = p.list
		}
	}
	all.resolve()
	f.take(d, all)
}

// priceLabels are what stands before a price, as [plainWords] writes it.
var priceLabels = []string{"price", "our price", "preis", "prix", "precio", "prezzo", "prijs", "preco", "pris", "cena", "fiyat", "hinta", "ar", "pret", "τιμη", "цена", "ціна", "価格", "販売価格", "价格", "價格", "售价", "售價", "가격", "판매가"}

// namesPrice reports whether a text calls its amount a price: "Price: £6.29".
func namesPrice(n *html.Node) bool {
	t := plainWords(visibleText(n, maxPriceText))
	for _, l := range priceLabels {
		if rest, ok := strings.CutPrefix(t, l); ok && (strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, " :") || strings.HasPrefix(rest, " ")) {
			return true
		}
	}
	return false
}

// visibleStock reads what people see of the stock: a notice that calls itself
// one, or the button.
func (d *Document) visibleStock(f *finding) {
	var notices []stated
	for _, s := range d.seen.stock {
		if s.marks&saysBadge != 0 || s.zone&inBlock != 0 && s.marks&saysPrice != 0 {
			continue // shown and hidden by the style sheet
		}
		text := visibleText(s.n, maxStock)
		if len(text) > maxStock || text == "" {
			continue
		}
		if is := ReadAvailability(text); is != watch.Unknown {
			notices = append(notices, stated{fact{text, "the visible " + describe(s.n)}, is, nil})
			f.inMain = f.inMain || s.zone&(inMain|inItem) != 0
		}
	}
	if len(notices) == 0 {
		for _, s := range d.seen.notices {
			text := visibleText(s.n, maxStock)
			is, _ := soldOutNotice(text)
			notices = append(notices, stated{fact{text, "the visible " + describe(s.n)}, is, nil})
			break
		}
	}
	f.button = d.readButtons()
	var yes, no *stated
	for i := range notices {
		can, _ := notices[i].is.Orderable()
		switch {
		case can && yes == nil:
			yes = &notices[i]
		case !can && no == nil:
			no = &notices[i]
		}
	}
	switch can, known := f.button.is.Orderable(); {
	case yes != nil && no != nil:
		// The page shows both, one of them by a script or for one variant.
		if known && can {
			f.setAvailability(yes.is, yes.fact)
		} else if known {
			f.setAvailability(no.is, no.fact)
		}
	case no != nil:
		f.setAvailability(no.is, no.fact)
	case yes != nil:
		f.setAvailability(yes.is, yes.fact)
	case known:
		f.setAvailability(f.button.is, f.button.fact)
	}
}

// readButtons says what the buttons tell of the stock: one that puts the product
// into a cart can be pressed, or one says why there is none.
func (d *Document) readButtons() stated {
	var can, cannot *stated
	for _, b := range d.seen.buttons {
		texts := stockTexts(b.n)
		if len(texts) == 0 || len(texts[0]) > 60 {
			continue
		}
		off := hasAttr(b.n, "disabled") || attr(b.n, "aria-disabled") == "true" || strings.Contains(" "+attr(b.n, "class")+" ", " disabled ")
		at := fact{texts[0], "the visible button"}
		switch {
		case buys(texts[:1]) && !off:
			if can == nil {
				can = &stated{at, watch.InStock, nil}
			}
		case ReadAvailability(texts[0]) == watch.PreOrder && !off:
			if can == nil {
				can = &stated{at, watch.PreOrder, nil}
			}
		case ReadAvailability(texts[0]) == watch.OutOfStock, ReadAvailability(texts[0]) == watch.Discontinued:
			if cannot == nil {
				cannot = &stated{at, ReadAvailability(texts[0]), nil}
			}
		}
	}
	switch {
	case can != nil && cannot == nil:
		return *can
	case cannot != nil && can == nil:
		return *cannot
	}
	return stated{is: watch.Unknown}
}

// cartWords are what buttons say that put a product into a cart, as [plainWords]
// writes it.
var cartWords = []string{
	"add to cart", "add to basket", "add to bag", "add to trolley", "buy now", "buy it now", "add item to cart", "in den warenkorb", "in den einkaufswagen", "in den korb", "jetzt kaufen", "zum warenkorb hinzufugen",
	"ajouter au panier", "ajouter a mon panier", "acheter maintenant", "aggiungi al carrello", "acquista ora", "acquista", "anadir al carrito", "anadir a la cesta", "agregar al carrito", "comprar ahora", "comprar", "adicionar ao carrinho", "adicionar a sacola", "comprar agora",
	"in winkelwagen", "in winkelmandje", "toevoegen aan winkelwagen", "bestel nu", "lagg i varukorg", "lagg i kundvagn", "kop nu", "kop", "laeg i kurv", "legg i handlekurv", "kjop", "lisaa ostoskoriin", "dodaj do koszyka", "do koszyka", "kup teraz", "do kosiku", "pridat do kosiku", "koupit", "vlozit do kosiku", "kosarba", "adauga in cos",
	"sepete ekle", "hemen al", "в корзину", "добавить в корзину", "купить", "в кошик", "カートに入れる", "買い物かごに入れる", "カゴに入れる", "かごに入れる", "カートに追加", "今すぐ買う", "今すぐ購入", "購入する", "加入购物车", "加入購物車", "立即购买", "立即購買", "放入购物车", "장바구니", "장바구니 담기", "장바구니에 담기", "구매하기", "바로구매", "कार्ट में डालें", "προσθηκη στο καλαθι",
}

// buys reports whether one of the texts is what a button says that buys.
func buys(texts []string) bool {
	return slices.ContainsFunc(texts, func(s string) bool {
		const longest = 60
		if len(s) > longest {
			return false
		}
		p := strings.TrimSpace(plainWords(s))
		return slices.ContainsFunc(cartWords, func(w string) bool {
			return p == w || strings.HasPrefix(p, w+" ") || len([]rune(w)) > 4 && strings.Contains(p, w)
		})
	})
}
