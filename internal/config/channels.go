package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Kind is a kind of channel.
type Kind string

// The kinds of channels.
const (
	KindLog     Kind = "log"
	KindWebhook Kind = "webhook"
	KindNtfy    Kind = "ntfy"
	// KindService is whatever its address names: tgram://token/chat.
	KindService Kind = "service"
)

// LogChannel is the name of the channel that is always there: it writes
// messages to the log.
const LogChannel = "log"

// PushChannel is the name of the channel that pushes to devices. It is there as
// soon as there are VAPID keys.
const PushChannel = "push"

// ErrUnknownChannel says that no channel has the name given.
var ErrUnknownChannel = errors.New("config: unknown channel")

// Channel is how one channel is set up.
type Channel struct {
	Name string
	Kind Kind
	URL  string
	// Secret signs a webhook's calls.
	Secret Secret
	// Token authenticates to an ntfy server.
	Token Secret
	// Address names a service, and has all that it wants. It takes the place of
	// URL.
	Address Secret
}

// Leads returns where the channel leads, without what may be secret in it.
func (c Channel) Leads() string {
	if c.Kind != KindService {
		return RedactURL(c.URL)
	}
	scheme, _, found := strings.Cut(string(c.Address), "://")
	if !found || len(scheme) > 12 {
		return redacted
	}
	return scheme + "://…"
}

var nameRule = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// Validate reports what is wrong with a channel, wrapping [ErrInvalid]. What
// only the channel's own package knows, that package checks.
func (c Channel) Validate() error {
	switch {
	case !nameRule.MatchString(c.Name):
		return fmt.Errorf("%w: %q is no channel name: use small letters, digits, dots, dashes and underscores", ErrInvalid, c.Name)
	case c.Name == PushChannel:
		return fmt.Errorf("%w: the channel %q is the one that pushes to devices: choose another name", ErrInvalid, c.Name)
	case c.Name == LogChannel:
		return fmt.Errorf("%w: the channel %q is always there, and cannot be set up anew or removed: choose another name", ErrInvalid, c.Name)
	}
	switch c.Kind {
	case KindWebhook:
		if c.Secret == "" {
			return fmt.Errorf("%w: the webhook channel %q has no secret to sign with", ErrInvalid, c.Name)
		}
	case KindNtfy:
	case KindService:
		if c.Address == "" || c.URL != "" {
			return fmt.Errorf("%w: channel %q needs an address such as tgram://token/chat, and no URL besides", ErrInvalid, c.Name)
		}
		return nil
	case KindLog:
		return fmt.Errorf("%w: channel %q: the only log channel is %q", ErrInvalid, c.Name, LogChannel)
	default:
		return fmt.Errorf("%w: channel %q is of the kind %q: known are webhook, ntfy and service", ErrInvalid, c.Name, c.Kind)
	}
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return fmt.Errorf("%w: channel %q needs an http or https address, such as https://hooks.example/lastlook", ErrInvalid, c.Name)
	}
	return nil
}

// Channels are the channels set up, sorted by name, without [LogChannel].
type Channels []Channel

// Names returns the names of all channels that can be told through, with
// [LogChannel].
func (c Channels) Names() []string {
	names := []string{LogChannel}
	for _, ch := range c {
		names = append(names, ch.Name)
	}
	slices.Sort(names)
	return names
}

// Check reports, wrapping [ErrUnknownChannel], the first name that no channel
// has.
func (c Channels) Check(names ...string) error {
	for _, n := range names {
		if !slices.Contains(c.Names(), n) {
			return fmt.Errorf("%w: there is no channel %q; known are %s: add it with lastlook channel add",
				ErrUnknownChannel, n, strings.Join(c.Names(), ", "))
		}
	}
	return nil
}

// Add returns the channels with one more.
func (c Channels) Add(ch Channel) (Channels, error) {
	if err := ch.Validate(); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(c, func(o Channel) bool { return o.Name == ch.Name }) {
		return nil, fmt.Errorf("%w: there is a channel %q already: remove it first, or choose another name", ErrInvalid, ch.Name)
	}
	out := append(slices.Clone(c), ch)
	slices.SortFunc(out, func(a, b Channel) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// Remove returns the channels without the one named.
func (c Channels) Remove(name string) (Channels, error) {
	if name == LogChannel {
		return nil, fmt.Errorf("%w: the channel %q is always there and cannot be removed", ErrInvalid, name)
	}
	if err := c.Check(name); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(c), func(ch Channel) bool { return ch.Name == name }), nil
}

// fileVersion is the version of the file's form.
const fileVersion = 1

// channelsFile is the form of the file; secrets stand in it as they are.
type channelsFile struct {
	Version  int           `json:"version"`
	Channels []fileChannel `json:"channels"`
}

type fileChannel struct {
	Name   string `json:"name"`
	Kind   Kind   `json:"kind"`
	URL    string `json:"url,omitzero"`
	Secret string `json:"secret,omitzero"`
	Token  string `json:"token,omitzero"`
	// Address is a service's.
	Address string `json:"address,omitzero"`
}

// Channels reads the channels; a missing file means that there are none.
func (d Dir) Channels() (Channels, error) {
	b, err := os.ReadFile(d.ChannelsFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the channels: %w", err)
	}
	c, err := decodeChannels(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.ChannelsFile(), err)
	}
	return c, nil
}

func decodeChannels(b []byte) (Channels, error) {
	var f channelsFile
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	err := dec.Decode(&f)
	switch {
	case f.Version > fileVersion:
		return nil, fmt.Errorf("%w: a newer lastlook wrote this file: run that one", ErrInvalid)
	case err != nil:
		// The decoder's errors name fields and positions, never values of
		// strings, so no secret gets out.
		return nil, fmt.Errorf("%w: correct the file: %w", ErrInvalid, err)
	case !atEnd(dec):
		return nil, fmt.Errorf("%w: correct the file: something follows the object", ErrInvalid)
	case f.Version < 1:
		return nil, fmt.Errorf("%w: correct the file: \"version\" is missing: it is %d", ErrInvalid, fileVersion)
	}
	var out Channels
	for _, fc := range f.Channels {
		ch := Channel{Name: fc.Name, Kind: fc.Kind, URL: fc.URL, Secret: Secret(fc.Secret), Token: Secret(fc.Token), Address: Secret(fc.Address)}
		if out, err = out.Add(ch); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func atEnd(dec *json.Decoder) bool {
	_, err := dec.Token()
	return errors.Is(err, io.EOF)
}

func encodeChannels(c Channels) ([]byte, error) {
	f := channelsFile{Version: fileVersion, Channels: []fileChannel{}}
	for _, ch := range c {
		f.Channels = append(f.Channels, fileChannel{Name: ch.Name, Kind: ch.Kind, URL: ch.URL, Secret: string(ch.Secret), Token: string(ch.Token), Address: string(ch.Address)})
	}
	b, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the channels: %w", err)
	}
	return append(b, '\n'), nil
}
