//go:build unix

package rooipc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// isOwn reports whether a file belongs to the user of this process.
func isOwn(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}

// lockFolder waits until no other process has locked the folder, and locks it. The lock ends with the process.
func lockFolder(folder string) (unlock func(), err error) {
	f, err := os.Open(folder) //nolint:gosec // the folder of the socket
	if err != nil {
		return nil, err
	}
	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); {
		case err == nil:
			return func() { _ = f.Close() }, nil // which unlocks it
		case !errors.Is(err, syscall.EINTR):
			return nil, errors.Join(fmt.Errorf("lock %s: %w", folder, err), f.Close())
		}
	}
}
