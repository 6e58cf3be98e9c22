package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/lastlook/lastlook/watch"
)

// neutral is the meaning of words that sound like an answer and are none: "email
// me when it is back in stock".
const neutral watch.Availability = "neutral"

// stockPhrases are what shops tell people, in lower case and without accents as
// [plainWords] makes it, separated by "|". Of two that overlap the longer one
// counts; of several the first. "#" stands for a number.
var stockPhrases = []struct {
	is    watch.Availability
	words string
}{
	{watch.OutOfStock, "out of stock|sold out|not in stock|no stock|no longer in stock|not available|unavailable|currently unavailable|temporarily unavailable|" +
		"temporarily out of stock|currently out of stock|out-of-stock|sold-out|isn't available|is not available|not currently available|none left|none available|no longer available online|" +
		"0 left|0 available|coming soon|notify me when available|email me when available|join the waitlist|join waitlist|email when available|out of print|not yet available"},
	{watch.OutOfStock, "ausverkauft|nicht verfugbar|nicht mehr verfugbar|nicht auf lager|nicht lieferbar|nicht vorratig|vergriffen|derzeit nicht|zurzeit nicht|zur zeit nicht|momentan nicht|aktuell nicht|" +
		"nicht erhaltlich|kein bestand|nicht bestellbar|ausgebucht|leider nicht"},
	{watch.OutOfStock, "rupture de stock|en rupture|rupture|epuise|epuisee|indisponible|non disponible|pas disponible|pas en stock|plus en stock|plus disponible|hors stock|victime de son succes|article indisponible|temporairement indisponible|" +
		"produit epuise|actuellement indisponible|stock epuise"},
	{watch.OutOfStock, "esaurito|esaurita|non disponibile|non e disponibile|attualmente non disponibile|momentaneamente non disponibile|non in magazzino|terminato|non piu disponibile|prodotto esaurito"},
	{watch.OutOfStock, "agotado|agotada|sin stock|sin existencias|no disponible|no esta disponible|fuera de stock|fuera de existencias|no hay stock|no hay existencias|producto agotado|temporalmente agotado"},
	{watch.OutOfStock, "esgotado|esgotada|indisponivel|sem estoque|sem stock|fora de estoque|nao disponivel|produto indisponivel|avise-me|avise me quando chegar"},
	{watch.OutOfStock, "uitverkocht|niet op voorraad|niet leverbaar|niet beschikbaar|niet meer leverbaar|tijdelijk uitverkocht|geen voorraad|momenteel niet|niet voorradig|tijdelijk niet leverbaar"},
	{watch.OutOfStock, "slutsald|slut i lager|ej i lager|inte i lager|slut|tillfalligt slut|finns ej i lager|ej tillganglig|udsolgt|ikke pa lager|ikke tilgjengelig|ikke tilgaengelig|utsolgt|ikke pa lager|tomt pa lager|" +
		"loppu|loppunut|loppuunmyyty|ei varastossa|ei saatavilla|tilapaisesti loppu"},
	{watch.OutOfStock, "wyprzedany|wyprzedane|niedostepny|niedostepna|niedostepne|brak w magazynie|brak towaru|produkt niedostepny|chwilowo niedostepny|brak na stanie|" +
		"vyprodano|vyprodane|neni skladem|nedostupne|nedostupny|nie je skladom|vypredane|momentalne nedostupne|elfogyott|nincs keszleten|nem elerheto|nincs raktaron|" +
		"stoc epuizat|indisponibil|nu este in stoc|rasprodano|nije dostupno|ni na zalogi|razprodano"},
	{watch.OutOfStock, "tukendi|stokta yok|stokta bulunmuyor|mevcut degil|tukenmistir|stok yok|gelince haber ver|εξαντληθηκε|εξαντλημενο|μη διαθεσιμο|δεν ειναι διαθεσιμο|" +
		"нет в наличии|распродано|недоступен|недоступно|закончился|товар закончился|немає в наявності|нема в наявности|немае в наявности|изчерпано|няма в наличност"},
	{watch.OutOfStock, "在庫なし|在庫切れ|在庫がありません|在庫はありません|在庫ありません|在庫無し|在庫無|在庫がございません|売り切れ|売切れ|売切|完売|品切れ|品切|入荷待ち|入荷未定|販売休止|現在お取り扱いできません|ただいま在庫|在庫×|" +
		"缺货|缺貨|售罄|已售完|已售罄|无货|無貨|暂时缺货|無庫存|无库存|无现货|無現貨|没有现货|沒有現貨|没货|沒貨|補貨中|补货中|完售|暂无库存|已售空|품절|일시품절|재고 없음|재고없음|매진|재입고 알림|구매 불가|구매불가|hết hàng|het hang|tạm hết hàng|สินค้าหมด|หมดสต็อก|stok habis|habis|habis terjual"},
	{watch.Discontinued, "discontinued|no longer available|no longer sold|no longer produced|end of life|this item has been retired|eingestellt|nicht mehr lieferbar|nicht mehr im sortiment|auslaufartikel nicht mehr|" +
		"artikel wurde eingestellt|produktion eingestellt|plus commercialise|fin de serie epuise|arrete|fuori produzione|descatalogado|fora de linha|descontinuado|uit assortiment|utgatt|udgaet|utgatt ur sortimentet|" +
		"wycofany|ukonczen prodej|prodej ukoncen|uretimi durduruldu|снят с производства|販売終了|生産終了|取扱終了|取り扱い終了|停产|停產|停售|已下架|단종|판매종료|판매 종료"},
	{watch.PreOrder, "pre-order|preorder|pre order|available for pre-order|available to pre-order|vorbestellen|vorbestellbar|vorbestellung|jetzt vorbestellen|precommande|en precommande|precommander|" +
		"preordine|pre-ordine|in prevendita|prevendita|preordina|preventa|en preventa|reservar ahora|pre-venda|pre venda|em pre-venda|pre-bestelling|pre-orderen|vooruitbestellen|reserveren|reserveer nu|forhandsboka|forhandsbestall|forbestil|forudbestil|forhandsbestill|" +
		"przedsprzedaz|w przedsprzedazy|predobjednavka|predobjednat|predprodej|elorendelheto|on siparis|предзаказ|予約受付中|予約販売|予約する|ご予約受付中|予約可|予約商品|预售|預售|预购|預購|예약판매|예약 판매|예약주문"},
	{watch.BackOrder, "nicht sofort lieferbar|nicht sofort verfugbar|backorder|back-order|back order|on backorder|available on backorder|can be backordered|available to order|available for order|special order|auf bestellung|bestellbar|nachbestellt|wird nachbestellt|auf anfrage bestellbar|lieferbar in # wochen|" +
		"sur commande|disponible sur commande|su ordinazione|ordinabile|bajo pedido|disponible bajo pedido|sob encomenda|op bestelling|nabestelling|bestallningsvara|skaffevare|bestillingsvare|na zamowienie|na objednavku|na objednani|rendelheto|rendelesre|siparis uzerine|" +
		"под заказ|お取り寄せ|取り寄せ|取寄せ|受注生産|訂購中|可订货|주문제작|주문 제작"},
	{watch.Limited, "only # left|# left|just # left|only # remaining|# remaining|last # pieces|last # items|low stock|limited stock|limited availability|few left|almost gone|almost sold out|last one|last piece|last few|selling fast|hurry, only # left|less than # left|fewer than # left|only a few left|only # in stock|only # available|only # left in stock|" +
		"nur noch #|nur noch wenige|wenige verfugbar|wenige auf lager|nur # auf lager|noch # stuck|noch # auf lager|geringer bestand|knapper bestand|letzte stucke|letztes stuck|letzte exemplare|begrenzt verfugbar|" +
		"plus que #|il ne reste que #|plus que # en stock|il n'en reste plus que #|dernieres pieces|derniers articles|stock limite|stock faible|dernier article|bientot epuise|quantite limitee|" +
		"solo # disponibili|solo # disponibile|ultimi pezzi|ultimo pezzo|ne restano solo #|ultimi # pezzi|disponibilita limitata|solo # rimasti|pochi pezzi|" +
		"ultimas unidades|solo quedan #|quedan #|solo queda #|pocas unidades|stock limitado|ultima unidad|ultimas # unidades|restam apenas #|restam #|apenas # unidades|so restam #|estoque baixo|poucas unidades|resta #|" +
		"nog # op voorraad|nog maar #|laatste stuks|laatste exemplaren|beperkte voorraad|beperkt leverbaar|fatal kvar|endast # kvar|# kvar|bara # kvar|fa kvar|begransat antal|fa igen|kun # tilbage|kun # igjen|fa pa lager|vain # jaljella|muutama jaljella|" +
		"ostatnie sztuki|ostatnia sztuka|ostatnie #|zostalo tylko #|zostaly tylko #|tylko # szt|poslednich # ks|posledni kus|posledni kusy|posledni # ks|zbyva #|utolso darabok|utolso # db|son # urun|son # adet|tukenmek uzere|sinirli stok|осталось #|осталось мало|остался #|мало|" +
		"残り#点|残り#個|残り#|残りわずか|在庫わずか|残り僅か|在庫僅少|在庫少|在庫△|仅剩#件|仅剩#|僅剩#|仅余#|库存紧张|库存不多|少量库存|少量現貨|即將售完|品薄|#개 남음|마지막 #개|품절임박|품절 임박|재고 부족|chỉ còn #|tersisa #|sisa #"},
	{watch.InStock, "in stock|available|available now|in-stock|instock|ready to ship|ships today|ships from stock|available immediately|available online|stock: #|stock #|in stock: #|# in stock|# available|# pieces available|in stock online|plenty in stock|add to cart to buy|usually ships|" +
		"auf lager|lagernd|verfugbar|sofort lieferbar|sofort verfugbar|lieferbar|vorratig|sofort versandfertig|versandfertig|versandbereit|ab lager|am lager|an lager|lagerware|# stuck auf lager|# stuck verfugbar|lagerbestand: #|bestand: #|erhaltlich|" +
		"en stock|disponible|disponible immediatement|disponibles|en stock : #|en magasin|stock : #|expedie sous|expedie aujourd'hui|# en stock|" +
		"disponibile|disponibili|disponibilita immediata|disponibilita: #|pronta consegna|in magazzino|disponibile subito|# disponibili|en existencia|hay stock|hay existencias|en stock: #|entrega inmediata|# disponibles|stock disponible|" +
		"em estoque|disponivel|em stock|pronta entrega|disponiveis|# disponiveis|# em estoque|a pronta entrega|op voorraad|voorradig|direct leverbaar|leverbaar|beschikbaar|uit voorraad leverbaar|# op voorraad|voor 23:59 besteld|" +
		"i lager|finns i lager|pa lager|i webblager|tillganglig|tilgjengelig|tilgaengelig|# i lager|# st i lager|# stk pa lager|# pa lager|lagerstatus: #|varastossa|saatavilla|heti saatavilla|# varastossa|" +
		"dostepny|dostepna|dostepne|w magazynie|na stanie|dostepny od reki|wysylka 24h|# szt. w magazynie|skladem|na sklade|skladem # ks|skladem > # ks|ihned k odeslani|skladom|na sklade > # ks|raktaron|keszleten|elerheto|azonnal szallithato|in stoc|disponibil|na zalogi|na zalihi|dostupno|dostupne|" +
		"stokta|stokta var|mevcut|hemen kargo|stok: #|stok adedi: #|# adet stokta|σε αποθεμα|διαθεσιμο|αμεσα διαθεσιμο|в наличии|есть в наличии|доступен|на складе|в наявності|в наявности|е в наявності|в наличност|" +
		"在庫あり|在庫有り|在庫有|在庫がございます|在庫〇|在庫○|在庫◎|即納|即日発送|当日発送|在庫:#|在庫数:#|在庫数 #|在庫#点|有货|有貨|现货|現貨|有现货|库存充足|庫存充足|供應中|库存:#|库存#件|庫存:#|庫存 #|재고 있음|재고있음|구매 가능|구매가능|재고: #|바로 구매|바로구매|당일발송|còn hàng|con hang|có hàng|มีสินค้า|พร้อมส่ง|tersedia|ready stock|stok tersedia|उपलब्ध|स्टॉक में"},
	{watch.OutOfStock, "उपलब्ध नहीं|स्टॉक में नहीं|غير متوفر|نفد من المخزون|نفدت الكمية|אזל מהמלאי|לא במלאי"},
	{watch.InStock, "متوفر|متوفر في المخزون|במלאי|זמין במלאי"},
	{neutral, "back in stock|when in stock|when it's in stock|when available|when it is available|be back in stock|back-in-stock|restock|wieder verfugbar|wieder lieferbar|wieder auf lager|sobald verfugbar|sobald der artikel|" +
		"de nouveau disponible|de nouveau en stock|di nuovo disponibile|torna disponibile|de nuevo disponible|vuelva a estar disponible|weer leverbaar|weer op voorraad|weer beschikbaar|tillbaka i lager|igjen pa lager|ponownie dostepny|znovu skladem|" +
		"available in # colours|available in # colors|available in|disponible en|disponibile in|verfugbar in|disponivel em|in stock at|check in stock|check availability|stock availability|availability|verfugbarkeit|verfugbarkeit prufen|disponibilite|disponibilidad|disponibilita|disponibilidade|dostepnosc|dostupnost|" +
		"free shipping available|finance available|gift wrap available|more colors available|other options available|pickup available|store availability"},
}

// stockIndex finds the phrases by their first rune. It is built once, of the table.
var stockIndex = indexStock()

// soldOut are the phrases that say that there is none, to be met alone.
var soldOut = soldOutPhrases()

func soldOutPhrases() map[string]watch.Availability {
	out := map[string]watch.Availability{}
	for _, t := range stockPhrases {
		if t.is == watch.OutOfStock || t.is == watch.Discontinued {
			for w := range strings.SplitSeq(t.words, "|") {
				out[plainWords(w)] = t.is
			}
		}
	}
	return out
}

// aroundSoldOut are words that a notice has beside its phrase.
const aroundSoldOut = " this the item product article is are has been currently sorry unfortunately we're we dieser dieses artikel produkt das der ist leider cet ce article produit est desole malheureusement " +
	"questo prodotto articolo e este producto articulo esta produto dit product artikel den denna varan produkten er tuote ten produkt jest tento je to este acest produs товар этот 商品 この こちらの は です "

// soldOutNotice reads a text that says nothing but that there is none.
func soldOutNotice(s string) (is watch.Availability, ok bool) {
	text := strings.Trim(plainWords(s), " .!")
	if is, ok = soldOut[text]; ok {
		return is, true
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' })
	const most = 12
	if len(words) > most {
		return watch.Unknown, false
	}
	for len(words) > 1 && strings.Contains(aroundSoldOut, " "+words[0]+" ") {
		words = words[1:]
		if is, ok = soldOut[strings.Join(words, " ")]; ok {
			return is, true
		}
	}
	return watch.Unknown, false
}

type stockPhrase struct {
	words []rune
	is    watch.Availability
}

func indexStock() map[rune][]stockPhrase {
	index := map[rune][]stockPhrase{}
	for _, t := range stockPhrases {
		for w := range strings.SplitSeq(t.words, "|") {
			words := []rune(plainWords(w))
			index[words[0]] = append(index[words[0]], stockPhrase{words, t.is})
		}
	}
	return index
}

// readStockText reads what a shop tells people of its stock.
func readStockText(s string) watch.Availability {
	text := []rune(plainWords(s))
	if len(text) == 0 {
		return watch.Unknown
	}
	if n, end, ok := numberAt(text, 0); ok && end == len(text) {
		return byCount(n, watch.InStock)
	}
	for i := 0; i < len(text); i++ {
		if i > 0 && inWord(text[i-1]) && inWord(text[i]) && !unspaced(text[i]) {
			continue // within a word
		}
		p, end, zero := longestPhrase(text, i)
		switch {
		case end == 0:
		case p == neutral:
			i = end - 1
		case (zero || negated(text[:i])) && (p == watch.InStock || p == watch.Limited):
			return watch.OutOfStock
		default:
			return p
		}
	}
	return watch.Unknown
}

// negations turn an answer that follows within the same few words, or at once in
// scripts without spaces, into its opposite.
var negations = " not no isn't aren't never nicht kein keine nie pas plus non senza sin sem nao niet geen inte ej ikke ei brak neni nejsou nu δεν μη не нет нема няма "

// negated reports whether a negation stands right before the end of a text.
func negated(before []rune) bool {
	t := strings.TrimSpace(string(before))
	if t == "" {
		return false
	}
	if r, _ := utf8.DecodeLastRuneInString(t); strings.ContainsRune("无無没沒不非未", r) {
		return true
	}
	if i := strings.LastIndexAny(t, ".!?,;:|("); i >= 0 {
		t = t[i+1:]
	}
	words := strings.Fields(t)
	for _, w := range words[max(0, len(words)-4):] {
		if strings.Contains(negations, " "+w+" ") {
			return true
		}
	}
	return false
}

// longestPhrase returns the longest phrase that begins at i, where it ends (0 if
// none does), and whether its number is 0.
func longestPhrase(text []rune, i int) (is watch.Availability, end int, zero bool) {
	try := func(list []stockPhrase) {
		for _, p := range list {
			if e, z, ok := p.at(text, i); ok && e > end {
				is, end, zero = p.is, e, z
			}
		}
	}
	try(stockIndex[text[i]])
	if unicode.IsDigit(text[i]) {
		try(stockIndex['#'])
	}
	return is, end, zero
}

// at matches the phrase at i, at whole words.
func (p stockPhrase) at(text []rune, i int) (end int, zero, ok bool) {
	for _, w := range p.words {
		switch {
		case i < len(text) && w == '#':
			n, e, is := numberAt(text, i)
			if !is {
				return 0, false, false
			}
			zero = zero || n == 0
			i = e
		case i < len(text) && text[i] == w:
			i++
		default:
			return 0, false, false
		}
	}
	if i < len(text) && inWord(text[i]) && inWord(text[i-1]) && !unspaced(text[i]) {
		return 0, false, false
	}
	return i, zero, true
}

// numberAt reads a number of pieces; "10+" and ">5" are numbers too.
func numberAt(text []rune, i int) (n, end int, ok bool) {
	if i < len(text) && (text[i] == '>' || text[i] == '<') {
		if i++; i < len(text) && text[i] == ' ' {
			i++
		}
	}
	const most = 9
	start := i
	for i < len(text) && i-start < most && text[i] >= '0' && text[i] <= '9' {
		n = n*10 + int(text[i]-'0')
		i++
	}
	if i == start {
		return 0, 0, false
	}
	if i < len(text) && text[i] == '+' {
		i++
	}
	return n, i, true
}

func byCount(n int, is watch.Availability) watch.Availability {
	if n == 0 {
		return watch.OutOfStock
	}
	return is
}

func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
}

// unspaced reports whether a rune is of a script that puts no space between words.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}

// plainWords makes notices comparable: lower case, no accents on Latin and Greek
// letters, wide forms narrow, one space, typed apostrophes.
func plainWords(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	space := false
	for _, r := range norm.NFKD.String(strings.ToLower(s)) {
		switch {
		case unicode.IsSpace(r) || r == '\u200b' || r == '\ufeff':
			space = b.Len() > 0
			continue
		case r >= 0x300 && r <= 0x36f:
			continue
		case r == utf8.RuneError:
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		switch r {
		case 'ß':
			b.WriteString("ss")
		case 'ł':
			b.WriteByte('l')
		case 'ø':
			b.WriteByte('o')
		case 'æ':
			b.WriteString("ae")
		case 'đ':
			b.WriteByte('d')
		case 'ı':
			b.WriteByte('i')
		case '’', 'ʼ', '‘':
			b.WriteByte('\'')
		case '‐', '‑', '–', '—':
			b.WriteByte('-')
		default:
			b.WriteRune(r)
		}
	}
	return norm.NFC.String(b.String())
}
