//go:build unix

package agent

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks a file until it is closed. It returns errHeld if another process has it.
func tryLock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errHeld
	}
	return err
}
