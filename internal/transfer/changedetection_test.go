package transfer_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook/internal/cputest"
	"github.com/lastlook/lastlook/internal/transfer"
)

// zipped packs files.
func zipped(t testing.TB, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i+1 < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, files[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// in is one watch in an index.
func in(watch string) string {
	return `{"watching":{"u1":` + watch + `},"settings":{"requests":{"time_between_check":{"hours":"3"}},"application":{"tags":{"t1":{"title":"Cameras"},
"t2":{"title":"All","overrides_watch":true,"restock_settings":{"in_stock_processing":"off","price_change_min":"99.5"}}}}}}`
}

// said is an item in one line: the triggers, the options, the interval, the notes.
func said(it transfer.Item) string {
	if it.Err != nil {
		return "refused: " + it.Err.Error()
	}
	var parts []string
	for _, tr := range it.Watch.Triggers {
		parts = append(parts, tr.String())
	}
	if o := it.Listing.Options; o.PriceSelector != "" {
		parts = append(parts, "at "+o.PriceSelector)
	} else if o.ValuePath != "" {
		parts = append(parts, it.Listing.Source+" "+o.ValuePath)
	}
	if it.Watch.Paused {
		parts = append(parts, "paused")
	}
	return strings.Join(append(parts, fmt.Sprint(it.Listing.Interval)), "; ") + " | " + strings.Join(it.Notes, "; ")
}

func TestChangeDetection(t *testing.T) {
	d := transfer.Defaults{Currency: "EUR"}
	const url = `"url":"https://a.example/p"`
	const restock = url + `,"processor":"restock_diff"`
	for _, c := range []struct{ name, watch, want string }{
		{"the defaults", `{` + restock + `}`, "back in stock; any change; 3h0m0s | "},
		{"its own interval", `{` + restock + `,"time_between_check":{"minutes":5,"weeks":null},"time_between_check_use_default":false}`, "back in stock; any change; 5m0s | "},
		{"a short one", `{` + restock + `,"time_between_check":{"seconds":1},"time_between_check_use_default":false}`, "back in stock; any change; 10s | it was looked at every 1s: taken for 10s"},
		{"an absurd one", `{` + restock + `,"time_between_check":{"weeks":999999999999},"time_between_check_use_default":false}`, "back in stock; any change; 744h0m0s | it was looked at every "},
		{"below", `{` + restock + `,"restock_settings":{"price_change_min":450.5,"in_stock_processing":"off"}}`, "below 450.50 EUR; 3h0m0s | "},
		{"above", `{` + restock + `,"restock_settings":{"price_change_max":"600","in_stock_processing":"off"}}`, "refused: transfer: invalid: it says nothing of when to tell"},
		{"a threshold", `{` + restock + `,"processor_config_restock_diff":{"price_change_threshold_percent":5,"in_stock_processing":"off"}}`, "5 % cheaper than at first; 5 % dearer than at first; 3h0m0s | "},
		{"no prices", `{` + restock + `,"restock_settings":{"follow_price_changes":false}}`, "back in stock; 3h0m0s | "},
		{"all changes of stock", `{` + restock + `,"restock_settings":{"in_stock_processing":"all_changes"}}`, "any change; 3h0m0s | "},
		{"of a first version", `{` + restock + `,"in_stock_only":true,"follow_price_changes":false}`, "back in stock; 3h0m0s | "},
		{"its group's settings", `{` + restock + `,"tags":["t2"]}`, "below 99.50 EUR; 3h0m0s | not taken over: its tags All"},
		{"paused, named, tagged", `{` + restock + `,"paused":true,"tags":["t1","nosuch"],"tag":"old"}`, "back in stock; any change; paused; 3h0m0s | not taken over: its tags Cameras, nosuch, old"},
		{"CSS", `{` + restock + `,"include_filters":[""," .price ","#other"]}`, `back in stock; any change; at .price; 3h0m0s | not taken over: a further filter "#other"`},
		{"XPath", `{` + restock + `,"include_filters":["xpath://b[@id='p']"]}`, "back in stock; any change; at //b[@id='p']; 3h0m0s | "},
		{"text", `{` + url + `,"include_filters":["css:.price"]}`, "any change; at .price; 3h0m0s | its filter is taken for where the price stands; it told of any change"},
		{"jq", `{` + url + `,"include_filters":["jq:.a.b"]}`, "any change; json .a.b; 3h0m0s | it told of any change"},
		{"JSONPath", `{` + url + `,"include_filters":["json:$.a"]}`, "any change; 3h0m0s | not taken over: the JSONPath filter"},
		{"what nobody here does", `{` + restock + `,"headers":{"X":"y"},"body":null,"trigger_text":["a"],"method":"POST","fetch_backend":"html_webdriver","proxy":""}`,
			"back in stock; any change; 3h0m0s | not taken over: text to wait for; not taken over: request headers; not taken over: the request method POST; not taken over: that it is looked at with a browser"},
		{"no address", `{"processor":"restock_diff"}`, "refused: "},
		{"members of other kinds", `{` + restock + `,"tags":{"a":1},"time_between_check":7,"restock_settings":"x","include_filters":5,"paused":"no"}`, "back in stock; any change; 3h0m0s | "},
		{"a price that is no number", `{` + restock + `,"restock_settings":{"price_change_min":"cheap","in_stock_processing":"off"}}`, "refused: "},
		{"a huge price", `{` + restock + `,"restock_settings":{"price_change_min":1e30,"in_stock_processing":"off"}}`, "refused: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := read(t, in(c.watch), transfer.Auto, d)
			if f.Format != transfer.ChangeDetection || len(f.Items) != 1 || f.Items[0].Where != "watch u1" {
				t.Fatalf("%+v", f)
			}
			if got := said(f.Items[0]); !strings.HasPrefix(got, c.want) || strings.HasSuffix(c.want, "| ") && got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	// No currency is guessed: not even the one that the page was last seen in.
	f := read(t, in(`{`+restock+`,"restock":{"currency":"EUR"},"restock_settings":{"price_change_min":450}}`), transfer.Auto, transfer.Defaults{})
	if err := f.Items[0].Err; err == nil || !strings.Contains(err.Error(), "none is guessed") || !strings.Contains(err.Error(), "stated its price in EUR") {
		t.Error(err)
	}
}

// Backups are zip files: an index, or a folder for each watch.
func TestBackups(t *testing.T) {
	d := transfer.Defaults{Currency: "EUR"}
	one := `{"url":"https://a.example/1","title":"One","processor":"restock_diff"}`
	for _, c := range []struct {
		name  string
		files []string
		want  string
	}{
		{"an index", []string{"secret.txt", "x", "u1/history.txt", "1,a.txt", "url-watches.json", in(one)}, "back in stock; any change; 3h0m0s | "},
		{"a file each", []string{"u1/watch.json", one, "changedetection.json", `{"settings":{"requests":{"time_between_check":{"hours":4}}}}`, "u1/restock_diff.json", `{"restock_diff":{"in_stock_processing":"off","price_change_min":7}}`},
			"below 7.00 EUR; 4h0m0s | "},
		{"a tag of its own", []string{"u1/watch.json", `{"url":"https://a.example/1","tags":["t"],"processor":"restock_diff"}`, "t/tag.json", `{"title":"Mine"}`}, "back in stock; any change; 15m0s | not taken over: its tags Mine"},
		{"both: its own counts", []string{"url-watches.json", in(`{"url":"https://a.example/old"}`), "u1/watch.json", one}, "back in stock; any change; 3h0m0s | "},
		{"names that lead elsewhere", []string{"../../etc/u1/watch.json", one}, "back in stock; any change; 15m0s | "},
		{"an unreadable one", []string{"u1/watch.json", "nonsense"}, "refused: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			d.Listing.Interval = 15 * time.Minute
			f := read(t, string(zipped(t, c.files...)), transfer.Auto, d)
			if len(f.Items) != 1 || said(f.Items[0]) != c.want && !strings.HasSuffix(c.want, ": ") || !strings.HasPrefix(said(f.Items[0]), c.want) {
				t.Errorf("%d: %s", len(f.Items), said(f.Items[0]))
			}
		})
	}
	if _, err := transfer.Read(bytes.NewReader(zipped(t, "readme.txt", "x")), transfer.Auto, d); !errors.Is(err, transfer.ErrInvalid) {
		t.Error(err)
	}
}

// What unpacks to more than it may is refused, and not unpacked to its end.
func TestZipBomb(t *testing.T) {
	one := zipped(t, "u/watch.json", strings.Repeat(" ", 5<<20))
	z, err := zip.NewReader(bytes.NewReader(one), int64(len(one)))
	if err != nil {
		t.Fatal(err)
	}
	var index bytes.Buffer // an index that says to be larger than all may be
	w := zip.NewWriter(&index)
	if _, err := w.CreateRaw(&zip.FileHeader{Name: "url-watches.json", Method: zip.Deflate, UncompressedSize64: transfer.MaxSize + 1}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if z.File[0].CompressedSize64 > 100<<10 {
		t.Fatal("no bomb")
	}
	for _, b := range [][]byte{one, index.Bytes()} {
		if _, err := transfer.Read(bytes.NewReader(b), transfer.Auto, transfer.Defaults{}); !errors.Is(err, transfer.ErrInvalid) || !strings.Contains(err.Error(), "unpacks to more") {
			t.Errorf("%d bytes: %v", len(b), err)
		}
	}
}

// A file that says to be small is not believed.
func TestZipBombInDisguise(t *testing.T) {
	var packed, file bytes.Buffer
	f, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(make([]byte, 6<<20)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(&file)
	to, err := w.CreateRaw(&zip.FileHeader{Name: "u/watch.json", Method: zip.Deflate, CompressedSize64: uint64(packed.Len()), UncompressedSize64: 100})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := to.Write(packed.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := transfer.Read(&file, transfer.Auto, transfer.Defaults{}); !errors.Is(err, transfer.ErrInvalid) {
		t.Error(err)
	}
}

// Whatever a file holds, reading it ends, without a panic, in watches or a reason.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"", in(`{"url":"https://a.example/","processor":"restock_diff","restock_settings":{"price_change_min":"1"}}`), "https://a.example/ x", "url;below\nhttps://a.example/;'=5 EUR",
		`{"lastlook_export":1,"watches":[{"url":"https://a.example/","triggers":[{"kind":"below","target":"5 EUR"}]},7,null]}`, "url,triggers\nhttps://a.example/,\"[{\"\"kind\"\":\"\"drop\"\"}]\"",
		string(zipped(f, "url-watches.json", in(`{}`), "x/watch.json", `{"tags":[1]}`)), `{"watching":{"a":null,"b":[],"c":{"tags":null,"include_filters":["jq:"]}}}`} {
		for i := range 5 {
			f.Add([]byte(s), uint8(i))
		}
	}
	formats := []transfer.Format{transfer.Auto, transfer.JSON, transfer.CSV, transfer.URLs, transfer.ChangeDetection}
	f.Fuzz(func(t *testing.T, b []byte, which uint8) {
		format := formats[int(which)%len(formats)]
		var got transfer.File
		var err error
		cputest.Within(t, len(b), func() { got, err = transfer.Read(bytes.NewReader(b), format, transfer.Defaults{}) })
		if err != nil {
			if !errors.Is(err, transfer.ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		for _, it := range got.Items {
			if it.Err != nil {
				continue
			}
			if it.Where == "" || it.Listing.URL == "" || len(it.Watch.Triggers) == 0 {
				t.Fatalf("neither refused nor whole: %+v", it)
			}
			// No currency is made up.
			for _, tr := range it.Watch.Triggers {
				if c := tr.Target.Currency(); c != "" && format != transfer.Auto && format != transfer.ChangeDetection && !bytes.Contains(bytes.ToUpper(b), []byte(c)) {
					t.Fatalf("%s is not in the file", c)
				}
			}
		}
	})
}
