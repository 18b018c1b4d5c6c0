package terminal

import "os"

// IsTerminal reports whether a file is a terminal. The null device is also a character
// device, but not a terminal.
func IsTerminal(end any) bool {
	f, ok := end.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
