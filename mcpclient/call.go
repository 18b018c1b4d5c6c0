package mcpclient

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/everdesk/everdesk/internal/truncation"
)

// Call is a call of a tool.
type Call struct {
	Tool  string // its name at the server
	Input json.RawMessage
	// Caller identifies who calls. Questions of the server go to Ask if all its running calls belong to the same session
	// and those that can answer have the same caller; nil means that there is no user to ask.
	Caller string
	Ask    func(ctx context.Context, q Question) (Answer, error)
	// Complete, unless nil, asks the model for a server with [Server.Sampling]. It asks the user first.
	Complete func(ctx context.Context, r ModelRequest) (ModelAnswer, error)
	// OnProgress, unless nil, receives what the server says about the progress of the call. It must not block.
	OnProgress func(Progress)
}

// Progress is what a server says about the progress of a call. Total is 0 if it is unknown.
type Progress struct {
	Done, Total float64
	Message     string
}

// UncertainError means that a call broke off: it may or may not have run.
type UncertainError struct {
	Server string
	Err    error
}

// Error implements error.
func (e *UncertainError) Error() string {
	return fmt.Sprintf("the MCP server %s ended during the call, which may or may not have run: %v", e.Server, e.Err)
}

// Unwrap returns the cause.
func (e *UncertainError) Unwrap() error { return e.Err }

// errSilent is the cause of the end of a call without progress.
var errSilent = errors.New("the call made no progress for too long; it may or may not have run")

// callTool executes a call. It starts the server if necessary.
func (s *instance) callTool(ctx context.Context, at Place, in Call) (Result, error) {
	c := &call{at: at, caller: in.Caller, ask: in.Ask, complete: in.Complete, onProgress: in.OnProgress, token: rand.Text(), progress: make(chan struct{}, 1)}
	session, err := s.acquire(ctx, c)
	if err != nil {
		return Result{}, fmt.Errorf("the MCP server %s is not available: %w", s.server.Name, err)
	}
	defer s.release(c)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var watch sync.WaitGroup
	defer watch.Wait()
	over := make(chan struct{})
	defer close(over)
	watch.Go(func() { s.limitSilence(c, over, cancel) })
	params := &mcp.CallToolParams{Name: in.Tool, Arguments: in.Input}
	params.SetProgressToken(c.token)
	r, err := session.CallTool(ctx, params)
	refused, answered := errors.AsType[*jsonrpc.Error](err)
	switch {
	case err == nil:
		return resultOf(r), nil
	case ctx.Err() != nil:
		return Result{}, context.Cause(ctx)
	case answered:
		return Result{Text: "The server refused the call: " + s.log.clean(refused.Error()), IsError: true}, nil
	}
	s.abandonSession(session)
	return Result{}, &UncertainError{s.server.Name, errors.New(s.log.clean(err.Error()))}
}

func (s *instance) release(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, c)
	s.lastUsed = time.Now()
}

// limitSilence cancels a call that makes no progress.
func (s *instance) limitSilence(c *call, over <-chan struct{}, cancel context.CancelCauseFunc) {
	limit := s.maxSilence()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		select {
		case <-over:
			return
		case <-c.progress:
			timer.Reset(limit)
		case <-timer.C:
			cancel(errSilent)
			return
		}
	}
}

// maxSilence returns how long a call may be without progress.
func (s *instance) maxSilence() time.Duration {
	if s.server.Timeout > 0 {
		return time.Duration(s.server.Timeout) * time.Second
	}
	return s.times.silence
}

// maxProgress bounds the text of a progress in bytes.
const maxProgress = 500

// findCall returns the running call with a progress token, or nil.
func (s *instance) findCall(token any) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.calls {
		if token == c.token {
			return c
		}
	}
	return nil
}

// recordProgress resets the time that the call may be silent.
func (c *call) recordProgress() {
	select {
	case c.progress <- struct{}{}:
	default:
	}
}

// newClient returns a client for one session. relist is signalled when the tools have changed.
func (s *instance) newClient(relist chan<- struct{}) *mcp.Client {
	can := &mcp.ClientCapabilities{} // no roots
	can.AddExtension(viewExtension, map[string]any{"mimeTypes": []string{viewType}})
	options := &mcp.ClientOptions{
		Capabilities:       can,
		ElicitationHandler: s.answerElicitation,
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			select {
			case relist <- struct{}{}:
			default:
			}
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			if c := s.findCall(r.Params.ProgressToken); c != nil {
				c.recordProgress()
				if c.onProgress != nil {
					c.onProgress(Progress{r.Params.Progress, r.Params.Total, truncation.BytesMarked(r.Params.Message, maxProgress, "…")})
				}
			}
		},
	}
	if s.server.Sampling {
		options.CreateMessageHandler = s.completeModelRequest //nolint:staticcheck // it is deprecated, and servers use it
	}
	client := mcp.NewClient(&s.client, options)
	client.AddSendingMiddleware(s.logging(Sent))
	client.AddReceivingMiddleware(s.logging(Received))
	return client
}

// logging returns a middleware that logs what is sent or received: methods, durations and errors, not the
// content, which may be confidential.
func (s *instance) logging(from Source) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			begin := time.Now()
			line := method
			if p, ok := r.GetParams().(*mcp.CallToolParams); ok && p != nil {
				line += " " + shorten(p.Name)
			}
			out, err := next(ctx, method, r)
			line += " (" + time.Since(begin).Round(time.Millisecond).String() + ")"
			if err != nil {
				line += ": " + err.Error()
			}
			s.log.add(from, line)
			return out, err
		}
	}
}
