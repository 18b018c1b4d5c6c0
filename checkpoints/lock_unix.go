//go:build unix

package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// lockFile locks a file for this process and for the processes that inherit it, and waits while
// another process has it.
func lockFile(ctx context.Context, f *os.File) error {
	wait := 5 * time.Millisecond
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			return fmt.Errorf("lock repository: %w", err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
			wait = min(2*wait, 100*time.Millisecond)
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("wait for the lock of the repository: %w", context.Cause(ctx))
		}
	}
}

// detachGit gives git a group of its own, so that signals of the hub's terminal do not reach it: git
// would stop in the middle of a save. It inherits the locked file.
func detachGit(cmd *exec.Cmd, held *os.File) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if held != nil {
		cmd.ExtraFiles = []*os.File{held}
	}
}
