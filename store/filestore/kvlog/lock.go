package kvlog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const lockFile = "LOCK"

// lockDir locks the folder for this process. The operating system releases the lock when
// the process ends, however it ends; the text in the file only serves the error message of
// another process.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock folder: %w", err)
	}
	if err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer func() { _ = f.Close() }()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock folder %s: %w", dir, err)
		}
		holder, err := io.ReadAll(io.LimitReader(f, 512))
		if err != nil || len(holder) == 0 {
			holder = []byte("another process")
		}
		return nil, fmt.Errorf("%w: %s is held by %s", ErrLocked, dir, strings.TrimSpace(string(holder)))
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	note := fmt.Sprintf("process %d on %s since %s\n", os.Getpid(), host, time.Now().UTC().Format(time.RFC3339))
	// A full disk must not prevent opening the log for reading.
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt([]byte(note), 0)
	}
	return f, nil
}

// unlockDir releases the lock explicitly. Closing the file is not enough: a child process
// that is being started may hold a copy of the descriptor.
func unlockDir(f *os.File) error { return errors.Join(flock(f, syscall.LOCK_UN), f.Close()) }

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
