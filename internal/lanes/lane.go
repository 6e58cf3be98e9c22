package lanes

import (
	"errors"
	"math"
	"time"

	"github.com/lastlook/lastlook"
)

// lane is what is known of one lane. The gate's lock guards it.
type lane struct {
	limits   Limits
	inFlight int
	// tokens are what the rate has left; they may be owed.
	tokens float64
	filled time.Time

	status Status
	since  time.Time
	why    string
	// failures counts those in a row, opened how often the breaker opened
	// since the lane last worked.
	failures, opened int
	until            time.Time // nothing is admitted before it
	used             time.Time
}

func newLane(l Limits) *lane {
	if l.Rate > 0 && l.Burst == 0 {
		l.Burst = 1
	}
	return &lane{limits: l, tokens: float64(l.Burst), status: Working}
}

func (l *lane) idle(now time.Time) bool {
	return l.inFlight == 0 && l.status == Working && l.failures == 0 && now.Sub(l.used) > 10*time.Minute
}

// admit says how many rows may be claimed, or how long to wait. longest bounds
// the wait, should the clock have been set back.
func (l *lane) admit(now time.Time, longest time.Duration) (int, time.Duration) {
	l.used = now
	if wait := l.until.Sub(now); wait > longest {
		l.until = time.Time{}
	} else if wait > 0 {
		return 0, wait
	}
	n := math.MaxInt32
	if l.limits.InFlight > 0 {
		n = l.limits.InFlight - l.inFlight
	}
	if l.opened > 0 {
		n = min(n, 1-l.inFlight) // one tries whether it works again
	}
	if l.limits.Rate > 0 {
		l.fill(now)
		if l.tokens < 1 {
			return 0, time.Duration((1 - l.tokens) / l.limits.Rate * float64(time.Second))
		}
		n = min(n, int(l.tokens))
	}
	return max(n, 0), 0
}

func (l *lane) fill(now time.Time) {
	if passed := now.Sub(l.filled); !l.filled.IsZero() && passed > 0 {
		l.tokens = min(l.tokens+passed.Seconds()*l.limits.Rate, float64(l.limits.Burst))
	}
	l.filled = now
}

// refund gives back what a row took of the rate that was not told in the end.
func (l *lane) refund() { l.tokens = min(l.tokens+1, float64(l.limits.Burst)) }

// answered takes up what a call came to, and reports whether the lane's status
// changed.
func (l *lane) answered(cfg *Config, t lastlook.Transition) (changed bool) {
	now := t.At
	class, hint := lastlook.Classify(t.Err)
	switch {
	case t.Err == nil:
		l.failures, l.opened, l.until = 0, 0, time.Time{}
		return l.become(Working, now, "")
	case class == lastlook.ClassMisconfigured:
		l.failures = 0
		return l.become(Parked, now, t.Err.Error())
	case class == lastlook.ClassPermanent || class == lastlook.ClassGone || errors.Is(t.Err, errRecipient):
		// It answers: that the message, or the recipient, is refused says
		// nothing against the lane, and nothing for our credentials.
		l.failures, l.opened, l.until = 0, 0, time.Time{}
		return l.status != Parked && l.become(Working, now, "")
	}
	if hint > 0 {
		// It answers, and says when to come back.
		l.failures = 0
		l.wait(now.Add(min(hint, cfg.HintCap)))
		return l.status == Working && l.become(Asked, now, t.Err.Error())
	}
	if l.until.After(now) {
		return false // what was under way when it opened
	}
	l.failures++
	if l.failures < cfg.Failures && l.opened == 0 {
		return false
	}
	l.opened++
	l.wait(now.Add(doubled(cfg.Pause, l.opened-1, cfg.MaxPause)))
	return l.become(Broken, now, t.Err.Error())
}

func (l *lane) wait(until time.Time) {
	if until.After(l.until) {
		l.until = until
	}
}

func (l *lane) become(s Status, now time.Time, why string) bool {
	l.why = why
	if l.status == s {
		return false
	}
	l.status, l.since = s, now
	return true
}

func (l *lane) state(channel, name string) State {
	return State{Channel: channel, Lane: name, Status: l.status, Since: l.since, Until: l.until, Why: l.why}
}

// doubled returns min(2ⁿ·d, limit) without overflow.
func doubled(d time.Duration, n int, limit time.Duration) time.Duration {
	for ; n > 0 && d < limit; n-- {
		d *= 2
	}
	return min(d, limit)
}
