package codextest

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/everdesk/everdesk/providers/agent/agenttest"
)

// call executes calls at once. A steer waits for them, an interrupt does not.
func (f *fake) call(calls []agenttest.Step, stop chan struct{}) {
	f.add(agenttest.Message{Assistant: true, Calls: len(calls)})
	results, ids := make([]string, len(calls)), make([]string, len(calls))
	for i, c := range calls {
		ids[i] = f.id("call")
		if slices.Contains(f.tools, c.Tool) {
			f.notify("item/started", object{"item": object{"type": "dynamicToolCall", "id": ids[i], "tool": c.Tool, "arguments": c.Input, "status": "inProgress"}})
		}
	}
	var wg sync.WaitGroup
	for i, c := range calls {
		wg.Go(func() {
			if !slices.Contains(f.tools, c.Tool) {
				results[i] = "unsupported call: " + c.Tool
				return
			}
			var r struct {
				ContentItems []struct{ Text string } `json:"contentItems"`
			}
			raw := f.request("item/tool/call", object{"turnId": "t", "callId": ids[i], "tool": c.Tool, "arguments": c.Input}, stop)
			if raw == nil || json.Unmarshal(raw, &r) != nil || len(r.ContentItems) == 0 {
				results[i] = "aborted"
				return
			}
			results[i] = r.ContentItems[0].Text
		})
	}
	wg.Wait()
	f.add(agenttest.Message{Results: results})
}

// ask asks for approval of a call of its own tool, executes it and returns what it says.
func (f *fake) ask(s agenttest.Step, stop chan struct{}) string {
	id := f.id("call")
	var in struct {
		Command string          `json:"command"`
		Reason  string          `json:"reason"`
		Path    string          `json:"file_path"`
		Content string          `json:"content"`
		Server  string          `json:"server"`
		Tool    string          `json:"tool"`
		Args    json.RawMessage `json:"arguments"`
	}
	_ = json.Unmarshal(s.Input, &in)
	switch s.Tool {
	case "apply_patch":
		change := object{"path": filepath.Join(f.dir, in.Path), "kind": object{"type": "add"}, "diff": in.Content}
		return f.approved(s, object{"type": "fileChange", "id": id, "changes": []object{change}}, stop, "item/fileChange/requestApproval", object{"itemId": id})
	case "mcp":
		item := object{"type": "mcpToolCall", "id": id, "server": in.Server, "tool": in.Tool, "arguments": in.Args}
		return f.approved(s, item, stop, "mcpServer/elicitation/request", object{
			"serverName": in.Server, "mode": "form", "message": "Allow the " + in.Server + " MCP server to run tool \"" + in.Tool + "\"?",
			"requestedSchema": object{"type": "object", "properties": object{}},
			"_meta":           object{"codex_approval_kind": "mcp_tool_call", "tool_params": in.Args},
		})
	case "form":
		return string(f.request("mcpServer/elicitation/request", object{"serverName": "forms", "mode": "form", "message": "Your name?"}, stop))
	default:
		item := object{"type": "commandExecution", "id": id, "command": "/bin/bash -lc " + quote(in.Command), "cwd": f.dir}
		return f.approved(s, item, stop, "item/commandExecution/requestApproval", object{"itemId": id, "command": item["command"], "cwd": f.dir, "reason": in.Reason})
	}
}

// quote quotes a word for a shell.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// approved asks for approval of an item, and executes the call if it is granted. The sandbox applies to
// commands.
func (f *fake) approved(s agenttest.Step, item object, stop chan struct{}, method string, params object) string {
	item["status"] = "inProgress"
	f.notify("item/started", object{"item": item})
	raw := f.request(method, params, stop)
	if raw == nil {
		return "withdrawn"
	}
	var answer struct{ Decision, Action string }
	said, status := "denied", "declined"
	if json.Unmarshal(raw, &answer) == nil && (answer.Decision == "accept" || answer.Action == "accept") {
		said, status = "approved", "completed"
		out, err := "", error(nil)
		switch {
		case item["type"] == "mcpToolCall": // there is no server
		case item["type"] == "commandExecution" && f.readOnly:
			err = errors.New("read-only file system")
		default:
			out, err = s.Execute(f.dir)
		}
		if err != nil {
			status, out = "failed", out+err.Error()
		}
		if s.Verb == "shell" {
			said = out
		}
		item["aggregatedOutput"] = out
	}
	item["status"] = status
	f.notify("item/completed", object{"item": item})
	return said
}

// request sends a request to the hub and waits for the result, or until the turn is interrupted.
// Ids begin with 0.
func (f *fake) request(method string, params object, stop chan struct{}) json.RawMessage {
	reply := make(chan json.RawMessage, 1)
	f.mu.Lock()
	id := strconv.Itoa(len(f.replies))
	f.replies[id] = reply
	f.mu.Unlock()
	params["threadId"] = f.thread
	f.send(object{"id": json.RawMessage(id), "method": method, "params": params})
	for {
		select {
		case raw := <-reply:
			f.notify("serverRequest/resolved", object{"requestId": json.RawMessage(id)})
			return raw
		case <-stop:
			f.mu.Lock()
			interrupted := f.stopWhy == "interrupt"
			f.mu.Unlock()
			if interrupted {
				f.notify("serverRequest/resolved", object{"requestId": json.RawMessage(id)})
				return nil
			}
			stop = nil // a steer; an interrupt after it ends the process in these tests
		}
	}
}
