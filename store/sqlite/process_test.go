//go:build unix

package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/sqlite"
)

// The tests here run themselves again as another process, which does one of
// these jobs on the file named by its environment.
const (
	jobEnv  = "LASTLOOK_TEST_JOB"
	pathEnv = "LASTLOOK_TEST_PATH"
)

func TestMain(m *testing.M) {
	job := os.Getenv(jobEnv)
	if job == "" {
		os.Exit(m.Run())
	}
	if err := childJobs[job](os.Getenv(pathEnv)); err != nil {
		fmt.Println(err)
		os.Exit(3)
	}
}

var childJobs = map[string]func(path string) error{
	// readonly expects ErrReadOnly of whatever it tries.
	"readonly": func(path string) error {
		ctx := context.Background()
		s, err := sqlite.Open(ctx, path)
		if err == nil {
			_, err = s.Enqueue(ctx, start, items(5)) // three are there
			err = errors.Join(err, s.Close())
		}
		fmt.Println(err)
		if !errors.Is(err, lastlook.ErrReadOnly) {
			return fmt.Errorf("not ErrReadOnly: %w", err)
		}
		return nil
	},
	// lock takes the dispatch lock and keeps it until it is killed.
	"lock": func(path string) error {
		s, err := sqlite.Open(context.Background(), path)
		if err != nil {
			return err
		}
		if _, err := s.LockDispatch(context.Background()); err != nil {
			return err
		}
		fmt.Println("locked")
		_, err = io.Copy(io.Discard, os.Stdin)
		return err
	},
	// enqueue enqueues until it is killed, and says what was committed.
	"enqueue": func(path string) error {
		s, err := sqlite.Open(context.Background(), path)
		if err != nil {
			return err
		}
		for n := 0; ; n++ {
			many := items(20)
			for i := range many {
				many[i].Subject = fmt.Sprintf("child-%d-%d", n, i)
			}
			if _, err := s.Enqueue(context.Background(), start, many); err != nil {
				return err
			}
			fmt.Println(n)
		}
	},
}

// child starts a job. Standard input keeps it waiting; out are its lines.
func child(t *testing.T, exe, job, path string, cred *syscall.Credential) (cmd *exec.Cmd, out *bufio.Scanner) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), jobEnv+"="+job, pathEnv+"="+path)
	cmd.Dir = filepath.Dir(path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(stdout)
}

func thisProgram(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// A process that has no right to write the file, or its directory, is told so
// in words. The superuser could write anything, so the process is nobody's.
func TestReadOnlyFile(t *testing.T) {
	for name, mode := range map[string]struct{ file, dir os.FileMode }{
		"file":               {0o444, 0o777},
		"file and directory": {0o444, 0o555},
		"directory":          {0o666, 0o555},
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			dir := filepath.Join(top, "data")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "x.db")
			k := newKitAt(t, path)
			k.enqueue(items(3)...)
			if err := k.s.Close(); err != nil {
				t.Fatal(err)
			}
			// The program itself must be where nobody can run it.
			exe := filepath.Join(top, "program")
			b, err := os.ReadFile(thisProgram(t))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(exe, b, 0o755); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(dir, 0o700) }) // so that it can be removed
			for f, m := range map[string]os.FileMode{filepath.Dir(top): 0o755, top: 0o755, path: mode.file, dir: mode.dir} {
				if err := os.Chmod(f, m); err != nil {
					t.Fatal(err)
				}
			}
			var nobody *syscall.Credential
			if os.Geteuid() == 0 {
				nobody = &syscall.Credential{Uid: 65534, Gid: 65534, NoSetGroups: true}
			}
			cmd, out := child(t, exe, "readonly", path, nobody)
			var said []string
			for out.Scan() {
				said = append(said, out.Text())
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v: %s", err, strings.Join(said, "\n"))
			}
			if !strings.Contains(strings.Join(said, "\n"), "let this process write") {
				t.Errorf("the error does not say what to do: %v", said)
			}
		})
	}
}

// The lock is exclusive between processes and dies with its holder.
func TestDispatchLockOfAnotherProcess(t *testing.T) {
	k := newKit(t)
	cmd, out := child(t, thisProgram(t), "lock", k.path, nil)
	if !out.Scan() || out.Text() != "locked" {
		t.Fatalf("child said %q", out.Text())
	}
	_, err := k.s.LockDispatch(t.Context())
	wantErr(t, err, lastlook.ErrDispatcherRunning, k.path+".dispatch.lock", fmt.Sprintf("process %d", cmd.Process.Pid))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	release, err := k.s.LockDispatch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
}

// Two processes write to one file; one is killed at some instant. What it said
// it had committed is there, whole, and nothing is half there.
func TestKilledWriter(t *testing.T) {
	k := newKit(t)
	cmd, out := child(t, thisProgram(t), "enqueue", k.path, nil)
	last := ""
	for n := range 30 {
		if !out.Scan() {
			t.Fatal("the child ended by itself")
		}
		last = out.Text()
		k.enqueue(item(key(n)))
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for out.Scan() {
		last = out.Text()
	}
	_ = cmd.Wait()
	db := otherHandle(t, k.path, "")
	if n := column(t, db, "SELECT count(*) FROM lastlook_keys WHERE subject LIKE 'child-'||?||'-%'", last); n[0] != "20" {
		t.Errorf("%s rows of the last batch that the child committed, want 20", n[0])
	}
	if part := column(t, db, "SELECT count(*) FROM lastlook_keys WHERE subject LIKE 'child-%' GROUP BY substr(subject, 1, length(subject) - length(ltrim(substr(subject, 7), '0123456789')))  HAVING count(*) <> 20"); len(part) > 0 {
		t.Errorf("batches that are not whole: %v", part)
	}
	if _, err := k.s.Enqueue(t.Context(), start.Add(time.Minute), items(40)); err != nil {
		t.Errorf("after the other was killed: %v", err)
	}
}
