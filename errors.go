package lastlook

import (
	"errors"
	"fmt"
	"time"
)

// Errors that a caller can act on. Each is returned wrapped, with the detail
// and the remedy in its text; match with [errors.Is].
var (
	// ErrInvalid says that an argument cannot be accepted as it is: an empty
	// or over-long key part, a negative duration, a topic without a look.
	ErrInvalid = errors.New("lastlook: invalid argument")
	// ErrUnknownTopic says that an item names a topic outside the list that
	// the outbox was told to accept (see [WithTopics]).
	ErrUnknownTopic = errors.New("lastlook: unknown topic")
	// ErrPayloadTooLarge says that a detection or an asserted value is larger
	// than [MaxPayload].
	ErrPayloadTooLarge = errors.New("lastlook: payload too large")
	// ErrWindowBackwards says that an episode older than the last told one
	// was given.
	ErrWindowBackwards = errors.New("lastlook: window going backwards")
	// ErrClock says that the time given as now cannot be right.
	ErrClock = errors.New("lastlook: impossible clock")
	// ErrNotFound says that there is no such notification (any more).
	ErrNotFound = errors.New("lastlook: no such notification")
	// ErrNotCancellable says that the row is being delivered at this moment,
	// or has ended.
	ErrNotCancellable = errors.New("lastlook: not cancellable")
	// ErrNotRetriable says that the row has not failed, or that it may have
	// been delivered and the caller did not allow a repeat.
	ErrNotRetriable = errors.New("lastlook: not retriable")
	// ErrIllegal says that the state machine has no such transition. It is a
	// defect in the caller, never a condition of the data.
	ErrIllegal = errors.New("lastlook: illegal transition")
	// ErrDispatcherRunning says that another dispatch loop holds a store that
	// allows only one.
	ErrDispatcherRunning = errors.New("lastlook: a dispatcher is already running")
	// ErrNewerSchema says that a newer lastlook wrote the database.
	ErrNewerSchema = errors.New("lastlook: database is of a newer version")
	// ErrReadOnly says that the database cannot be written.
	ErrReadOnly = errors.New("lastlook: database is read-only")
	// ErrFull says that the disk, or the quota, is full. What was in flight
	// was rolled back whole.
	ErrFull = errors.New("lastlook: disk is full")
	// ErrBusy says that the database stayed locked by others for the whole
	// time allowed. Nothing was written; the call may be made again.
	ErrBusy = errors.New("lastlook: database is busy")
)

// Class is what a failed look or delivery means. Channels and looks classify;
// only the core decides what follows.
type Class uint8

// The classes. A plain error is [ClassTransient].
const (
	// ClassTransient: known not to have been delivered; worth trying again.
	ClassTransient Class = iota
	// ClassPermanent: this message will never be accepted.
	ClassPermanent
	// ClassGone: the recipient (of a delivery) or the item (of a look)
	// definitely no longer exists.
	ClassGone
	// ClassMisconfigured: our own credentials or settings are refused
	// (401, 403): nothing is wrong with the row, so no attempt is counted.
	ClassMisconfigured
	// ClassUnknown: the request may have been accepted (a timeout after it
	// was written, a connection that died while the answer was awaited).
	ClassUnknown
)

// String returns the name of the class.
func (c Class) String() string {
	switch c {
	case ClassTransient:
		return "transient"
	case ClassPermanent:
		return "permanent"
	case ClassGone:
		return "gone"
	case ClassMisconfigured:
		return "misconfigured"
	case ClassUnknown:
		return "unknown"
	}
	return fmt.Sprintf("class(%d)", uint8(c))
}

// Error is an error with a class, and perhaps the time that the other side
// asked us to wait. Make one with [RetryAfter], [Permanent], [Gone],
// [Misconfigured] or [Unknown].
type Error struct {
	Class Class
	// After is how long the other side asked us to wait; 0 if it did not.
	After time.Duration
	// Err is the cause. Its text reaches the row's story, so it must not
	// carry a secret.
	Err error
}

// Error returns the cause's text.
func (e *Error) Error() string {
	if e == nil {
		return "a nil error of lastlook"
	}
	if e.Err == nil {
		return e.Class.String()
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// RetryAfter marks err as transient, not to be tried again before d has
// passed (HTTP's Retry-After). The core caps the hint at [Policy.HintCap].
func RetryAfter(d time.Duration, err error) error {
	return &Error{Class: ClassTransient, After: max(d, 0), Err: err}
}

// Permanent marks err as a rejection that no retry will change.
func Permanent(err error) error { return &Error{Class: ClassPermanent, Err: err} }

// Gone marks err as definite: the recipient (from a channel) or the item
// (from a look) no longer exists.
func Gone(err error) error { return &Error{Class: ClassGone, Err: err} }

// Misconfigured marks err as caused by our own credentials or settings.
func Misconfigured(err error) error { return &Error{Class: ClassMisconfigured, Err: err} }

// Unknown marks err as an outcome that nobody knows: the request may have
// been accepted.
func Unknown(err error) error { return &Error{Class: ClassUnknown, Err: err} }

// Classify returns the class of err and the wait that it asks for.
func Classify(err error) (Class, time.Duration) {
	if e, ok := errors.AsType[*Error](err); ok && e != nil {
		return e.Class, e.After
	}
	return ClassTransient, 0
}
