package runjs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/internal/worker"
)

// WorkerArg is the argument with which a program is started as a worker. Its main function then calls
// [Work] and nothing else.
const WorkerArg = "run-js-worker"

// Bounds of a run.
const (
	DefaultTimeout = 5 * time.Second
	MaxTimeout     = 60 * time.Second
	// MaxCode bounds the code, and MaxInput its input, in bytes.
	MaxCode  = 256 << 10
	MaxInput = 1 << 20
	// maxOutput bounds the result with everything that was written to the console.
	maxOutput = 1 << 20
	// startTimeout bounds the time in which a worker starts, on a busy machine.
	startTimeout = 20 * time.Second
)

// DefaultRuns is how many scripts run at once if [Config] does not say.
const DefaultRuns = 4

// Errors of runs. That of the code itself is an [*ExceptionError].
var (
	// ErrTimeout means that the code did not end in time.
	ErrTimeout = errors.New("the code did not end in time")
	// ErrMemory means that the code needed too much memory.
	ErrMemory = errors.New("the code needs too much memory")
	// ErrTooLarge means that code, input or result are too large.
	ErrTooLarge = errors.New("code, input or result are too large")
	// ErrWorker means that the worker ended without a result.
	ErrWorker = errors.New("the JavaScript worker ended without a result")
)

// ExceptionError is an error that the code threw, or that it could not be parsed for.
type ExceptionError struct {
	Text string
	// Console has what was written before.
	Console []string
}

// Error implements error.
func (e *ExceptionError) Error() string { return e.Text }

// Script is code to run.
type Script struct {
	Code string
	// Input is a JSON value that the code sees as input; empty means undefined.
	Input json.RawMessage
	// Timeout bounds the run; 0 means [DefaultTimeout].
	Timeout time.Duration
}

// Result is what a script returned.
type Result struct {
	// Value is JSON; empty means undefined.
	Value   json.RawMessage `json:"value,omitempty"`
	Console []string        `json:"console,omitempty"`
}

// Config describes the program that is the worker.
type Config struct {
	Path string
	// Env is the environment of the worker, usually empty.
	Env []string
	// Runs is how many scripts run at once; others wait. 0 means [DefaultRuns].
	Runs int
}

// Runner runs scripts. It is safe for concurrent use.
type Runner struct {
	cfg  Config
	runs chan struct{} // has an element for each run
}

// New returns a runner.
func New(cfg Config) *Runner {
	if cfg.Runs <= 0 {
		cfg.Runs = DefaultRuns
	}
	return &Runner{cfg, make(chan struct{}, cfg.Runs)}
}

// request and reply are what hub and worker say to each other.
type (
	request struct {
		Code    string          `json:"code"`
		Input   json.RawMessage `json:"input,omitempty"`
		Timeout time.Duration   `json:"timeout"`
	}
	reply struct {
		Result
		Exception string `json:"exception,omitempty"`
		TimedOut  bool   `json:"timedOut,omitempty"`
	}
)

// Run executes a script in a new process and waits for its end.
func (r *Runner) Run(ctx context.Context, s Script) (Result, error) {
	if s.Timeout <= 0 {
		s.Timeout = DefaultTimeout
	}
	s.Timeout = min(s.Timeout, MaxTimeout)
	if len(s.Code) > MaxCode || len(s.Input) > MaxInput {
		return Result{}, ErrTooLarge
	}
	in, err := json.Marshal(request(s))
	if err != nil {
		return Result{}, fmt.Errorf("run JavaScript: %w", err)
	}
	select {
	case r.runs <- struct{}{}:
		defer func() { <-r.runs }()
	case <-ctx.Done():
		return Result{}, context.Cause(ctx)
	}
	// The worker ends by itself in time; this is for one that cannot.
	ctx, cancel := context.WithTimeoutCause(ctx, s.Timeout+startTimeout, ErrTimeout)
	defer cancel()
	out, err := r.start(ctx, in)
	if err != nil {
		return Result{}, err
	}
	var got reply
	if err := json.Unmarshal(out, &got); err != nil {
		return Result{}, ErrWorker
	}
	switch {
	case got.TimedOut:
		return Result{}, ErrTimeout
	case got.Exception != "":
		return Result{}, &ExceptionError{got.Exception, got.Console}
	}
	return got.Result, nil
}

// start starts a worker and returns its output.
func (r *Runner) start(ctx context.Context, in []byte) ([]byte, error) {
	out, err := worker.Command{Path: r.cfg.Path, Arg: WorkerArg, Env: r.cfg.Env, MaxOutput: maxOutput}.Run(ctx, in)
	switch {
	case errors.Is(err, worker.ErrOutput):
		return nil, ErrTooLarge
	case errors.Is(err, worker.ErrMemory):
		return nil, ErrMemory
	case errors.Is(err, worker.ErrTimeout):
		return nil, ErrTimeout
	case errors.Is(err, worker.ErrStack):
		return nil, &ExceptionError{Text: tooDeep}
	case errors.Is(err, worker.ErrEnded):
		return nil, fmt.Errorf("%w: %w", ErrWorker, err)
	}
	return out, err
}
