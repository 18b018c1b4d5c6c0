package kvlog

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockedByte is the offset of the byte that is locked. It lies far behind the text
// of the file: locks on Windows are mandatory, and the next process must be able to
// read who holds the folder.
const lockedByte = 1 << 62

// tryLockFile locks f for this process without waiting. It returns errHeld if
// another process holds the lock.
func tryLockFile(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, lockRange())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return errHeld
	}
	return err
}

func unlockFile(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, lockRange())
}

func lockRange() *windows.Overlapped {
	return &windows.Overlapped{OffsetHigh: lockedByte >> 32}
}
