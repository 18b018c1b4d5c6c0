//go:build !unix

package checkpoints

import (
	"context"
	"os"
	"os/exec"
)

// lockFile does nothing: on these systems one hub uses a folder of checkpoints, and the store
// excludes operations inside of a process.
func lockFile(context.Context, *os.File) error { return nil }

func detachGit(*exec.Cmd, *os.File) {}
