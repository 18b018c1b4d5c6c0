package main

import (
	"bytes"
	"io/fs"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// growInLargePages has the heap grow where large pages are asked for. Busy sessions touch
// more memory than a processor has small pages in its tables for, and most of what they allocate is new to
// the system, which is a fault for every 4 KiB: with large pages they take some 6 % less CPU. Go leaves that to the
// system, and many systems leave it to programs (transparent_hugepage is madvise). The runtime fills the
// lowest addresses first, so it is lent memory that asks for large pages and gets it back untouched.
func growInLargePages(size int64, root fs.FS) {
	if rationed(root) {
		return
	}
	_ = unix.Madvise(make([]byte, size), unix.MADV_HUGEPAGE) // a system that has none says so
	debug.FreeOSMemory()
}

// rationed reports whether memory counts that is only asked for, so that asking for much may be the end of
// the process.
func rationed(root fs.FS) bool {
	var space unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &space); err != nil || space.Cur != unix.RLIM_INFINITY {
		return true
	}
	mode, err := fs.ReadFile(root, "proc/sys/vm/overcommit_memory")
	return err != nil || bytes.HasPrefix(mode, []byte("2"))
}
