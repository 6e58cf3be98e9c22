package lastlook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Topic is a kind of alert: how to look at a subject, how to judge what was
// seen, how to word it. V is the value looked at; it must survive a round trip
// through encoding/json. Register topics in [Config.Topics]; a process that
// only enqueues needs no more than a [Handle].
//
// The functions are called by any number of goroutines at once. Judge, Word,
// Assert, Same and Episode are pure: they depend on their argument alone and
// change nothing, since a row may be judged several times.
type Topic[V any] struct {
	// Name identifies the topic in the store.
	Name string

	// Look fetches the current value of each subject, in order. It is called
	// once per batch and topic, with distinct subjects, so that a source which
	// serves many of them is asked once. An error wrapping [Gone] is the
	// definite answer that the item no longer exists (the row is dropped);
	// [ErrNotLooked] gives the row back as it was; every other error means that
	// nobody knows (the row is tried again).
	Look func(ctx context.Context, subjects []string) []Looked[V]
	// LookOne is the alternative to Look for sources that know one subject at
	// a time; up to LookConcurrency (default 8) calls run at once, and fast
	// ones do not wait for slow ones.
	LookOne         func(ctx context.Context, subject string) (V, error)
	LookConcurrency int

	// Active, if set, says per subject whether it is still wanted: "" if so,
	// otherwise why not ([ReasonWatchRemoved] or [ReasonListingPaused]). It is
	// asked under the claim, before the look.
	Active func(ctx context.Context, subjects []string) ([]Reason, error)

	// Judge asks the question of the value just looked at.
	Judge func(c Case[V]) Verdict
	// Word writes the message from that value.
	Word func(c Case[V]) Message

	// Assert, if set, says what a message asserts, which becomes the baseline
	// on delivery; the default is the value looked at.
	Assert func(c Case[V]) V
	// Same, if set, returns the part of an asserted value by which a resend of
	// the same assertion is recognized; the default is the whole.
	Same func(v V) any

	// Windows says how often a key may be told. Required.
	Windows Windows
	// Episode gives the episode's number for [Episodes]; the default is the
	// item's own number.
	Episode func(v V) int64

	// TTL is the expiry of items made by [Topic.Item]; 0 means [DefaultExpiry].
	TTL time.Duration
	// Policy holds the numbers; its zero fields mean the defaults.
	Policy Policy
}

// Looked is what a look at one subject gave.
type Looked[V any] struct {
	Value V
	// At is how old the value is, for sources that serve copies; zero means
	// the moment at which the look was started.
	At  time.Time
	Err error
}

// Case is what a topic judges and words.
type Case[V any] struct {
	Key Key
	// Detection is what was noticed when the row was written. It is for
	// comparison only: nothing is to be asserted from it.
	Detection V
	// Value is the value now, LookedAt when it was looked at.
	Value    V
	LookedAt time.Time
	// Baseline is the value last told, BaselineAt when; nil if never. Under
	// [AtMostOnce] an assertion whose delivery is unknown counts as told.
	Baseline   *V
	BaselineAt time.Time
	// Maybe is the value of the last assertion if its delivery is unknown.
	Maybe *V
	// Window is the round of telling that a message would belong to.
	Window Window
	// Episode is the item's episode number.
	Episode int64
	// Attempt counts from 1.
	Attempt int
	// Now is the time of the judgement.
	Now time.Time
}

type verdictKind uint8

const (
	verdictNone verdictKind = iota
	verdictSend
	verdictDrop
	verdictDefer
	verdictUnknown
)

// Verdict is the answer to "is it still true?". The zero value is no answer.
type Verdict struct {
	kind   verdictKind
	reason Reason
	until  time.Time
	note   string
}

// Send says that it holds: tell.
func Send() Verdict { return Verdict{kind: verdictSend} }

// Drop says that it is not to be told: it does not hold ([ReasonConditionLost],
// [ReasonOutOfStock], [ReasonGone]), or it is no news ([ReasonAlreadyTold]).
func Drop(reason Reason) Verdict { return Verdict{kind: verdictDrop, reason: reason} }

// Defer says that the answer must wait, for example for a second reading.
func Defer(until time.Time) Verdict { return Verdict{kind: verdictDefer, until: until} }

// CannotTell says that the value does not answer the question, for example
// because the availability is missing. The row is tried again.
func CannotTell(why string) Verdict { return Verdict{kind: verdictUnknown, note: why} }

// Because adds a note for the row's story.
func (v Verdict) Because(note string) Verdict {
	v.note = note
	return v
}

// Target says whom an item is about and whom it goes to.
type Target struct {
	Subject, Recipient, Channel string
}

// Handle enqueues items of a topic that is looked at elsewhere.
type Handle[V any] struct {
	// Name is the topic's name.
	Name string
}

// Item returns the item that says: v was seen at the subject, tell the
// recipient if it is still true. Its further fields may then be set.
func (h Handle[V]) Item(to Target, v V) (Item, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return Item{}, fmt.Errorf("%w: encode the detection of %s/%s: %w", ErrInvalid, h.Name, to.Subject, err)
	}
	return Item{Key: Key{Topic: h.Name, Subject: to.Subject, Recipient: to.Recipient, Channel: to.Channel}, Detection: b}, nil
}

// Item is [Handle.Item] with the topic's window policy, episode and expiry.
func (t Topic[V]) Item(to Target, v V) (Item, error) {
	it, err := Handle[V]{Name: t.Name}.Item(to, v)
	if err != nil {
		return Item{}, err
	}
	it.Windows, it.TTL = t.Windows, t.TTL
	if t.Episode != nil {
		it.Episode = t.Episode(v)
	}
	return it, nil
}

// Registration is a [Topic] of any value type.
type Registration interface {
	register() (*topic, error)
}

// topic is the untyped core of a Topic.
type topic struct {
	name            string
	policy          Policy
	windows         Windows
	look            func(ctx context.Context, subjects []string) []looked
	lookOne         func(ctx context.Context, subject string) looked
	lookConcurrency int
	active          func(ctx context.Context, subjects []string) ([]Reason, error)
	judge           func(r *Row, seen looked, now time.Time) (judgement, error)
}

// looked is a Looked of any type.
type looked struct {
	value any
	at    time.Time
	err   error
}

// judgement is what a topic says of one row and one look, as data.
type judgement struct {
	verdict Verdict
	window  Window
	// value is what was looked at, asserted what a message would assert.
	value, asserted json.RawMessage
	sameAsMaybe     bool
	message         Message
}

// errBadPayload marks stored JSON that the topic cannot decode.
var errBadPayload = errors.New("cannot decode")

func (t Topic[V]) register() (*topic, error) {
	if err := t.validate(); err != nil {
		return nil, err
	}
	policy, err := t.Policy.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("topic %q: %w", t.Name, err)
	}
	c := &topic{name: t.Name, policy: policy, windows: t.Windows, active: t.Active, judge: t.judge,
		lookConcurrency: orDefault(t.LookConcurrency, 8)}
	if t.Look != nil {
		c.look = func(ctx context.Context, subjects []string) []looked {
			res := t.Look(ctx, subjects)
			out := make([]looked, len(res))
			for i, r := range res {
				out[i] = looked{value: r.Value, at: r.At, err: r.Err}
			}
			return out
		}
	} else {
		c.lookOne = func(ctx context.Context, subject string) looked {
			v, err := t.LookOne(ctx, subject)
			return looked{value: v, err: err}
		}
	}
	return c, nil
}

func (t Topic[V]) validate() error {
	if err := validText("topic name", t.Name, MaxKeyPart); err != nil {
		return err
	}
	missing := ""
	switch {
	case t.Name == "":
		missing = "a Name"
	case (t.Look == nil) == (t.LookOne == nil):
		missing = "one of Look and LookOne"
	case t.Judge == nil:
		missing = "a Judge"
	case t.Word == nil:
		missing = "a Word"
	case t.Windows.IsZero():
		missing = "Windows: Once, Always, Day, Every or Episodes"
	case t.LookConcurrency < 0:
		missing = "a LookConcurrency of 0 (the default) or more"
	}
	if missing != "" {
		return fmt.Errorf("%w: topic %q needs %s", ErrInvalid, t.Name, missing)
	}
	if err := t.Windows.Validate(); err != nil {
		return fmt.Errorf("topic %q: %w", t.Name, err)
	}
	return nil
}

// judge decodes what the row holds, forms the window and asks the topic.
func (t Topic[V]) judge(r *Row, seen looked, now time.Time) (judgement, error) {
	c, err := t.newCase(r, seen, now)
	if err != nil {
		return judgement{}, err
	}
	j := judgement{window: c.Window, verdict: t.Judge(c)}
	if j.value, err = canonicalOf(c.Value); err != nil {
		return judgement{}, fmt.Errorf("encode the value looked at: %w", err)
	}
	if j.verdict.kind != verdictSend {
		return j, nil
	}
	asserted := c.Value
	j.asserted = j.value
	if t.Assert != nil {
		asserted = t.Assert(c)
		if j.asserted, err = canonicalOf(asserted); err != nil {
			return judgement{}, fmt.Errorf("encode the asserted value: %w", err)
		}
	}
	if j.sameAsMaybe, err = t.sameAsMaybe(asserted, j.asserted, r.KeyRow.Maybe); err != nil {
		return judgement{}, err
	}
	j.message = t.Word(c)
	return j, nil
}

func (t Topic[V]) newCase(r *Row, seen looked, now time.Time) (Case[V], error) {
	v, ok := seen.value.(V)
	if !ok {
		// A nil interface value of an interface type V, or a defect.
		var zero V
		if seen.value != nil {
			return Case[V]{}, fmt.Errorf("the look gave a %T, not a %T", seen.value, zero)
		}
	}
	c := Case[V]{Key: r.Key, Value: v, LookedAt: seen.at, Episode: r.Episode, Attempt: r.Attempt, Now: now, BaselineAt: r.KeyRow.BaselineAt}
	if err := json.Unmarshal(r.Detection, &c.Detection); err != nil {
		return c, fmt.Errorf("%w the detection: %w", errBadPayload, err)
	}
	var err error
	if c.Baseline, err = decodeOptional[V]("baseline", r.KeyRow.Baseline); err != nil {
		return c, err
	}
	if c.Maybe, err = decodeOptional[V]("maybe value", r.KeyRow.Maybe); err != nil {
		return c, err
	}
	if t.Policy.Guarantee == AtMostOnce && c.Maybe != nil {
		c.Baseline, c.BaselineAt = c.Maybe, r.KeyRow.ToldAt
	}
	episode := r.Episode
	if t.Episode != nil {
		episode = t.Episode(v)
	}
	c.Window = r.KeyRow.Told.Later(t.Windows.At(now, episode))
	return c, nil
}

func (t Topic[V]) sameAsMaybe(asserted V, canonical, maybe json.RawMessage) (bool, error) {
	if maybe == nil {
		return false, nil
	}
	if t.Same == nil {
		m, err := Canonical(maybe)
		return err == nil && string(m) == string(canonical), nil
	}
	old, err := decodeOptional[V]("maybe value", maybe)
	if err != nil {
		return false, err
	}
	a, err := canonicalOf(t.Same(asserted))
	if err != nil {
		return false, fmt.Errorf("encode the identity of the asserted value: %w", err)
	}
	b, err := canonicalOf(t.Same(*old))
	if err != nil {
		return false, fmt.Errorf("encode the identity of the maybe delivered value: %w", err)
	}
	return string(a) == string(b), nil
}

func decodeOptional[V any](what string, b json.RawMessage) (*V, error) {
	if b == nil {
		return nil, nil
	}
	v := new(V)
	if err := json.Unmarshal(b, v); err != nil {
		return nil, fmt.Errorf("%w the %s: %w", errBadPayload, what, err)
	}
	return v, nil
}

func canonicalOf(v any) (json.RawMessage, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return Canonical(b)
}
