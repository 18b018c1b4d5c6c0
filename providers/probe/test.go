package probe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/everdesk/everdesk/internal/truncation"
	"github.com/everdesk/everdesk/providers"
)

// TestTimeout bounds a test. A local server may have to load its model from disk first.
const TestTimeout = time.Minute

// maxAnswer bounds the answer in a result, in characters.
const maxAnswer = 500

// question is the request of a test.
const question = "This is a test of the connection. Reply with one short sentence that says hello."

// Result is the outcome of a test.
type Result struct {
	// Answer is what the model said, shortened.
	Answer string
	// Duration is the time from the request to the end of the answer.
	Duration time.Duration
	Usage    providers.Usage
}

// Test asks a model for a short answer. A failure is a [*providers.Failure]; it is that of the first
// request, which is not retried.
func Test(ctx context.Context, p providers.Provider, model string) (Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, TestTimeout, &providers.Failure{
		Class: providers.Transport, Err: fmt.Errorf("the model did not answer within %v", TestTimeout),
	})
	defer cancel()
	run := trial{ended: make(chan struct{})}
	began := time.Now()
	session, err := p.Open(ctx, providers.Spec{
		Agent: "connection test", Model: model, Whole: true, OnEvent: run.event, OnModelCall: run.modelCall,
		Call: func(context.Context, providers.ToolCall) providers.ToolResult {
			return providers.ToolResult{Text: "There are no tools.", IsError: true}
		},
	})
	if err != nil {
		return Result{}, asFailure(err)
	}
	defer session.Close() //nolint:errcheck // the result does not depend on it
	if err := session.Send(ctx, providers.Message{ID: "test", Mode: providers.Start, Text: question}); err != nil {
		return Result{}, asFailure(err)
	}
	select {
	case <-run.ended:
	case <-ctx.Done():
		return Result{}, asFailure(context.Cause(ctx))
	}
	result, err := run.result()
	result.Duration = time.Since(began)
	return result, err
}

// asFailure returns err as a failure.
func asFailure(err error) error {
	if f, ok := errors.AsType[*providers.Failure](err); ok {
		return f
	}
	return &providers.Failure{Class: providers.Transport, Err: err}
}

// trial collects what a model does. Its channel is closed at the end of the turn or at the first
// failure.
type trial struct {
	ended chan struct{}
	once  sync.Once

	mu     sync.Mutex // guards the following
	answer strings.Builder
	usage  providers.Usage
	err    error
}

func (t *trial) event(e providers.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.Kind {
	case providers.EventText:
		if t.answer.Len() < 4*maxAnswer {
			t.answer.WriteString(e.Text)
		}
	case providers.EventUsage:
		t.usage = t.usage.Add(e.Usage)
	case providers.EventRetry:
		t.end(&providers.Failure{Class: providers.Transport, Err: errors.New(e.Text)})
	case providers.EventTurnEnd:
		if e.Outcome == providers.Completed {
			t.end(nil)
		} else {
			t.end(e.Err)
		}
	case providers.EventExit:
		t.end(&providers.Failure{Class: providers.Transport, Err: errors.New("the backend ended")})
	}
}

// modelCall receives the failure of a request before the provider retries it.
func (t *trial) modelCall(c providers.ModelCall) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.Err != nil {
		t.end(c.Err)
	}
}

// end records the first end. The caller holds the lock.
func (t *trial) end(err error) {
	t.once.Do(func() {
		t.err = err
		close(t.ended)
	})
}

func (t *trial) result() (Result, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return Result{}, asFailure(t.err)
	}
	return Result{Answer: truncation.RunesMarked(strings.TrimSpace(t.answer.String()), maxAnswer, "…"), Usage: t.usage}, nil
}
