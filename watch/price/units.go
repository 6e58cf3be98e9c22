package price

import "github.com/govalues/decimal"

// unit is what an amount can be for.
type unit struct {
	names string // with | between them
	// per is the unit that [Candidate.Per] names; parts is how many of this one
	// make one of it.
	per   string
	parts int64
	// period says that it is a time: what is due each month is no price.
	period bool
}

// period is [unit.per] of the times.
const perPeriod = "period"

var units = []unit{
	{names: "kg|kgs|kilo|kilogramm|kilogram|kilograms|kilogramme|kilos|кг|kilogramo|chilo|quilo|公斤|千克|キロ|킬로|กก|กิโลกรัม|كغ|كجم|كيلو|ק״ג", per: "kg", parts: 1},
	{names: "g|gr|gramm|gram|grams|grammes|gramme|gramos|grammi|gramas|г|гр|克|グラム|그램|กรัม|غرام|جم|ג", per: "kg", parts: 1000},
	{names: "mg", per: "kg", parts: 1_000_000},
	{names: "dag|dkg", per: "kg", parts: 100},
	{names: "l|ltr|lt|liter|litre|litres|liters|litro|litros|litri|л|литр|リットル|公升|升|리터|ลิตร|لتر|ליטר", per: "l", parts: 1},
	{names: "ml|мл|毫升|ミリリットル|มล|مل", per: "l", parts: 1000},
	{names: "cl", per: "l", parts: 100},
	{names: "dl|дл", per: "l", parts: 10},
	{names: "m|lfm|meter|metre|metres|metro|metri|mètre|mètres|meters|м|метр|メートル|米|미터|متر", per: "m", parts: 1},
	{names: "cm|см|センチ", per: "m", parts: 100},
	{names: "m²|m2|qm|sqm|sq m|square metre|м2|м²|㎡|平方メートル", per: "m2", parts: 1},
	{names: "m³|m3|cbm|м3|м³", per: "m3", parts: 1},
	{names: "lb|lbs|pound|pounds", per: "lb", parts: 1},
	{names: "oz|ounce|ounces", per: "oz", parts: 1},
	{names: "fl oz|floz|fluid ounce|fluid ounces|fl. oz", per: "fl_oz", parts: 1},
	{names: "gal|gallon|gallons", per: "gal", parts: 1},
	{names: "ft|foot|feet", per: "ft", parts: 1},
	{names: "kwh|квтч", per: "kwh", parts: 1},
	{names: "night|nights|nacht|nuit|noche|notte|noite|natt|泊|晚|박", per: "night", parts: 1},
	{names: "wash load|wash|washes|load|loads|wl|waschladung|waschladungen|lavage|lavages|lavado|lavados|回", per: "load", parts: 1},
	{names: "piece|pieces|pc|pcs|item|items|unit|units|ea|stück|stücke|stk|stck|st|pièce|pièces|pce|unité|unités|unidad|unidades|ud|uds|u|" +
		"pieza|piezas|pezzo|pezzi|pz|unità|unidade|unidades|un|stuk|stuks|styck|stykk|kpl|kappale|szt|sztuka|sztuki|sztuk|ks|kus|kusů|kusy|db|darab|" +
		"buc|bucată|bucăți|шт|штука|штуки|штук|бр|adet|τεμ|τεμάχιο|τεμάχια|count|ct|tablet|tablets|tablette|tabletten|capsule|capsules|kapsel|kapseln|" +
		"roll|rolls|rolle|rollen|rouleau|rouleaux|sheet|sheets|blatt|bottle|bottles|flasche|flaschen|bouteille|bouteilles|botella|can|cans|dose|dosen|" +
		"pair|pairs|paar|paire|paires|par|pares|paio|paia|portion|portions|serving|servings|person|personne|persona|pessoa|tin|bag|bags|bar|bars|" +
		"個|本|枚|袋|箱|台|冊|点|缶|錠|粒|束|足|件|只|个|瓶|包|盒|개|병|장|봉|팩|입|매|ชิ้น|قطعة|יחידה|יח'|चीज़", per: "piece", parts: 1},
	{names: "month|months|mo|mth|mths|monat|monate|monaten|mtl|mois|mes|meses|mese|mesi|mês|maand|maanden|mån|månad|måned|md|mnd|mdr|kk|kuukausi|měs|měsíc|mesiac|" +
		"mies|miesiąc|mc|hó|hónap|lună|luna|мес|месяц|міс|ay|μήνα|月|か月|ヶ月|个月|個月|월|개월|เดือน|شهر|חודש|" +
		"week|weeks|wk|woche|wochen|semaine|semana|settimana|vecka|uge|uke|viikko|tydzień|týden|неделя|週|周|주|" +
		"year|years|yr|jahr|jahre|an|année|año|anno|ano|jaar|år|vuosi|rok|év|год|yıl|χρόνο|年|년|ปี|سنة|שנה|" +
		"day|days|tag|tage|jour|jours|día|giorno|dia|dag|dagen|päivä|dzień|den|nap|zi|день|gün|日|天|일|วัน|يوم|hour|hours|hr|stunde|heure|hora|ora|uur", per: perPeriod, parts: 1, period: true},
}

// metered reports whether prices for u usually have three decimals: fuel and
// current.
func (u *unit) metered() bool { return u.per == "l" || u.per == "gal" || u.per == "kwh" }

// normal returns the amount for one of u.per, given one for count of u.
func (u *unit) normal(amount, count decimal.Decimal) (decimal.Decimal, bool) {
	all, err := amount.Mul(decimal.MustNew(u.parts, 0))
	if err != nil || count.IsZero() {
		return amount, false
	}
	one, err := all.Quo(count)
	if err != nil {
		return amount, false
	}
	const precise = 6
	if one.MinScale() > precise {
		one = one.Round(precise)
	}
	return one.Trim(min(one.Scale(), amount.Scale())), true
}
