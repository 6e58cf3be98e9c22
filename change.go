package lastlook

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Change is one transition of one live row, as data: what must still hold,
// and what to write. The methods of [Row] make them; a [Store] applies them.
type Change struct {
	ID    ID
	KeyID int64
	Event Event
	// From, Fence and Token are compared. FenceTokenAlive also requires
	// lease > At, FenceTokenDead lease <= At.
	From  State
	Fence Fence
	Token Token
	At    time.Time

	// To is the new state. A final one removes the live row and writes an
	// outcome.
	To      State
	Attempt int
	// Due is written when To is pending or retry; the token and the lease are
	// then cleared.
	Due time.Time
	// Lease and Assertion are written when To is sending; the token stays.
	// Otherwise Assertion is the row's, for the outcome and the key row.
	Lease     time.Time
	Assertion Assertion

	// Story replaces the stored story; nil leaves it.
	Story []byte

	// The key row.
	Key KeyEffect
	// AddFailure raises the key's failure count by one.
	AddFailure bool

	// Reason and Seen go into the outcome.
	Reason Reason
	Seen   json.RawMessage
	// Mute mutes (recipient, channel).
	Mute bool
	// DropMarks deletes all of the key's marks, read or not: the subject is gone.
	DropMarks bool
}

// Ends reports whether the change ends the row.
func (c *Change) Ends() bool { return !c.To.Live() }

// Next is when a row that goes to retry is tried again.
type Next struct {
	Due time.Time
	// Last says that the attempt just made was the last one allowed: the row
	// goes on to failed in the same write.
	Last bool
}

// Outcome is what an attempt came to, for the story.
type Outcome struct {
	// Err is the error's text, without secrets.
	Err string
	// Answer is what the channel answered, redacted.
	Answer string
	// LookedAt and Value are what the look saw, if it saw anything.
	LookedAt time.Time
	Value    json.RawMessage
	// By says who made the transition if not the dispatcher that holds the
	// claim, e.g. "reaper" or an operator.
	By string
}

func (r *Row) step(ev Event, to State, at time.Time, reason Reason, o Outcome) Step {
	return Step{At: Micro(at), Event: ev, State: to, Attempt: r.Attempt, Reason: reason,
		Error: o.Err, Answer: o.Answer, LookedAt: o.LookedAt, Value: o.Value, By: o.By}
}

// transition makes the change of one rule and writes its step.
func (r *Row) transition(ev Event, at time.Time, reason Reason, o Outcome) (Change, *Rule, error) {
	rule, err := ruleFor(r.State, ev)
	if err != nil {
		return Change{}, nil, fmt.Errorf("row %d: %w", r.ID, err)
	}
	if err := rule.allows(reason); err != nil {
		return Change{}, nil, fmt.Errorf("row %d: %w", r.ID, err)
	}
	c := Change{ID: r.ID, KeyID: r.KeyRow.ID, Event: ev, From: r.State, Fence: rule.Fence, Token: r.Token,
		At: Micro(at), To: rule.To, Attempt: r.Attempt, Due: r.Due, Assertion: r.Assertion, Key: rule.Key, Reason: reason}
	if rule.Attempt == AttemptGiveBack {
		c.Attempt = max(r.Attempt-1, 0)
	}
	if c.Ends() {
		c.end(reason)
	}
	r.addStep(r.step(ev, rule.To, at, reason, o))
	return c, rule, nil
}

func (c *Change) end(reason Reason) {
	c.Reason = reason
	info, ok := reason.Info()
	c.AddFailure = ok && info.Delays
}

func (rule *Rule) allows(reason Reason) error {
	if len(rule.Reasons) == 0 && reason == "" || slices.Contains(rule.Reasons, reason) {
		return nil
	}
	return fmt.Errorf("%w: %q is no reason for %q", ErrIllegal, reason, rule.Event)
}

func finish(c Change, r *Row, err error) (Change, error) {
	if err != nil {
		return Change{}, err
	}
	c.Story, err = encodeStory(r.Story)
	return c, err
}

// Sending is rule 2: the verdict was send, on a look made under this claim.
// The row passed in becomes the row in state sending, for the transitions
// that follow.
func (r *Row) Sending(at time.Time, a Assertion, lease time.Time) (Change, error) {
	c, _, err := r.transition(EventSending, at, "", Outcome{LookedAt: a.LookedAt, Value: a.Value})
	if err != nil {
		return Change{}, err
	}
	if len(a.Value) == 0 || len(a.Value) > MaxPayload {
		return Change{}, fmt.Errorf("%w: the asserted value of row %d has %d bytes; the limit is %d", ErrPayloadTooLarge, r.ID, len(a.Value), MaxPayload)
	}
	// The story's new step is not written now: it is what the columns say
	// (see StoryOf), and the end of the attempt writes it.
	c.Lease, c.Assertion = Micro(lease), a
	r.State, r.Assertion, r.Lease = StateSending, a, c.Lease
	return c, nil
}

// Drop is rule 3: the verdict was drop, or a guard held.
func (r *Row) Drop(at time.Time, reason Reason, o Outcome) (Change, error) {
	c, _, err := r.transition(EventDropped, at, reason, o)
	c.Seen = o.Value
	if len(c.Seen) > MaxPayload {
		c.Seen = fmt.Appendf(nil, elidedPattern, len(c.Seen))
	}
	return finish(c, r, err)
}

// Postpone is rule 4: not now. The attempt is given back.
func (r *Row) Postpone(at, due time.Time, o Outcome) (Change, error) {
	c, _, err := r.transition(EventPostponed, at, "", o)
	c.Due = Micro(due)
	return finish(c, r, err)
}

// LookUnknown is rule 5, with 15 if next is the last: the look gave no answer.
func (r *Row) LookUnknown(at time.Time, next Next, final Reason, o Outcome) (Change, error) {
	return r.toRetry(EventLookUnknown, at, next, final, o)
}

// Accepted is rule 6: the channel accepted.
func (r *Row) Accepted(at time.Time, o Outcome) (Change, error) {
	c, _, err := r.transition(EventAccepted, at, "", o)
	return finish(c, r, err)
}

// Transient is rule 7, with 15 if next is the last: known not delivered.
func (r *Row) Transient(at time.Time, next Next, o Outcome) (Change, error) {
	return r.toRetry(EventTransient, at, next, ReasonAttemptsExhausted, o)
}

// NotCalled is rule 8: the channel was not called. The attempt is given back.
func (r *Row) NotCalled(at time.Time, o Outcome) (Change, error) {
	c, _, err := r.transition(EventNotCalled, at, "", o)
	c.Due = Micro(at)
	return finish(c, r, err)
}

// Misconfigured is rule 9: our own settings are refused. The attempt is given
// back, and the lane waits until due.
func (r *Row) Misconfigured(at, due time.Time, o Outcome) (Change, error) {
	c, _, err := r.transition(EventMisconfigured, at, "", o)
	c.Due = Micro(due)
	return finish(c, r, err)
}

// OutcomeUnknown is rule 10 (with 15 if next is the last), or rule 11 if the
// assertion is at-most-once: nobody knows whether it was delivered.
func (r *Row) OutcomeUnknown(at time.Time, next Next, o Outcome) (Change, error) {
	if r.Assertion.Guarantee == AtMostOnce {
		c, _, err := r.transition(EventGaveUpUnknown, at, ReasonUnknownOutcome, o)
		return finish(c, r, err)
	}
	return r.toRetry(EventOutcomeUnknown, at, next, ReasonUnknownOutcome, o)
}

// Reap is rule 10 or 11, made by somebody else after the lease has passed.
func (r *Row) Reap(at time.Time, next Next) (Change, error) {
	c, err := r.OutcomeUnknown(at, next, Outcome{Err: "the claim's lease passed while the row was being delivered", By: "reaper"})
	c.Fence = FenceTokenDead
	return c, err
}

// RecipientGone is rule 12: the recipient does not exist any more.
func (r *Row) RecipientGone(at time.Time, o Outcome) (Change, error) {
	c, _, err := r.transition(EventRecipientGone, at, ReasonRecipientGone, o)
	c.Mute = true
	return finish(c, r, err)
}

// Rejected is rule 13: a permanent rejection.
func (r *Row) Rejected(at time.Time, o Outcome) (Change, error) {
	c, _, err := r.transition(EventRejected, at, ReasonRejected, o)
	return finish(c, r, err)
}

// SweepExhausted is rule 16: the lease has passed and no attempt is left.
func (r *Row) SweepExhausted(at time.Time) (Change, error) {
	c, _, err := r.transition(EventSwept, at, ReasonAttemptsExhausted, Outcome{Err: "the claim's lease passed, and that was the last attempt", By: "sweep"})
	c.Fence = FenceTokenDead
	return finish(c, r, err)
}

// Withdraw is rule 17: cancelled, removed in bulk, or expired.
func (r *Row) Withdraw(at time.Time, reason Reason, by string) (Change, error) {
	c, _, err := r.transition(EventWithdrawn, at, reason, Outcome{By: by})
	if reason == ReasonWatchRemoved {
		c.DropMarks = true
	}
	return finish(c, r, err)
}

// toRetry makes a change to retry or, after the last attempt, through retry
// to failed in one write.
func (r *Row) toRetry(ev Event, at time.Time, next Next, final Reason, o Outcome) (Change, error) {
	c, _, err := r.transition(ev, at, "", o)
	if err != nil {
		return Change{}, err
	}
	c.Due = Micro(next.Due)
	if next.Last {
		rule, err := ruleFor(c.To, EventExhausted)
		if err != nil {
			return Change{}, err
		}
		if err := rule.allows(final); err != nil {
			return Change{}, fmt.Errorf("row %d: %w", r.ID, err)
		}
		c.To = rule.To
		c.end(final)
		r.addStep(r.step(EventExhausted, rule.To, at, final, Outcome{By: o.By}))
	}
	return finish(c, r, nil)
}
