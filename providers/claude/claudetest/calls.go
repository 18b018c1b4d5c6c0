package claudetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/everdesk/everdesk/providers/agent/agenttest"
)

// call executes calls at once.
func (f *fake) call(calls []agenttest.Step) {
	results := make([]string, len(calls))
	ids := make([]string, len(calls))
	for i, c := range calls {
		f.mu.Lock()
		f.requests++
		ids[i] = fmt.Sprintf("toolu_%s_%d_%d", f.session, os.Getpid(), f.requests)
		f.mu.Unlock()
		name := c.Tool
		if slices.Contains(f.tools, name) {
			name = "mcp__hub__" + name
		}
		f.send(object{"type": "assistant", "message": object{"role": "assistant", "content": []object{{"type": "tool_use", "id": ids[i], "name": name, "input": c.Input}}}})
	}
	f.conversation.Messages = append(f.conversation.Messages, agenttest.Message{Assistant: true, Calls: len(calls)})
	_ = f.conversation.Store(f.home, f.session)
	var wg sync.WaitGroup
	for i, c := range calls {
		wg.Go(func() {
			var isError bool
			results[i], isError = f.callOne(ids[i], c)
			f.send(object{"type": "user", "message": object{"role": "user", "content": []object{{"type": "tool_result", "tool_use_id": ids[i], "content": results[i], "is_error": isError}}}})
		})
	}
	wg.Wait()
	f.conversation.Messages = append(f.conversation.Messages, agenttest.Message{Results: results})
	_ = f.conversation.Store(f.home, f.session)
}

func (f *fake) callOne(id string, c agenttest.Step) (string, bool) {
	if !slices.Contains(f.tools, c.Tool) {
		return "Error: No such tool available: " + c.Tool, true
	}
	var r struct {
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
	}
	raw := f.mcp("tools/call", object{"name": c.Tool, "arguments": c.Input, "_meta": object{"claudecode/toolUseId": id}})
	if raw == nil || json.Unmarshal(raw, &r) != nil || len(r.Result.Content) == 0 {
		return "interrupted", true
	}
	return r.Result.Content[0].Text, r.Result.IsError
}

// ask asks for approval of a call of its own tool, executes it in the working directory, and says the answer.
func (f *fake) ask(s agenttest.Step) {
	f.mu.Lock()
	f.requests++
	id := fmt.Sprintf("toolu_%s_%d_%d", f.session, os.Getpid(), f.requests)
	f.mu.Unlock()
	f.send(object{"type": "assistant", "message": object{"role": "assistant", "content": []object{{"type": "tool_use", "id": id, "name": s.Tool, "input": s.Input}}}})
	raw := f.request(object{"subtype": "can_use_tool", "tool_name": s.Tool, "tool_use_id": id, "input": s.Input})
	var answer struct{ Behavior, Message string }
	if raw == nil || json.Unmarshal(raw, &answer) != nil {
		f.say("withdrawn")
		return
	}
	text, out := "approved", ""
	var err error
	if answer.Behavior == "allow" {
		out, err = s.Execute(".")
	} else {
		text, err = "denied: "+answer.Message, errors.New(answer.Message)
	}
	if err != nil {
		out += err.Error()
	}
	if s.Verb == "shell" && answer.Behavior == "allow" {
		text = out
	}
	f.send(object{"type": "user", "message": object{"role": "user", "content": []object{{"type": "tool_result", "tool_use_id": id, "content": out, "is_error": err != nil}}}})
	f.say(text)
}

// say says a text.
func (f *fake) say(text string) {
	f.conversation.Messages = append(f.conversation.Messages, agenttest.Message{Assistant: true, Text: text})
	f.send(object{"type": "stream_event", "event": object{"type": "content_block_start", "index": 0}})
	f.send(object{"type": "assistant", "message": object{"role": "assistant", "content": []object{{"type": "text", "text": text}}}})
}

// request sends a control request and returns the response, or nil if the part was cut off.
func (f *fake) request(r object) json.RawMessage {
	f.mu.Lock()
	f.requests++
	id := fmt.Sprint("cli-", f.requests)
	reply := make(chan json.RawMessage, 1)
	f.replies[id] = reply
	stop := f.stop
	f.mu.Unlock()
	f.send(object{"type": "control_request", "request_id": id, "request": r})
	select {
	case raw := <-reply:
		return raw
	case <-stop:
		f.send(object{"type": "control_cancel_request", "request_id": id})
		return nil
	}
}

// mcp sends a message of MCP and returns the response.
func (f *fake) mcp(method string, params object) json.RawMessage {
	m := object{"jsonrpc": "2.0", "method": method, "id": 7}
	if params != nil {
		m["params"] = params
	}
	if strings.HasPrefix(method, "notifications/") {
		delete(m, "id")
	}
	var r struct {
		MCP json.RawMessage `json:"mcp_response"`
	}
	if json.Unmarshal(f.request(object{"subtype": "mcp_message", "server_name": "hub", "message": m}), &r) != nil {
		return nil
	}
	return r.MCP
}
