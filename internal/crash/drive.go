package crash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"time"
)

// Plan is what the parent does.
type Plan struct {
	Backend Backend
	// Dir is an empty folder for the database and the journals.
	Dir  string
	Seed uint64
	// Kills is how many random moments there are; Each how often the child dies
	// at each failpoint.
	Kills, Each int
	// Only restricts the failpoints, for tests; nil means all.
	Only []string
	// TTL is the life of a row; Drain how long the end may take.
	TTL, Drain time.Duration
	// Poison adds a row that kills whoever looks at it.
	Poison bool
	Plant  Plant
	// Command makes the command of a child. [ChildEnv] is to be in its
	// environment, set to the child as JSON.
	Command func(ctx context.Context) *exec.Cmd
	// Progress is told what is going on; nil discards it.
	Progress io.Writer
}

// ChildEnv is the variable that makes a process a child.
const ChildEnv = "LASTLOOK_CRASH_CHILD"

// exitNotDrained is the child's exit code for [ErrNotDrained].
const exitNotDrained = 3

// Moments of a child's life.
const (
	// startupLimit bounds the time until a child is ready.
	startupLimit = 30 * time.Second
	// pointLimit bounds the time until a child reaches its failpoint.
	pointLimit = 10 * time.Second
	// longestLife is how long a child lives at most before it is killed at
	// random; a few leases pass in a row of such lives.
	longestLife = 700 * time.Millisecond
	watchEvery  = 10
	stopEvery   = 25
	pointTries  = 4
)

// Outcome is what came of a plan.
type Outcome struct {
	Ruling
	// Kills counts all deaths, Random those at random moments, Points those at
	// each failpoint, Stops the clean ends.
	Kills, Random, Stops int
	Points               map[string]int
	// Unreached are the failpoints at which the child did not die often enough.
	Unreached []string
	Runs      int
}

// driver is the parent.
type driver struct {
	Plan
	rng     *rand.Rand
	out     Outcome
	watcher watcher
}

// Drive starts and kills children as planned, lets the last one drain, and
// judges. An error means that there is nothing to judge, or that a child died by
// itself.
func Drive(ctx context.Context, p Plan) (Outcome, error) {
	d := newDriver(p)
	for _, phase := range []func(context.Context) error{d.randomly, d.atPoints, d.poison, d.drain} {
		if err := phase(ctx); err != nil {
			return d.out, err
		}
	}
	return d.judge(ctx, nil)
}

func newDriver(p Plan) driver {
	d := driver{Plan: p, rng: rand.New(rand.NewPCG(p.Seed, 0)), out: Outcome{Points: map[string]int{}}}
	if d.Progress == nil {
		d.Progress = io.Discard
	}
	return d
}

// judge reads what is left, and judges it.
func (d *driver) judge(ctx context.Context, faults []Disturbance) (Outcome, error) {
	d.tell("judging")
	ev, err := gather(ctx, d.Backend, d.Dir, d.Seed, &d.watcher)
	ev.Faults = faults
	damaged, isDamage := errors.AsType[*DamageError](err)
	if err != nil && !isDamage {
		return d.out, err
	}
	d.out.Ruling = Judge(ev)
	if isDamage {
		d.out.Findings = append(d.out.Findings, Finding{Fault: FaultDamaged, Text: damaged.Error()})
	}
	return d.out, nil
}

// tell says what is going on.
func (d *driver) tell(format string, args ...any) {
	_, _ = fmt.Fprintf(d.Progress, format+"\n", args...)
}

// randomly kills the child at random moments.
func (d *driver) randomly(ctx context.Context) error {
	for d.out.Random < d.Plan.Kills {
		if d.out.Runs%20 == 0 {
			d.tell("random moments: %d of %d kills", d.out.Random, d.Plan.Kills)
		}
		c, err := d.start(ctx, Child{Dispatchers: 1 + d.out.Runs%2})
		if err != nil {
			return err
		}
		clean := d.out.Runs%stopEvery == stopEvery-1
		// One in eight does not even get ready.
		wait := time.Duration(d.rng.Int64N(int64(longestLife)))
		if early := d.rng.IntN(8) == 0; early && !clean {
			wait /= 10
		} else if err := c.ready(startupLimit); err != nil {
			return err
		}
		c.await(wait)
		if clean {
			err = c.stop()
			d.out.Stops++
		} else {
			err = c.kill()
			d.out.Kills++
			d.out.Random++
		}
		if err != nil {
			return err
		}
		if d.out.Runs%watchEvery == 0 {
			if err := d.watch(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// atPoints lets the child kill itself at each failpoint.
func (d *driver) atPoints(ctx context.Context) error {
	if d.Each == 0 {
		return nil
	}
	names := append(Points(), d.Backend.Points()...)
	if d.Only != nil {
		names = d.Only
	}
	for i, name := range names {
		d.tell("failpoints: %d of %d, %s", i+1, len(names), name)
		for try := 0; d.out.Points[name] < d.Each && try < d.Each+pointTries; try++ {
			// Deeper into the run the first times, then the first chance.
			n := int64(1)
			if try < d.Each {
				n += d.rng.Int64N(4)
			}
			if err := d.atPoint(ctx, Failpoint{Point: name, N: n}); err != nil {
				return err
			}
		}
		if d.out.Points[name] < d.Each {
			d.out.Unreached = append(d.out.Unreached, name)
		}
		if i%watchEvery == 0 {
			if err := d.watch(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *driver) atPoint(ctx context.Context, f Failpoint) error {
	c, err := d.start(ctx, Child{Dispatchers: 1 + d.out.Runs%2, Fail: f})
	if err != nil {
		return err
	}
	d.out.Kills++
	if c.await(pointLimit) {
		if err := c.died(); err != nil {
			return err
		}
		d.out.Points[f.Point]++
		return nil
	}
	return c.kill()
}

// poison enqueues a row that kills whoever looks at it, and starts children until
// one survives: the row must end.
func (d *driver) poison(ctx context.Context) error {
	if !d.Poison {
		return nil
	}
	d.tell("a row that kills whoever looks at it")
	for i := 0; ; i++ {
		c, err := d.start(ctx, Child{Poison: i == 0})
		if err != nil {
			return err
		}
		d.out.Kills++
		if !c.await(4 * lease) {
			return c.kill()
		}
		if err := c.died(); err != nil {
			return err
		}
		if i > kindOf("poison").attempts+2 {
			return errors.New("crash: the row that kills did so more often than it may be tried")
		}
	}
}

// drain lets all rows end.
func (d *driver) drain(ctx context.Context) error { return d.drainBy(ctx, Child{Drain: true}) }

func (d *driver) drainBy(ctx context.Context, spec Child) error {
	d.tell("draining")
	c, err := d.start(ctx, spec)
	if err != nil {
		return err
	}
	if !c.await(d.Drain) {
		d.tell("not drained in %s", d.Drain)
		return c.kill()
	}
	return c.ended()
}

// watch compares how rows ended with how they had.
func (d *driver) watch(ctx context.Context) error {
	return with(ctx, d.Backend, d.Dir, func(db Database) error {
		records, err := list(ctx, db.Store())
		if err == nil {
			d.watcher.look(records)
		}
		return err
	})
}

// with opens the database in this process.
func with(ctx context.Context, b Backend, dir string, f func(Database) error) error {
	db, err := b.Open(ctx, dir, Failpoint{}, func() {})
	if err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	return errors.Join(f(db), db.Close())
}

// start starts a child.
func (d *driver) start(ctx context.Context, spec Child) (*child, error) {
	d.out.Runs++
	spec.Dir, spec.Seed, spec.Run, spec.TTL, spec.Plant = d.Dir, d.Seed, d.out.Runs, d.TTL, d.Plant
	b, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("child: %w", err)
	}
	cmd := d.Command(ctx)
	cmd.Env = append(slices.Clone(os.Environ()), ChildEnv+"="+string(b))
	return startChild(cmd, spec)
}
