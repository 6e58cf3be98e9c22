package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/lastlook/lastlook/internal/crash"
)

// TestMain makes this binary a child where a test has started it as one.
func TestMain(m *testing.M) {
	if err := register(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if code, child := crash.Main(backend{}); child {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// drive makes a small plan with real processes and real kills.
func drive(t *testing.T, p crash.Plan) crash.Outcome {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p.Backend, p.Dir, p.Seed = backend{}, t.TempDir(), 7
	p.TTL, p.Drain = 3*time.Second, 30*time.Second
	p.Command = func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, exe) }
	out, err := crash.Drive(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestKilledProcessesLoseNothing(t *testing.T) {
	out := drive(t, crash.Plan{Kills: 3, Each: 1, Only: []string{"channel:accepted", "tx:enqueued", "sql:outcome written", "sql:baseline written"}})
	for _, f := range out.Findings {
		t.Errorf("%s: row %d, %s: %s", f.Fault, f.ID, f.Key, f.Text)
	}
	if len(out.Unreached) > 0 {
		t.Errorf("the child did not die at %v", out.Unreached)
	}
	if out.Kills < 7 || out.Accepted == 0 {
		t.Errorf("%d kills, %d accepted: that proves nothing", out.Kills, out.Accepted)
	}
}

func TestPlantedMistakeIsFoundInRealProcesses(t *testing.T) {
	out := drive(t, crash.Plan{Kills: 3, Plant: crash.PlantTx})
	if out.Count(crash.FaultTorn) == 0 {
		t.Errorf("an enqueue outside of the caller's transaction was not found: %d rows, %d findings", out.Rows, len(out.Findings))
	}
	if out.Err() == nil {
		t.Error("findings are no error")
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		args        []string
		kills, each int
		out         string
	}{
		{nil, 200, 3, "results/crash.json"},
		{[]string{"-quick"}, 40, 1, ""},
		{[]string{"-quick", "-kills", "5"}, 5, 1, ""},
		{[]string{"-out", ""}, 200, 3, ""},
	} {
		o, err := parse(c.args)
		if err != nil || o.Kills != c.kills || o.Each != c.each || o.out != c.out {
			t.Errorf("parse(%q): %d kills, %d each, out %q, %v", c.args, o.Kills, o.Each, o.out, err)
		}
	}
}
