//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd && !windows

package terminal

import "os"

// HideInput reports false: this system is not known to have terminals that hide what is typed.
func HideInput(*os.File) (restore func(), hidden bool) { return func() {}, false }
