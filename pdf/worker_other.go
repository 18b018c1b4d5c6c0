//go:build !unix

package pdf

import (
	"os"
	"os/exec"
)

// Work runs the program in args with its arguments and returns its exit code. There are no limits of
// the system; the hub ends it in time.
func Work(args []string) int {
	if len(args) == 0 {
		return 1
	}
	cmd := exec.Command(args[0], args[1:]...) //nolint:gosec // the hub found the program
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if cmd.Run() != nil {
		return 1
	}
	return 0
}

// endWithHub does nothing: the worker ends within its timeout.
func endWithHub(*exec.Cmd) {}

// wasKilled reports nothing: there are no limits.
func wasKilled(*exec.ExitError) bool { return false }
