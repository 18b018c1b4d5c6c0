package main

import (
	"bytes"
	"io/fs"
	"math"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
)

// garbagePercent is the GOGC value of the hub: garbage may grow to ten times the live
// heap. A busy hub allocates mostly short-lived frames and holds mostly long-lived
// sessions. With Go's default of 100, marking the sessions takes a tenth of the CPU time, and
// each collection delays the events of about 50 ms.
const garbagePercent = 1000

// setMemoryLimits sets garbagePercent together with a soft limit of a quarter of the
// memory of the machine or container; near the limit Go collects as often as needed. GOMEMLIMIT
// in the environment replaces that limit; with GOGC nothing is changed. root is the root of the
// file system.
func setMemoryLimits(environ []string, root fs.FS) {
	set := func(name string) bool {
		return slices.ContainsFunc(environ, func(v string) bool {
			value, ok := strings.CutPrefix(v, name+"=")
			return ok && value != ""
		})
	}
	limit := availableMemory(root) / 4
	if limit == 0 && !set("GOMEMLIMIT") || set("GOGC") {
		return // without a limit the heap could grow to eleven times its live size
	}
	debug.SetGCPercent(garbagePercent)
	if !set("GOMEMLIMIT") {
		debug.SetMemoryLimit(limit)
	}
}

// availableMemory returns the memory of the container or of the machine in bytes, whichever is
// less, or 0 if neither is known.
func availableMemory(root fs.FS) int64 {
	least := int64(math.MaxInt64)
	for _, name := range []string{"sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if data, err := fs.ReadFile(root, name); err == nil {
			if n, err := strconv.ParseInt(string(bytes.TrimSpace(data)), 10, 64); err == nil && n > 0 {
				least = min(least, n)
			}
		}
	}
	if data, err := fs.ReadFile(root, "proc/meminfo"); err == nil {
		for line := range strings.Lines(string(data)) {
			fields := strings.Fields(line)
			if len(fields) < 2 || fields[0] != "MemTotal:" {
				continue
			}
			if n, err := strconv.ParseInt(fields[1], 10, 64); err == nil && n > 0 {
				least = min(least, n<<10)
			}
		}
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least
}
