//go:build !linux

package broadcast

import (
	"errors"
	"syscall"
)

const canWriteNow = false

func writeNow(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }

func unsent(syscall.RawConn) (int, bool) { return 0, false }
