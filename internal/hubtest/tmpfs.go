package hubtest

import (
	"fmt"
	"syscall"
	"testing"
)

// MountTmpfs mounts a tmpfs of the given size on a folder until the test ends, and enables the
// loopback interface. It needs the namespaces of [Plan.RunInNamespace].
func MountTmpfs(tb testing.TB, dir string, bytes int) {
	tb.Helper()
	ip(tb, "link", "set", "lo", "up")
	// Later mounts do not propagate to other namespaces.
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		tb.Fatalf("make mounts private: %v", err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)); err != nil {
		tb.Fatalf("mount tmpfs of %d bytes: %v", bytes, err)
	}
	tb.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			tb.Errorf("unmount tmpfs: %v", err)
		}
	})
}
