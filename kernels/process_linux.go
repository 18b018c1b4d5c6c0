package kernels

import (
	"bytes"
	"os"
	"strconv"
)

// processStart returns when a process started, in a form that no other process has, and false if it does not run.
func processStart(pid int) (string, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", false
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id") // times count from the start of the machine
	if err != nil {
		return "", false
	}
	// The name of the program is in parentheses and may contain anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const state, start = 0, 19
	if len(fields) <= start {
		return "", false
	}
	if s := string(fields[state]); s == "Z" || s == "X" {
		reap(pid) // it may be a child of this hub
		return "", false
	}
	return string(bytes.TrimSpace(boot)) + "/" + string(fields[start]), true
}
