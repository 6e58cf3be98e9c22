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
	"regexp"
	"slices"

	"github.com/lastlook/lastlook/watch"
)

// TopicKind is who judges a topic.
type TopicKind string

// The kinds of topics.
const (
	// TopicCallback is judged by a program that is asked.
	TopicCallback TopicKind = "callback"
	// TopicDeclared is judged by a condition on what a source sees.
	TopicDeclared TopicKind = "declared"
)

// ErrUnknownTopic says that no topic has the name given.
var ErrUnknownTopic = errors.New("config: unknown topic")

// Topic is how one topic is set up. What each kind makes of it, its own package
// checks.
type Topic struct {
	Name string    `json:"name"`
	Kind TopicKind `json:"kind"`
	// Owner is whose it is; "" is the operator.
	Owner string `json:"owner,omitzero"`
	// Private says that the operator typed the address: it may lead into a
	// private network.
	Private bool `json:"private,omitzero"`
	// Channels are those that may be told through.
	Channels []string `json:"channels"`
	// Window is how often a key may be told, as lastlook.ParseWindows reads it.
	Window     string `json:"window,omitzero"`
	TTLSeconds int    `json:"ttl_seconds,omitzero"`
	URL        string `json:"url"`
	// Secret signs the questions of a callback; Batch is how many subjects one
	// asks about.
	Secret string `json:"secret,omitzero"`
	Batch  int    `json:"batch,omitzero"`
	// What follows is for declared topics.
	Source  string        `json:"source,omitzero"`
	Options watch.Options `json:"options,omitzero"`
	When    string        `json:"when,omitzero"`
	Title   string        `json:"title,omitzero"`
	Body    string        `json:"body,omitzero"`
	Link    string        `json:"link,omitzero"`
	// Removed says that only its name is kept: the notifications that there were
	// stay its owner's, so that nobody else may ever have the name.
	Removed bool `json:"removed,omitzero"`
}

// String shows a topic without its secrets.
func (t Topic) String() string {
	return fmt.Sprintf("topic %q of %q, %s at %s", t.Name, t.Owner, t.Kind, RedactURL(t.URL))
}

// GoString is String: %#v shows no secrets either.
func (t Topic) GoString() string { return t.String() }

// Format keeps every verb from showing secrets.
func (t Topic) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(t.String())) }

// Live returns the topics that are not removed.
func (ts Topics) Live() Topics {
	return slices.DeleteFunc(slices.Clone(ts), func(t Topic) bool { return t.Removed })
}

// MaxTopics bounds the topics of one owner.
const MaxTopics = 100

var topicRule = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// Topics are the topics set up, sorted by name.
type Topics []Topic

// Get returns the topic named.
func (ts Topics) Get(name string) (Topic, bool) {
	i := slices.IndexFunc(ts, func(t Topic) bool { return t.Name == name })
	if i < 0 {
		return Topic{}, false
	}
	return ts[i], true
}

// Put returns the topics with one more, or with one in another's place.
func (ts Topics) Put(t Topic) (Topics, error) {
	if !topicRule.MatchString(t.Name) {
		return nil, fmt.Errorf("%w: a topic's name is up to 63 small letters, digits, dots, dashes and underscores", ErrInvalid)
	}
	old, there := ts.Get(t.Name)
	if there && old.Owner != t.Owner {
		return nil, fmt.Errorf("%w: the name is taken: choose another", ErrInvalid)
	}
	n := 0
	for _, o := range ts {
		if o.Owner == t.Owner && !o.Removed {
			n++
		}
	}
	if (!there || old.Removed) && n >= MaxTopics {
		return nil, fmt.Errorf("%w: there are %d topics: remove one that is not needed any more", ErrInvalid, n)
	}
	out := slices.DeleteFunc(slices.Clone(ts), func(o Topic) bool { return o.Name == t.Name })
	out = append(out, t)
	slices.SortFunc(out, func(a, b Topic) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// Remove returns the topics with nothing but the name of the one given.
func (ts Topics) Remove(name string) (Topics, error) {
	t, ok := ts.Get(name)
	if !ok || t.Removed {
		return nil, fmt.Errorf("%w: there is no topic %q", ErrUnknownTopic, name)
	}
	out := slices.Clone(ts)
	for i := range out {
		if out[i].Name == name {
			out[i] = Topic{Name: name, Kind: t.Kind, Owner: t.Owner, Channels: []string{}, Removed: true}
		}
	}
	return out, nil
}

// topicsFile is the form of the file; secrets stand in it as they are.
type topicsFile struct {
	Version int     `json:"version"`
	Topics  []Topic `json:"topics"`
}

// TopicsFile returns the path of the file that holds the topics.
func (d Dir) TopicsFile() string { return d.file("topics.json") }

// Topics reads the topics; a missing file means that there are none.
func (d Dir) Topics() (Topics, error) {
	b, err := os.ReadFile(d.TopicsFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the topics: %w", err)
	}
	var f topicsFile
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	err = dec.Decode(&f)
	switch {
	case f.Version > fileVersion:
		return nil, fmt.Errorf("%s: %w: a newer lastlook wrote this file: run that one", d.TopicsFile(), ErrInvalid)
	case err != nil:
		return nil, fmt.Errorf("%s: %w: correct the file: %w", d.TopicsFile(), ErrInvalid, err)
	case !atEnd(dec):
		return nil, fmt.Errorf("%s: %w: correct the file: something follows the object", d.TopicsFile(), ErrInvalid)
	}
	return f.Topics, nil
}

// UpdateTopics changes the topics by a function, one process at a time. The file
// is replaced in one step, and is its owner's alone.
func (d Dir) UpdateTopics(ctx context.Context, change func(Topics) (Topics, error)) error {
	unlock, err := d.lock(ctx, d.TopicsFile(), "the topics")
	if err != nil {
		return err
	}
	return errors.Join(d.updateTopics(change), unlock())
}

func (d Dir) updateTopics(change func(Topics) (Topics, error)) error {
	old, err := d.Topics()
	if err != nil {
		return err
	}
	changed, err := change(old)
	if err != nil {
		return err
	}
	b, err := json.MarshalIndent(topicsFile{Version: fileVersion, Topics: append(Topics{}, changed...)}, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the topics: %w", err)
	}
	return replaceFile(d.TopicsFile(), append(b, '\n'))
}
