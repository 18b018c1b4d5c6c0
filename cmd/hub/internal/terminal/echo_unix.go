//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// HideInput makes a terminal show nothing of what is typed, until the returned function is called. It
// reports false if the file is no terminal that can do so.
func HideInput(f *os.File) (restore func(), hidden bool) {
	fd := int(f.Fd())
	before, err := unix.IoctlGetTermios(fd, readTermios)
	if err != nil {
		return func() {}, false
	}
	silent := *before
	silent.Lflag &^= unix.ECHO
	silent.Lflag |= unix.ICANON | unix.ISIG
	silent.Iflag |= unix.ICRNL
	if unix.IoctlSetTermios(fd, writeTermios, &silent) != nil {
		return func() {}, false
	}
	return func() { _ = unix.IoctlSetTermios(fd, writeTermios, before) }, true
}
