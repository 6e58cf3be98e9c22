package extract

import (
	"net/url"
	"slices"
	"strings"

	"github.com/govalues/decimal"

	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/price"
)

// idKeys are the numbers that a product or an offer can be named by.
var idKeys = []string{"sku", "gtin", "gtin8", "gtin12", "gtin13", "gtin14", "mpn", "productID", "identifier", "serialNumber", "isbn", "asin"}

func idsOf(v *value) (ids []string) {
	for _, k := range idKeys {
		for s := range scalars(v.get(k)) {
			ids = append(ids, s)
		}
	}
	return ids
}

// attrsOf are the words that tell a variant from its sisters.
func attrsOf(v *value) (attrs []string) {
	const most = 40
	for _, k := range []string{"color", "colour", "size", "pattern", "material", "flavor", "model", "width", "weight", "suggestedGender", "suggestedAge"} {
		for _, x := range each(v.get(k)) {
			if s := scalar(x); s != "" {
				attrs = append(attrs, s)
			} else if s := scalar(x.get("name")); s != "" {
				attrs = append(attrs, s)
			}
		}
	}
	for _, p := range each(v.get("additionalProperty")) {
		if s := scalar(p.get("value")); s != "" && len(attrs) < most {
			attrs = append(attrs, s)
		}
	}
	return attrs
}

func (o *offer) hasID(id string) bool {
	id = fold(id)
	return slices.ContainsFunc(o.ids, func(s string) bool {
		return fold(s) == id || strings.TrimLeft(fold(s), "0") == strings.TrimLeft(id, "0")
	})
}

// fits scores how well an offer is the variant that a watch names: by its number,
// or by all the words of it. 0 is not at all.
func (o *offer) fits(variant string) int {
	const exact = 100
	want := fold(variant)
	if o.hasID(variant) || fold(o.name.text) == want || fold(strings.Join(o.attrs, " / ")) == want || inAddress(o.url, variant) {
		return exact
	}
	name := " " + words(o.name.text) + " "
	score := 0
	for _, part := range strings.FieldsFunc(want, func(r rune) bool { return strings.ContainsRune("/,|;·•+", r) }) {
		part = strings.TrimSpace(part)
		if i := strings.Index(part, ":"); i >= 0 {
			part = strings.TrimSpace(part[i+1:]) // "Size: M"
		}
		if part == "" {
			continue
		}
		switch {
		case slices.ContainsFunc(o.attrs, func(a string) bool { return fold(a) == part }):
			score += 2
		case strings.Contains(name, " "+words(part)+" "):
			score++
		default:
			return 0
		}
	}
	return score
}

// words are a text's letters and digits, with one space between them.
func words(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !inWord(r) && r != '.' && r != '"' }), " ")
}

// inAddress reports whether an address has the variant as a parameter's value, as
// its last element or as its fragment.
func inAddress(ref, variant string) bool {
	u, err := url.Parse(strings.TrimSpace(ref))
	if err != nil || ref == "" {
		return false
	}
	for _, values := range u.Query() {
		if slices.Contains(values, variant) {
			return true
		}
	}
	path := strings.TrimRight(u.Path, "/")
	return u.Fragment == variant || path[strings.LastIndexByte(path, '/')+1:] == variant
}

// unitCodes are those of UN/CEFACT that shops use, as how many of which unit.
var unitCodes = map[string]struct {
	unit  string
	times string
}{
	"KGM": {"kg", "1"}, "KG": {"kg", "1"}, "GRM": {"kg", "0.001"}, "G": {"kg", "0.001"}, "MGM": {"kg", "0.000001"}, "LTR": {"l", "1"}, "L": {"l", "1"}, "LITRE": {"l", "1"}, "LITER": {"l", "1"}, "MLT": {"l", "0.001"}, "ML": {"l", "0.001"}, "CLT": {"l", "0.01"}, "CL": {"l", "0.01"}, "DLT": {"l", "0.1"},
	"MTR": {"m", "1"}, "M": {"m", "1"}, "CMT": {"m", "0.01"}, "CM": {"m", "0.01"}, "MMT": {"m", "0.001"}, "MTK": {"m2", "1"}, "M2": {"m2", "1"}, "MTQ": {"m3", "1"}, "M3": {"m3", "1"}, "LBR": {"lb", "1"}, "LB": {"lb", "1"}, "ONZ": {"oz", "1"}, "OZ": {"oz", "1"}, "GLL": {"gal", "1"}, "OZA": {"fl_oz", "1"},
	"FOT": {"ft", "1"}, "C62": {"piece", "1"}, "H87": {"piece", "1"}, "EA": {"piece", "1"}, "PCE": {"piece", "1"}, "NMB": {"piece", "1"}, "PCS": {"piece", "1"}, "STK": {"piece", "1"}, "ST": {"piece", "1"}, "PIECE": {"piece", "1"}, "KWH": {"kwh", "1"},
}

// quantityOf reads a QuantitativeValue.
func quantityOf(v *value) watch.Quantity {
	code := scalar(v.get("unitCode"))
	if code == "" {
		code = scalar(v.get("unitText"))
	}
	u, ok := unitCodes[strings.ToUpper(term(code))]
	if !ok {
		return watch.Quantity{}
	}
	n := decimal.MustNew(1, 0)
	if s := scalar(v.get("value")); s != "" && v.get("price") == nil {
		d, err := price.ParseMachine(s)
		if err != nil || !d.IsPos() {
			return watch.Quantity{}
		}
		n = d
	}
	got, err := n.Mul(decimal.MustParse(u.times))
	if err != nil || !got.IsPos() {
		return watch.Quantity{}
	}
	return watch.Quantity{Amount: got.Trim(0), Unit: u.unit}
}

// unitPriceOf is the price for one of the unit that a price is stated for.
func unitPriceOf(s said) watch.UnitPrice {
	q := quantityOf(s.per)
	if q.Unit == "" {
		return watch.UnitPrice{}
	}
	each, err := s.quote.money.Amount().Quo(q.Amount)
	if err != nil {
		return watch.UnitPrice{}
	}
	m, err := price.New(each.Trim(0).String(), s.quote.money.Currency())
	if err != nil {
		return watch.UnitPrice{}
	}
	return watch.UnitPrice{Price: m, Per: q.Unit}
}
