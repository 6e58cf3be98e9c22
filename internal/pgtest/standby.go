package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// FreePort returns a port that nobody listened on a moment ago.
func FreePort() (int, error) { return freePort() }

// Standby makes a standby of the server, on a port of its own, and starts it. It
// follows the server's log; whether the server waits for it is the server's
// setting synchronous_standby_names. Settings are added to its own.
func (s *Server) Standby(port int, settings map[string]string) (*Server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	opt := s.opt
	opt.Port, opt.Settings = port, settings
	b := &Server{opt: opt, bin: s.bin}
	var err error
	if b.dir, err = tempDir("lastlook-pg-"); err != nil {
		return nil, err
	}
	_, err = output(ctx, b.dir, filepath.Join(s.bin, "pg_basebackup"), "-D", b.data(), "-R", "-X", "stream", "-c", "fast", "--no-sync",
		"-d", fmt.Sprintf("host=127.0.0.1 port=%d user=lastlook application_name=standby", s.port))
	if err == nil {
		err = b.Start()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(b.dir))
	}
	return b, nil
}

// Promote makes a standby a server of its own, and waits until it is.
func (s *Server) Promote() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	_, err := output(ctx, s.dir, filepath.Join(s.bin, "pg_ctl"), "promote", "-D", s.data(), "-w")
	return err
}

// Kill ends the server and its processes as a power failure does.
func (s *Server) Kill() error {
	b, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	if err != nil {
		return fmt.Errorf("pgtest: kill: %w", err)
	}
	first, _, _ := strings.Cut(string(b), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil {
		return fmt.Errorf("pgtest: kill: %w", err)
	}
	children := childrenOf(pid)
	s.killed = true
	err = kill(pid)
	for _, c := range children {
		_ = kill(c) // they end by themselves when they notice, too
	}
	<-s.proc.done
	return err
}

func kill(pid int) error {
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	if errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// childrenOf lists the processes whose parent is pid, as far as ps knows.
func childrenOf(pid int) (out []int) {
	list, err := exec.Command("ps", "-e", "-o", "pid=,ppid=").Output()
	if err != nil {
		return nil
	}
	for line := range bytes.Lines(list) {
		var child, parent int
		if _, err := fmt.Sscan(string(line), &child, &parent); err == nil && parent == pid {
			out = append(out, child)
		}
	}
	return out
}
