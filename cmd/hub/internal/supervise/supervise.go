package supervise

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
)

// Variable is the variable of the setting that says that a hub is started again after a crash.
const Variable = "HUB_SUPERVISED"

// A hub that was killed is started again at once. One that dies again and again within settled waits in
// between, up to maxDelay.
const (
	settled   = 2 * time.Second
	firstWait = 100 * time.Millisecond
	maxDelay  = 5 * time.Second
)

// Command returns `hub supervise`, which runs `hub serve` with the same flags as a child process.
func Command() command.Command {
	return command.Command{
		Name: "supervise", Args: "[flags]", Help: "run serve in a child process, and start it again whenever a signal ends it", Run: run,
	}
}

func run(ctx context.Context, p command.Call) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the path of this program: %w", err)
	}
	// The system may end the child together with the thread that started it, so this goroutine stays
	// on one.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	log := slog.New(slog.NewTextHandler(p.Stderr, nil))
	var delays backoff
	for {
		began := time.Now()
		err := runOnce(ctx, program, p)
		exit, failed := errors.AsType[*exec.ExitError](err)
		switch {
		case failed && exit.ExitCode() >= 0:
			return command.CodeError(exit.ExitCode()) // it has printed the reason
		case !failed || ctx.Err() != nil:
			return err
		}
		wait := delays.next(time.Since(began))
		log.WarnContext(ctx, "a signal ended the hub, starting it again", "state", exit.String(), "in", wait)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// runOnce runs the hub until it ends. When ctx ends, the hub is asked to end and may take its time.
func runOnce(ctx context.Context, program string, p command.Call) error {
	cmd := exec.CommandContext(ctx, program, append([]string{"serve"}, p.Args...)...) //nolint:gosec // the program is this one
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(slices.Clone(p.Environ), Variable+"=true")
	cmd.Stdout, cmd.Stderr = p.Stdout, p.Stderr
	cmd.Cancel = func() error {
		if err := cmd.Process.Signal(syscall.SIGTERM); err == nil || errors.Is(err, os.ErrProcessDone) {
			return err
		}
		return cmd.Process.Kill() // Windows has no such signal
	}
	separate(cmd)
	err := cmd.Run()
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil // it ended as asked
	}
	return err
}

// backoff computes how long to wait before the next start.
type backoff struct{ last time.Duration }

// next returns the wait after a hub that lived for a time.
func (b *backoff) next(lived time.Duration) time.Duration {
	switch {
	case lived >= settled:
		b.last = 0
	case b.last == 0:
		b.last = firstWait
	default:
		b.last = min(2*b.last, maxDelay)
	}
	return b.last
}
