//go:build unix

package kvlog

import (
	"errors"
	"os"
	"syscall"
)

// diskFull are the errors of a write that found no space.
var diskFull = []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}

func openFile(path string, flag int) (File, error) { return os.OpenFile(path, flag, 0o600) }

// syncDir makes the names in a folder durable. On macOS Sync is F_FULLFSYNC, which
// also empties the cache of the drive.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
