//go:build !linux

package broadcast

import "errors"

const canWriteNow = false

func writeNow(int32, []byte) (int, error) { return 0, errors.ErrUnsupported }

func unsent(int32) (int, bool) { return 0, false }
