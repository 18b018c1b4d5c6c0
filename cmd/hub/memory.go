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

// garbagePercent is how much garbage may gather, in parts of what is in use. Most
// of what a busy hub allocates is frames that are gone in a moment, and most of
// what it holds are sessions that stay: going through these for the sake of those
// as often as Go does by itself takes a tenth of the processor, and each time the
// events of some fifty milliseconds are late.
const garbagePercent = 1000

// spareMemory lets garbage gather as long as there is memory for it: with a quarter of
// what the machine or the container has in use, it is collected as often as
// needed to stay there. GOGC and GOMEMLIMIT are obeyed instead when they are set.
func spareMemory(environ []string, root fs.FS) {
	set := func(name string) bool {
		return slices.ContainsFunc(environ, func(v string) bool {
			value, ok := strings.CutPrefix(v, name+"=")
			return ok && value != ""
		})
	}
	limit := memoryOf(root) / 4
	if limit == 0 && !set("GOMEMLIMIT") || set("GOGC") {
		return // without a bound a large heap could become ten times as large
	}
	debug.SetGCPercent(garbagePercent)
	if !set("GOMEMLIMIT") {
		debug.SetMemoryLimit(limit)
	}
}

// largeHeap is up to which size a heap is in large pages.
const largeHeap = 1 << 30

// memoryOf is how much memory there is for this process, or 0 when that cannot
// be known.
func memoryOf(root fs.FS) int64 {
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
