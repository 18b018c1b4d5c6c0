//go:build unix

package pdf

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// Bounds of a worker.
const (
	// maxData bounds the memory that a worker maps.
	maxData = 512 << 20
	// maxFile bounds the files that a worker writes, which are caches of fonts.
	maxFile = 16 << 20
)

// Work limits this process and then replaces it by the program in args, with its arguments. It
// returns the exit code of a worker that cannot do so.
func Work(args []string) int {
	if len(args) == 0 {
		return 1
	}
	// The limit of memory comes last, because this process may already have more.
	for _, l := range []struct {
		resource int
		value    uint64
	}{{unix.RLIMIT_CORE, 0}, {unix.RLIMIT_FSIZE, maxFile}, {unix.RLIMIT_CPU, uint64(maxCPU.Seconds())}, {unix.RLIMIT_DATA, maxData}} {
		if err := unix.Setrlimit(l.resource, &unix.Rlimit{Cur: l.value, Max: l.value}); err != nil {
			fmt.Fprintf(os.Stderr, "set limit %d: %v\n", l.resource, err)
			return 1
		}
	}
	err := unix.Exec(args[0], args, os.Environ())
	fmt.Fprintf(os.Stderr, "start %s: %v\n", args[0], err)
	return 1
}

// endWithHub gives the worker a group of its own, so that signals of the hub's terminal do not
// reach it.
func endWithHub(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	killWithHub(cmd.SysProcAttr)
}

// wasKilled reports whether the system ended a process, as it does at a limit.
func wasKilled(e *exec.ExitError) bool {
	status, ok := e.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}
