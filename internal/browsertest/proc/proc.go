// Package proc runs the programs that browser tests need, and ends them: at the
// latest together with the test, also when that fails or is killed.
//
// A program gets a process group of its own, so that its children are ended
// with it, and on Linux the kernel kills it when the test's process dies. What
// it prints goes to a file, which is quoted in errors.
package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// pollEvery is how often something is asked that is waited for: often enough for
// people, and not so often that the asking takes the machine.
const pollEvery = 30 * time.Millisecond

// killed is how long a program that was killed may take to be gone.
const killed = 10 * time.Second

// Process is a running program. It belongs to whoever started it, who must call
// Stop or Kill; both may be called again.
type Process struct {
	name string
	cmd  *exec.Cmd
	log  *os.File
	done chan struct{}
}

// Start starts the command. Its output is appended to a file in dir.
func Start(cmd *exec.Cmd, dir string) (*Process, error) {
	name := filepath.Base(cmd.Path)
	log, err := os.OpenFile(filepath.Join(dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = log, log
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", name, err), log.Close())
	}
	p := &Process{name: name, cmd: cmd, log: log, done: make(chan struct{})}
	go func() { // ends with the process; Stop and Kill wait for it
		_ = cmd.Wait() // how it ended is in its state
		killGroup(cmd) // what it has left behind
		close(p.done)
	}()
	return p, nil
}

// Done is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Stop waits for a program that was asked to end, and kills it when ctx ends.
func (p *Process) Stop(ctx context.Context) error {
	select {
	case <-p.done:
		return p.log.Close()
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("%s does not end although it was asked to, and is killed: %w%s", p.name, ctx.Err(), p.Said()), p.Kill())
	}
}

// Kill ends the program and its children at once.
func (p *Process) Kill() error {
	killGroup(p.cmd)
	limit := time.NewTimer(killed)
	defer limit.Stop()
	select {
	case <-p.done:
		if err := p.log.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			return err
		}
		return nil
	case <-limit.C:
		return fmt.Errorf("%s (process %d) outlives its being killed", p.name, p.cmd.Process.Pid)
	}
}

// Until polls until ok says so. It gives up when the program ends, or ctx does;
// what names what is waited for.
func (p *Process) Until(ctx context.Context, what string, ok func() bool) error {
	err := Until(ctx, what, func() bool {
		select {
		case <-p.done:
			return true
		default:
			return ok()
		}
	})
	if err == nil {
		select {
		case <-p.done:
			err = fmt.Errorf("%s has ended (%v) before %s", p.name, p.cmd.ProcessState, what)
		default:
			return nil
		}
	}
	return fmt.Errorf("%w%s", err, p.Said())
}

// Said quotes the last of what the program printed.
func (p *Process) Said() string {
	const last = 4 << 10
	b, err := os.ReadFile(p.log.Name())
	if err != nil || len(b) == 0 {
		return ""
	}
	return fmt.Sprintf("\n%s said:\n%s", p.name, strings.ToValidUTF8(string(b[max(0, len(b)-last):]), "?"))
}

// Until polls until ok says so, or ctx ends; what names what is waited for.
func Until(ctx context.Context, what string, ok func() bool) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for !ok() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("waited in vain for %s: %w", what, context.Cause(ctx))
		}
	}
	return nil
}

// Remove removes a directory in which a killed program may still be writing.
func Remove(dir string) error {
	var err error
	ctx, cancel := context.WithTimeout(context.Background(), killed)
	defer cancel()
	if Until(ctx, "", func() bool { err = os.RemoveAll(dir); return err == nil }) != nil {
		return err
	}
	return nil
}
