package transfer_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/govalues/decimal"
	"pgregory.net/rapid"

	"github.com/lastlook/lastlook/internal/transfer"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/price"
)

var now = time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)

var (
	anyMoney = rapid.Custom(func(t *rapid.T) price.Money {
		m, err := price.New(rapid.SampledFrom([]string{"1", "499.90", "0.005", "1299", "12345678901.23"}).Draw(t, "amount"), rapid.SampledFrom([]string{"EUR", "JPY", "KWD"}).Draw(t, "currency"))
		if err != nil {
			t.Fatal(err)
		}
		return m
	})
	anyDecimal = rapid.Custom(func(t *rapid.T) decimal.Decimal {
		return decimal.MustParse(rapid.SampledFrom([]string{"0", "1", "2.5", "33.333"}).Draw(t, "decimal"))
	})
	anySpan = rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.IntRange(0, 10_000_000).Draw(t, "seconds")) * time.Second
	})
	// Texts of people and pages: quotation marks, formulas, lines, other scripts.
	anyText = rapid.OneOf(rapid.SampledFrom([]string{"", "", "Lamp", "=1+1", "'=1", "''-x", "'", "a,b;c", "\"quoted\"", " two  words ", "価格", "<b>&amp;", "# no comment", "line\nline", "\t tab"}),
		rapid.StringMatching(`[a-zA-Z0-9 '"=,;/\[\]{}:é-]{0,30}`))
	anyTrigger = rapid.Custom(func(t *rapid.T) watch.Trigger {
		tr := watch.Trigger{Kind: rapid.SampledFrom(watch.Kinds()).Draw(t, "kind")}
		switch tr.Kind {
		case watch.Below, watch.UnitBelow, watch.EffectiveBelow:
			tr.Target = anyMoney.Draw(t, "target")
		case watch.Drop, watch.Rise:
			if tr.Since = rapid.SampledFrom([]watch.Since{"", watch.Previous, watch.First}).Draw(t, "since"); rapid.Bool().Draw(t, "amount") {
				tr.Amount = anyMoney.Draw(t, "by")
			} else {
				tr.Percent = decimal.MustParse("12.5")
			}
		case watch.LowestInDays:
			tr.Days, tr.MatchEqual = rapid.IntRange(1, 700).Draw(t, "days"), rapid.Bool().Draw(t, "equal")
		case watch.ValueIs:
			tr.When = rapid.SampledFrom([]string{"now < 100", `now == "a,b"`, "now < last * 0.9 && now > 1"}).Draw(t, "when")
		case watch.BackInStock, watch.AnyChange:
		}
		if tr.Kind == watch.UnitBelow {
			tr.Per = rapid.SampledFrom([]string{"kg", "100 g"}).Draw(t, "per")
		}
		if rapid.Bool().Draw(t, "often") {
			tr.Again, tr.Margin, tr.PerDay, tr.Cooldown = anyDecimal.Draw(t, "again"), anyDecimal.Draw(t, "margin"), rapid.IntRange(-1, 9).Draw(t, "per day"), anySpan.Draw(t, "cooldown")
		}
		return tr
	})
	anyEntry = rapid.Custom(func(t *rapid.T) transfer.Entry {
		var e transfer.Entry
		e.Listing = watch.Listing{
			Source: rapid.SampledFrom([]string{"page", "json"}).Draw(t, "source"), Private: rapid.Bool().Draw(t, "private"),
			URL:      "https://shop.example/" + rapid.StringMatching(`[a-z0-9/-]{0,10}(\?[a-z]=[a-z,;=]{1,5})?`).Draw(t, "path"),
			Interval: 10*time.Second + anySpan.Draw(t, "every"),
		}
		o := &e.Listing.Options
		for _, s := range []*string{&o.Variant, &o.SKU, &o.Locale, &o.Currency, &o.PriceSelector, &o.StockSelector, &o.PricePath, &o.StockPath, &o.ValuePath} {
			*s = strings.TrimSpace(anyText.Draw(t, "option"))
		}
		e.Watch = watch.Watch{
			Name: anyText.Draw(t, "name"), Recipient: "me", Channels: rapid.SampledFrom([][]string{{"log"}, {"phone", "log"}}).Draw(t, "channels"),
			Triggers: rapid.SliceOfN(anyTrigger, 1, 4).Draw(t, "triggers"), IgnoreStock: rapid.Bool().Draw(t, "ignore"), Group: strings.TrimSpace(anyText.Draw(t, "group")),
			Cooldown: anySpan.Draw(t, "cooldown"), Rearm: anySpan.Draw(t, "rearm"), MaxInterval: anySpan.Draw(t, "max"), Zone: rapid.SampledFrom([]string{"", "Asia/Tokyo"}).Draw(t, "zone"),
			Paused: rapid.Bool().Draw(t, "paused"),
		}
		if rapid.Bool().Draw(t, "snoozed") {
			e.Watch.SnoozedUntil = now.Add(anySpan.Draw(t, "snooze"))
		}
		if rapid.Bool().Draw(t, "points") {
			e.Watch.Points = []watch.Points{{Rate: decimal.MustParse("0.015"), Conditional: true}, {Amount: anyMoney.Draw(t, "points")}}
		}
		return e
	})
)

// canonical is an entry as it can be compared: decimals without their scale, and,
// for CSV, triggers in any order.
func canonical(t *rapid.T, e transfer.Entry, ordered bool) string {
	e.Watch.Triggers = slices.Clone(e.Watch.Triggers)
	for i := range e.Watch.Triggers {
		tr := &e.Watch.Triggers[i]
		tr.Percent, tr.Again, tr.Margin = tr.Percent.Trim(0), tr.Again.Trim(0), tr.Margin.Trim(0)
	}
	if !ordered {
		slices.SortFunc(e.Watch.Triggers, func(a, b watch.Trigger) int { return strings.Compare(text(t, a), text(t, b)) })
	}
	return text(t, e)
}

func text(t *rapid.T, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What is exported is imported as it was.
func TestRoundTrip(t *testing.T) {
	for _, format := range []transfer.Format{transfer.JSON, transfer.CSV} {
		t.Run(string(format), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				entries := rapid.SliceOfN(anyEntry, 0, 5).Draw(t, "entries")
				if format == transfer.JSON {
					for i := range entries {
						for j := range entries[i].Watch.Triggers {
							entries[i].Watch.Triggers[j].ID = string(rune('a' + j))
						}
					}
				}
				var b bytes.Buffer
				if err := transfer.Write(&b, format, now, entries); err != nil {
					t.Fatal(err)
				}
				f, err := transfer.Read(&b, transfer.Auto, transfer.Defaults{})
				if err != nil || f.Format != format || len(f.Items) != len(entries) || len(f.Notes) > 0 {
					t.Fatalf("%s, %d of %d, %v: %v", f.Format, len(f.Items), len(entries), f.Notes, err)
				}
				for i, it := range f.Items {
					if it.Err != nil || len(it.Notes) > 0 {
						t.Fatalf("%s: %v, %v", it.Where, it.Err, it.Notes)
					}
					if got, want := canonical(t, it.Entry, format == transfer.JSON), canonical(t, entries[i], format == transfer.JSON); got != want {
						t.Fatalf("\ngot  %s\nwant %s", got, want)
					}
				}
			})
		})
	}
}

// A field that somebody adds to what is exported must be exported.
func TestNoFieldIsForgotten(t *testing.T) {
	for _, c := range []struct {
		of   reflect.Type
		want string
	}{
		{reflect.TypeFor[watch.Trigger](), "ID Kind Target Per Percent Amount Since Days MatchEqual When Again Margin PerDay Cooldown"},
		{reflect.TypeFor[watch.Points](), "Rate Amount Conditional"},
		{reflect.TypeFor[watch.Options](), "Variant SKU Locale Currency PriceSelector StockSelector PricePath StockPath ValuePath"},
		{reflect.TypeFor[watch.Watch](), "ID ListingID Name Recipient Channels Triggers IgnoreStock Points Group Cooldown Rearm MaxInterval Zone Paused SnoozedUntil CreatedAt"},
	} {
		var names []string
		for field := range c.of.Fields() {
			names = append(names, field.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s has the fields\n%s\nand the files know\n%s\nlet json.go and csv.go keep the new one, and this list", c.of, got, c.want)
		}
	}
}

func read(t *testing.T, content string, f transfer.Format, d transfer.Defaults) transfer.File {
	t.Helper()
	got, err := transfer.Read(strings.NewReader(content), f, d)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestRefused(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"no currency", "url,below\nhttps://a.example/,499.90", "names no currency, and none is guessed"},
		{"no amount", "url,below\nhttps://a.example/,cheap", "invalid price"},
		{"no address", "url,below\nnonsense,5 EUR", "is not an http or https address"},
		{"a password", "url,below\nhttps://me:secret@a.example/,5 EUR", "carries a user name or password"},
		{"too many cells", "url,below\nhttps://a.example/,5 EUR,6,7", "4 cells for 2 columns"},
		{"no truth", "url,below,paused\nhttps://a.example/,5 EUR,perhaps", "neither yes nor no"},
		{"an unknown member", `{"lastlook_export":1,"watches":[{"url":"https://a.example/","triggers":[{"kind":"below","target":"5 EUR","until":"noon"}]}]}`, `unknown field "until"`},
		{"an amount without currency in JSON", `{"lastlook_export":1,"watches":[{"url":"https://a.example/","triggers":[{"kind":"below","target":"5"}]}]}`, "none is guessed"},
		{"nothing to tell", "https://a.example/", "says nothing of when to tell"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := read(t, c.content, transfer.Auto, transfer.Defaults{})
			if len(f.Items) != 1 || f.Items[0].Err == nil || !strings.Contains(f.Items[0].Err.Error(), c.want) || strings.Contains(f.Items[0].Err.Error(), "secret") {
				t.Errorf("%+v", f.Items)
			}
		})
	}
	for _, c := range []struct {
		name, content, want string
		format              transfer.Format
	}{
		{"a newer form", `{"lastlook_export":9}`, "a newer lastlook wrote it", transfer.Auto},
		{"two columns", "url,name,name\n", "two columns", transfer.Auto},
		{"no columns", "a,b\n", "names the columns", transfer.CSV},
		{"a broken quotation mark", "url,name\nhttps://a.example/,\"x", "correct it", transfer.Auto},
		{"no zip", "PK\x03\x04nonsense", "no zip file that can be read", transfer.Auto},
		{"no backup", `{"watching":[1]}`, "cannot be read", transfer.Auto},
		{"an unknown format", "", "there is no format", "xml"},
	} {
		if _, err := transfer.Read(strings.NewReader(c.content), c.format, transfer.Defaults{}); !errors.Is(err, transfer.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// An explicit currency counts only where the file names none.
func TestCurrency(t *testing.T) {
	f := read(t, "url,below\nhttps://a.example/,499.90\nhttps://a.example/,5 USD", transfer.Auto, transfer.Defaults{Currency: "EUR"})
	for i, want := range []string{"499.90 EUR", "5.00 USD"} {
		if it := f.Items[i]; it.Err != nil || it.Watch.Triggers[0].Target.String() != want {
			t.Errorf("%+v, want %s", it, want)
		}
	}
}

// More than the limit is refused, without being read to its end.
func TestTooLarge(t *testing.T) {
	endless := &repeating{}
	if _, err := transfer.Read(endless, transfer.Auto, transfer.Defaults{}); !errors.Is(err, transfer.ErrInvalid) || endless.given > 2*transfer.MaxSize {
		t.Errorf("%v after %d bytes", err, endless.given)
	}
	many := strings.Repeat("https://a.example/\n", transfer.MaxItems+1)
	if _, err := transfer.Read(strings.NewReader(many), transfer.Auto, transfer.Defaults{}); !errors.Is(err, transfer.ErrInvalid) {
		t.Error(err)
	}
}

// repeating never ends.
type repeating struct{ given int }

func (r *repeating) Read(p []byte) (int, error) {
	p[0] = '#' // and zeros: the race detector looks at each access
	r.given += len(p)
	return len(p), nil
}
