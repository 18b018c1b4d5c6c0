//go:build !linux

package broadcast

import "errors"

const canWriteNonBlocking = false

func writeNonBlocking(int32, []byte) (int, error) { return 0, errors.ErrUnsupported }

func unsentBytes(int32) (int, bool) { return 0, false }
