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
	// Path is the program, and Arg its only argument.
	Path, Arg string
	// Env is the environment, usually empty.
	Env []string
	// MaxOutput bounds the output in bytes.
	MaxOutput int
}

// Run starts a worker, gives it the input and returns its output. If ctx ends, the worker is killed
// and the error is the cause.
func (c Command) Run(ctx context.Context, in []byte) ([]byte, error) {
	cmd := exec.CommandContext(ctx, c.Path, c.Arg) //nolint:gosec // the hub's own program
	cmd.Env = append(slices.Clone(c.Env), "GOMAXPROCS=1", "GOTRACEBACK=none")
	cmd.Dir = "/"
	cmd.Stdin = bytes.NewReader(in)
	out, stderr := &boundedBuffer{left: c.MaxOutput}, &boundedBuffer{left: 4 << 10}
	cmd.Stdout, cmd.Stderr = out, stderr
	cmd.WaitDelay = time.Second
	endWithHub(cmd)
	err := cmd.Run()
	exit, _ := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil && out.over:
		return nil, ErrOutput
	case err == nil:
		return out.Bytes(), nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case exit == nil:
		return nil, fmt.Errorf("%w: %w", ErrEnded, err)
	case exit.ExitCode() == ExitMemory || strings.Contains(stderr.String(), "memory"):
		return nil, ErrMemory
	case exit.ExitCode() == ExitTimeout || endedByCPULimit(exit):
		return nil, ErrTimeout
	case strings.Contains(stderr.String(), "stack"):
		return nil, ErrStack
	}
	return nil, fmt.Errorf("%w: %w", ErrEnded, exit)
}

// boundedBuffer keeps the beginning of what is written.
type boundedBuffer struct {
	bytes.Buffer
	left int
	over bool
}

// Write implements [io.Writer]. It takes everything, so that the writer does not block.
func (b *boundedBuffer) Write(p []byte) (int, error) {
	keep := p[:min(len(p), b.left)]
	b.left -= len(keep)
	b.over = b.over || len(keep) < len(p)
	_, _ = b.Buffer.Write(keep) // never fails
	return len(p), nil
}

// ReadFrom hides that of [bytes.Buffer], which has no bound.
func (b *boundedBuffer) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{b}, r)
}
