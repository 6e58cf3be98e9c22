package config

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"
)

// The sources whose services answer only to those with a key of their own.
const (
	SourceRakuten = "rakuten"
	SourceYahoo   = "yahoo"
)

// KeyedSources returns the names of the sources that need a key.
func KeyedSources() []string { return []string{SourceRakuten, SourceYahoo} }

// SourceKey is what a service gave the operator to ask it with.
type SourceKey struct {
	Source string
	// ID says who asks: Rakuten's application ID, Yahoo!'s client ID. It is as
	// good as a key: whoever has it asks in the operator's name.
	ID Secret
	// Key is Rakuten's access key.
	Key Secret
	// Site is the web site that was registered with Rakuten's keys.
	Site string
}

// Validate reports what is wrong with a key, wrapping [ErrInvalid]. What only
// the source's own package knows, that package checks.
func (k SourceKey) Validate() error {
	u, err := url.Parse(k.Site)
	switch {
	case !slices.Contains(KeyedSources(), k.Source):
		return fmt.Errorf("%w: the source %.40q takes no key: those that do are %s", ErrInvalid, k.Source, strings.Join(KeyedSources(), ", "))
	case k.Source == SourceRakuten && (k.ID == "" || k.Key == ""):
		return fmt.Errorf("%w: the source %q needs the application ID and the access key: get them at webservice.rakuten.co.jp", ErrInvalid, k.Source)
	case k.Source == SourceYahoo && k.ID == "":
		return fmt.Errorf("%w: the source %q needs the client ID: get one at developer.yahoo.co.jp", ErrInvalid, k.Source)
	case k.Source == SourceYahoo && (k.Key != "" || k.Site != ""):
		return fmt.Errorf("%w: the source %q takes a client ID and nothing else", ErrInvalid, k.Source)
	case k.Site != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil):
		return fmt.Errorf("%w: the site must be an http or https address, such as https://you.example/", ErrInvalid)
	}
	return nil
}

// ReadSourceKey reads a source's key from what the operator keeps it in: a line
// for each of its parts, the ID first.
func ReadSourceKey(source, text string) (SourceKey, error) {
	k := SourceKey{Source: source}
	parts := strings.Fields(text)
	want, what := 1, "the client ID, on one line,"
	if source == SourceRakuten {
		want, what = 2, "the application ID and the access key, on one line each,"
	}
	if len(parts) == want {
		k.ID = Secret(parts[0])
		if len(parts) > 1 {
			k.Key = Secret(parts[1])
		}
		return k, k.Validate()
	}
	if !slices.Contains(KeyedSources(), source) { // the first thing to be said
		return SourceKey{}, k.Validate()
	}
	// Never with what was read.
	return SourceKey{}, fmt.Errorf("%w: for the source %q, write %s and nothing else", ErrInvalid, source, what)
}

// SourceKeys are the keys that are set, sorted by their sources.
type SourceKeys []SourceKey

// Of returns the key of a source, and whether it has one.
func (s SourceKeys) Of(source string) (SourceKey, bool) {
	i := slices.IndexFunc(s, func(k SourceKey) bool { return k.Source == source })
	if i < 0 {
		return SourceKey{}, false
	}
	return s[i], true
}

// Set returns the keys with one more, in the place of the one that its source
// had.
func (s SourceKeys) Set(k SourceKey) (SourceKeys, error) {
	if err := k.Validate(); err != nil {
		return nil, err
	}
	out := append(s.without(k.Source), k)
	slices.SortFunc(out, func(a, b SourceKey) int { return cmp.Compare(a.Source, b.Source) })
	return out, nil
}

// Remove returns the keys without that of a source.
func (s SourceKeys) Remove(source string) (SourceKeys, error) {
	if _, ok := s.Of(source); !ok {
		return nil, fmt.Errorf("%w: the source %.40q has no key: lastlook source list shows those that have one", ErrInvalid, source)
	}
	return s.without(source), nil
}

func (s SourceKeys) without(source string) SourceKeys {
	return slices.DeleteFunc(slices.Clone(s), func(k SourceKey) bool { return k.Source == source })
}

// SourcesFile returns the path of the file that holds the sources' keys.
func (d Dir) SourcesFile() string { return d.file("sources.json") }

// sourcesFile is the form of the file; secrets stand in it as they are.
type sourcesFile struct {
	Version int          `json:"version"`
	Sources []fileSource `json:"sources"`
}

type fileSource struct {
	Name string `json:"name"`
	ID   string `json:"id"`
	Key  string `json:"key,omitzero"`
	Site string `json:"site,omitzero"`
}

// SourceKeys reads the keys; a missing file means that there are none.
func (d Dir) SourceKeys() (SourceKeys, error) {
	b, err := os.ReadFile(d.SourcesFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the sources' keys: %w", err)
	}
	s, err := decodeSources(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.SourcesFile(), err)
	}
	return s, nil
}

func decodeSources(b []byte) (SourceKeys, error) {
	var f sourcesFile
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	err := dec.Decode(&f)
	switch {
	case f.Version > fileVersion:
		return nil, fmt.Errorf("%w: a newer lastlook wrote this file: run that one", ErrInvalid)
	case err != nil: // which names no values, see decodeChannels
		return nil, fmt.Errorf("%w: correct the file: %w", ErrInvalid, err)
	case !atEnd(dec):
		return nil, fmt.Errorf("%w: correct the file: something follows the object", ErrInvalid)
	case f.Version < 1:
		return nil, fmt.Errorf("%w: correct the file: \"version\" is missing: it is %d", ErrInvalid, fileVersion)
	}
	var out SourceKeys
	for _, s := range f.Sources {
		if _, twice := out.Of(s.Name); twice {
			return nil, fmt.Errorf("%w: correct the file: it has the source %.40q twice", ErrInvalid, s.Name)
		}
		if out, err = out.Set(SourceKey{Source: s.Name, ID: Secret(s.ID), Key: Secret(s.Key), Site: s.Site}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// UpdateSourceKeys changes the keys by a function, one process at a time. The
// file is its owner's alone, and replaced in one step.
func (d Dir) UpdateSourceKeys(ctx context.Context, change func(SourceKeys) (SourceKeys, error)) error {
	unlock, err := d.lock(ctx, d.SourcesFile(), "the sources' keys")
	if err != nil {
		return err
	}
	return errors.Join(d.updateSourceKeys(change), unlock())
}

func (d Dir) updateSourceKeys(change func(SourceKeys) (SourceKeys, error)) error {
	old, err := d.SourceKeys()
	if err != nil {
		return err
	}
	changed, err := change(old)
	if err != nil {
		return err
	}
	f := sourcesFile{Version: fileVersion, Sources: []fileSource{}}
	for _, k := range changed {
		f.Sources = append(f.Sources, fileSource{Name: k.Source, ID: string(k.ID), Key: string(k.Key), Site: k.Site})
	}
	b, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the sources' keys: %w", err)
	}
	return replaceFile(d.SourcesFile(), append(b, '\n'))
}
