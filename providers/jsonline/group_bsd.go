//go:build unix && !linux

package jsonline

import "syscall"

// signalWithHub does nothing: the process notices the end of the hub by the end of its input.
func signalWithHub(*syscall.SysProcAttr) {}

// descendants returns none: only Linux has /proc.
func descendants(int) []int { return nil }

// killMarked does nothing: the environment of other processes is in /proc only.
func killMarked(string) {}

// awaitExit returns at once: the rest of the group is not killed, because the id of the group may
// be free after the process was waited for.
func awaitExit(int) bool { return false }
