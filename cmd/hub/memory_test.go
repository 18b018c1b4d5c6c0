package main

import (
	"io/fs"
	"runtime/debug"
	"testing"
	"testing/fstest"
)

const meminfo = "MemTotal:        2048 kB\nMemFree:          10 kB\n"

func TestMemoryOf(t *testing.T) {
	t.Parallel()
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	const v1, v2, all = "sys/fs/cgroup/memory/memory.limit_in_bytes", "sys/fs/cgroup/memory.max", "proc/meminfo"
	for name, c := range map[string]struct {
		root fstest.MapFS
		want int64
	}{
		"nothing to read":      {fstest.MapFS{}, 0},
		"machine":              {fstest.MapFS{all: file(meminfo)}, 2 << 20},
		"container":            {fstest.MapFS{all: file(meminfo), v2: file("1048576\n")}, 1 << 20},
		"old container":        {fstest.MapFS{all: file(meminfo), v1: file("1048576\n")}, 1 << 20},
		"container, unbounded": {fstest.MapFS{all: file(meminfo), v2: file("max\n")}, 2 << 20},
		"old, unbounded":       {fstest.MapFS{all: file(meminfo), v1: file("9223372036854771712\n")}, 2 << 20},
		"no number":            {fstest.MapFS{all: file("MemTotal: many kB\nMemTotal:\n"), v2: file("")}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := availableMemory(c.root); got != c.want {
				t.Errorf("availableMemory = %d, want %d", got, c.want)
			}
		})
	}
}

// It changes settings of the whole process, so it does not run beside others.
//
//nolint:paralleltest // see above
func TestSpareMemory(t *testing.T) {
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1)
	t.Cleanup(func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	})
	machine := fstest.MapFS{"proc/meminfo": &fstest.MapFile{Data: []byte("MemTotal: 8388608 kB\n")}}
	const quarter = 2 << 30
	for _, c := range []struct {
		environ []string
		root    fs.FS
		percent int
		limit   int64
	}{
		{nil, machine, garbagePercent, quarter},
		{[]string{"GOGC=", "GOMEMLIMIT="}, machine, garbagePercent, quarter},
		{[]string{"GOGC=100"}, machine, 100, limit},
		{[]string{"GOMEMLIMIT=1GiB"}, machine, garbagePercent, limit},
		{nil, fstest.MapFS{}, 100, limit},
		{[]string{"GOMEMLIMIT=1GiB"}, fstest.MapFS{}, garbagePercent, limit},
	} {
		debug.SetGCPercent(100)
		debug.SetMemoryLimit(limit)
		setMemoryLimits(c.environ, c.root)
		if got := debug.SetGCPercent(100); got != c.percent {
			t.Errorf("%v: GC percent is %d, want %d", c.environ, got, c.percent)
		}
		if got := debug.SetMemoryLimit(-1); got != c.limit {
			t.Errorf("%v: memory limit is %d, want %d", c.environ, got, c.limit)
		}
	}
}
