//go:build unix

package files

import (
	"errors"
	"os"
	"syscall"
)

// lockFile locks a file for this process until it is closed, and waits while another process has it.
func lockFile(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			return err //nolint:wrapcheck // the caller says what it is
		}
	}
}
