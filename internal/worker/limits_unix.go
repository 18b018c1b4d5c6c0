//go:build unix

package worker

import (
	"fmt"
	"math"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Limit makes the system bound this process: the memory that it maps, which includes what the Go
// runtime needs itself, processor time, files and core dumps.
func Limit(memory uint64, timeout time.Duration) error {
	seconds := uint64(math.Ceil(timeout.Seconds())) + 2
	for resource, value := range map[int]uint64{
		unix.RLIMIT_DATA: memory, unix.RLIMIT_CPU: seconds, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_CORE: 0,
	} {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: value, Max: value}); err != nil {
			return fmt.Errorf("set limit %d: %w", resource, err)
		}
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
