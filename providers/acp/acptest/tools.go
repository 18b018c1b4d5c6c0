package acptest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/everdesk/everdesk/providers/agent/agenttest"
)

// mcpClient is an MCP server as the hub describes it.
type mcpClient struct {
	URL     string
	Headers []struct{ Name, Value string }
}

// call calls a tool and returns the text of its result.
func (c mcpClient) call(ctx context.Context, tool string, input json.RawMessage) string {
	body, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": object{"name": tool, "arguments": input}})
	if err != nil {
		return err.Error()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(body))
	if err != nil {
		return err.Error()
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", "2025-06-18")
	for _, h := range c.Headers {
		req.Header.Set(h.Name, h.Value)
	}
	resp, err := (&http.Client{Timeout: time.Minute}).Do(req)
	if err != nil {
		return "aborted: " + err.Error()
	}
	defer resp.Body.Close()
	var r struct {
		Result struct {
			Content []struct{ Text string }
		}
		Error struct{ Message string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil {
		return resp.Status + ": " + err.Error()
	}
	if len(r.Result.Content) == 0 {
		return r.Error.Message
	}
	return r.Result.Content[0].Text
}

// call executes calls of the hub's tools at once.
func (f *fake) call(ctx context.Context, calls []agenttest.Step) {
	f.add(agenttest.Message{Assistant: true, Calls: len(calls)})
	results := make([]string, len(calls))
	var wg sync.WaitGroup
	for i, c := range calls {
		id := f.next("call")
		f.update("tool_call", object{"toolCallId": id, "title": "everdesk_" + c.Tool, "kind": "other", "status": "pending", "rawInput": object{}})
		f.update("tool_call_update", object{"toolCallId": id, "status": "in_progress", "rawInput": c.Input})
		wg.Go(func() {
			results[i] = f.mcp.call(ctx, c.Tool, c.Input)
			f.update("tool_call_update", object{"toolCallId": id, "status": "completed", "content": []object{
				{"type": "content", "content": object{"type": "text", "text": results[i]}},
			}})
		})
	}
	wg.Wait()
	f.add(agenttest.Message{Results: results})
}

// extra executes the directives that only this stand-in has.
func (f *fake) extra(ctx context.Context, s agenttest.Step, say func(string)) {
	kind, raw, _ := strings.Cut(strings.ReplaceAll(s.Text, "DIR", f.dir), " ")
	params := object{}
	_ = json.Unmarshal([]byte(raw), &params)
	switch s.Verb {
	case "send":
		f.update(kind, params)
	case "request":
		say(string(f.request(ctx, kind, params)))
	case "shell":
		say(f.ask(ctx, s))
	}
}
