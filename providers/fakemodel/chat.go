package fakemodel

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
)

// readChat decodes a request of Chat Completions.
func readChat(body []byte) ([]said, error) {
	var req struct {
		Stream   bool `json:"stream"`
		Messages []struct {
			Role    string  `json:"role"`
			Content content `json:"content"`
			Call    string  `json:"tool_call_id"`
			Calls   []struct {
				ID string `json:"id"`
			} `json:"tool_calls"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	if !req.Stream {
		return nil, errors.New("only streams are spoken here")
	}
	var out []said
	open := map[string]bool{}
	for i, m := range req.Messages {
		one := said{assistant: m.Role == "assistant"}
		switch m.Role {
		case "tool":
			if !open[m.Call] {
				return nil, fmt.Errorf("messages.%d: no call %q waits for a result", i, m.Call)
			}
			delete(open, m.Call)
			one.results = m.Content.texts()
		case "user", "assistant":
			if len(open) > 0 {
				return nil, fmt.Errorf("messages.%d: calls before it have no result", i)
			}
			one.texts, one.calls = m.Content.texts(), len(m.Calls)
			for _, c := range m.Calls {
				open[c.ID] = true
			}
		default:
			continue
		}
		out = append(out, one)
	}
	return out, nil
}

// chat writes replies of Chat Completions.
type chat struct {
	*stream
	calls int
}

func speakChat(s *stream) voice { return &chat{stream: s} }

func (c *chat) delta(d object, finish any) {
	c.send("", object{"object": "chat.completion.chunk", "choices": []object{{"index": 0, "delta": d, "finish_reason": finish}}})
	c.output++
}

func (c *chat) text(piece string) { c.delta(object{"content": piece}, nil) }

func (c *chat) think(piece string) { c.delta(object{"reasoning_content": piece}, nil) }

func (c *chat) call(tool, input string) { c.callPieces(tool, halves(input)...) }

func (c *chat) halfCall(tool, input string) { c.callPieces(tool, halves(input)[0]) }

// callPieces sends a call with these pieces of its input.
func (c *chat) callPieces(tool string, input ...string) {
	c.delta(object{"tool_calls": []object{{
		"index": c.calls, "id": "call_" + rand.Text(), "type": "function", "function": object{"name": tool, "arguments": ""},
	}}}, nil)
	for _, piece := range input {
		c.delta(object{"tool_calls": []object{{"index": c.calls, "function": object{"arguments": piece}}}}, nil)
	}
	c.calls++
}

func (c *chat) end(why string) {
	reason := map[string]string{"stop": "stop", "calls": "tool_calls", "length": "length", "refused": "content_filter"}[why]
	c.delta(object{}, reason)
	c.send("", object{"object": "chat.completion.chunk", "choices": []any{}, "usage": object{
		"prompt_tokens": c.use.Total(), "completion_tokens": c.output, "prompt_tokens_details": object{"cached_tokens": c.use.CacheRead},
	}})
	c.write("data: [DONE]\n\n")
}

func (c *chat) fail(kind, message string) {
	c.send("", object{"error": object{"type": kind, "message": message}})
}
