//go:build unix

package proc_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lastlook/lastlook/internal/browsertest/proc"
)

// family is a program that has a child, which would outlive it.
const family = `sleep 600 & echo $!; wait`

func start(t *testing.T, script string) (*proc.Process, *exec.Cmd) {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	p, err := proc.Start(cmd, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
	})
	return p, cmd
}

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// gone reports whether a process has ended. One that nobody has waited for yet
// has ended too.
func gone(pid int) bool {
	if err := syscall.Kill(pid, 0); err != nil {
		return errors.Is(err, syscall.ESRCH)
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	_, state, _ := strings.Cut(string(b), ") ")
	return strings.HasPrefix(state, "Z")
}

func childOf(t *testing.T, p *proc.Process) (pid int) {
	t.Helper()
	err := p.Until(soon(t), "the child's id", func() bool {
		said := strings.Fields(p.Said())
		if len(said) == 0 {
			return false
		}
		pid, _ = strconv.Atoi(said[len(said)-1])
		return pid != 0
	})
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestKillEndsChildrenToo(t *testing.T) {
	p, _ := start(t, family)
	child := childOf(t, p)
	if gone(child) {
		t.Fatal("the child has ended by itself")
	}
	if err := p.Kill(); err != nil {
		t.Error(err)
	}
	if err := proc.Until(soon(t), "the child's end", func() bool { return gone(child) }); err != nil {
		t.Error(err)
	}
	if err := p.Kill(); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

func TestStopKillsWhatDoesNotEnd(t *testing.T) {
	p, _ := start(t, "trap '' TERM; echo stubborn; sleep 600")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := p.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("stopped with %v", err)
	}
	p, _ = start(t, "exit 0")
	if err := p.Stop(soon(t)); err != nil {
		t.Errorf("one that ends: %v", err)
	}
}

func TestUntilNoticesAnEarlyEnd(t *testing.T) {
	p, _ := start(t, "echo no screen; exit 3")
	err := p.Until(soon(t), "its window", func() bool { return false })
	if err == nil || !strings.Contains(err.Error(), "no screen") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("error %v does not say what it said, and how it ended", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := proc.Until(ctx, "the moon", func() bool { return false }); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "the moon") {
		t.Errorf("error %v", err)
	}
}

// TestNothingOutlivesAKilledTest kills a test process, which is this program
// again, that has started a family.
func TestNothingOutlivesAKilledTest(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: only Linux ends programs with who started them")
	}
	if os.Getenv("LASTLOOK_PROC_CHILD") != "" {
		p, cmd := start(t, "echo here; exec sleep 600")
		if _, err := os.Stdout.WriteString("pid " + strconv.Itoa(cmd.Process.Pid) + "\n"); err != nil {
			t.Error(err)
		}
		<-p.Done()
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestNothingOutlivesAKilledTest$")
	cmd.Env = append(os.Environ(), "LASTLOOK_PROC_CHILD=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := 0
	for lines := bufio.NewScanner(out); pid == 0 && lines.Scan(); {
		if id, ok := strings.CutPrefix(lines.Text(), "pid "); ok {
			pid, err = strconv.Atoi(id)
		}
	}
	if err := errors.Join(err, cmd.Process.Kill()); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // killed
	if pid == 0 {
		t.Fatal("the test process has started nothing")
	}
	if err := proc.Until(soon(t), "the end of what it had started", func() bool { return gone(pid) }); err != nil {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		t.Error(err)
	}
}
