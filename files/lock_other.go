//go:build !unix

package files

import "os"

// lockFile does nothing: on these systems one process uses a folder.
func lockFile(*os.File) error { return nil }
