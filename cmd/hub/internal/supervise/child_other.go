//go:build !unix

package supervise

import "os/exec"

// separate does nothing: there are no process groups.
func separate(*exec.Cmd) {}
