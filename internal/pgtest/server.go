package pgtest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// startTimeout bounds how long a server may take to start or stop.
const startTimeout = 60 * time.Second

// Options say how a server is made.
type Options struct {
	// Durable servers write to the disk as in production; others do not wait for
	// it, which is enough unless the machine dies.
	Durable bool
	// Settings are added to the server's.
	Settings map[string]string
	// Port is where it listens; 0 means any that is free.
	Port int
}

// Server is a PostgreSQL server in a temporary folder. It listens on the loopback
// address and on a Unix socket in that folder, and trusts everybody.
type Server struct {
	opt  Options
	bin  string
	dir  string
	port int
	proc *process
	// killed: its shared memory is left.
	killed bool
}

// Start makes a server and starts it. [Server.Remove] stops it.
func Start(opt Options) (*Server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	s := &Server{opt: opt, bin: bin}
	if s.dir, err = tempDir("lastlook-pg-"); err != nil {
		return nil, err
	}
	if err := s.init(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	if err := s.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	return s, nil
}

func (s *Server) init() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	_, err := output(ctx, s.dir, filepath.Join(s.bin, "initdb"), "-D", s.data(), "-U", "lastlook", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	return err
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Dir returns the server's folder: data is below it, and its Unix socket and its
// log, server.log, are in it.
func (s *Server) Dir() string { return s.dir }

// Bin returns the folder of the server's programs.
func (s *Server) Bin() string { return s.bin }

// Port returns the server's port.
func (s *Server) Port() int { return s.port }

// DSN returns the server's address.
func (s *Server) DSN() string {
	return fmt.Sprintf("postgres://lastlook@127.0.0.1:%d/postgres?sslmode=disable", s.port)
}

// Start starts a server that was stopped.
func (s *Server) Start() error {
	var err error
	if s.port == 0 {
		s.port = s.opt.Port
	}
	if s.port == 0 {
		if s.port, err = freePort(); err != nil {
			return err
		}
	}
	settings := map[string]string{
		"listen_addresses": "127.0.0.1", "unix_socket_directories": s.dir, "max_connections": "200",
		"shared_buffers": "128MB", "log_min_messages": "warning",
	}
	if !s.opt.Durable {
		settings["fsync"], settings["full_page_writes"] = "off", "off"
	}
	maps.Copy(settings, s.opt.Settings)
	args := []string{"-D", s.data(), "-p", strconv.Itoa(s.port)}
	for k, v := range settings {
		args = append(args, "-c", k+"="+v)
	}
	if s.proc, err = launch(s.dir, "INT", filepath.Join(s.bin, "postgres"), args...); err != nil {
		return err
	}
	err = s.proc.ready(func(ctx context.Context) error {
		_, err := output(ctx, s.dir, filepath.Join(s.bin, "pg_isready"), "-q", "-h", "127.0.0.1", "-p", strconv.Itoa(s.port))
		return err
	})
	if err != nil {
		return errors.Join(err, s.proc.stop())
	}
	return nil
}

// Stop stops the server as `pg_ctl stop -m mode` does: "fast", or "immediate",
// after which it recovers as after a crash.
func (s *Server) Stop(mode string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	_, err := output(ctx, s.dir, filepath.Join(s.bin, "pg_ctl"), "stop", "-D", s.data(), "-m", mode, "-w")
	return errors.Join(err, s.proc.stop())
}

// Remove stops the server if it runs, and deletes its folder.
func (s *Server) Remove() error {
	var errs []error
	if s.killed { // only its own start takes its shared memory away
		s.port, s.opt.Port = 0, 0
		errs = append(errs, s.Start())
	}
	return errors.Join(append(errs, s.proc.stop(), os.RemoveAll(s.dir))...)
}

// binaries finds the folder of the server's programs.
func binaries() (string, error) {
	if dir := os.Getenv("LASTLOOK_POSTGRES_BIN"); dir != "" {
		return dir, nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))) // 0 if it is no number
		return n
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Compare(version(a), version(b)) })
	if len(found) > 0 {
		return filepath.Dir(found[len(found)-1]), nil
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	return "", fmt.Errorf("%w: the PostgreSQL server's programs (Debian: postgresql); LASTLOOK_POSTGRES_BIN may name their folder", ErrMissing)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return 0, fmt.Errorf("pgtest: an address of type %T", l.Addr())
	}
	return addr.Port, nil
}

// process is a program that ends with this one: a shell waits for the end of its
// own input, which comes when this process ends, however it does.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	log   string
	done  chan struct{} // closed when the program has ended
}

// launch starts a program, as another user if we are root. It is stopped by the
// signal given.
func launch(dir, signal, program string, args ...string) (*process, error) {
	const script = `exec 3<&0
"$@" >>"$LOG" 2>&1 </dev/null 3<&- & pid=$!
(cat <&3 >/dev/null; kill -$SIGNAL $pid 2>/dev/null) & watch=$!
wait $pid; code=$?
kill $watch 2>/dev/null
exit $code`
	p := &process{log: filepath.Join(dir, "server.log"), done: make(chan struct{})}
	p.cmd = exec.Command("sh", append([]string{"-c", script, "sh", program}, args...)...)
	p.cmd.Dir = dir
	p.cmd.Env = append(os.Environ(), "LOG="+p.log, "SIGNAL="+signal, "LC_ALL=C")
	if err := unprivileged(p.cmd); err != nil {
		return nil, err
	}
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("pgtest: %s: %w", program, err)
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // what it says is in its log
	}()
	return p, nil
}

// ready waits until try succeeds.
func (p *process) ready(try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-p.done:
			return fmt.Errorf("pgtest: it ended instead of starting: %s", p.lastWords())
		case <-ctx.Done():
			return fmt.Errorf("pgtest: it does not start: %w: %s", err, p.lastWords())
		}
	}
}

func (p *process) lastWords() string {
	b, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(b[max(len(b)-2000, 0):])
}

// stop ends the program and waits for it.
func (p *process) stop() error {
	if p == nil {
		return nil
	}
	_ = p.stdin.Close() // the shell may have ended already
	select {
	case <-p.done:
		return nil
	case <-time.After(startTimeout):
		return fmt.Errorf("pgtest: %s does not stop: %s", p.cmd, p.lastWords())
	}
}

// output runs a program to its end.
func output(ctx context.Context, dir, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	if err := unprivileged(cmd); err != nil {
		return "", err
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("pgtest: %s: %w: %s", strings.Join(cmd.Args, " "), err, out.String())
	}
	return out.String(), nil
}
