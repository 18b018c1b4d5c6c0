//go:build unix

package kvlog

import (
	"errors"
	"os"
	"syscall"
)

// tryLockFile locks f for this process without waiting. It returns errHeld if
// another process holds the lock.
func tryLockFile(f *os.File) error {
	err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errHeld
	}
	return err
}

func unlockFile(f *os.File) error { return flock(f, syscall.LOCK_UN) }

func flock(f *os.File, how int) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var lockErr error
	if err := raw.Control(func(fd uintptr) {
		lockErr = syscall.Flock(int(fd), how)
	}); err != nil {
		return err
	}
	return lockErr
}
