package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Exit codes with which a worker says why it ends.
const (
	ExitFailure = 1
	ExitMemory  = 3
	ExitTimeout = 4
)

// Reasons why a worker has no output.
var (
	// ErrMemory means that it needed too much memory.
	ErrMemory = errors.New("the worker needs too much memory")
	// ErrTimeout means that it did not end in time.
	ErrTimeout = errors.New("the worker did not end in time")
	// ErrStack means that its calls were nested too deeply.
	ErrStack = errors.New("the calls of the worker are nested too deeply")
	// ErrOutput means that its output is too large.
	ErrOutput = errors.New("the output of the worker is too large")
	// ErrEnded means that it ended for another reason.
	ErrEnded = errors.New("the worker ended without a result")
)

// Command describes a worker.
type Command struct {
	// Path is the program, Arg its first argument and More the others.
	Path, Arg string
	More      []string
	// Env is the environment, usually empty.
	Env []string
	// MaxOutput bounds the output in bytes.
	MaxOutput int
}

// EndedError is the error of a worker that ended without one of the other reasons. It matches [ErrEnded].
type EndedError struct {
	// Code is the exit code, or -1 if the system ended the process.
	Code int
	// Stderr is the beginning of what the worker wrote to its standard error.
	Stderr string
}

// Error implements error.
func (e *EndedError) Error() string { return fmt.Sprintf("%v: exit code %d", ErrEnded, e.Code) }

// Is reports whether target is [ErrEnded].
func (e *EndedError) Is(target error) bool { return target == ErrEnded }

// Run starts a worker, gives it the input and returns its output. If ctx ends, or if there is too much output, the
// worker is killed; the error is the cause of the end of ctx.
func (c Command) Run(ctx context.Context, in []byte) ([]byte, error) {
	return c.RunReader(ctx, bytes.NewReader(in))
}

// RunReader is [Command.Run] for input that is not in memory. An [os.File] becomes the standard input itself.
func (c Command) RunReader(ctx context.Context, in io.Reader) ([]byte, error) {
	running, stop := context.WithCancel(ctx)
	defer stop()
	cmd := exec.CommandContext(running, c.Path, append([]string{c.Arg}, c.More...)...) //nolint:gosec // the hub's own program
	cmd.Env = append(slices.Clone(c.Env), "GOMAXPROCS=1", "GOTRACEBACK=none")
	cmd.Dir = "/"
	cmd.Stdin = in
	out, stderr := &boundedBuffer{left: c.MaxOutput, full: stop}, &boundedBuffer{left: 4 << 10}
	cmd.Stdout, cmd.Stderr = out, stderr
	cmd.WaitDelay = time.Second
	endWithHub(cmd)
	err := cmd.Run()
	exit, _ := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, context.Cause(ctx)
	case out.over:
		return nil, ErrOutput
	case err == nil:
		return out.Bytes(), nil
	case exit == nil:
		return nil, fmt.Errorf("%w: %w", ErrEnded, err)
	case exit.ExitCode() == ExitMemory || strings.Contains(stderr.String(), "memory"):
		return nil, ErrMemory
	case exit.ExitCode() == ExitTimeout || endedByCPULimit(exit):
		return nil, ErrTimeout
	case strings.Contains(stderr.String(), "stack"):
		return nil, ErrStack
	}
	return nil, &EndedError{Code: exit.ExitCode(), Stderr: stderr.String()}
}

// boundedBuffer keeps the beginning of what is written, and calls full, unless nil, when there is more.
type boundedBuffer struct {
	bytes.Buffer
	left int
	over bool
	full func()
}

// Write implements [io.Writer]. It takes everything, so that the writer does not block.
func (b *boundedBuffer) Write(p []byte) (int, error) {
	keep := p[:min(len(p), b.left)]
	b.left -= len(keep)
	if len(keep) < len(p) && !b.over {
		b.over = true
		if b.full != nil {
			b.full()
		}
	}
	_, _ = b.Buffer.Write(keep) // never fails
	return len(p), nil
}

// ReadFrom hides that of [bytes.Buffer], which has no bound.
func (b *boundedBuffer) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{b}, r)
}
