package lastlook

import (
	"fmt"
	"time"
)

// guard says why a row must not be told, before anybody looks. It is pure.
// The told window is checked again after the look ([decide]), with the window
// that a message would belong to.
func guard(r *Row, t *topic, now time.Time) (Reason, bool) {
	switch {
	case r.Muted:
		return ReasonMuted, true
	case !r.ExpiresAt.After(now):
		return ReasonExpired, true
	case t.windows.kind != windowEpisodes && toldByAnother(r, r.KeyRow.Told.Later(t.windows.At(now, r.Episode))):
		return ReasonAlreadyTold, true
	}
	return "", false
}

// toldByAnother reports whether the key was told in the window w, except by
// this very row: a row whose outcome is unknown may be told again.
func toldByAnother(r *Row, w Window) bool {
	return r.KeyRow.Told.Covers(w) && r.KeyRow.ToldBy != r.ID
}

// decision is what follows from a look: a change, and whether to deliver.
type decision struct {
	change  Change
	deliver bool
	message Message
}

// decide turns what a topic says of a row into a change. It is pure but for
// the topic's own functions, whose panics it contains, and reports to panicked.
// The row becomes what the change makes of it.
func decide(r *Row, t *topic, seen looked, now time.Time, random float64, panicked func(any)) (decision, error) {
	if seen.err != nil {
		return lookFailed(r, t, seen, now, random)
	}
	if age := now.Sub(seen.at); age > t.policy.MaxAge {
		seen.err = fmt.Errorf("the source gave a value %s old; at most %s is allowed", age.Round(time.Millisecond), t.policy.MaxAge)
		return lookFailed(r, t, seen, now, random)
	}
	j, err := judgeSafely(r, t, seen, now, panicked)
	if err != nil {
		final := ReasonAttemptsExhausted
		if isBadPayload(err) {
			final = ReasonBadPayload
		}
		c, err := r.LookUnknown(now, t.policy.next(now, r.Attempt, 0, random), final, Outcome{Err: errText(err), LookedAt: seen.at})
		return decision{change: c}, err
	}
	saw := Outcome{Err: j.verdict.note, LookedAt: seen.at, Value: j.value}
	if !r.ExpiresAt.After(now) { // while it was looked at
		c, err := r.Drop(now, ReasonExpired, saw)
		return decision{change: c}, err
	}
	switch j.verdict.kind {
	case verdictDrop:
		c, err := r.Drop(now, j.verdict.reason, saw)
		return decision{change: c}, err
	case verdictDefer:
		c, err := r.Postpone(now, later(j.verdict.until, now), saw)
		return decision{change: c}, err
	case verdictUnknown:
		c, err := r.LookUnknown(now, t.policy.next(now, r.Attempt, 0, random), ReasonLookUnavailable, saw)
		return decision{change: c}, err
	case verdictSend, verdictNone: // none is an error of judgeSafely
	}
	if toldByAnother(r, j.window) {
		c, err := r.Drop(now, ReasonAlreadyTold, saw)
		return decision{change: c}, err
	}
	a := Assertion{Value: j.asserted, LookedAt: Micro(seen.at), Window: j.window, Seq: r.KeyRow.Seq + 1, Guarantee: t.policy.Guarantee}
	if j.sameAsMaybe {
		a.Seq = r.KeyRow.Seq
	}
	c, err := r.Sending(now, a, now.Add(t.policy.Lease))
	return decision{change: c, deliver: true, message: j.message}, err
}

// lookFailed is what follows from a look that gave no value: a definite "no
// such item" drops the row, anything else is unknown.
func lookFailed(r *Row, t *topic, seen looked, now time.Time, random float64) (decision, error) {
	class, hint := Classify(seen.err)
	o := Outcome{Err: errText(seen.err), LookedAt: seen.at}
	if class == ClassGone {
		c, err := r.Drop(now, ReasonGone, o)
		return decision{change: c}, err
	}
	c, err := r.LookUnknown(now, t.policy.next(now, r.Attempt, hint, random), ReasonLookUnavailable, o)
	return decision{change: c}, err
}

// judgeSafely asks the topic, turning a panic and a missing or illegal answer
// into an error.
func judgeSafely(r *Row, t *topic, seen looked, now time.Time, panicked func(any)) (j judgement, err error) {
	defer func() {
		if p := recover(); p != nil {
			panicked(p)
			err = fmt.Errorf("topic %q panicked: %v", t.name, p)
		}
	}()
	j, err = t.judge(r, seen, now)
	if err != nil {
		return j, err
	}
	switch j.verdict.kind {
	case verdictNone:
		return j, fmt.Errorf("topic %q gave no verdict: return Send, Drop, Defer or CannotTell", t.name)
	case verdictDrop:
		if info, ok := j.verdict.reason.Info(); !ok || !info.Verdict {
			return j, fmt.Errorf("topic %q dropped for %q: use condition_lost, out_of_stock, gone or already_told", t.name, j.verdict.reason)
		}
	case verdictSend:
		if len(j.asserted) > MaxPayload {
			return j, fmt.Errorf("%w: topic %q asserts %d bytes, the limit is %d", ErrPayloadTooLarge, t.name, len(j.asserted), MaxPayload)
		}
	case verdictDefer:
		if err := CheckClock(j.verdict.until); err != nil {
			return j, fmt.Errorf("topic %q deferred until an impossible time: %w", t.name, err)
		}
	case verdictUnknown:
	}
	if j.window.Start > MaxEpisode || j.window.Start < -MaxEpisode {
		return j, fmt.Errorf("%w: topic %q gave the episode %d", ErrInvalid, t.name, j.window.Start)
	}
	return j, nil
}

// errText returns an error's text. Errors come from user code: a nil pointer
// within an error value must not take the process along.
func errText(err error) string { return fmt.Sprint(err) }

// settle decides what a finished, or unfinished, delivery comes to. It is
// pure. park is set if the whole lane has to wait.
func settle(r *Row, t *topic, res callResult, now time.Time, random float64, parked time.Time) (Change, error) {
	o := Outcome{Answer: res.receipt.Answer}
	if res.err != nil {
		o.Err = errText(res.err)
	}
	if !res.called {
		return r.NotCalled(now, o)
	}
	if res.err == nil {
		return r.Accepted(now, o)
	}
	class, hint := classifyCall(res.err)
	switch class {
	case ClassPermanent:
		return r.Rejected(now, o)
	case ClassGone:
		return r.RecipientGone(now, o)
	case ClassMisconfigured:
		return r.Misconfigured(now, later(parked, now.Add(min(hint, t.policy.HintCap))), o)
	case ClassUnknown:
		return r.OutcomeUnknown(now, t.policy.next(now, r.Attempt, hint, random), o)
	case ClassTransient:
	}
	return r.Transient(now, t.policy.next(now, r.Attempt, hint, random), o)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
