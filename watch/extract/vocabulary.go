package extract

import "strings"

// mark is what a word in an element's class, id or test attribute says of it, as a
// set.
type mark uint32

const (
	saysPrice   mark = 1 << iota
	saysOld          // a price that was
	saysRegular      // the price, or what it was, if there is a lower one beside it
	saysNow          // the price that is
	saysMember       // for members, subscribers
	saysParts        // to be paid in parts
	saysUnit         // for a measure
	saysOther        // shipping, saving, tax, points, deposit
	saysCart         // the visitor's cart
	saysExtra        // makes a cart the visitor's, not the button: mini, drawer, total
	saysBeside       // other products, and what is around every page
	saysOption       // a choice between variants
	saysProduct
	saysDetail // with saysProduct: the page's own
	saysCard   // with saysProduct: one of many
	saysBuy    // the box in which it is bought
	saysStock
	saysBadge
	saysNet // without tax
)

// vocabulary are the words, as they stand in class names of shops in many
// languages.
var vocabulary = wordMarks(map[mark]string{
	saysPrice: "price prices pricing preis preise verkaufspreis kaufpreis artikelpreis prix tarif precio precios prezzo prezzi prijs prijzen preco precos pris priset cena ceny fiyat fiyati hinta pret pretul money amount kakaku nedan pricebox priceblock " +
		"productprice priceamount ourprice saleprice finalprice specialprice currentprice listprice oldprice unitprice pricetopay priceinfo pricewrapper pricetag",
	saysOld: "old was before strike strikethrough striked striken crossed crossedout compare compareat msrp rrp srp uvp uvpe original previous prior retail statt vorher streich streichpreis statpreis ancien ancienne barre barree antes tachado anterior " +
		"barrato listino oud adviesprijs ordinarie tidigare ord tidligere foer foerpris przekreslona stara poprzednia puvodni puvodna eski linethrough through listprice oldprice basisprice",
	saysRegular: "regular normal standard",
	saysNow:     "current now sale special final actual today new promo promotional reduced ourprice saleprice finalprice specialprice currentprice pricetopay aktuell actuel actual attuale nuevo nieuw offer sales selling ins",
	saysMember:  "member members club clubcard loyalty mitglied mitglieder socio socios tessera vip subscriber subscription subscribe abo abonnement prime premium insider",
	saysParts: "installment installments instalment instalments monthly financing finance klarna afterpay clearpay affirm sezzle zip emi mensualite mensualites cuota cuotas parcela parcelas parcelamento rata raty raten splatky splatka leasing lease " +
		"taksit ratenzahlung finanzierung shoppay month",
	saysUnit: "unit unitprice perunit grundpreis basispreis unitaire ppu litre jednotkova jednostkowa jmp kilo stuksprijs eenheidsprijs jamforpris enhetspris",
	saysOther: "shipping versand versandkosten livraison delivery envio spedizione verzending verzendkosten frete freight frakt dostawa doprava kargo postage fee fees deposit pfand points bonus cashback coupon voucher gift gutschein " +
		"save saved saving savings ersparnis percent percentage warranty insurance threshold minimum trade tradein eco ecotax earn reward rewards",
	saysCart:  "cart basket warenkorb panier carrito carrello winkelwagen winkelmand kundvagn koszyk kosik sepet bag",
	saysExtra: "mini drawer side sidebar total totals subtotal summary items popup notification overlay header flyout widget offcanvas sidecart count preview",
	saysBeside: "related recommend recommended recommendation recommendations recommandations recommends upsell upsells crosssell crosssells crossselling cross similar alsobought also alsolike carousel slider swiper slick owl accessories accessory zubehoer zubehor bundle bundles frequently boughttogether " +
		"viewed recently recent sponsored ads advert advertisement footer nav navbar navigation menu megamenu breadcrumb breadcrumbs review reviews rating ratings comments faq modal popup newsletter cookie cookies consent minicart others bestseller bestsellers topseller trending " +
		"inspiration lookbook completethelook teaser teasers crosssale history wishlist autocomplete filter facet facets topbar toolbar empfehlung empfehlungen aehnliche suggestions suggested relacionados correlati gerelateerd",
	saysOption:  "swatch swatches variant variants variation variations option options",
	saysProduct: "product produkt produit producto prodotto produto artikel article item pdp detail",
	saysDetail:  "detail details info main summary page form single overview essential primary pdp",
	saysCard:    "card cards tile tiles item items grid list thumb thumbnail",
	saysBuy:     "buybox purchase buy pdp addtocart buybutton kaufbox purchasebox productinfo productdetail productdetails",
	saysStock: "stock availability available availibility inventory instock outofstock soldout unavailable lager lagerstatus lagerbestand bestand verfuegbarkeit verfugbarkeit disponibilite dispo disponibilidad disponibilita disponibilidade estoque dostepnosc dostupnost sklad " +
		"voorraad voorraadstatus stok zaiko lagersaldo saatavuus stockstatus stocklevel availabilitystatus keszlet magazyn sklade stoc",
	saysBadge: "badge badges label tag ribbon sticker flag tooltip",
	saysNet:   "excluding excl exkl exclusive netto exvat exclvat extax excltax net ht",
})

func wordMarks(table map[mark]string) map[string]mark {
	out := map[string]mark{}
	for m, words := range table {
		for w := range strings.FieldsSeq(words) {
			out[w] |= m
		}
	}
	return out
}

// stems make a word that holds one of them a price: "verkaufspreis", "pricebox".
var stems = []string{"price", "preis", "precio", "prezzo", "prijs", "kakaku"}

// marksOf reads the words of an attribute: "product-price__now", "ProductPrice",
// "price_now".
func marksOf(s string) (m mark) {
	const most = 512
	if len(s) > most {
		s = s[:most]
	}
	list := false // the word before was "list": a list price, but not a price list
	off := false  // "with-old-price" is not the old price
	word := func(w string) {
		if off = off || about[w]; off {
			return
		}
		is := wordMark(w)
		if list && is&saysPrice != 0 {
			is |= saysOld
		}
		list = len(w) == 4 && strings.EqualFold(w, "list")
		m |= is
	}
	for i := 0; i < len(s); {
		for i < len(s) && !isLower(s[i]) && !isUpper(s[i]) {
			i++
		}
		start := i
		for i < len(s) && isUpper(s[i]) {
			i++
		}
		// "PDPPrice" is PDP and Price.
		if i-start > 1 && i < len(s) && isLower(s[i]) {
			word(s[start : i-1])
			start = i - 1
		}
		for i < len(s) && isLower(s[i]) {
			i++
		}
		if start < i {
			word(s[start:i])
		}
	}
	return m
}

// about are the words behind which a class says what an element has, not what it is.
var about = map[string]bool{"with": true, "has": true, "have": true, "without": true, "no": true, "show": true, "hide": true, "is": true}

func wordMark(w string) mark {
	const longest = 24
	if len(w) > longest || len(w) < 2 {
		return 0
	}
	for i := range len(w) {
		if isUpper(w[i]) {
			w = strings.ToLower(w)
			break
		}
	}
	if m, ok := vocabulary[w]; ok {
		return m
	}
	for _, s := range stems {
		if strings.Contains(w, s) {
			return saysPrice
		}
	}
	return 0
}

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

// hiddenClasses hide an element from all who see.
var hiddenClasses = map[string]bool{
	"hidden": true, "hide": true, "d-none": true, "is-hidden": true, "u-hidden": true, "display-none": true, "invisible": true, "js-hidden": true, "ng-hide": true, "dn": true,
}

// spokenClasses are for those who do not see: they name a price, they are no place
// where one stands alone.
var spokenClasses = map[string]bool{
	"visually-hidden": true, "visuallyhidden": true, "sr-only": true, "screen-reader-text": true, "a-offscreen": true, "show-for-sr": true, "screen-reader-only": true, "offscreen": true,
}
