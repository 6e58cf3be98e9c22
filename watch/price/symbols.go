package price

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/bojanz/currency"
)

// sign is a symbol, code or word for a currency, or a mark such as ",-" that
// only prices have.
type sign struct {
	// code is the currency it means where nothing says otherwise, "" if it means
	// none without the surroundings.
	code string
	// or are the currencies that it means where the surroundings name one of
	// them. A mark with none means that of the surroundings.
	or []string
	// need says that it is a sign for money only in such surroundings, and
	// otherwise an ordinary word: "R", "Q".
	need bool
	// shy says that it is an ordinary word too, so that it needs such
	// surroundings or a number that looks like a price: "TRY 1,299.00".
	shy   bool
	mark  bool
	first bool // it usually stands before the number
	cents bool // it is for hundredths: "99p"
	last  bool // it stands behind the number only: "5 pounds"
}

var (
	dollars = []string{
		"USD", "CAD", "AUD", "NZD", "SGD", "HKD", "TWD", "MXN", "ARS", "CLP", "COP", "UYU", "BSD", "BBD", "BMD", "BZD", "BND", "JMD",
		"TTD", "NAD", "FJD", "XCD", "KYD", "LRD", "GYD", "SRD", "SBD", "DOP", "MOP",
	}
	pounds = []string{"GBP", "EGP", "GIP", "FKP", "SHP", "LBP", "SDG", "SSP"}
	crowns = []string{"SEK", "NOK", "DKK", "ISK"}
	rupees = []string{"INR", "PKR", "LKR", "NPR", "MUR", "SCR"}
	rials  = []string{"IRR", "SAR", "OMR", "QAR", "YER"}
	dinars = []string{"KWD", "BHD", "JOD", "IQD", "LYD", "TND", "DZD", "RSD"}
	francs = []string{"CHF", "XOF", "XAF", "XPF", "GNF", "RWF", "CDF", "MGA"}
	yuan   = []string{"CNY", "TWD", "HKD", "MOP"}
	pesos  = []string{"MXN", "ARS", "CLP", "COP", "UYU", "PHP", "DOP", "CUP"}
)

// signTable lists signs by what they mean. A name with a capital letter is only
// meant with it; one without in any case.
var signTable = []struct {
	names string
	sign
}{
	{"$ ＄ ﹩ dollar dollars dólares dolares ドル 달러", sign{or: dollars, first: true}},
	{"¢ cents", sign{or: dollars, cents: true}},
	{"€ ₠ euro euros eur€ evro евро ευρώ ユーロ 欧元 歐元 유로", sign{code: "EUR"}},
	{"pound pounds", sign{or: []string{"GBP", "EGP"}, need: true, last: true}},
	{"uk£ gb£", sign{code: "GBP", first: true}},
	{"£ ￡ ₤", sign{code: "GBP", or: pounds, first: true}},
	{"p", sign{or: []string{"GBP"}, need: true, cents: true, last: true}},
	{"¥ ￥ yen", sign{or: []string{"JPY", "CNY"}, first: true}},
	{"円 圓", sign{code: "JPY", or: []string{"JPY", "TWD", "HKD"}}},
	{"元 圆 块 塊", sign{or: yuan}},
	{"yuan", sign{code: "CNY"}},
	{"rmb 人民币 人民幣 cn¥", sign{code: "CNY"}},
	{"jp¥ 日元 日圓 エン", sign{code: "JPY"}},
	{"₩ ￦ 원 ウォン", sign{code: "KRW"}},
	{"won", sign{or: []string{"KRW"}, need: true, last: true}},
	{"₹", sign{code: "INR", first: true}},
	{"₨ rs र रु रू rupee rupees रुपये रुपए", sign{or: rupees, first: true}},
	{"රු", sign{code: "LKR", first: true}},
	{"₽ р руб рублей рубль рубля рублях", sign{code: "RUB", or: []string{"RUB", "BYN"}}},
	{"₴ грн гривень гривні гривен", sign{code: "UAH"}},
	{"₺ tl", sign{code: "TRY"}},
	{"₫ đ vnđ đồng", sign{code: "VND"}},
	{"₱ PhP Php", sign{code: "PHP", first: true}},
	{"P", sign{or: []string{"PHP", "BWP"}, need: true, first: true}},
	{"₦", sign{code: "NGN", first: true}},
	{"₪ ש״ח ש\"ח שח שקל שקלים", sign{code: "ILS"}},
	{"฿ บาท", sign{code: "THB", first: true}},
	{"₸ тг тнг тенге", sign{code: "KZT"}},
	{"₡", sign{code: "CRC", first: true}},
	{"₲ Gs", sign{code: "PYG", first: true}},
	{"₵ gh₵ gh¢", sign{code: "GHS", first: true}},
	{"₭ ກີບ", sign{code: "LAK"}},
	{"៛", sign{code: "KHR"}},
	{"₮ төгрөг", sign{code: "MNT"}},
	{"₼", sign{code: "AZN"}},
	{"₾ ლარი", sign{code: "GEL"}},
	{"֏ դր", sign{code: "AMD"}},
	{"৳ tk টাকা", sign{code: "BDT"}},
	{"zł zl złotych złote", sign{code: "PLN"}},
	{"kč Kc korun", sign{code: "CZK"}},
	{"Ft Forint forint", sign{code: "HUF"}},
	{"lei leu", sign{code: "RON", or: []string{"RON", "MDL"}}},
	{"лв лева kn", sign{}}, // gone: the euro has come
	{"kr kroner kronor krónur króna", sign{or: crowns}},
	{"дин", sign{code: "RSD"}},
	{"din", sign{or: []string{"RSD"}, need: true, last: true}},
	{"ден", sign{code: "MKD"}},
	{"KM", sign{or: []string{"BAM"}, need: true}},
	{"Br Бр", sign{or: []string{"BYN", "ETB"}, need: true}},
	{"sfr", sign{code: "CHF"}},
	{"Fr Frs", sign{code: "CHF", or: francs, shy: true}},
	{"dkr", sign{code: "DKK"}},
	{"nkr", sign{code: "NOK"}},
	{"skr", sign{code: "SEK"}},
	{"ikr", sign{code: "ISK"}},
	{"CFPF CFP FCFP", sign{code: "XPF"}},
	{"щ.д", sign{code: "USD"}},
	{"नेरू", sign{code: "NPR", first: true}},
	{"ل.س", sign{code: "SYP"}},
	{"FCFA fcfa CFA", sign{or: []string{"XOF", "XAF"}}},
	{"R$ r$ reais", sign{code: "BRL", first: true}},
	{"us$ u$s u$d u$ usd$", sign{code: "USD", first: true}},
	{"ca$ cad$ c$ cdn$ can$", sign{code: "CAD", first: true}},
	{"a$ au$ aud$", sign{code: "AUD", first: true}},
	{"nz$ nzd$", sign{code: "NZD", first: true}},
	{"s$ sg$ sgd$", sign{code: "SGD", first: true}},
	{"hk$ hkd$ 港币 港幣", sign{code: "HKD", first: true}},
	{"nt$ ntd ntd$ twd$ 台币 台幣 新台幣", sign{code: "TWD", first: true}},
	{"mx$ mex$ mxn$", sign{code: "MXN", first: true}},
	{"ar$ ars$", sign{code: "ARS", first: true}},
	{"cl$ clp$", sign{code: "CLP", first: true}},
	{"co$ col$ cop$", sign{code: "COP", first: true}},
	{"rd$", sign{code: "DOP", first: true}},
	{"uy$", sign{code: "UYU", first: true}},
	{"mop$", sign{code: "MOP", first: true}},
	{"j$", sign{code: "JMD", first: true}},
	{"tt$", sign{code: "TTD", first: true}},
	{"n$", sign{code: "NAD", first: true}},
	{"e£ L.E", sign{code: "EGP"}},
	{"LE", sign{or: []string{"EGP"}, need: true}},
	{"pesos peso", sign{or: pesos}},
	{"Rp rp rupiah", sign{code: "IDR", first: true}},
	{"RM", sign{code: "MYR", first: true}},
	{"S/", sign{code: "PEN", first: true}},
	{"B/", sign{code: "PAB", first: true}},
	{"Q", sign{or: []string{"GTQ"}, need: true, first: true}},
	{"R", sign{or: []string{"ZAR"}, need: true, first: true}},
	{"Bs", sign{or: []string{"BOB", "VES"}, first: true}},
	{"ksh kshs", sign{code: "KES", first: true}},
	{"tsh", sign{code: "TZS", first: true}},
	{"ush", sign{code: "UGX", first: true}},
	{"KD kd k.d د.ك", sign{code: "KWD"}},
	{"د.ب", sign{code: "BHD"}},
	{"د.أ د.ا", sign{code: "JOD"}},
	{"د.ت", sign{code: "TND"}},
	{"د.ج دج", sign{code: "DZD"}},
	{"ر.س", sign{code: "SAR"}},
	{"ر.ق", sign{code: "QAR"}},
	{"BD", sign{code: "BHD", shy: true}},
	{"JD", sign{code: "JOD", shy: true}},
	{"DT", sign{code: "TND", shy: true}},
	{"DA", sign{code: "DZD", shy: true}},
	{"SR", sign{code: "SAR", shy: true}},
	{"QR", sign{code: "QAR", shy: true}},
	{"؋", sign{code: "AFN"}},
	{"Lek lekë", sign{code: "ALL"}},
	{"bz$", sign{code: "BZD", first: true}},
	{"b$ bnd$", sign{code: "BND", first: true}},
	{"g$ gy$", sign{code: "GYD", first: true}},
	{"fj$", sign{code: "FJD", first: true}},
	{"bds$", sign{code: "BBD", first: true}},
	{"ec$", sign{code: "XCD", first: true}},
	{"NIS nis", sign{code: "ILS"}},
	{"dinara динара", sign{code: "RSD"}},
	{"dinar dinars", sign{or: dinars}},
	{"dirham dirhams", sign{or: []string{"AED", "MAD"}}},
	{"riyal riyals rial rials", sign{or: rials}},
	{"ر.ع", sign{code: "OMR"}},
	{"ر.ي", sign{code: "YER"}},
	{"د.إ د.ا.إ", sign{code: "AED"}},
	{"د.م", sign{code: "MAD"}},
	{"د.ع ع.د", sign{code: "IQD"}},
	{"د.ل ل.د", sign{code: "LYD"}},
	{"ج.م", sign{code: "EGP"}},
	{"ج.س", sign{code: "SDG"}},
	{"ل.ل", sign{code: "LBP"}},
	{"Dhs dhs Dh DH", sign{or: []string{"AED", "MAD"}}},
	{"درهم", sign{or: []string{"AED", "MAD"}}},
	{"دينار", sign{or: dinars}},
	{"ريال ریال ﷼", sign{or: rials}},
	{"جنيه", sign{or: []string{"EGP", "SDG"}}},
	{"تومان تومن", sign{}}, // ten rials: no currency of ISO 4217
	{"сум so'm", sign{code: "UZS"}},
	{"сом", sign{code: "KGS"}},
	{"cent ct", sign{or: []string{"EUR"}, need: true, cents: true, last: true}},
}

// shyCodes are codes that are also words, names and abbreviations.
var shyCodes = []string{
	"ALL", "TOP", "TRY", "CUP", "PEN", "GEL", "MAD", "LAK", "MOP", "BAM", "SOS", "KGS", "AMD", "NIO", "STN", "BOB", "ERN", "PAB",
	"PHP", "COP", "CAD", "SHP", "SLE", "SDG",
}

// lowerCodes are codes that are taken in lower case too.
var lowerCodes = []string{
	"EUR", "USD", "GBP", "CHF", "JPY", "PLN", "CZK", "HUF", "CNY", "INR", "AUD", "NZD", "SGD", "HKD", "KRW", "BRL", "MXN", "ZAR",
	"RUB", "UAH", "THB", "IDR", "MYR", "VND", "AED", "SAR", "KWD", "QAR", "ILS", "DKK",
}

// signs are the signs by name: exact are those that are meant with their
// capitals only, folded those that are in lower case here.
type signs struct {
	list   []sign
	exact  map[string]int
	folded map[string]int
}

// unknownSign is the index of a sign for a currency that is not known.
const unknownSign = 1

// allSigns builds the signs once.
var allSigns = sync.OnceValue(func() *signs {
	s := &signs{exact: map[string]int{}, folded: map[string]int{}}
	s.list = append(s.list, sign{mark: true}, sign{})
	for _, row := range signTable {
		id := len(s.list)
		s.list = append(s.list, row.sign)
		for name := range strings.FieldsSeq(row.names) {
			if strings.ToLower(name) == name {
				s.folded[name] = id
			} else {
				s.exact[name] = id
			}
		}
	}
	s.addCountries()
	for _, code := range currency.GetCurrencyCodes() {
		id := len(s.list)
		s.list = append(s.list, sign{code: code, shy: slices.Contains(shyCodes, code)})
		s.exact[code] = id
		if slices.Contains(lowerCodes, code) {
			s.folded[strings.ToLower(code)] = id
		}
	}
	return s
})

// addCountries adds the symbols with a country's code before them: "EG£", "BZ$".
func (s *signs) addCountries() {
	ofSymbol := map[string][]string{"$": dollars, "£": pounds, "¥": {"JPY", "CNY"}}
	for a := 'A'; a <= 'Z'; a++ {
		for b := 'A'; b <= 'Z'; b++ {
			country := string([]rune{a, b})
			code, ok := currency.ForCountryCode(country)
			for symbol, codes := range ofSymbol {
				name := strings.ToLower(country) + symbol
				_, known := s.folded[name]
				if ok && !known && slices.Contains(codes, code) && strings.HasPrefix(code, country) {
					s.exact[country+symbol] = len(s.list)
					s.list = append(s.list, sign{code: code, first: true})
				}
			}
		}
	}
}

// resolve says which currency a sign means in v's surroundings; ambiguous if
// that cannot be told.
func (v *view) resolve(s *sign) (code string, ambiguous bool) {
	if s.or == nil && !s.mark {
		return s.code, s.code == ""
	}
	code, conflict := v.vote(s.or)
	switch {
	case conflict:
		return "", true
	case code != "":
		return code, false
	}
	return s.code, s.code == ""
}

// vote asks the page's locale, its host and the watch for one of some
// currencies, or for any if there are none. Where the page's two disagree, the
// watch decides between them; else those that disagree name none.
func (v *view) vote(of []string) (code string, conflict bool) {
	in := func(c string) string {
		if c == "" || of != nil && !slices.Contains(of, c) {
			return ""
		}
		return c
	}
	page, host, watch := in(v.page), in(v.host), in(v.watch)
	switch {
	case page == "":
		page = host
	case host != "" && host != page:
		return watch, watch != page && watch != host
	}
	if page != "" && watch != "" && page != watch {
		return "", true
	}
	return cmp.Or(page, watch), false
}

// names reports whether the surroundings name a currency.
func (v *view) names(code string) bool {
	return code != "" && (v.page == code || v.host == code || v.watch == code)
}
