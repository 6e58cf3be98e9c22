package transfer

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
)

// Limits on what a backup unpacks to. Snapshots, which are most of one, are never
// unpacked.
const (
	maxUnpacked  = 64 << 20 // all that is read
	maxOneWatch  = 4 << 20  // a watch of its own file
	maxZipFiles  = 2_000_000
	indexFile    = "url-watches.json"
	settingsFile = "changedetection.json"
)

// backup is what is read of a backup of changedetection.io: watches and tags by
// their id, in order, and the settings.
type backup struct {
	order    []string
	watches  map[string]fields
	tags     map[string]fields
	requests fields
}

// fields are an object's members, each decoded when it is asked for: what it is not
// asked for may be anything.
type fields map[string]json.RawMessage

func (f *File) readChangeDetection(b []byte, d *Defaults) error {
	bk := backup{watches: map[string]fields{}, tags: map[string]fields{}}
	var err error
	if isZip(b) {
		err = bk.unpack(b)
	} else {
		err = bk.index(b)
	}
	if err != nil {
		return err
	}
	if len(bk.order) == 0 {
		return fmt.Errorf("%w: it holds no watch of changedetection.io: neither %s nor a watch.json in a folder of its own", ErrInvalid, indexFile)
	}
	for _, id := range bk.order {
		it := bk.item(id, d)
		if err := f.add(it, d); err != nil {
			return err
		}
	}
	return nil
}

// unpack reads what counts of a zip file. Names only say what a file is: nothing is
// written anywhere.
func (bk *backup) unpack(b []byte) error {
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return fmt.Errorf("%w: it is no zip file that can be read: %w", ErrInvalid, err)
	}
	if len(z.File) > maxZipFiles {
		return fmt.Errorf("%w: the zip file holds %d files: the limit is %d", ErrInvalid, len(z.File), maxZipFiles)
	}
	left := int64(maxUnpacked)
	rank := map[string]int{indexFile: 0, settingsFile: 1, "tag.json": 2, "watch.json": 3, "restock_diff.json": 4}
	files := slices.DeleteFunc(slices.Clone(z.File), func(f *zip.File) bool { _, ok := rank[path.Base(f.Name)]; return !ok })
	slices.SortStableFunc(files, func(a, b *zip.File) int { return rank[path.Base(a.Name)] - rank[path.Base(b.Name)] })
	for _, file := range files {
		limit := left
		base, id := path.Base(file.Name), path.Base(path.Dir(file.Name))
		if base != indexFile && base != settingsFile {
			limit = min(limit, maxOneWatch)
		}
		content, err := unpackOne(file, limit)
		if err != nil {
			return err
		}
		left -= int64(len(content))
		switch base {
		case indexFile, settingsFile:
			err = bk.index(content)
		default:
			bk.own(base, id, content)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unpackOne unpacks a file, however little it says that it holds.
func unpackOne(file *zip.File, limit int64) ([]byte, error) {
	tooLarge := fmt.Errorf("%w: %s unpacks to more than %d bytes", ErrInvalid, short(file.Name), limit)
	if file.UncompressedSize64 > uint64(limit) {
		return nil, tooLarge
	}
	r, err := file.Open()
	if err != nil {
		return nil, fmt.Errorf("%w: unpack %s: %w", ErrInvalid, short(file.Name), err)
	}
	content, err := io.ReadAll(io.LimitReader(r, limit+1))
	if cerr := r.Close(); err == nil && int64(len(content)) <= limit {
		err = cerr
	}
	switch {
	case int64(len(content)) > limit:
		return nil, tooLarge
	case err != nil:
		return nil, fmt.Errorf("%w: unpack %s: %w", ErrInvalid, short(file.Name), err)
	}
	return content, nil
}

// own takes a file of a watch's or a tag's own folder.
func (bk *backup) own(base, id string, content []byte) {
	var one fields
	if json.Unmarshal(content, &one) != nil {
		one = fields{"url": json.RawMessage(`"unreadable"`)} // and so it is refused, with its place
	}
	switch base {
	case "tag.json":
		bk.tags[id] = one
	case "watch.json":
		bk.put(id, one)
	case "restock_diff.json":
		// How prices are followed, since versions of 2025, stands apart.
		if w := bk.watches[id]; w != nil && w["restock_settings"] == nil {
			w["restock_settings"] = one["restock_diff"]
		}
	}
}

func (bk *backup) put(id string, w fields) {
	if _, known := bk.watches[id]; !known {
		bk.order = append(bk.order, id)
	}
	bk.watches[id] = w
}

// index reads the file that holds all watches, or the settings alone.
func (bk *backup) index(b []byte) error {
	var top struct {
		Watching json.RawMessage `json:"watching"`
		Settings struct {
			Requests    fields `json:"requests"`
			Application struct {
				Tags map[string]fields `json:"tags"`
			} `json:"application"`
		} `json:"settings"`
	}
	if err := json.Unmarshal(b, &top); err != nil {
		return fmt.Errorf("%w: it is no file of changedetection.io: %w", ErrInvalid, err)
	}
	maps.Copy(bk.tags, top.Settings.Application.Tags)
	if top.Settings.Requests != nil {
		bk.requests = top.Settings.Requests
	}
	if len(top.Watching) == 0 || string(top.Watching) == "null" {
		return nil
	}
	return bk.inOrder(top.Watching)
}

// inOrder reads the watches as they stand: a map would shuffle the report.
func (bk *backup) inOrder(b []byte) error {
	bad := func(err error) error { return fmt.Errorf("%w: its watches cannot be read: %w", ErrInvalid, err) }
	dec := json.NewDecoder(bytes.NewReader(b))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return bad(fmt.Errorf("they are no object: %w", err))
	}
	for dec.More() {
		id, err := dec.Token()
		if err != nil {
			return bad(err)
		}
		var w fields
		if err := dec.Decode(&w); err != nil {
			return bad(err)
		}
		bk.put(fmt.Sprint(id), w)
	}
	return nil
}

// text returns a member that is a text; "" for anything else.
func (f fields) text(name string) string {
	var s string
	_ = json.Unmarshal(f[name], &s) // what is no text is none
	return strings.TrimSpace(s)
}

// number returns a member that is a number, or a text that is one, as it is written.
func (f fields) number(name string) string {
	var n json.Number
	if json.Unmarshal(f[name], &n) == nil && n.String() != "" {
		return n.String()
	}
	return f.text(name)
}

// truth returns a member that is a truth value.
func (f fields) truth(name string, unsaid bool) bool {
	var b *bool
	if json.Unmarshal(f[name], &b) != nil || b == nil {
		return unsaid
	}
	return *b
}

// texts returns a member that is a list of texts, without empty ones.
func (f fields) texts(name string) []string {
	var list []string
	if json.Unmarshal(f[name], &list) != nil {
		if s := f.text(name); s != "" {
			list = []string{s}
		}
	}
	return slices.DeleteFunc(list, func(s string) bool { return strings.TrimSpace(s) == "" })
}

// object returns a member that is an object.
func (f fields) object(name string) fields {
	var o fields
	_ = json.Unmarshal(f[name], &o)
	return o
}

// says reports whether a member says anything at all.
func (f fields) says(name string) bool {
	switch strings.Join(strings.Fields(string(f[name])), "") {
	case "", "null", `""`, "[]", "{}", "false", "0":
		return false
	}
	return true
}
