//go:build unix

package kernels

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// supported reports why a server cannot be started on this system.
func supported() error { return nil }

// detach gives the process a session of its own, so that neither signals of the hub's terminal nor the end of the
// hub reach it.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// reap waits for a child that has ended. It does nothing for other processes.
func reap(pid int) { _, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) }

// tryLock locks a file until it is closed. It returns errHeld if another process has it.
func tryLock(f *os.File, exclusive bool) error {
	how := syscall.LOCK_SH
	if exclusive {
		how = syscall.LOCK_EX
	}
	err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return errHeld
	}
	return err //nolint:wrapcheck // the caller says what it is
}
