package transfer

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/lastlook/lastlook/watch"
)

// columns are those of the CSV form, in the order in which they are written. Only
// url must be there when one is read.
var columns = []string{
	"url", "name", "below", "back_in_stock", "triggers", "ignore_stock", "recipient", "channels", "every", "max_every", "cooldown", "rearm", "zone",
	"paused", "snoozed_until", "group", "points", "source", "private", "variant", "sku", "locale", "currency",
	"price_selector", "stock_selector", "price_path", "stock_path", "value_path",
}

// row is a line of CSV by its columns.
type row map[string]string

func writeCSV(w io.Writer, entries []Entry) error {
	out := csv.NewWriter(w)
	if err := out.Write(columns); err != nil {
		return err
	}
	line := make([]string, len(columns))
	for i := range entries {
		r, err := rowOf(&entries[i])
		if err != nil {
			return fmt.Errorf("encode the watch of %s: %w", entries[i].Listing.URL, err)
		}
		for j, c := range columns {
			line[j] = harmless(r[c])
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func rowOf(e *Entry) (row, error) {
	l, w, o := &e.Listing, &e.Watch, &e.Listing.Options
	r := row{
		"url": l.URL, "name": w.Name, "ignore_stock": yes(w.IgnoreStock), "recipient": w.Recipient, "channels": strings.Join(w.Channels, ","),
		"every": spanText(l.Interval), "max_every": spanText(w.MaxInterval), "cooldown": spanText(w.Cooldown), "rearm": spanText(w.Rearm), "zone": w.Zone,
		"paused": yes(w.Paused), "group": w.Group, "source": l.Source, "private": "no", "variant": o.Variant, "sku": o.SKU, "locale": o.Locale,
		"currency": o.Currency, "price_selector": o.PriceSelector, "stock_selector": o.StockSelector,
		"price_path": o.PricePath, "stock_path": o.StockPath, "value_path": o.ValuePath,
	}
	if l.Private {
		r["private"] = "yes"
	}
	if !w.SnoozedUntil.IsZero() {
		r["snoozed_until"] = w.SnoozedUntil.UTC().Format(time.RFC3339Nano)
	}
	var more []trigger
	for i := range w.Triggers {
		t := triggerOf(&w.Triggers[i])
		t.ID = ""
		switch {
		case r["below"] == "" && t == (trigger{Kind: string(watch.Below), Target: t.Target}):
			r["below"] = t.Target
		case r["back_in_stock"] == "" && t == (trigger{Kind: string(watch.BackInStock)}):
			r["back_in_stock"] = "yes"
		default:
			more = append(more, t)
		}
	}
	var err error
	if r["triggers"], err = jsonCell(more); err != nil {
		return nil, err
	}
	r["points"], err = jsonCell(recordOf(e).Points)
	return r, err
}

func jsonCell[T any](list []T) (string, error) {
	if len(list) == 0 {
		return "", nil
	}
	b, err := json.Marshal(list)
	return string(b), err
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}

func spanText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// formula begins what a spreadsheet runs instead of showing it.
const formula = "=+-@\t\r"

// harmless keeps a spreadsheet from running a cell that a page or a person named:
// an apostrophe goes before it, and is taken away when the file is read.
func harmless(cell string) string {
	if rest := strings.TrimLeft(cell, "'"); rest != "" && strings.ContainsRune(formula, rune(rest[0])) {
		return "'" + cell
	}
	return cell
}

func asWritten(cell string) string {
	if rest := strings.TrimLeft(cell, "'"); rest != cell && rest != "" && strings.ContainsRune(formula, rune(rest[0])) {
		return cell[1:]
	}
	return cell
}

// header reads the first line: which character separates the columns, and what they
// are called. It returns none if no column is called url.
func header(line []byte) (comma rune, names []string) {
	for _, comma := range ",;\t" {
		r := csv.NewReader(bytes.NewReader(line))
		r.Comma = comma
		names, err := r.Read()
		if err != nil {
			continue
		}
		for i := range names {
			names[i] = strings.ToLower(strings.TrimSpace(names[i]))
		}
		if slices.Contains(names, "url") {
			return comma, names
		}
	}
	return 0, nil
}

func (f *File) readCSV(b []byte, d *Defaults) error {
	first, _, _ := bytes.Cut(b, []byte("\n"))
	comma, names := header(first)
	if names == nil {
		return fmt.Errorf("%w: the first line of CSV names the columns, and one of them is url: see docs/cli.md", ErrInvalid)
	}
	for i, n := range names {
		switch {
		case slices.Contains(names[:i], n):
			return fmt.Errorf("%w: there are two columns called %q", ErrInvalid, short(n))
		case !slices.Contains(columns, n):
			f.Notes = append(f.Notes, fmt.Sprintf("the column %q is not read", short(n)))
		}
	}
	r := csv.NewReader(bytes.NewReader(b))
	r.Comma, r.FieldsPerRecord, r.ReuseRecord = comma, -1, true
	if _, err := r.Read(); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			// What follows a broken quotation mark is anybody's guess.
			return fmt.Errorf("%w: %w: correct it and try again", ErrInvalid, err)
		}
		n, _ := r.FieldPos(0)
		it := Item{Where: fmt.Sprintf("line %d", n)}
		switch {
		case len(cells) > len(names):
			it.Err = fmt.Errorf("%w: %d cells for %d columns", ErrInvalid, len(cells), len(names))
		default:
			line := row{}
			for i, c := range cells {
				if c = asWritten(c); names[i] != "name" { // which is as it is
					c = strings.TrimSpace(c)
				}
				line[names[i]] = c
			}
			it.Listing.URL = line["url"]
			if e, err := line.entry(d); err != nil {
				it.Err = err
			} else {
				it.Entry = e
			}
		}
		if err := f.add(it, d); err != nil {
			return err
		}
	}
}

func (r row) entry(d *Defaults) (e Entry, err error) {
	keep := func(wrong error) {
		if err == nil {
			err = wrong
		}
	}
	length := func(column string) (out time.Duration) {
		if r[column] != "" {
			keep(named(column, (*span)(&out).UnmarshalText([]byte(r[column]))))
		}
		return out
	}
	truth := func(column string, unsaid bool) bool {
		b, err := readYes(r[column], unsaid)
		keep(named(column, err))
		return b
	}
	e.Listing = watch.Listing{URL: r["url"], Source: r["source"], Private: truth("private", true), Interval: length("every"), Options: watch.Options{
		Variant: r["variant"], SKU: r["sku"], Locale: r["locale"], Currency: r["currency"], PriceSelector: r["price_selector"], StockSelector: r["stock_selector"],
		PricePath: r["price_path"], StockPath: r["stock_path"], ValuePath: r["value_path"],
	}}
	e.Watch = watch.Watch{
		Name: r["name"], Recipient: r["recipient"], Group: r["group"], Zone: r["zone"], IgnoreStock: truth("ignore_stock", false), Paused: truth("paused", false),
		MaxInterval: length("max_every"), Cooldown: length("cooldown"), Rearm: length("rearm"),
	}
	for c := range strings.FieldsFuncSeq(r["channels"], func(r rune) bool { return r == ',' || r == ' ' }) {
		e.Watch.Channels = append(e.Watch.Channels, c)
	}
	if s := r["snoozed_until"]; s != "" {
		t, err := time.Parse(time.RFC3339Nano, s)
		keep(named("snoozed_until", err))
		e.Watch.SnoozedUntil = t.UTC()
	}
	keep(r.triggers(&e, truth("back_in_stock", false), d))
	return e, err
}

// triggers reads the columns that say when to tell, and the points.
func (r row) triggers(e *Entry, backInStock bool, d *Defaults) error {
	var rec record
	if r["below"] != "" {
		rec.Triggers = append(rec.Triggers, trigger{Kind: string(watch.Below), Target: r["below"]})
	}
	if backInStock {
		rec.Triggers = append(rec.Triggers, trigger{Kind: string(watch.BackInStock)})
	}
	if s := r["triggers"]; s != "" {
		var more []trigger
		if err := strict([]byte(s), &more); err != nil {
			return named("triggers", err)
		}
		rec.Triggers = append(rec.Triggers, more...)
	}
	if s := r["points"]; s != "" {
		if err := strict([]byte(s), &rec.Points); err != nil {
			return named("points", err)
		}
	}
	read, err := rec.entry(d)
	e.Watch.Triggers, e.Watch.Points = read.Watch.Triggers, read.Watch.Points
	return err
}

func named(column string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: the column %s: %w", ErrInvalid, column, err)
}

func readYes(s string, unsaid bool) (bool, error) {
	switch strings.ToLower(s) {
	case "":
		return unsaid, nil
	case "yes", "true", "1", "y", "x":
		return true, nil
	case "no", "false", "0", "n":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither yes nor no", short(s))
}
