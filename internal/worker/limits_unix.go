//go:build unix

package worker

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// Apply makes the system bound this process. There are no core dumps.
func (l Limits) Apply() error {
	// The limit of memory comes last, because this process may already have more.
	for _, limit := range []struct {
		resource int
		value    uint64
	}{
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_FSIZE, l.FileBytes},
		{unix.RLIMIT_CPU, uint64(math.Ceil(l.CPU.Seconds()))},
		{unix.RLIMIT_DATA, l.Memory},
	} {
		if err := unix.Setrlimit(limit.resource, &unix.Rlimit{Cur: limit.value, Max: limit.value}); err != nil {
			return fmt.Errorf("set limit %d: %w", limit.resource, err)
		}
	}
	return nil
}

// Become replaces this process by a program, with its limits. args begins with the path of the program. It returns
// only if that fails.
func Become(args []string) error {
	if err := unix.Exec(args[0], args, os.Environ()); err != nil {
		return fmt.Errorf("start %s: %w", args[0], err)
	}
	return nil
}

// endWithHub gives the worker a group of its own, so that signals of the hub's terminal do not
// reach it.
func endWithHub(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	killWithHub(cmd.SysProcAttr)
}

// endedByCPULimit reports whether the system ended a process that used too much processor time.
func endedByCPULimit(e *exec.ExitError) bool {
	status, ok := e.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && (status.Signal() == syscall.SIGXCPU || status.Signal() == syscall.SIGKILL)
}
