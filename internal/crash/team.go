package crash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Server is the database server that several children share, as far as it can be
// disturbed.
type Server interface {
	// Terminate ends every connection.
	Terminate(ctx context.Context) error
	// Restart stops the server as a crash does, and starts it again.
	Restart(ctx context.Context) error
	// Standby gives the server a synchronous standby.
	Standby(ctx context.Context) error
	// Failover kills the server, and then makes the standby the new one.
	Failover(ctx context.Context) error
}

// The disturbances of a server.
const (
	disturbTerminate = "terminate"
	disturbRestart   = "restart"
	disturbFailover  = "failover"
	disturbKill      = "kill"
)

// TeamPlan is what the parent does to several children at once.
type TeamPlan struct {
	// Plan's Each, Only and Poison are not used.
	Plan
	Server Server
	// Members is how many children there are, each with a dispatcher. The first
	// is the application, too.
	Members int
	// Stops is how often one is stopped for longer than its lease, and
	// continued; Terminations for how many seconds all connections are ended once
	// a second; Restarts how often the server crashes; Failovers how often it is
	// lost for good.
	Stops, Terminations, Restarts, Failovers int
}

// stopFor is how long a child is stopped: its lease passes, and the others have
// time to take its rows over.
const stopFor = 2 * lease

// team is the parent of several children.
type team struct {
	driver
	plan    TeamPlan
	members []*child
	faults  []Disturbance
}

// DriveTeam starts the children, disturbs them and their server as planned, one
// kind after the other, lets the rest drain, and judges. An error means that
// there is nothing to judge, or that a child died by itself.
func DriveTeam(ctx context.Context, p TeamPlan) (Outcome, error) {
	t := &team{driver: newDriver(p.Plan), plan: p, members: make([]*child, max(p.Members, 1))}
	err := t.run(ctx)
	if err != nil {
		for _, c := range t.members {
			if c != nil {
				_ = c.cmd.Process.Kill() // there is an error already
				<-c.exited
			}
		}
		return t.out, err
	}
	// For people who look for the cause of a finding.
	b, err := json.Marshal(t.faults)
	if err == nil {
		err = os.WriteFile(filepath.Join(t.Dir, "faults.json"), b, 0o600)
	}
	if err != nil {
		return t.out, fmt.Errorf("faults: %w", err)
	}
	return t.driver.judge(ctx, t.faults)
}

func (t *team) run(ctx context.Context) error {
	for i := range t.members {
		if err := t.join(ctx, i, Failpoint{}); err != nil {
			return err
		}
	}
	for _, phase := range []func(context.Context) error{t.kills, t.stops, t.terminations, t.restarts, t.failovers, t.leave, t.drain} {
		if err := phase(ctx); err != nil {
			return err
		}
	}
	return nil
}

// join starts a member.
func (t *team) join(ctx context.Context, i int, f Failpoint) error {
	c, err := t.start(ctx, Child{Dispatchers: 1, Member: strconv.Itoa(i), Quiet: i != 0, Fail: f})
	if err != nil {
		return err
	}
	t.members[i] = c
	select {
	case <-c.exited: // it may have died at its failpoint
		return nil
	default:
	}
	if err := c.ready(startupLimit); err != nil && (f == Failpoint{} || c.died() != nil) {
		return err
	}
	return nil
}

// leave stops all members cleanly.
func (t *team) leave(context.Context) error {
	for i, c := range t.members {
		if err := c.stop(); err != nil {
			return err
		}
		t.members[i] = nil
		t.out.Stops++
	}
	return nil
}

// drain lets all rows end.
func (t *team) drain(ctx context.Context) error {
	return t.driver.drainBy(ctx, Child{Drain: true, Member: "0", Dispatchers: 2})
}

// work lets the members work for a while. None may end meanwhile.
func (t *team) work(d time.Duration) error {
	tick := time.NewTimer(d)
	defer tick.Stop()
	<-tick.C
	for _, c := range t.members {
		select {
		case <-c.exited:
			return c.failed("ended by itself")
		default:
		}
	}
	return nil
}

// fault notes what f does, and when.
func (t *team) fault(kind string, run int, f func() error) error {
	from := time.Now()
	err := f()
	t.faults = append(t.faults, Disturbance{Kind: kind, Run: run, From: from.UnixMicro(), Until: time.Now().UnixMicro()})
	if err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	return nil
}

// kills kills one member after the other: at a random moment or, one in two, at a
// failpoint if it comes to it before.
func (t *team) kills(ctx context.Context) error {
	points := Points()
	for n := range t.Plan.Kills {
		if n%20 == 0 {
			t.tell("kill -9 of one of %d: %d of %d", len(t.members), n, t.Plan.Kills)
			if err := t.watch(ctx); err != nil {
				return err
			}
		}
		i := t.rng.IntN(len(t.members))
		c := t.members[i]
		early := c.await(time.Duration(t.rng.Int64N(int64(longestLife) / 2)))
		if early && c.spec.Fail == (Failpoint{}) {
			return c.failed("ended by itself")
		}
		t.out.Kills++
		if early {
			t.out.Points[c.spec.Fail.Point]++
			t.faults = append(t.faults, Disturbance{Kind: disturbKill, Run: c.spec.Run, From: 0, Until: time.Now().UnixMicro()})
		} else {
			t.out.Random++
			if err := t.fault(disturbKill, c.spec.Run, c.kill); err != nil {
				return err
			}
		}
		var f Failpoint
		if t.rng.IntN(2) == 0 && n < t.Plan.Kills-len(t.members) {
			f = Failpoint{Point: points[t.rng.IntN(len(points))], N: 1 + t.rng.Int64N(30)}
		}
		if err := t.join(ctx, i, f); err != nil {
			return err
		}
	}
	return t.renew(ctx)
}

// renew replaces members that have a failpoint by such that have none.
func (t *team) renew(ctx context.Context) error {
	for i, c := range t.members {
		if c.spec.Fail == (Failpoint{}) {
			continue
		}
		if err := t.fault(disturbKill, c.spec.Run, c.kill); err != nil {
			return err
		}
		if err := t.join(ctx, i, Failpoint{}); err != nil {
			return err
		}
	}
	return nil
}

// stops stops members for longer than their lease, and continues them.
func (t *team) stops(context.Context) error {
	for n := range t.plan.Stops {
		t.tell("SIGSTOP past a lease, then SIGCONT: %d of %d", n+1, t.plan.Stops)
		c := t.members[n%len(t.members)]
		if err := t.work(longestLife); err != nil {
			return err
		}
		err := t.fault(DisturbStop, c.spec.Run, func() error {
			if err := suspend(c.cmd.Process); err != nil {
				return err
			}
			return errors.Join(t.work(stopFor), resume(c.cmd.Process))
		})
		if err != nil {
			return err
		}
	}
	return t.work(longestLife)
}

// terminations ends every connection once a second.
func (t *team) terminations(ctx context.Context) error {
	for n := range t.plan.Terminations {
		if n%10 == 0 {
			t.tell("every connection is ended once a second: %d of %d", n, t.plan.Terminations)
		}
		if err := t.fault(disturbTerminate, 0, func() error { return t.plan.Server.Terminate(ctx) }); err != nil {
			return err
		}
		if err := t.work(time.Second); err != nil {
			return err
		}
	}
	return t.watch(ctx)
}

// restarts crashes the server.
func (t *team) restarts(ctx context.Context) error {
	for n := range t.plan.Restarts {
		if n%5 == 0 {
			t.tell("stop -m immediate and start: %d of %d", n, t.plan.Restarts)
		}
		if err := t.fault(disturbRestart, 0, func() error { return t.plan.Server.Restart(ctx) }); err != nil {
			return err
		}
		// Long enough for everybody to come back and get into the next one.
		if err := t.work(longestLife + time.Duration(t.rng.Int64N(int64(longestLife)))); err != nil {
			return err
		}
	}
	return t.watch(ctx)
}

// failovers loses the server for good, and promotes its standby.
func (t *team) failovers(ctx context.Context) error {
	for n := range t.plan.Failovers {
		t.tell("failover: %d of %d", n+1, t.plan.Failovers)
		if err := t.plan.Server.Standby(ctx); err != nil {
			return err
		}
		if err := t.work(3 * longestLife); err != nil {
			return err
		}
		if err := t.fault(disturbFailover, 0, func() error { return t.plan.Server.Failover(ctx) }); err != nil {
			return err
		}
		if err := t.work(5 * time.Second); err != nil {
			return err
		}
		if err := t.watch(ctx); err != nil {
			return err
		}
	}
	return nil
}
