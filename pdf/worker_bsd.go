//go:build unix && !linux

package pdf

import "syscall"

// killWithHub does nothing: the worker ends within its timeout.
func killWithHub(*syscall.SysProcAttr) {}
