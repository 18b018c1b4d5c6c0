package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/everdesk/everdesk/internal/worker"
)

// WorkerArg is the argument with which a program is started as a compiler. Its main function then
// calls [Work] and nothing else.
const WorkerArg = "build-app-worker"

// Bounds of a compiler's process.
const (
	timeout      = 20 * time.Second
	startTimeout = 20 * time.Second // on a busy machine
	maxHeap      = 256 << 20
	maxMemory    = maxHeap*2 + 512<<20
	maxStack     = 128 << 20
	maxRuns      = 2
	// maxInput and maxOutput bound what hub and compiler exchange: files of [apps.MaxBytes] in
	// base64, and a document in JSON.
	maxInput  = 8 << 20
	maxOutput = 8 << 20
)

// ErrCompiler means that the compiler failed, and not because of an error in the source that it can
// describe.
var ErrCompiler = errors.New("the compiler failed")

// Runner compiles apps in processes. It is safe for concurrent use.
type Runner struct {
	cmd  worker.Command
	runs chan struct{} // has an element for each process
}

// New returns a runner that starts a program as the compiler.
func New(program string) *Runner {
	return &Runner{worker.Command{Path: program, Arg: WorkerArg, MaxOutput: maxOutput}, make(chan struct{}, maxRuns)}
}

// reply is what a compiler returns.
type reply struct {
	Page   []byte   `json:"page,omitempty"`
	Errors []string `json:"errors,omitempty"`
}

// Compile is [Compile] in a process.
func (r *Runner) Compile(ctx context.Context, s Source) ([]byte, error) {
	in, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("compile app: %w", err)
	}
	select {
	case r.runs <- struct{}{}:
		defer func() { <-r.runs }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout+startTimeout, worker.ErrTimeout)
	defer cancel()
	out, err := r.cmd.Run(ctx, in)
	switch {
	case errors.Is(err, worker.ErrMemory), errors.Is(err, worker.ErrTimeout), errors.Is(err, worker.ErrStack), errors.Is(err, worker.ErrOutput):
		return nil, &Error{[]string{"the source is too large or too deeply nested to compile"}}
	case errors.Is(err, worker.ErrEnded):
		return nil, fmt.Errorf("%w: %w", ErrCompiler, err)
	case err != nil:
		return nil, err
	}
	var got reply
	if err := json.Unmarshal(out, &got); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCompiler, err)
	}
	if len(got.Errors) > 0 {
		return nil, &Error{got.Errors}
	}
	return got.Page, nil
}

// Work reads a source from in, compiles it and writes the result to out. It is the main function of
// a compiler's process and returns the exit code.
func Work(in io.Reader, out io.Writer) int {
	debug.SetMaxStack(maxStack)
	debug.SetMemoryLimit(maxHeap)
	data, err := io.ReadAll(io.LimitReader(in, maxInput))
	var s Source
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err == nil {
		err = worker.Limit(maxMemory, timeout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return worker.ExitFailure
	}
	page, err := Compile(s)
	answer := reply{Page: page}
	if e, ok := errors.AsType[*Error](err); ok {
		answer = reply{Errors: e.Messages}
	} else if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return worker.ExitFailure
	}
	if err := json.NewEncoder(out).Encode(answer); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return worker.ExitFailure
	}
	return 0
}
