package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// lockFolder has a file for each locked name. "" is one without locks.
type lockFolder string

// fileLock is a locked file, which ends with the process. The zero value locks nothing.
type fileLock struct{ file *os.File }

// errHeld means that another process has the lock.
var errHeld = errors.New("another process has the lock")

// lockWait is how long wait waits before it tries again.
const lockWait = 20 * time.Millisecond

// try locks a name and returns false if another process has it locked. Where files cannot be locked, it locks nothing.
func (l lockFolder) try(name string) (fileLock, bool) {
	if l == "" {
		return fileLock{}, true
	}
	sum := sha256.Sum256([]byte(name))
	path := filepath.Join(string(l), hex.EncodeToString(sum[:12]))
	for {
		if err := os.MkdirAll(string(l), 0o700); err != nil {
			return fileLock{}, true
		}
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // a folder of the hub
		if err != nil {
			return fileLock{}, true
		}
		err = tryLock(f)
		if err == nil && isAt(f, path) {
			return fileLock{f}, true
		}
		_ = f.Close() // nothing was written
		if err != nil {
			return fileLock{}, !errors.Is(err, errHeld)
		}
	}
}

// isAt reports whether a file is still the one with that path: whoever had it locked before has removed it.
func isAt(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(mine, there)
}

// wait locks a name, and waits while another process has it.
func (l lockFolder) wait(ctx context.Context, name string) (fileLock, error) {
	for {
		if lock, ok := l.try(name); ok {
			return lock, nil
		}
		select {
		case <-time.After(lockWait):
		case <-ctx.Done():
			return fileLock{}, context.Cause(ctx)
		}
	}
}

// release removes the file, while it is locked, and unlocks it.
func (l fileLock) release() {
	if l.file != nil {
		_ = os.Remove(l.file.Name()) // an unlocked file that stays does no harm
		_ = l.file.Close()           // which unlocks it
	}
}
