package terminal

import (
	"os"

	"golang.org/x/sys/windows"
)

// HideInput makes a console show nothing of what is typed, until the returned function is called. It
// reports false if the file is no console.
func HideInput(f *os.File) (restore func(), hidden bool) {
	console := windows.Handle(f.Fd())
	var before uint32
	if windows.GetConsoleMode(console, &before) != nil {
		return func() {}, false
	}
	silent := before&^windows.ENABLE_ECHO_INPUT | windows.ENABLE_LINE_INPUT | windows.ENABLE_PROCESSED_INPUT
	if windows.SetConsoleMode(console, silent) != nil {
		return func() {}, false
	}
	return func() { _ = windows.SetConsoleMode(console, before) }, true
}
