package fakemodel

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
)

type object = map[string]any

// content is the content of a message in any dialect: a text or a list of parts.
type content []part

// part is a part of a message, in any dialect.
type part struct {
	Type    string  `json:"type"`
	Text    string  `json:"text"`
	Content content `json:"content"` // content of a tool result
	ID      string  `json:"id"`
	Result  string  `json:"tool_use_id"`
}

// UnmarshalJSON decodes either form.
func (c *content) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*c = content{{Type: "text", Text: text}}
		return nil
	}
	var parts []part
	if err := json.Unmarshal(data, &parts); err != nil {
		return fmt.Errorf("read the content of a message: %w", err)
	}
	*c = parts
	return nil
}

// texts returns the texts among the parts.
func (c content) texts() (out []string) {
	for _, p := range c {
		if p.Text != "" {
			out = append(out, p.Text)
		}
	}
	return out
}

// readMessages decodes a request of the Messages API. It is as strict as the real API where
// mistakes of clients are likely.
func readMessages(body []byte) ([]said, error) {
	var req struct {
		MaxTokens int  `json:"max_tokens"`
		Stream    bool `json:"stream"`
		Messages  []struct {
			Role    string  `json:"role"`
			Content content `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	if req.MaxTokens <= 0 || !req.Stream {
		return nil, errors.New("max_tokens: Field required")
	}
	var out []said
	var open map[string]bool // calls of the previous message
	for i, m := range req.Messages {
		one := said{assistant: m.Role == "assistant"}
		if one.assistant != (i%2 == 1) {
			return nil, fmt.Errorf("messages.%d: roles must alternate and begin with the user", i)
		}
		calls := map[string]bool{}
		for j, p := range m.Content {
			switch p.Type {
			case "text":
				if p.Text == "" {
					return nil, fmt.Errorf("messages.%d: text content blocks must be non-empty", i)
				}
				one.texts = append(one.texts, p.Text)
			case "tool_use":
				one.calls++
				calls[p.ID] = true
			case "tool_result":
				if !open[p.Result] {
					return nil, fmt.Errorf("messages.%d: unexpected `tool_use_id` in `tool_result`: %s", i, p.Result)
				}
				delete(open, p.Result)
				one.results = append(one.results, p.Content.texts()...)
			case "thinking":
				if j == len(m.Content)-1 {
					return nil, fmt.Errorf("messages.%d: the final block in an assistant message cannot be `thinking`", i)
				}
			}
		}
		if len(open) > 0 || len(m.Content) == 0 {
			return nil, fmt.Errorf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after", i)
		}
		open = calls
		out = append(out, one)
	}
	return out, nil
}

// messages writes replies of the Messages API.
type messages struct {
	*stream
	next int    // index of the next block
	kind string // kind of the open block
}

func speakMessages(s *stream) voice { return &messages{stream: s} }

// block closes the open block and opens one of the kind, unless such a block is open already; a
// tool_use always gets a block of its own. An empty kind opens none. The first call begins the
// message.
func (m *messages) block(kind string, start object) {
	if m.next == 0 && m.kind == "" {
		m.send("message_start", object{"type": "message_start", "message": object{
			"id": "msg_" + rand.Text(), "type": "message", "role": "assistant", "content": []any{},
			"usage": object{
				"input_tokens": m.use.Input, "output_tokens": 1,
				"cache_read_input_tokens": m.use.CacheRead, "cache_creation_input_tokens": m.use.CacheWrite,
			},
		}})
		m.send("ping", object{"type": "ping"})
	}
	if m.kind == kind && kind != "tool_use" {
		return
	}
	m.stop()
	m.kind = kind
	if kind != "" {
		m.send("content_block_start", object{"type": "content_block_start", "index": m.next, "content_block": start})
	}
}

// stop closes the open block.
func (m *messages) stop() {
	if m.kind == "thinking" {
		m.delta(object{"type": "signature_delta", "signature": "signed by the fake"})
	}
	if m.kind != "" {
		m.send("content_block_stop", object{"type": "content_block_stop", "index": m.next})
		m.next++
	}
}

func (m *messages) delta(d object) {
	m.send("content_block_delta", object{"type": "content_block_delta", "index": m.next, "delta": d})
}

func (m *messages) text(piece string) {
	m.block("text", object{"type": "text", "text": ""})
	m.delta(object{"type": "text_delta", "text": piece})
	m.output++
}

func (m *messages) think(piece string) {
	m.block("thinking", object{"type": "thinking", "thinking": "", "signature": ""})
	m.delta(object{"type": "thinking_delta", "thinking": piece})
	m.output++
}

func (m *messages) call(tool, input string) { m.calls(tool, halves(input)...) }

func (m *messages) halfCall(tool, input string) { m.calls(tool, halves(input)[0]) }

// calls sends a call with these pieces of its input.
func (m *messages) calls(tool string, input ...string) {
	m.block("tool_use", object{"type": "tool_use", "id": "toolu_" + rand.Text(), "name": tool, "input": object{}})
	m.delta(object{"type": "input_json_delta", "partial_json": ""})
	for _, piece := range input {
		m.delta(object{"type": "input_json_delta", "partial_json": piece})
		m.output++
	}
}

func (m *messages) end(why string) {
	m.block("", nil)
	reason := map[string]string{"stop": "end_turn", "calls": "tool_use", "length": "max_tokens", "refused": "refusal"}[why]
	m.send("message_delta", object{
		"type": "message_delta", "delta": object{"stop_reason": reason, "stop_sequence": nil},
		"usage": object{"output_tokens": m.output},
	})
	m.send("message_stop", object{"type": "message_stop"})
}

func (m *messages) fail(kind, message string) {
	m.send("error", object{"type": "error", "error": object{"type": kind, "message": message}})
}

// halves splits a text in two, between characters.
func halves(text string) []string {
	runes := []rune(text)
	return []string{string(runes[:len(runes)/2]), string(runes[len(runes)/2:])}
}
