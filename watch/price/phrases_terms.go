package price

// phrasesOfTerms are words for what is not the price, or not yet: prices of
// before, instalments, savings, members, taxes.
var phrasesOfTerms = []phrase{
	{means: mList | before, text: "was|were|list price|list|retail price|retail|original price|originally|orig|original|old price|previous price|previously|prev|compare at|compare at price|compared to|" +
		"comparable value|strike price|instead of|before|reduced from|down from|suggested retail price|full price|street price|sticker price|" +
		"statt|anstatt|bisher|zuvor|vorher|früher|alter preis|listenpreis|streichpreis|ursprünglich|ursprünglicher preis|ursprungspreis|originalpreis|ehemaliger verkäuferpreis|ehem|letzter niedrigster preis|" +
		"niedrigster preis der letzten 30 tage|niedrigster preis|30-tage-bestpreis|30 tage bestpreis|lowest price in the last 30 days|lowest price in 30 days|lowest 30 day price|30-day low|" +
		"au lieu de|ancien prix|avant|prix d'origine|prix barré|prix initial|prix le plus bas|prix de référence|en lugar de|antes|antes de|precio anterior|precio original|precio de lista|precio tachado|" +
		"precio mínimo últimos 30 días|anziché|invece di|prima|prezzo di listino|prezzo originale|prezzo precedente|prezzo più basso|prezzo pieno|prezzo intero|" +
		"preço original|preço de tabela|preço anterior|preço de lista|em vez de|era|was nu|oude prijs|i.p.v|ipv|in plaats van|originele prijs|oorspronkelijke prijs|oorspronkelijk|voorheen|laagste prijs|van voor|" +
		"ord. pris|ord pris|ordinarie pris|ordinarie|ord|tidigare pris|tidigare|förut|innan|lägsta pris|lägsta pris 30 dagar|før|førpris|før pris|før-pris|oprindelig pris|opprinnelig pris|tidligere pris|tidligere|ordinær pris|ordinært|" +
		"norm|norm.|aiemmin|alkuperäinen hinta|aiempi hinta|ennen|alin hinta|cena katalogowa|było|zamiast|cena przed obniżką|poprzednia cena|stara cena|najniższa cena|najniższa cena z 30 dni|najniższa cena z 30 dni przed obniżką|cena pierwotna|" +
		"původní cena|původně|před slevou|cena před slevou|dříve|místo|nejnižší cena|nejnižší cena za 30 dní|pôvodná cena|pôvodne|pred zľavou|namiesto|najnižšia cena|eredeti ár|korábbi ár|régi ár|" +
		"preț vechi|preț inițial|în loc de|pret vechi|cel mai mic preț|старая цена|было|вместо|прежняя цена|цена без скидки|стара ціна|було|замість|стара цена|беше|" +
		"eski fiyat|eski fiyatı|liste fiyatı|önceki fiyat|αρχική τιμή|αρχικη|παλιά τιμή|από τιμή|πριν|giá gốc|giá cũ|giá niêm yết|giá thị trường|harga asli|harga awal|harga lama|ราคาเดิม|จากราคา|" +
		"السعر السابق|السعر الأصلي|كان|بدلا من|قبل|كانت|במקום|מחיר קודם|מחיר מקורי|מחיר רגיל|היה|पहले|قیمت قبل|" +
		"元値|旧価格|当初価格|市場価格|値下げ前|割引前|原价|原價|市场价|市價|專櫃價|专柜价|划线价|吊牌价|원가|할인전|이전가|기존가"},
	{means: mList | after | near, text: "helyett|yerine|value|retail value"},
	{means: mList | before, text: "lowest 30 day price|lowest price in 30 days|lowest price in the last 30 days|niedrigster 30 tage preis|30 tage bestpreis|30 tage tiefpreis|niedrigster preis 30 tage|" +
		"prix le plus bas sur 30 jours|prix le plus bas 30 jours|precio mínimo 30 días|precio mínimo últimos 30 días|precio mínimo de los últimos 30 días|precio más bajo en los últimos 30 días|" +
		"prezzo più basso negli ultimi 30 giorni|prezzo più basso degli ultimi 30 giorni|preço mais baixo nos últimos 30 dias|laagste prijs 30 dagen|" +
		"laagste prijs afgelopen 30 dagen|laagste prijs in de afgelopen 30 dagen|lägsta pris 30 dagar|lägsta pris senaste 30 dagarna|lägsta pris de senaste 30 dagarna|laveste pris siste 30 dager|laveste pris seneste 30 dage|" +
		"alin hinta 30 päivää|alin hinta 30 pv|cel mai mic preț din ultimele 30 de zile|az elmúlt 30 nap legalacsonyabb ára|najniższa cena z ostatnich 30 dni|nejnižší cena za posledních 30 dní|najnižšia cena za posledných 30 dní|" +
		"χαμηλότερη τιμή 30 ημερών|najniža cijena u posljednjih 30 dana"},
	{means: mUsual | either | rather, text: "non member|non members|non member price|nonmember|nichtmitglieder|preis ohne karte|ohne kundenkarte|ohne abo|sans carte|prix sans carte|sans abonnement|sin tarjeta|senza carta|sem cartão|" +
		"zonder kaart|bez karty|cena bez karty|cena bez aplikacji|bez kartičky|без карты|цена без карты|without subscription|one time purchase|one off purchase|einmalkauf|einmalige lieferung|achat unique|compra única|acquisto singolo|eenmalige aankoop"},
	{means: mList | either | rather, text: "rrp|r.r.p|msrp|m.s.r.p|srp|rrp incl|recommended retail price|manufacturer's suggested retail price|manufacturer suggested retail price|uvp|uvp des herstellers|unverb. preisempfehlung|unverbindliche preisempfehlung|" +
		"unverbindl. preisempfehlung|preisempfehlung|avp|prix conseillé|prix public conseillé|prix de vente conseillé|ppc|pvc|pvr|precio recomendado|pvpr|p.v.p.r|precio de venta recomendado|prezzo consigliato|" +
		"preço recomendado|pvp recomendado|adviesprijs|advies|rek. pris|rek pris|rekommenderat pris|rekommenderat|cirkapris|ca-pris|vejl. pris|vejl|vejledende pris|vejledende|veil. pris|veil|veiledende pris|veiledende|" +
		"suositushinta|ovh|cena sugerowana|sugerowana cena|doporučená cena|dop. cena|odporúčaná cena|ajánlott ár|ajánlott fogyasztói ár|prp|pret recomandat|ррц|рекомендованная цена|рекомендуемая цена|рекомендована ціна|" +
		"tavsiye edilen fiyat|ενδεικτική τιμή|πλτ|προτεινόμενη τιμή|" +
		"メーカー希望小売価格|希望小売価格|希望価格|参考価格|参考小売価格|建议零售价|建議售價|定价|定價|参考价|指导价|정가|소비자가|권장소비자가|권장가|시중가"},
	{means: mUsual | before, text: "u.p|regular price|regular|reg. price|reg|normal price|normally|normal|usual price|usually|standard price|mrp|m.r.p|maximum retail price|everyday price|" +
		"regulärer preis|normalpreis|normaler preis|regulärer verkaufspreis|prix normal|prix habituel|prix régulier|prix courant|prix rég|prix public|précio habitual|precio habitual|precio normal|precio regular|pvp|p.v.p|" +
		"prezzo normale|prezzo regolare|preço normal|preço regular|normale prijs|reguliere prijs|normaal|normalpris|vanlig pris|normaalihinta|cena regularna|cena standardowa|běžná cena|bežná cena|normál ár|" +
		"preț normal|preț întreg|обычная цена|звичайна ціна|редовна цена|normal fiyat|κανονική τιμή|giá thường|harga normal|ราคาปกติ|السعر العادي|एमआरपी|अधिकतम खुदरा मूल्य|" +
		"通常価格|通常販売価格|平常价|日常价|正常价|정상가|일반가|판매가격|ราคาเต็ม"},
	{means: mUsual | either | rather, text: "定価"},
	{means: mTotal | before, text: "total|subtotal|sub-total|order total|grand total|in total|total price|gesamt|gesamtpreis|gesamtsumme|zwischensumme|summe|insgesamt|totale|totaal|totaalprijs|totalt|total à payer|sous-total|" +
		"importe total|prezzo totale|valor total|preço total|yhteensä|razem|suma|celkem|spolu|összesen|итого|разом|toplam|σύνολο|tổng|合計|小計|総額|总价|合计|總計|총액|합계|รวมทั้งสิ้น|الإجمالي|المجموع|סה״כ"},
	{means: mInstall | before, text: "rate x|raten x|cuotas x|taksit x|payments of|installments of|instalments of|payment of|interest-free payments|interest free payments|interest-free payments of|easy payments of|monthly payments of|pay in|finance from|financing from|" +
		"raten zu|raten zu je|raten à|raten von|raten je|monatsraten|monatsraten à|monatsraten zu|rate ab|ratenzahlung|ratenzahlung ab|finanzierung|finanzierung ab|monatliche rate|mtl. rate|teilzahlung|ratenkauf|leasing|leasingrate|" +
		"mensualités de|mensualités|mensualité|paiements de|échéances de|payez en|rate da|rate mensili da|cuotas de|cuotas|pagos de|pagos|mensualidades de|mensualidades|msi de|meses sin intereses de|" +
		"parcelas de|parcelas|parcelado|em até|prestações de|termijnen van|termijnen|delbetalning|delbetala|avbetaling|delbetal|afdrag|rater à|raty|rat po|na raty|splátky|splátek|splátka|splátok|na splátky|" +
		"részlet|havi részlet|rate de|rate lunare|рассрочка|в рассрочку|частями|платежей по|платежа по|платежами|розстрочка|оплата частинами|taksit|taksitle|taksit x|vade farksız|δόσεις|άτοκες δόσεις|trả góp|cicilan|" +
		"ผ่อน|ผ่อนชำระ|ผ่อนเดือนละ|أقساط|على أقساط|תשלומים של|分割|分割払い|分割払いで|月々|月額|毎月|分期|分期付款|每期|每月|月付|할부|월|매월|월 납부금|개월 할부|무이자"},
	{means: mInstall | either, text: "im jahr|par an|al año|ao ano|all anno|per jaar|per år|om året|vuodessa|rocznie|ročně|ročne|évente|pe an|в год|на рік|yıllık|per tahun|sem juros|sin intereses|sin interés|interest free|interest-free|zinsfrei|senza interessi|tasso zero|räntefritt|rentefri|renteloos|monthly|per month|a month|monatlich|mtl|im monat|mensuel|mensuels|mensuales|mensual|mensili|mensile|mensais|mensal|maandelijks|p/m|p.m|månadsvis|månedlig|månedlige|kuukaudessa|miesięcznie|měsíčně|mesačne|havonta|" +
		"lunar|ежемесячно|в месяц|на місяць|aylık|hàng tháng|per bulan|sebulan|weekly|wöchentlich|yearly|annually|annual|jährlich|annuel|anual|annuale|per annum|p.a|à l'année|klarna|afterpay|clearpay|zip pay"},
	{means: mSave | before, text: "save|saves|you save|you'll save|saved|you saved|save up to|save an extra|price drop|price cut of|reduced by|sie sparen|du sparst|sparen sie|spare|spar|sparpreis um|reduziert um|ersparnis|deine ersparnis|ihre ersparnis|" +
		"économisez|vous économisez|économie de|économie|soit une économie de|ahorra|ahorras|te ahorras|ahorro|ahorro de|usted ahorra|risparmi|risparmia|risparmio|risparmio di|economize|economia de|você economiza|poupa|poupe|poupança|" +
		"bespaar|je bespaart|u bespaart|besparing|bespaar nu|spara|du sparar|du sparer|spar op til|säästä|säästät|säästö|oszczędzasz|oszczędź|oszczędność|ušetříte|ušetřete|ušetríte|úspora|megtakarítás|megtakarítása|megspórol|" +
		"economisești|economisesti|economie|экономия|выгода|вы экономите|скидка|скидка до|знижка|економія|спестявате|отстъпка|kazancınız|kazanç|κερδίζετε|κέρδος|έκπτωση|tiết kiệm|giảm|giảm giá|hemat|diskon|potongan|" +
		"ประหยัด|ลดราคา|ส่วนลด|ลด|وفر|وفرت|خصم|توفير|חסכת|חיסכון|הנחה|بچت|立减|省|优惠|直降|立省|节省|折抵|已省|满减|할인|절약"},
	{means: mMember | either, text: "with code|with promo code|with coupon code|using code|use code|mit code|mit gutscheincode|mit dem code|avec le code|con el código|con código|con codice|con il codice|com o cupom|com cupom|com código|met code|med kod|med koden|med kode|koodilla|z kodem|s kódem|s kódom|kóddal|cu codul|с промокодом|по промокоду|kodu ile|με κωδικό"},
	{means: mSave | after, text: "off|off rrp|saving|savings|discount applied|gespart|sparen|günstiger|billiger|rabatt sparen|de réduction|de remise|d'économie|moins cher|de descuento|menos|di sconto|de desconto|korting|voordeel|goedkoper|" +
		"rabatu|taniej|sleva|slevy|zľava|kedvezmény|olcsóbb|reducere|скидки|экономии|знижки|indirim|ucuz|έκπτωσης|引き|引|off!|オフ|割引|値引き|値引|値下げ|お得|おトク|安い|折扣|할인|세일|רווח|הנחה"},
	{means: mSave | either, text: "mail in rebate|mail in|instant rebate|instant savings|instant discount|instant saving|discount|discount of|rebate|coupon|coupons|voucher|promo code|gift card|cashback|cash back|trade-in|trade in|trade-in value|rabatt|rabatte|nachlass|preisnachlass|gutschein|gutscheinwert|coupon-code|" +
		"guthaben|sofortrabatt|code promo|remise|réduction|bon d'achat|descuento|dto|cupón|cupom|desconto|sconto|codice sconto|kortingscode|tegoed|rabattkod|rabat|rabatkode|tilgodebevis|gavekort|alennus|" +
		"alennuskoodi|zniżka|kod rabatowy|slevový kód|slevou|poukaz|cod reducere|промокод|купон|кэшбэк|кешбэк|baltalla|クーポン|割引券|キャッシュバック|下取り|优惠券|券|红包|返现|쿠폰|캐시백|phiếu giảm giá|kode voucher|คูปอง|قسيمة|קופון"},
	{means: mMember | either | rather, text: "member price|members price|members|member|member's|members'|membership|for members|members only|member-only|member pricing|prime member price|prime members|prime price|with prime|for prime|prime-mitglieder|" +
		"mit payback|mit lidl plus|lidl plus preis|kaufland card preis|mit kaufland card|ikea family preis|ikea family price|my waitrose price|with my waitrose|more card price|with more card|boots advantage card price|with target circle|with redcard|redcard price|z kartą moja biedronka|s kartičkou|s clubcard|clubcard cena|clubcard ár|cu card|" +
		"playstation plus price|with playstation plus|ps plus price|with ps plus|with game pass|game pass price|with ea play|" +
		"clubcard price|clubcard|club card|with clubcard|club price|club members|nectar price|with nectar|nectar|loyalty price|loyalty card|card price|app price|app-only|insider price|rewards price|rewards members|subscribe save|subscribe and save|" +
		"subscription price|with subscription|student price|students|mitglieder|mitglied|mitgliederpreis|für mitglieder|clubpreis|club-preis|kundenkarte|mit kundenkarte|app-preis|sparabo|spar-abo|im sparabo|im abo|abo-preis|" +
		"membre|membres|prix membre|prix membres|adhérent|adhérents|prix adhérent|prix club|carte de fidélité|avec la carte|prix abonné|abonnés|socio|socios|precio socio|precio socios|precio club|precio miembro|miembros|con tarjeta club|precio con tarjeta|precio tarjeta|" +
		"soci|prezzo soci|per i soci|carta fedeltà|con carta|prezzo club|sócio|sócios|preço sócio|preço clube|assinante|assinantes|membro|membros|ledenprijs|leden|voor leden|clubprijs|met klantenkaart|" +
		"medlem|medlemmar|medlemspris|klubbpris|klubbpris|för medlemmar|medlemmer|klubpris|for medlemmer|jäsen|jäsenhinta|jäsenille|plussa-kortilla|s-etukortilla|klubowa|cena klubowa|dla klubowiczów|dla członków|" +
		"členská cena|pro členy|klubová cena|klubár|törzsvásárlói ár|tagoknak|preț membri|по карте|с картой|цена по карте|для участников|клубная цена|за карткою|üyelere özel|üye fiyatı|μέλη|τιμή μέλους|" +
		"thành viên|harga member|สมาชิก|ราคาสมาชิก|للأعضاء|לחברי מועדון|מחיר מועדון|会員|会員価格|会員様|会員特別価格|プライム会員|プライム会員価格|メンバー|メンバー価格|定期購入|定期便|定期初回|会员价|会员|會員價|會員|会员专享|회원가|회원|멤버십|정기배송|정기구독"},
	{means: mClub | either | rather, text: "券后价|到手价|sepette|im warenkorb|in cart|in basket|au panier|en el carrito|nel carrello|prime|club|vip|vip price|vip价|plus会员价|プライム|premium members"},
	{means: mPoints | either, text: "points|point|pts|pt|punkte|punkten|bonuspunkte|treuepunkte|paybackpunkte|°p|points de fidélité|points fidélité|puntos|punti|pontos|punten|poäng|poeng|bonuspoeng|bonuspoäng|pistettä|bonusta|punktów|punkty|pkt|bodů|body|bodov|pont|hűségpont|" +
		"puncte|балл|баллов|балла|баллы|бонусов|бонуса|бонусы|бонусных|балів|бонусів|puan|πόντοι|πόντους|điểm|điểm thưởng|poin|คะแนน|نقطة|نقاط|נקודות|coins|ポイント|ポイント還元|pt還元|還元|獲得|円相当|相当|円分|分のポイント|倍|积分|點數|紅利|积点|京豆|포인트|적립|마일리지"},
	{means: mTaxWord, text: "mwst|mwst.|ust|mehrwertsteuer|umsatzsteuer|steuer|steuern|vat|v.a.t|gst|hst|pst|qst|sst|tax|taxes|sales tax|tva|t.v.a|taxe|taxe|impôt|iva|i.v.a|igic|impuestos|imp|tasse|imposte|imposto|impostos|icms|btw|b.t.w|moms|mva|alv|a.l.v|" +
		"dph|ddv|pvm|pvn|áfa|afa|tva|pdv|ддс|ндс|пдв|kdv|k.d.v|φπα|φ.π.α|ppn|pajak|thuế|vat.|ภาษี|ضريبة|الضريبة|الضرائب|מע\"מ|מעמ|מע״מ|टैक्स|कर|消費税|税|税金|부가세|부가가치세|세금"},
	{means: mIn, text: "incl|incl.|inkl|inc|including|inclusive|inclusive of|included|include|includes|inbegriffen|enthalten|enthält|inklusive|einschl|einschließlich|davon|darin|inclus|incluse|incluses|compris|comprise|comprises|y compris|tout compris|dont|" +
		"incluido|incluida|incluidos|incluidas|incluye|inclusa|incluso|inclusi|compreso|compresa|comprese|incluído|incluída|incluídos|inclusief|inbegrepen|inkluderat|inkluderet|inkludert|ink|med|medräknat|vč|včetně|vrátane|s|se|so|z|w tym|zawiera|cu|con|com|avec|" +
		"sis|sisältää|sisältyy|с|со|включая|включено|включен|включительно|з|із|включно|dahil|με|συμπεριλαμβανομένου|περιλαμβάνεται|συμπ|đã bao gồm|bao gồm|termasuk|sudah termasuk|รวม|รวมแล้ว|شامل|شاملة|يشمل|כולל|सहित|" +
		"込|込み|포함|含"},
	{means: mEx, text: "excl|excl.|exkl|exc|ex|excluding|exclusive|exclusive of|excluded|exludes|excludes|without|before|plus|not including|not included|zzgl|zuzügl|zuzüglich|ohne|exklusive|hors|non compris|en sus|hors taxes|sin|más|mas|no incluido|no incluye|" +
		"esclusa|escluso|esclusi|escluse|senza|più|oltre|sem|mais|não incluído|exclusief|excl|zonder|utan|uten|uden|ekskl|eks|ekskl.|eks.|ilman|bez|nie zawiera|plus|fără|nem tartalmazza|nélkül|без|не включено|не включая|hariç|χωρίς|πλέον|δεν περιλαμβάνεται|" +
		"chưa bao gồm|chưa|belum termasuk|di luar|tidak termasuk|ไม่รวม|غير شامل|لا يشمل|بدون|ללא|לא כולל|לפני|अतिरिक्त|" +
		"抜|抜き|別|別途|不含|未含|별도|제외"},
	{means: mGross | either, text: "ttc|t.t.c|toutes taxes comprises|brutto|bruttó|bruttopreis|gross|gross price|cena brutto|s dph|z vat|cu tva|s.dph|incl.btw|incvat|inc-vat|tax-inclusive|" +
		"税込|税込み|税込価格|税込み価格|税込価|消費税込|総額表示|内税|含税|含稅|含税价|부가세포함|부가세 포함|vat포함|vat 포함|세금포함|รวมภาษีแล้ว|รวม vat"},
	{means: mNet | either, text: "ht|h.t|hors tva|hors taxe|hors taxes|netto|nettó|nettopreis|net|net price|cena netto|bez dph|bez vat|exvat|ex-vat|pre-tax|before tax|plus tax|plus taxes|" +
		"税抜|税抜き|税抜価格|税抜き価格|本体価格|本体|税別|税別価格|外税|未税|未稅|不含税|不含稅|未税价|부가세별도|부가세 별도|vat별도|vat 별도|ไม่รวม vat|ไม่รวมภาษี"},
	{means: mExtra | either, text: "deposit|crv|bottle deposit|pfand|einwegpfand|mehrwegpfand|flaschenpfand|pant|panttia|pantti|statiegeld|consigne|depósito|fianza|cauzione|caução|kaution|kaucja|záloha|zálohy|betétdíj|garanție sgr|sgr|depozito|залог|депозит|" +
		"warranty|protection plan|extended warranty|insurance|assembly|installation|setup fee|gift wrap|gift wrapping|recycling fee|eco fee|ecofee|environmental fee|handling fee|service fee|booking fee|activation fee|" +
		"garantieverlängerung|geräteschutz|versicherung|montage|altgeräteentsorgung|geschenkverpackung|servicegebühr|gebühr|bearbeitungsgebühr|vorverkaufsgebühr|anschlussgebühr|éco-participation|éco participation|écotaxe|ecotaxe|eco-part|éco-part|eco-contribution|" +
		"copie privée|assurance|extension de garantie|emballage cadeau|garantía extendida|assicurazione|contributo raee|raee|verwijderingsbijdrage|verzekering|kemikalieskatt|försäkring|forsikring|oppsett|vakuutus|" +
		"ubezpieczenie|recyklační poplatek|recyklace|pojištění|guarantee fee|timbru verde|taxa verde|гарантия|установка|手数料|延長保証|設置料|リサイクル料|保证金|押金|运费险|보증금|설치비"},
	{means: mRoughly | before | near, text: "approx|approximately|about|around|ca|circa|etwa|ungefähr|umgerechnet|env|environ|soit environ|aprox|aproximadamente|unos|cca|około|ok.|przybliżeniu|körülbelül|примерно|около|приблизно|yaklaşık|περίπου|khoảng|sekitar|" +
		"ประมาณ|حوالي|בערך|約|约|约合|대략|약|est|estimated|roughly|equivalent to"},
}
