package proc

import (
	"os/exec"
	"syscall"
)

// ownGroup has the command lead a process group, and die with us. The signal
// comes when the thread that started it ends, and Go ends threads only of
// goroutines that keep them locked.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // gone already is as good
