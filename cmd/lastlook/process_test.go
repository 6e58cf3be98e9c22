package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// home is a data directory with a shop and a receiver around it.
type home struct {
	t        *testing.T
	dir      string
	shop     *shop
	receiver *receiver
	// env is for every process.
	env []string
}

const testSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// newHome makes one, with the channel "work" that leads to the receiver.
func newHome(t *testing.T, env ...string) *home {
	t.Helper()
	needProcesses(t)
	h := &home{t: t, dir: filepath.Join(t.TempDir(), "data"), shop: newShop(), receiver: newReceiver(), env: env}
	t.Cleanup(h.shop.Close)
	t.Cleanup(h.receiver.Close)
	h.receiver.secret = testSecret
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(testSecret), 0o600); err != nil {
		t.Fatal(err)
	}
	h.run("channel", "add", "work", "--webhook", h.receiver.URL, "--secret-file", file)
	return h
}

// context ends when the test has waited long enough.
func (h *home) context() context.Context {
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	h.t.Cleanup(cancel)
	return ctx
}

// run runs lastlook, which must succeed, and returns its standard output.
func (h *home) run(args ...string) string {
	h.t.Helper()
	out, errOut, code := h.try(args...)
	if code != exitOK {
		h.t.Fatalf("lastlook %s: exit code %d: %s", strings.Join(args, " "), code, errOut)
	}
	return out
}

// try runs lastlook.
func (h *home) try(args ...string) (out, errOut string, code int) {
	h.t.Helper()
	var o, e strings.Builder
	cmd := exec.CommandContext(h.context(), "lastlook", append([]string{"--data", h.dir}, args...)...)
	cmd.Env = h.environ()
	cmd.Stdout, cmd.Stderr = &o, &e
	err := cmd.Run()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		code = failed.ExitCode()
	} else if err != nil {
		h.t.Fatal(err)
	}
	return o.String(), e.String(), code
}

func (h *home) environ() []string {
	return append(append(os.Environ(), "GORACE="+raceOptions(), "LASTLOOK_ALLOW_PRIVATE=127.0.0.1,::1", "LASTLOOK_LISTEN=127.0.0.1:0"), h.env...)
}

// process is a lastlook that runs.
type process struct {
	h     *home
	name  string
	cmd   *exec.Cmd
	lines chan string // of both outputs
	ended chan error

	mu  sync.Mutex
	log strings.Builder
}

// start starts lastlook. It is killed at the end of the test if it still runs.
func (h *home) start(args ...string) *process {
	h.t.Helper()
	p := &process{h: h, name: args[0], cmd: exec.Command("lastlook", append([]string{"--data", h.dir}, args...)...),
		lines: make(chan string, 10_000), ended: make(chan error, 1)}
	p.cmd.Env = h.environ()
	var reading sync.WaitGroup
	for _, pipe := range []func() (io.ReadCloser, error){p.cmd.StdoutPipe, p.cmd.StderrPipe} {
		r, err := pipe()
		if err != nil {
			h.t.Fatal(err)
		}
		reading.Go(func() { p.read(r) })
	}
	if err := p.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		reading.Wait()
		p.ended <- p.cmd.Wait()
	}()
	h.t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		<-over
		if h.t.Failed() {
			h.t.Logf("lastlook %s said:\n%s", strings.Join(args, " "), p.said())
		}
	})
	return p
}

func (p *process) read(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p.mu.Lock()
		fmt.Fprintln(&p.log, lines.Text())
		p.mu.Unlock()
		p.lines <- lines.Text()
	}
}

func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// await waits for a line that matches, and returns it.
func (p *process) await(pattern string) string {
	p.h.t.Helper()
	re := regexp.MustCompile(pattern)
	ctx := p.h.context()
	for {
		select {
		case line := <-p.lines:
			if re.MatchString(line) {
				return line
			}
		case <-ctx.Done():
			p.h.t.Fatalf("lastlook %s never said %s", p.name, pattern)
		}
	}
}

// stop asks it to stop, and checks that it did so cleanly.
func (p *process) stop() {
	p.h.t.Helper()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		p.h.t.Fatal(err)
	}
	if err := p.wait(); err != nil {
		p.h.t.Fatalf("lastlook %s did not stop cleanly: %v", p.name, err)
	}
}

// kill ends it as a crash would.
func (p *process) kill() {
	p.h.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		p.h.t.Fatal(err)
	}
	if err := p.wait(); err == nil {
		p.h.t.Fatal("it had ended by itself")
	}
}

func (p *process) wait() error {
	p.h.t.Helper()
	select {
	case err := <-p.ended:
		return err
	case <-p.h.context().Done():
		p.h.t.Fatalf("lastlook %s did not end", p.name)
		return nil
	}
}
