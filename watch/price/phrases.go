package price

// phrases are what shops write around prices, in many languages. They are
// compared without case and marks; an entry may stand in several lines.
//
// Each line's directions say where the amount stands that it is about.
var phrases = []phrase{
	{means: mFrom | before | near, text: "from|starting at|starts at|starting from|starting price|beginning at|begins at|priced from|prices from|price from|as low as|low as|at least|" +
		"ab|schon ab|bereits ab|preis ab|preise ab|à partir de|a partire da|a partir de|dès|desde|vanaf|v.a|va|från|fr.o.m|fra|från endast|alkaen|hintaan alkaen|od|již od|už od|cena od|ceny od|" +
		"începând de la|începând cu|pornind de la|от|від|цена от|от всего|από|từ|chỉ từ|giá từ|mulai dari|mulai|dari|başlangıç|ابتداء من|يبدأ من|تبدأ من|من|החל מ|" +
		"最低|เริ่มต้น|เริ่มต้นที่|เริ่ม"},
	{means: mFrom | after | near, text: "から|より|〜から|起|부터|alkaen|-tól|tól|től|den başlayan|dan başlayan|başlayan fiyatlarla|başlayan|and up|or more|onwards|or best offer|से शुरू"},
	{means: mUpTo | before | near, text: "up to|bis zu|max|maximal|jusqu'à|hasta|fino a|até|tot|upp till|op til|opp til|jopa|až|do|max.|до|最大|最高|最多|최대|สูงสุด|lên đến|hingga|en fazla|حتى|עד"},
	{means: mTo, text: "to|through|thru|up to|bis|bis zu|à|a|al|til|till|do|tot|ate|hasta|jusqu'à|and|und|до|ila|đến|إلى|から|至|到"},
	{means: mOf, text: "of|de|di|d'|à|a|je|zu|zu je|von|per|mal|por|da|po|по|of only|à raison de|på|á|eur|each of|ratenzahlung"},
	{means: mTimes, text: "x|х|mal|fois|veces|vezes|volte|keer|krát|razy|回|次"},
	{means: mFor | near, text: "for|für|fuer|pour|por|per|voor|för|for kun|za|за|на|a|點|点で|個で|本で|枚で|袋で|箱で|セットで|개에|件|for just|for only"},
	{means: mPack, text: "pack of|set of|box of|case of|lot of|pack|packs|packung|er pack|er-pack|er|lot de|set di|confezione da|pack de|paquete de|caja de|conjunto de|set van|zestaw|balení|sada"},
	{means: mScale, scale: 3, text: "k|tis|tys|тыс|тис|ribu|rb|nghìn|ngàn|bin|tsd|tausend|thousand|mil|천|千|พัน"},
	{means: mScale, scale: 5, text: "lakh|lakhs|lac|लाख"},
	{means: mScale, scale: 6, text: "mio|million|millions|millionen|mln|млн|juta|jt|triệu|tr|milyon|millones|milhões|milioni|miljoen|百万|ล้าน"},
	{means: mScale, scale: 7, text: "crore|crores|cr|करोड़"},
	{means: mScale, scale: 9, text: "billion|bn|mrd|milliarden|млрд|tỷ|miliar"},
	{means: mPer | near, text: "per|pro|je|par|por|al|le|la|il|el|o|a|à|au|à la|the|za|na|for|a cada|für|pr|på|/|за|на|от|ut|pour|per il|cada|every|each|kohti|" +
		"あたり|当たり|当り|につき|毎|每|당|ต่อ|mỗi|setiap|لكل|ל"},
	{means: mEach | after | near, text: "each|a piece|apiece|per item|per piece|per unit|pro stück|je stück|das stück|einzeln|chacun|chacune|l'unité|la pièce|à l'unité|cada uno|cada una|c/u|la unidad|por unidad|" +
		"cad|cadauno|l'uno|al pezzo|cada um|a unidade|per stuk|per st|styck|pr stk|pr. stk|kpl|za sztukę|za kus|darabonként|за штуку|tanesi|τεμάχιο|1個あたり|一個|每件|每个|개당"},
	{means: mUnitPrice | before, text: "grundpreis|stückpreis|unit price|unit cost|comparable price|compare price|prix au kg|prix au kilo|prix au litre|prix unitaire|prix/kg|precio por unidad|precio unitario|prezzo al kg|prezzo unitario|" +
		"preço por unidade|jämförpris|jmf-pris|jmf pris|jfr-pris|jfr pris|jmfpris|jfrpris|sammenligningspris|enhetspris|vertailuhinta|cena jednostkowa|cena za jednotku|měrná cena|jednotková cena|" +
		"egységár|preț unitar|цена за единицу|birim fiyat|eenheidsprijs|stukprijs|単価|单价|단위가격"},
	{means: mNow | before | near, text: "now|now only|only|just|today|today's price|our price|sale|sale price|on sale|sales price|special price|special offer|special|offer price|offer|deal price|deal|promo|promo price|" +
		"final price|current price|discounted price|discount price|clearance|clearance price|new price|you pay|pay only|buy now|buy it now|best price|reduced to|" +
		"jetzt|jetzt nur|nur|nur noch|für nur|angebotspreis|angebot|aktionspreis|aktion|sonderpreis|unser preis|sofortpreis|sofort-kaufen|aktueller preis|neuer preis|reduziert auf|endpreis|sale-preis|verkaufspreis|heute|" +
		"maintenant|prix promo|promo|prix soldé|soldes|solde|notre prix|prix actuel|seulement|prix remisé|prix spécial|nouveau prix|prix de vente|" +
		"ahora|precio oferta|precio de oferta|oferta|precio actual|precio rebajado|precio especial|precio final|hoy|solo|por solo|sólo|nuestro precio|" +
		"ora|prezzo scontato|prezzo speciale|prezzo attuale|offerta|adesso|in offerta|solo|a soli|prezzo finale|" +
		"à vista|no pix|por apenas|por|apenas|preço promocional|preço atual|oferta|agora|preço à vista|no boleto|" +
		"nu|nu voor|voor|nu slechts|slechts|aanbiedingsprijs|actieprijs|onze prijs|huidige prijs|sale|actie|alleen|" +
		"kampanjpris|reapris|rea|endast|vårt pris|nuvarande pris|extrapris|nedsatt pris|nu kun|kun|tilbudspris|tilbud|nuværende pris|nå|nå kun|kampanje|kampanjepris|vår pris|" +
		"nyt|tarjoushinta|tarjous|vain|nykyinen hinta|teraz|tylko|cena promocyjna|promocja|aktualna cena|nasza cena|cena po obniżce|" +
		"nyní|nyní jen|jen|pouze|akční cena|akce|naše cena|cena po slevě|teraz len|len|akciová cena|most|most csak|csak|akciós ár|akció|" +
		"acum|doar|preț redus|preț promoțional|numai|pret nou|сейчас|цена со скидкой|новая цена|акция|цена по акции|всего|только|зараз|нова ціна|акційна ціна|лише|сега|само|нова цена|" +
		"şimdi|indirimli fiyat|sadece|kampanyalı fiyat|indirimli|τώρα|μόνο|νέα τιμή|τιμή προσφοράς|giá khuyến mãi|giá bán|giá mới|chỉ còn|chỉ|còn|harga promo|harga diskon|sekarang|hanya|" +
		"الآن|السعر الحالي|سعر العرض|فقط|بعد الخصم|עכשיו|מחיר מבצע|רק|במבצע|अब|केवल|मात्र|اکنون|" +
		"セール価格|特別価格|特価|販売価格|今なら|現在価格|今だけ|値下げ価格|価格|现价|現價|促销价|活动价|特价|特價|售價|售价|優惠價|秒杀价|限时价|할인가|판매가|최종가|특가|혜택가|세일가|지금|" +
		"ราคาพิเศษ|ราคาขาย|ลดเหลือ|เหลือ|เพียง|แค่"},
	{means: mNow | after | near, text: "à vista|no pix|no boleto|à vista no pix|comptant|sofort-kaufen|cash price|ポッキリ|en efectivo"},
	{means: mFiller | mShort, text: "ca|nr|no|art|inkl|incl|zzgl|exkl|excl|inc|ex|st|stk|ord|rek|vejl|veil|kpl|mwst|ust|approx|p|pr|unverb|empf|tax"},
	{means: mFiller, text: "price|prices|preis|preise|einzelpreis|prix|precio|precios|prezzo|preço|prijs|pris|priset|prisen|hinta|cena|ceny|ár|ára|preț|preţ|pret|цена|цены|ціна|fiyat|fiyatı|τιμή|価格|价格|價格|價錢|가격|" +
		"giá|harga|ราคา|السعر|سعر|מחיר|कीमत|मूल्य|قیمت|the|your|range|price range|preisspanne|plage de prix|rango de precios|fascia di prezzo|prijsklasse|zakres cen|cenové rozpětí|prisintervall|i|gli|los|las|os|as|um|uma|den|det|ett|our|unser|unsere|notre|nuestro|price is|is|a|an|le|la|les|der|die|das|war|ist|est|était|era|è|é|wynosiła|wynosi|wynosiła|byla|je|el|il|lo|de|het|online|onlinepreis|online price|web price|internet|internetpreis|" +
		"store|amount|betrag|value|wert|cost|costs|kosten|kostet|item|products|für|for|to|in|en|at|with|mit|con|com|avec|med|og|och|y|e|et|und|and|or|oder|ou|o|eller|lub|nebo|vagy|sau|или|или|veya|ή|また|は|の|と|で|が|を|" +
		"download|app|play|get|it|here|plan|tier|forever|entry|admission|ticket|tickets|today|per|label|sum|ab sofort|was kostet|was ist|of|von|set|neu|new|price new|per person"},
}
