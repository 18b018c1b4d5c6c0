//go:build unix && !linux

package kernels

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
)

// processStart returns when a process started, and false if it does not run.
func processStart(pid int) (string, bool) {
	out, err := exec.CommandContext(context.Background(), "ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid)).Output()
	state, start, ok := strings.Cut(strings.TrimSpace(string(out)), " ")
	if err != nil || !ok {
		return "", false
	}
	if strings.HasPrefix(state, "Z") {
		reap(pid) // it may be a child of this hub
		return "", false
	}
	return strings.Join(strings.Fields(start), " "), true
}
