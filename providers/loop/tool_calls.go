package loop

import (
	"context"
	"fmt"
	"sync"

	"github.com/everdesk/everdesk/providers"
)

// Bounds of one reply's tool calls.
const (
	maxCalls  = 64
	maxAtOnce = 8
)

// callTools executes tool calls and returns their results, one for each call. Adjacent calls of
// parallel tools run concurrently; all others run in order. A call with a result in done is not
// executed.
func (s *session) callTools(t *turn, wanted []providers.Block, done map[string]providers.ToolResult) []providers.Block {
	results := make([]providers.Block, len(wanted))
	var wg sync.WaitGroup
	slots := make(chan struct{}, maxAtOnce)
	for i, w := range wanted {
		if !s.tools[w.Tool].Parallel {
			wg.Wait()
			results[i] = s.resultOf(t.ctx, i, w, done)
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			results[i] = s.resultOf(t.ctx, i, w, done)
		})
	}
	wg.Wait()
	return results
}

// resultOf returns the result block of the i-th call of a reply.
func (s *session) resultOf(ctx context.Context, i int, w providers.Block, done map[string]providers.ToolResult) providers.Block {
	r, ok := done[w.Call]
	if !ok {
		r = s.executeCall(ctx, i, w)
	}
	return providers.Block{
		Kind: providers.BlockToolResult, Call: w.Call, Tool: w.Tool, Text: r.Text, Images: r.Images, IsError: r.IsError,
	}
}

func (s *session) executeCall(ctx context.Context, i int, w providers.Block) (r providers.ToolResult) {
	_, known := s.tools[w.Tool]
	switch {
	case ctx.Err() != nil:
		return refusal("The turn was stopped before this was called.")
	case !known || s.spec.Call == nil:
		return refusal(fmt.Sprintf("There is no tool %q.", w.Tool))
	case i >= maxCalls:
		return refusal(fmt.Sprintf("Not called: one reply may make %d calls.", maxCalls))
	case providers.BrokenInput(w.Input):
		return refusal("The input is not a JSON object.")
	}
	defer func() {
		if p := recover(); p != nil {
			s.p.cfg.Logger.Error("panic in a tool", "agent", s.spec.Agent, "tool", w.Tool, "panic", p)
			r = refusal("The tool broke. It may or may not have done something.")
		}
	}()
	return s.spec.Call(ctx, providers.ToolCall{ID: w.Call, Name: w.Tool, Input: w.Input})
}

func refusal(text string) providers.ToolResult {
	return providers.ToolResult{Text: text, IsError: true}
}
