package demo

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/everdesk/everdesk/providers"
)

// outcome is a call with its result.
type outcome struct {
	call   providers.ToolCall
	result providers.ToolResult
}

// callTools calls the tools of a step and emits the text about the results. Missing tools are only
// mentioned in the text.
func (t *turn) callTools(st step) error {
	var calls []providers.ToolCall
	var blocks []providers.Block
	for _, c := range st.calls {
		if !t.s.has(c.Name) {
			if err := t.emitText(lacking(c.Name)); err != nil {
				return err
			}
			continue
		}
		c.ID = "demo-" + rand.Text() // unique, because a fork may have the same turn id
		calls = append(calls, c)
		blocks = append(blocks, providers.Block{Kind: providers.BlockToolCall, Call: c.ID, Tool: c.Name, Input: c.Input, Origin: t.origin()})
	}
	if len(calls) == 0 {
		return nil
	}
	t.flush(blocks...)
	return t.finishCalls(calls, nil, st)
}

// finishCalls executes the calls without a result, adds all results to the conversation and
// continues with them.
func (t *turn) finishCalls(calls []providers.ToolCall, done map[string]providers.ToolResult, st step) error {
	outcomes := t.perform(calls, done)
	t.remember(nil, t.entry(providers.RoleUser, resultBlocks(outcomes)...))
	if err := context.Cause(t.ctx); err != nil {
		return err
	}
	return t.emitResults(st, outcomes)
}

// emitResults emits the text about the results of a step, and inserts the steps that they cause.
func (t *turn) emitResults(st step, outcomes []outcome) error {
	if st.then != nil {
		t.script = append(withStepIDs(st.id, st.then(outcomes)), t.script...)
	}
	return t.emitText(st.after(outcomes))
}

// perform executes the calls without a result in done, concurrently if all their tools allow
// it.
func (t *turn) perform(calls []providers.ToolCall, done map[string]providers.ToolResult) []outcome {
	together := !slices.ContainsFunc(calls, func(c providers.ToolCall) bool { return !t.s.tools[c.Name].Parallel })
	out := make([]outcome, len(calls))
	var wg sync.WaitGroup
	for n, c := range calls {
		out[n].call = c
		result, ok := done[c.ID]
		switch {
		case ok:
			out[n].result = result
		case t.ctx.Err() != nil:
			out[n].result = providers.ToolResult{Text: "interrupted before it began", IsError: true}
		case together:
			wg.Go(func() { out[n].result = t.callTool(c) })
		default:
			out[n].result = t.callTool(c)
		}
	}
	wg.Wait()
	t.since = time.Now()
	return out
}

// callTool calls one tool. A panic becomes an error result.
func (t *turn) callTool(c providers.ToolCall) (r providers.ToolResult) {
	defer func() {
		if v := recover(); v != nil {
			r = providers.ToolResult{Text: fmt.Sprintf("internal error: %v", v), IsError: true}
		}
	}()
	if _, ok := t.s.tools[c.Name]; ok {
		return t.s.spec.Call(t.ctx, c)
	}
	if isOwn(c.Name) {
		return t.askApproval(c)
	}
	return providers.ToolResult{Text: "there is no tool " + c.Name, IsError: true}
}

func resultBlocks(outcomes []outcome) (blocks []providers.Block) {
	for _, o := range outcomes {
		blocks = append(blocks, providers.Block{
			Kind: providers.BlockToolResult, Call: o.call.ID,
			Text: o.result.Text, Images: o.result.Images, IsError: o.result.IsError,
		})
	}
	return blocks
}

// closeCalls adds error results for calls that an earlier turn left open, because no backend
// accepts a conversation with open calls.
func (t *turn) closeCalls() {
	var outcomes []outcome
	for _, c := range openCalls(t.s.entries) {
		outcomes = append(outcomes, outcome{c, providers.ToolResult{Text: "the result of this call is unknown", IsError: true}})
	}
	if len(outcomes) > 0 {
		t.remember(nil, t.entry(providers.RoleUser, resultBlocks(outcomes)...))
	}
}

// openCalls returns the calls without a result.
func openCalls(entries []providers.Entry) (calls []providers.ToolCall) {
	results := map[string]bool{}
	for _, e := range slices.Backward(entries) {
		for _, b := range slices.Backward(e.Blocks) {
			switch {
			case b.Kind == providers.BlockToolResult:
				results[b.Call] = true
			case b.Kind == providers.BlockToolCall && !results[b.Call]:
				calls = append(calls, providers.ToolCall{ID: b.Call, Name: b.Tool, Input: b.Input})
			}
		}
	}
	slices.Reverse(calls)
	return calls
}

// input encodes the input of a call.
func input(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("{}") // impossible: callers pass values that have a JSON form
	}
	return raw
}
