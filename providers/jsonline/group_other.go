//go:build !unix

package jsonline

import (
	"os"
	"os/exec"
)

// setGroup does nothing: groups of processes exist on Unix only.
func setGroup(*exec.Cmd) {}

// terminateGroup kills the process, because there is no gentler signal.
func terminateGroup(p *os.Process) { _ = p.Kill() }

// killGroup does nothing: there is no group.
func killGroup(*os.Process) {}

// killTree kills the process.
func killTree(p *os.Process) { _ = p.Kill() }

// killMarked does nothing: the environment of other processes is in /proc only.
func killMarked(string) {}

// awaitExit returns at once.
func awaitExit(int) bool { return false }

// KillTree kills the process.
func KillTree(p *os.Process) { killTree(p) }
