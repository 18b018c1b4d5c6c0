//go:build !unix

package apps

import "os"

// lockFile does nothing: on these systems one process uses a folder.
func lockFile(*os.File) error { return nil }
