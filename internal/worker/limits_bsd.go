//go:build unix && !linux

package worker

import "syscall"

// killWithHub does nothing: the worker ends by itself, within its timeout.
func killWithHub(*syscall.SysProcAttr) {}
