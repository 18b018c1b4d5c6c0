//go:build !unix

package worker

import (
	"os/exec"
	"time"
)

// Limit does nothing: the worker watches its memory and its time itself.
func Limit(uint64, time.Duration) error { return nil }

// endWithHub does nothing: the worker ends by itself, within its timeout.
func endWithHub(*exec.Cmd) {}

// endedByCPULimit reports nothing: there is no such limit.
func endedByCPULimit(*exec.ExitError) bool { return false }
