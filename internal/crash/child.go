package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// DamageError says that the database is damaged.
type DamageError struct{ Report string }

func (e *DamageError) Error() string { return "the database is damaged: " + e.Report }

// child is a running child, as its parent sees it.
type child struct {
	cmd    *exec.Cmd
	spec   Child
	stdin  io.Closer
	stderr bytes.Buffer
	up     chan struct{} // closed when it is ready
	exited chan struct{} // closed when it has ended
}

func startChild(cmd *exec.Cmd, spec Child) (*child, error) {
	c := &child{cmd: cmd, spec: spec, up: make(chan struct{}), exited: make(chan struct{})}
	cmd.Stderr = &c.stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("child: %w", err)
	}
	c.stdin = stdin
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("child: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("child: %w", err)
	}
	go func() {
		defer close(c.exited)
		var b [1]byte
		if n, _ := stdout.Read(b[:]); n > 0 {
			close(c.up)
		}
		_, _ = io.Copy(io.Discard, stdout) // until it has ended
		_ = cmd.Wait()                     // how it ended stands in ProcessState
	}()
	return c, nil
}

// ready waits until the child works.
func (c *child) ready(limit time.Duration) error {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-c.up:
		return nil
	case <-c.exited:
		return c.failed("ended before it was ready")
	case <-t.C:
		return errors.Join(c.kill(), c.failed("was not ready after "+limit.String()))
	}
}

// await waits for some time, and reports whether the child ended meanwhile.
func (c *child) await(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c.exited:
		return true
	case <-t.C:
		return false
	}
}

// kill kills the child, which must not have ended by itself.
func (c *child) kill() error {
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill the child: %w", err)
	}
	<-c.exited
	return c.died()
}

// stop asks the child to end, and waits until it has, cleanly.
func (c *child) stop() error {
	if err := c.stdin.Close(); err != nil {
		return fmt.Errorf("stop the child: %w", err)
	}
	if !c.await(startupLimit) {
		return errors.Join(c.kill(), c.failed("did not stop when it was asked to"))
	}
	return c.ended()
}

// died reports an end that was none by kill -9.
func (c *child) died() error {
	code := c.cmd.ProcessState.ExitCode()
	if code == -1 || runtime.GOOS == "windows" && code == 1 {
		return nil
	}
	return c.failed("ended by itself")
}

// ended reports an end that was not clean. Rows that were left are for the judge
// to find.
func (c *child) ended() error {
	if code := c.cmd.ProcessState.ExitCode(); code == 0 || code == exitNotDrained {
		return nil
	}
	return c.failed("did not end well")
}

// failed says what is wrong with a child that has ended.
func (c *child) failed(what string) error {
	const enough = 4000
	text := c.stderr.Bytes()
	return fmt.Errorf("run %d of the child %s (%s): %s", c.spec.Run, what, c.cmd.ProcessState, text[max(len(text)-enough, 0):])
}

// Main is the main function of a child: it does nothing, and returns false, in a
// process that is none. Otherwise it returns the exit code.
func Main(b Backend) (code int, isChild bool) {
	text, isChild := os.LookupEnv(ChildEnv)
	if !isChild {
		return 0, false
	}
	var c Child
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "crash:", err)
		return 2, true
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		// The parent closes it to stop us; it also ends with the parent.
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	err := Live(ctx, c, Process{Backend: b, Kill: killSelf,
		Ready:  func() { _, _ = os.Stdout.WriteString(".") },
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	switch {
	case errors.Is(err, ErrNotDrained):
		return exitNotDrained, true
	case err != nil:
		_, _ = fmt.Fprintln(os.Stderr, "crash:", err)
		return 1, true
	}
	return 0, true
}

// killSelf ends this process as kill -9 does. It does not return.
func killSelf() {
	p, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		panic(fmt.Sprintf("crash: kill myself: %v", err))
	}
	select {}
}
