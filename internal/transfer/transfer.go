// Package transfer is how watches leave lastlook and come to it as files: JSON,
// CSV, lists of addresses, and the backups of changedetection.io.
//
// JSON keeps all that a watch is asked for; CSV all but the order and the ids of
// its triggers. What was seen and told is no part of either.
//
// Reading never guesses: an amount without a currency is refused, unless the caller
// names one ([Defaults.Currency]). What a file asks for and lastlook cannot do is
// said, for each watch ([Item.Notes]). Files are strangers' work: their size, what
// they unpack to and how many watches they hold are bounded, and nothing is ever
// written from them but what the caller adds.
package transfer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/price"
)

// ErrInvalid is wrapped by errors about a file, or a line of it.
var ErrInvalid = errors.New("transfer: invalid")

// Limits on a file.
const (
	MaxSize  = 64 << 20
	MaxItems = 100_000
)

// Format is how a file is written.
type Format string

// The formats. Auto is found out from the content.
const (
	Auto            Format = "auto"
	JSON            Format = "json"
	CSV             Format = "csv"
	URLs            Format = "urls"
	ChangeDetection Format = "changedetection"
)

// Entry is a watch with how its listing is read, as files hold them. Of the
// listing, only Source, URL, Options, Private and Interval count.
type Entry struct {
	Listing watch.Listing
	Watch   watch.Watch
}

// Item is what a file says of one watch.
type Item struct {
	Entry
	// Where is the place in the file, such as "line 7".
	Where string
	// Notes say what could not be taken over.
	Notes []string
	// Err says why it cannot be a watch at all.
	Err error
}

// Defaults are what counts where a file says nothing.
type Defaults struct {
	// Currency is that of amounts that name none.
	Currency string
	// Entry gives triggers, channels, recipient, zone, interval and options.
	Entry
}

// File is what was read.
type File struct {
	Format Format
	Items  []Item
	// Notes are about the whole of it.
	Notes []string
}

// Read reads a file. An error says that it cannot be read at all; what is wrong with
// one watch is with its item.
func Read(r io.Reader, f Format, d Defaults) (File, error) {
	var read bytes.Buffer
	if _, err := read.ReadFrom(io.LimitReader(r, MaxSize+1)); err != nil {
		return File{}, fmt.Errorf("read the file: %w", err)
	}
	b, err := read.Bytes(), error(nil)
	if len(b) > MaxSize {
		return File{}, fmt.Errorf("%w: it is larger than %d MB: split it", ErrInvalid, MaxSize>>20)
	}
	if !isZip(b) {
		b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	}
	if f == Auto || f == "" {
		f = guess(b)
	}
	out := File{Format: f}
	switch f {
	case JSON:
		err = out.readJSON(b, &d)
	case CSV:
		err = out.readCSV(b, &d)
	case URLs:
		err = out.readURLs(b, &d)
	case ChangeDetection:
		err = out.readChangeDetection(b, &d)
	default:
		err = fmt.Errorf("%w: there is no format %q", ErrInvalid, short(string(f)))
	}
	return out, err
}

// Write writes watches.
func Write(w io.Writer, f Format, now time.Time, entries []Entry) error {
	switch f {
	case JSON:
		return writeJSON(w, now, entries)
	case CSV:
		return writeCSV(w, entries)
	case URLs:
		return writeURLs(w, entries)
	case Auto, ChangeDetection:
	}
	return fmt.Errorf("%w: nothing is written as %q", ErrInvalid, short(string(f)))
}

func isZip(b []byte) bool {
	return bytes.HasPrefix(b, []byte("PK\x03\x04")) || bytes.HasPrefix(b, []byte("PK\x05\x06"))
}

// guess finds out how a file is written.
func guess(b []byte) Format {
	b = bytes.TrimSpace(b)
	if isZip(b) {
		return ChangeDetection
	}
	if bytes.HasPrefix(b, []byte("{")) {
		var top struct {
			Watching json.RawMessage `json:"watching"`
		}
		if json.Unmarshal(b, &top) == nil && top.Watching != nil {
			return ChangeDetection
		}
		return JSON
	}
	if first, _, _ := bytes.Cut(b, []byte("\n")); !bytes.Contains(first, []byte("://")) {
		if _, columns := header(first); len(columns) > 0 {
			return CSV
		}
	}
	return URLs
}

// add adds an item, completed by the defaults, unless there are too many.
func (f *File) add(it Item, d *Defaults) error {
	if len(f.Items) == MaxItems {
		return fmt.Errorf("%w: it holds more than %d watches: split it", ErrInvalid, MaxItems)
	}
	it.complete(d)
	f.Items = append(f.Items, it)
	return nil
}

// complete fills in what the file does not say, and checks the address.
func (it *Item) complete(d *Defaults) {
	l, w := &it.Listing, &it.Watch
	l.Source = or(l.Source, d.Listing.Source)
	if l.Interval == 0 {
		l.Interval = d.Listing.Interval
	}
	if l.Options == (watch.Options{}) {
		l.Options = d.Listing.Options
	}
	w.Recipient, w.Zone = or(w.Recipient, d.Watch.Recipient), or(w.Zone, d.Watch.Zone)
	w.Group = or(w.Group, d.Watch.Group)
	if w.MaxInterval == 0 {
		w.MaxInterval = d.Watch.MaxInterval
	}
	if len(w.Channels) == 0 {
		w.Channels = d.Watch.Channels
	}
	if len(w.Triggers) == 0 {
		w.Triggers = d.Watch.Triggers
		w.IgnoreStock = w.IgnoreStock || d.Watch.IgnoreStock
		if len(w.Points) == 0 {
			w.Points = d.Watch.Points
		}
		if w.Cooldown == 0 {
			w.Cooldown = d.Watch.Cooldown
		}
		if w.Rearm == 0 {
			w.Rearm = d.Watch.Rearm
		}
	}
	if it.Err != nil {
		return
	}
	if l.URL, it.Err = watch.ParseURL(l.URL); it.Err == nil && len(w.Triggers) == 0 {
		it.Err = fmt.Errorf("%w: it says nothing of when to tell: give the triggers for such watches as flags", ErrInvalid)
	}
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// money reads an amount. One without a currency is in the caller's, if he named one.
func (d *Defaults) money(text string) (price.Money, error) {
	m, err := price.Parse(text)
	if err == nil || d.Currency == "" {
		if err != nil && bare(text) {
			err = fmt.Errorf("%w: %q names no currency, and none is guessed: write one there, or give it for all with --currency", ErrInvalid, short(text))
		}
		return m, err
	}
	if !bare(text) {
		return m, err
	}
	return price.New(strings.TrimSpace(text), d.Currency)
}

// bare reports whether a text is a number without a currency.
func bare(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && strings.Trim(text, "0123456789.,") == ""
}

// short shortens what an error shows of a file.
func short(s string) string {
	const limit = 80
	if len(s) > limit {
		s = s[:limit] + "…"
	}
	return strings.ToValidUTF8(s, "")
}
