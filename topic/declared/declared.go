// Package declared makes topics that are described, not programmed: what to look
// at, where the value stands there, when it is to be told, and in which words.
//
// A look goes to the address with the subject in the place of {subject}, through
// one of the sources of watches. What it sees has a value: what the source's
// value path found, or else the price's amount. The condition is CEL on now, the
// value just seen, and last, the value last told (null before that); without one,
// whatever is seen is told. It holds: the message is made from its templates. It
// does not: the notification is dropped. It comes to neither, or nothing could be
// seen: nobody knows, and it is tried again.
package declared

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/condition"
)

// place is where the subject stands in an address.
const place = "{subject}"

// Config describes the topic.
type Config struct {
	// Name is the topic's name.
	Name string
	// URL is what to look at; {subject} in its path or query is the subject.
	URL string
	// Source looks, as Options say. Kind is its name.
	Source  watch.Source
	Kind    string
	Options watch.Options
	// Private says that the address may lead into a private network.
	Private bool
	// When is the condition; "" tells whatever is seen.
	When string
	// Title, Body and Link are the message's templates; see [Fields].
	Title, Body, Link string
	// Windows and TTL are the topic's; the default is [lastlook.Always].
	Windows lastlook.Windows
	TTL     time.Duration
}

// topic looks and judges.
type topic struct {
	cfg  Config
	when *condition.Condition // nil: always
}

// New makes the topic. It looks at nothing.
func New(c Config) (lastlook.Topic[Value], error) {
	none := lastlook.Topic[Value]{}
	invalid := func(err error) error {
		return fmt.Errorf("%w: the declared topic %q: %w", lastlook.ErrInvalid, c.Name, err)
	}
	if c.Source == nil {
		return none, invalid(fmt.Errorf("there is no source %q", c.Kind))
	}
	if err := checkURL(c.URL); err != nil {
		return none, invalid(err)
	}
	t := &topic{cfg: c}
	if strings.TrimSpace(c.When) != "" {
		var err error
		if t.when, err = condition.Compile(c.When); err != nil {
			return none, invalid(err)
		}
	}
	if strings.TrimSpace(c.Title) == "" {
		return none, invalid(errors.New("a message needs a title, such as \"{subject}: {now}\""))
	}
	for _, text := range []string{c.Title, c.Body, c.Link} {
		if err := checkTemplate(text); err != nil {
			return none, invalid(err)
		}
	}
	if t.cfg.Windows.IsZero() {
		t.cfg.Windows = lastlook.Always()
	}
	return lastlook.Topic[Value]{Name: c.Name, LookOne: t.look, Judge: t.judge, Word: t.word, Windows: t.cfg.Windows, TTL: c.TTL}, nil
}

// checkURL makes sure that no subject leads to another host.
func checkURL(text string) error {
	bad := errors.New("it needs an http or https address, in which {subject} may stand in the path or the query, such as https://shop.example/api/orders/{subject}")
	u, err := url.Parse(strings.ReplaceAll(text, place, "x"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return bad
	}
	authority, _, _ := strings.Cut(strings.TrimPrefix(text, u.Scheme+"://"), "/")
	if before, _, _ := strings.Cut(authority, "?"); strings.Contains(before, place) || !strings.HasPrefix(text, u.Scheme+"://") {
		return bad
	}
	return nil
}

// address returns what to look at for a subject.
func (t *topic) address(subject string) (string, error) {
	if subject == "." || subject == ".." {
		return "", fmt.Errorf("the subject %q cannot stand in an address", subject)
	}
	path, query, has := strings.Cut(t.cfg.URL, "?")
	out := strings.ReplaceAll(path, place, url.PathEscape(subject))
	if has {
		out += "?" + strings.ReplaceAll(query, place, url.QueryEscape(subject))
	}
	return out, nil
}

func (t *topic) look(ctx context.Context, subject string) (Value, error) {
	address, err := t.address(subject)
	if err != nil {
		return Value{}, err
	}
	o, err := t.cfg.Source.Look(watch.AsLastLook(ctx), watch.Listing{Source: t.cfg.Kind, URL: address, Options: t.cfg.Options, Private: t.cfg.Private})
	if err != nil {
		return Value{}, err
	}
	return valueOf(&o, address)
}

func (t *topic) judge(c lastlook.Case[Value]) lastlook.Verdict {
	if t.when == nil {
		return lastlook.Send()
	}
	v := condition.Values{Now: c.Value.Now}
	if c.Baseline != nil {
		v.Last = c.Baseline.Now
	}
	holds, err := t.when.Holds(v)
	switch {
	case err != nil:
		return lastlook.CannotTell(err.Error())
	case !holds:
		return lastlook.Drop(lastlook.ReasonConditionLost)
	}
	return lastlook.Send()
}

func (t *topic) word(c lastlook.Case[Value]) lastlook.Message {
	link := c.Value.URL
	if t.cfg.Link != "" {
		link = fill(t.cfg.Link, c, url.QueryEscape)
	}
	return lastlook.Message{Title: fill(t.cfg.Title, c, plain), Body: fill(t.cfg.Body, c, plain), URL: link, Data: c.Value.Now}
}

// valueOf is what an observation comes to.
func valueOf(o *watch.Observation, address string) (Value, error) {
	v := Value{Now: o.Value, Availability: string(o.Availability), Title: o.Title, URL: address}
	if !o.Price.IsZero() {
		v.Price, v.Currency = o.Price.Amount().Trim(0).String(), o.Price.Currency()
		if v.Now == nil {
			v.Now = json.RawMessage(v.Price)
		}
	}
	if v.Now == nil {
		return v, errors.New("there is no value there: name where it stands with the option value_path, or price_path")
	}
	return v, nil
}
