//go:build !unix

package agent

import "os"

// tryLock does nothing: on these systems one hub uses a folder of agents.
func tryLock(*os.File) error { return nil }
