//go:build unix && !linux

package supervise

import (
	"os/exec"
	"syscall"
)

// separate gives the hub a process group of its own: Ctrl-C in a terminal reaches this process only,
// which passes it on once. Two signals would end the hub without its grace.
func separate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}
