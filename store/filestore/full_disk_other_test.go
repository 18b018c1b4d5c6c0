//go:build !linux

package filestore_test

import "errors"

// fillDisk needs a file system of its own, which only the Linux test mounts.
func fillDisk([]string) error { return errors.ErrUnsupported }
