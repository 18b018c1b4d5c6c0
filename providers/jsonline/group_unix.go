//go:build unix

package jsonline

import (
	"os"
	"os/exec"
	"syscall"
)

// setGroup gives the process a group of its own, so that signals of the hub's terminal do not
// reach it and its group can be killed.
func setGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	signalWithHub(cmd.SysProcAttr)
}

// terminateGroup asks the group to end.
func terminateGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) } // it may have ended

// killGroup kills what is left of the group. The group keeps its id reserved while it has a member.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) } // usually nothing is left

// killTree kills the process, its group and all descendants, which may have groups of their own.
func killTree(p *os.Process) {
	below := descendants(p.Pid)
	killGroup(p)
	for _, pid := range below {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
}

// KillTree kills a process, its group and all descendants. It is for a process that leads a group and was not started
// by [Start].
func KillTree(p *os.Process) { killTree(p) }
