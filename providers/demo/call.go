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

// outcome is a call with what came of it.
type outcome struct {
	call   providers.ToolCall
	result providers.ToolResult
}

// callTools calls the tools of a step, those that exist, and says what came of
// it.
func (t *turn) callTools(st step) error {
	var calls []providers.ToolCall
	var blocks []providers.Block
	for _, c := range st.calls {
		if !t.s.has(c.Name) {
			if err := t.say(lacking(c.Name)); err != nil {
				return err
			}
			continue
		}
		c.ID = "demo-" + rand.Text() // a fork may have the turn's id, but not its calls
		calls = append(calls, c)
		blocks = append(blocks, providers.Block{Kind: providers.BlockToolCall, Call: c.ID, Tool: c.Name, Input: c.Input})
	}
	if len(calls) == 0 {
		return nil
	}
	t.flush(blocks...)
	return t.settle(calls, nil, st)
}

// settle makes the calls of a step that have no result yet, remembers all results
// and goes on with them.
func (t *turn) settle(calls []providers.ToolCall, done map[string]providers.ToolResult, st step) error {
	outcomes := t.perform(calls, done)
	t.remember(nil, t.entry(providers.RoleUser, resultBlocks(outcomes)...))
	if err := context.Cause(t.ctx); err != nil {
		return err
	}
	return t.follow(st, outcomes)
}

// follow says what there is to say about the results of a step, and puts what
// they make necessary before the rest of the script.
func (t *turn) follow(st step, outcomes []outcome) error {
	if st.then != nil {
		t.script = append(st.then(outcomes), t.script...)
	}
	return t.say(st.after(outcomes))
}

// perform makes calls, at once if all their tools allow it, but none of those
// that are done.
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
			wg.Go(func() { out[n].result = t.use(c) })
		default:
			out[n].result = t.use(c)
		}
	}
	wg.Wait()
	t.since = time.Now()
	return out
}

// use calls one tool, perhaps on a goroutine of its own.
func (t *turn) use(c providers.ToolCall) (r providers.ToolResult) {
	defer func() {
		if v := recover(); v != nil {
			r = providers.ToolResult{Text: fmt.Sprintf("it broke: %v", v), IsError: true}
		}
	}()
	if _, ok := t.s.tools[c.Name]; ok {
		return t.s.spec.Call(t.ctx, c)
	}
	if c.Name == deleteReports {
		return t.approved(c)
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

// closeCalls gives calls that an earlier owner left open a result, for no backend
// can go on without.
func (t *turn) closeCalls() {
	var outcomes []outcome
	for _, c := range openCalls(t.s.entries) {
		outcomes = append(outcomes, outcome{c, providers.ToolResult{Text: "nobody knows what came of it", IsError: true}})
	}
	if len(outcomes) > 0 {
		t.remember(nil, t.entry(providers.RoleUser, resultBlocks(outcomes)...))
	}
}

// openCalls are those without a result.
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

// resume goes on with the last turn of the entries. How far it came is told by
// its calls: the script is planned again and everything up to the last call that
// was made is left out.
func (t *turn) resume() error {
	entries := t.s.entries
	last := entries[len(entries)-1]
	left := openCalls(entries)
	if last.Role == providers.RoleAssistant && len(left) == 0 {
		return nil // it was all but over
	}
	begin := len(entries)
	for begin > 0 && entries[begin-1].Turn == last.Turn {
		begin--
	}
	var made, latest []providers.ToolCall
	results := map[string]providers.ToolResult{}
	for n := begin; n < len(entries); n++ {
		if entries[n].Role == providers.RoleUser {
			if planned := t.s.plan(entries[:n], entries[n]); len(planned) > 0 {
				t.heed(planned)
			}
		}
		var calls []providers.ToolCall
		for _, b := range entries[n].Blocks {
			switch b.Kind {
			case providers.BlockToolCall:
				calls = append(calls, providers.ToolCall{ID: b.Call, Name: b.Tool, Input: b.Input})
			case providers.BlockToolResult:
				results[b.Call] = providers.ToolResult{Text: b.Text, Images: b.Images, IsError: b.IsError}
			case providers.BlockText:
				if entries[n].Role == providers.RoleAssistant && b.Text != "" {
					t.spoken, t.ends = true, b.Text[len(b.Text)-1]
				}
			}
		}
		if len(calls) > 0 {
			made, latest = append(made, calls...), calls
		}
	}
	if len(latest) == 0 {
		return nil
	}
	st := t.skip(made, results)
	if len(left) > 0 {
		return t.settle(left, t.first.Done, st)
	}
	return t.follow(st, outcomesOf(latest, results))
}

func outcomesOf(calls []providers.ToolCall, results map[string]providers.ToolResult) []outcome {
	out := make([]outcome, len(calls))
	for n, c := range calls {
		out[n] = outcome{c, results[c.ID]}
	}
	return out
}

// skip drops the steps up to the one that made the last of the calls, and returns
// that one. What the results before it made necessary is part of the script.
func (t *turn) skip(made []providers.ToolCall, results map[string]providers.ToolResult) step {
	last := step{after: tellResults}
	for len(made) > 0 && len(t.script) > 0 {
		next := t.script[0]
		t.script = t.script[1:]
		if next.kind != stepCall {
			continue
		}
		last = next
		n := 0
		for _, c := range next.calls {
			if t.s.has(c.Name) {
				n++
			}
		}
		n = min(n, len(made))
		its := made[:n]
		if made = made[n:]; n > 0 && len(made) > 0 && next.then != nil {
			t.script = append(next.then(outcomesOf(its, results)), t.script...)
		}
	}
	return last
}

// input is the input of a call.
func input(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("{}") // cannot be: callers give maps of plain values
	}
	return raw
}
