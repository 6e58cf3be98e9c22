package lastlook

import (
	"fmt"
	"math/bits"
	"time"
)

// Policy holds a topic's numbers. A zero field means the default, which
// [DefaultPolicy] shows.
type Policy struct {
	// MaxAttempts is how often a row is claimed at most.
	MaxAttempts int
	// Lease is how long a claim holds; it is renewed when a row goes to
	// sending.
	Lease time.Duration
	// LookTimeout bounds one look, and the question whether subjects are active.
	LookTimeout time.Duration
	// CallTimeout bounds a delivery, from before the row is moved to sending.
	CallTimeout time.Duration
	// MaxAge is how old a look may be when the channel is called.
	MaxAge time.Duration
	// BackoffBase and BackoffCap bound the wait before attempt n+1:
	// min(2ⁿ · base, cap), n from 0.
	BackoffBase, BackoffCap time.Duration
	// Jitter is the largest part of the wait, from 0 to 1, that is taken off
	// at random, so that rows which failed together do not come back
	// together. Negative means none.
	Jitter float64
	// HintCap bounds the wait that the other side may ask for.
	HintCap time.Duration
	// Guarantee says what an unknown outcome leads to.
	Guarantee Guarantee
}

// DefaultPolicy returns the defaults.
func DefaultPolicy() Policy {
	return Policy{
		MaxAttempts: 10,
		Lease:       60 * time.Second,
		LookTimeout: 10 * time.Second,
		CallTimeout: 15 * time.Second,
		MaxAge:      10 * time.Second,
		BackoffBase: 30 * time.Second,
		BackoffCap:  30 * time.Minute,
		Jitter:      0.2,
		HintCap:     6 * time.Hour,
	}
}

// withDefaults fills in what is zero and reports what is wrong.
func (p Policy) withDefaults() (Policy, error) {
	d := DefaultPolicy()
	p.MaxAttempts = orDefault(p.MaxAttempts, d.MaxAttempts)
	p.Lease = orDefault(p.Lease, d.Lease)
	p.LookTimeout = orDefault(p.LookTimeout, d.LookTimeout)
	p.CallTimeout = orDefault(p.CallTimeout, d.CallTimeout)
	p.MaxAge = orDefault(p.MaxAge, d.MaxAge)
	p.BackoffBase = orDefault(p.BackoffBase, d.BackoffBase)
	p.BackoffCap = orDefault(p.BackoffCap, d.BackoffCap)
	p.Jitter = orDefault(p.Jitter, d.Jitter)
	p.HintCap = orDefault(p.HintCap, d.HintCap)
	p.Jitter = max(p.Jitter, 0)
	switch {
	case p.MaxAttempts < 0 || min(p.Lease, p.LookTimeout, p.CallTimeout, p.MaxAge, p.BackoffBase, p.BackoffCap, p.HintCap) < 0:
		return p, fmt.Errorf("%w: a policy's numbers cannot be negative", ErrInvalid)
	case p.Jitter > 1:
		return p, fmt.Errorf("%w: jitter %g is above 1", ErrInvalid, p.Jitter)
	case p.CallTimeout >= p.Lease || 2*p.LookTimeout >= p.Lease:
		// The question whether subjects are active, and the look, come one
		// after the other under the claim's first lease.
		return p, fmt.Errorf("%w: the call timeout (%s) and twice the look timeout (%s) must be shorter than the lease (%s)",
			ErrInvalid, p.CallTimeout, p.LookTimeout, p.Lease)
	case p.Guarantee > AtMostOnce:
		return p, fmt.Errorf("%w: guarantee %d", ErrInvalid, p.Guarantee)
	}
	return p, nil
}

func orDefault[T comparable](v, d T) T {
	var zero T
	if v == zero {
		return d
	}
	return v
}

// backoff returns min(2ⁿ·base, cap) without overflow.
func backoff(n int, p Policy) time.Duration {
	n = max(n, 0)
	if n >= bits.LeadingZeros64(uint64(p.BackoffBase))-1 || p.BackoffBase<<n > p.BackoffCap {
		return p.BackoffCap
	}
	return p.BackoffBase << n
}

// next decides when a row whose attempt has just failed is tried again. hint
// is what the other side asked for, random a number in [0, 1).
func (p Policy) next(now time.Time, attempt int, hint time.Duration, random float64) Next {
	wait := backoff(attempt-1, p)
	wait -= time.Duration(float64(wait) * p.Jitter * random)
	wait = max(wait, min(hint, p.HintCap))
	return Next{Due: now.Add(wait), Last: attempt >= p.MaxAttempts}
}
