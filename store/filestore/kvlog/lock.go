package kvlog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const lockFile = "LOCK"

// errHeld is what tryLockFile returns when another process holds the lock.
var errHeld = errors.New("lock is held")

// lockDir locks the folder for this process. The operating system releases the lock when
// the process ends, however it ends; the text in the file only serves the error message of
// another process.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock folder: %w", err)
	}
	if err := tryLockFile(f); err != nil {
		defer func() { _ = f.Close() }()
		if !errors.Is(err, errHeld) {
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
func unlockDir(f *os.File) error { return errors.Join(unlockFile(f), f.Close()) }
