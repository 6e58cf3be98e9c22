//go:build unix

package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// unprivileged makes a command run as another user if we are root: the servers
// refuse to run as root.
func unprivileged(cmd *exec.Cmd) error {
	if os.Getuid() != 0 {
		return nil
	}
	uid, gid, err := other()
	if err != nil {
		return err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return nil
}

// other is the user to run as.
func other() (uid, gid int, err error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		if uid, err = strconv.Atoi(u.Uid); err != nil {
			return 0, 0, err
		}
		gid, err = strconv.Atoi(u.Gid)
		return uid, gid, err
	}
	return 0, 0, fmt.Errorf("%w: neither the user postgres nor nobody is there, and the servers do not run as root", ErrMissing)
}

// tempDir makes a folder that belongs to the user of [unprivileged]. Its path is
// short, since sockets are made in it.
func tempDir(prefix string) (string, error) {
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		return "", err
	}
	if os.Getuid() != 0 {
		return dir, nil
	}
	uid, gid, err := other()
	if err != nil {
		return "", err
	}
	return dir, os.Chown(dir, uid, gid)
}
