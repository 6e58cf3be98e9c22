package config

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/lastlook/lastlook/internal/lanes"
)

// Person is when, and how often, a recipient wants to be told.
type Person struct {
	Name string
	// Zone is an IANA time zone; empty means UTC.
	Zone string
	// Quiet are the hours in which they are not told, such as 22:00-07:00.
	Quiet string
	// PerDay bounds the messages of a day; 0 means no bound.
	PerDay int
}

// Lanes returns what a gate asks for, and reports, wrapping [ErrInvalid], what
// is wrong.
func (p Person) Lanes() (lanes.Person, error) {
	bad := func(err error) (lanes.Person, error) {
		return lanes.Person{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	switch {
	case p.Name == "" || strings.ContainsFunc(p.Name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return bad(fmt.Errorf("%q is no recipient", p.Name))
	case p.PerDay < 0:
		return bad(errors.New("the messages of a day cannot be negative: use 0 for no bound"))
	case strings.EqualFold(p.Zone, "local"):
		return bad(errors.New("the zone must be an IANA time zone such as Europe/Berlin"))
	}
	zone, err := time.LoadLocation(p.Zone)
	if err != nil {
		return bad(fmt.Errorf("the zone %q is unknown: use an IANA time zone such as Europe/Berlin", p.Zone))
	}
	quiet, err := lanes.ParseQuiet(p.Quiet)
	if err != nil {
		return bad(err)
	}
	return lanes.Person{Zone: zone, Quiet: quiet, PerDay: p.PerDay}, nil
}

// People are recipients who have asked for something, sorted by name.
type People []Person

// Of returns what a recipient asks for.
func (p People) Of(name string) (Person, bool) {
	i := slices.IndexFunc(p, func(o Person) bool { return o.Name == name })
	if i < 0 {
		return Person{}, false
	}
	return p[i], true
}

// Set returns the people with one more, or one changed.
func (p People) Set(one Person) (People, error) {
	if _, err := one.Lanes(); err != nil {
		return nil, err
	}
	out := append(p.without(one.Name), one)
	slices.SortFunc(out, func(a, b Person) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// Remove returns the people without one.
func (p People) Remove(name string) (People, error) {
	if _, ok := p.Of(name); !ok {
		return nil, fmt.Errorf("%w: nothing is set for the recipient %q: lastlook recipient list shows those for whom there is", ErrInvalid, name)
	}
	return p.without(name), nil
}

func (p People) without(name string) People {
	return slices.DeleteFunc(slices.Clone(p), func(o Person) bool { return o.Name == name })
}

// PeopleFile returns the path of the file that holds what recipients ask for.
func (d Dir) PeopleFile() string { return d.file("recipients.json") }

type peopleFile struct {
	Version    int          `json:"version"`
	Recipients []filePerson `json:"recipients"`
}

type filePerson struct {
	Name   string `json:"name"`
	Zone   string `json:"zone,omitzero"`
	Quiet  string `json:"quiet,omitzero"`
	PerDay int    `json:"per_day,omitzero"`
}

// People reads what recipients ask for; a missing file means nothing.
func (d Dir) People() (People, error) {
	b, err := os.ReadFile(d.PeopleFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the recipients: %w", err)
	}
	p, err := decodePeople(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.PeopleFile(), err)
	}
	return p, nil
}

func decodePeople(b []byte) (People, error) {
	var f peopleFile
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	err := dec.Decode(&f)
	switch {
	case f.Version > fileVersion:
		return nil, fmt.Errorf("%w: a newer lastlook wrote this file: run that one", ErrInvalid)
	case err != nil:
		return nil, fmt.Errorf("%w: correct the file: %w", ErrInvalid, err)
	case !atEnd(dec):
		return nil, fmt.Errorf("%w: correct the file: something follows the object", ErrInvalid)
	case f.Version < 1:
		return nil, fmt.Errorf("%w: correct the file: \"version\" is missing: it is %d", ErrInvalid, fileVersion)
	}
	var out People
	for _, p := range f.Recipients {
		if _, twice := out.Of(p.Name); twice {
			return nil, fmt.Errorf("%w: correct the file: the recipient %q stands in it twice", ErrInvalid, p.Name)
		}
		if out, err = out.Set(Person(p)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// UpdatePeople changes what recipients ask for by a function, one process at a
// time.
func (d Dir) UpdatePeople(ctx context.Context, change func(People) (People, error)) error {
	unlock, err := d.lock(ctx, d.PeopleFile(), "the recipients")
	if err != nil {
		return err
	}
	return errors.Join(d.updatePeople(change), unlock())
}

func (d Dir) updatePeople(change func(People) (People, error)) error {
	old, err := d.People()
	if err != nil {
		return err
	}
	changed, err := change(old)
	if err != nil {
		return err
	}
	f := peopleFile{Version: fileVersion, Recipients: []filePerson{}}
	for _, p := range changed {
		f.Recipients = append(f.Recipients, filePerson(p))
	}
	b, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the recipients: %w", err)
	}
	return replaceFile(d.PeopleFile(), append(b, '\n'))
}

// LanesFile returns the path of the file that says which lanes do not work.
func (d Dir) LanesFile() string { return d.file("lanes.json") }

// WriteLanes replaces that file.
func (d Dir) WriteLanes(content []byte) error { return replaceFile(d.LanesFile(), content) }

// ResumeFile returns the path of the file that is written when an operator asks
// for waiting lanes to be tried at once.
func (d Dir) ResumeFile() string { return d.file("resume.stamp") }

// Resume writes it.
func (d Dir) Resume(now time.Time) error {
	return replaceFile(d.ResumeFile(), []byte(now.UTC().Format(time.RFC3339Nano)+"\n"))
}
