//go:build !unix

package runjs

import (
	"os/exec"
	"time"
)

// limit does nothing: the worker watches its memory and its time itself.
func limit(time.Duration) error { return nil }

// endWithHub does nothing: the worker ends by itself, within its timeout.
func endWithHub(*exec.Cmd) {}

// endedByCPULimit reports nothing: there is no such limit.
func endedByCPULimit(*exec.ExitError) bool { return false }
