package anthropic

import (
	"encoding/json"
	"strings"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/loop"
)

// request holds the used fields of the body of POST /v1/messages.
type request struct {
	Model     string        `json:"model"`
	MaxTokens int           `json:"max_tokens"`
	Stream    bool          `json:"stream"`
	System    []block       `json:"system,omitempty"`
	Thinking  *thinking     `json:"thinking,omitempty"`
	Output    *outputConfig `json:"output_config,omitempty"`
	Tools     []tool        `json:"tools,omitempty"`
	Messages  []message     `json:"messages"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"input_schema"`
	Cache       *cache          `json:"cache_control,omitempty"`
}

type message struct {
	Role    providers.Role `json:"role"`
	Content []block        `json:"content"`
}

// block is a part of a message in either direction.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"` // a pointer, because an empty value must be sent too
	Signature string          `json:"signature,omitempty"`
	Data      string          `json:"data,omitempty"`
	Source    *source         `json:"source,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   []block         `json:"content,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
	Cache     *cache          `json:"cache_control,omitempty"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"` // encoded as base64
}

// cache marks the end of the prefix that the server should cache.
type cache struct {
	Type string `json:"type"`
}

// request translates a request. It sets cache marks after the tools, the system prompt and the
// newest message, up to which the next request will be the same.
func (c *client) request(r loop.Request) request {
	mark := &cache{"ephemeral"}
	out := request{Model: r.Model, MaxTokens: c.cfg.MaxTokens, Stream: true}
	if r.System != "" {
		out.System = []block{{Type: "text", Text: r.System, Cache: mark}}
	}
	c.setThinking(&out, r)
	for i, t := range r.Tools {
		schema := t.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		out.Tools = append(out.Tools, tool{Name: t.Name, Description: t.Description, Schema: schema})
		if i == len(r.Tools)-1 {
			out.Tools[i].Cache = mark
		}
	}
	for _, e := range r.Entries {
		m := message{Role: e.Role}
		for _, b := range e.Blocks {
			m.Content = append(m.Content, encode(b)...)
		}
		if len(m.Content) > 0 {
			out.Messages = append(out.Messages, m)
		}
	}
	if n := len(out.Messages); n > 0 && out.Messages[n-1].Role == providers.RoleUser {
		content := out.Messages[n-1].Content
		content[len(content)-1].Cache = mark
	}
	return out
}

// encode translates a block; nil if the API has no equivalent.
func encode(b providers.Block) []block {
	switch b.Kind {
	case providers.BlockText:
		return []block{{Type: "text", Text: b.Text}}
	case providers.BlockThinking:
		if b.Signature == "" {
			return nil // the API accepts only signed thinking
		}
		return []block{{Type: "thinking", Thinking: &b.Text, Signature: b.Signature}}
	case providers.BlockOpaque:
		var theirs block
		if json.Unmarshal(b.Opaque, &theirs) != nil || theirs.Type != redacted {
			return nil
		}
		return []block{theirs}
	case providers.BlockImage:
		return []block{picture(*b.Image)}
	case providers.BlockToolCall:
		return []block{{Type: "tool_use", ID: b.Call, Name: b.Tool, Input: b.Input}}
	case providers.BlockToolResult:
		out := block{Type: "tool_result", ToolUseID: b.Call, IsError: b.IsError}
		if strings.TrimSpace(b.Text) != "" { // the API refuses blank text
			out.Content = append(out.Content, block{Type: "text", Text: b.Text})
		}
		for _, i := range b.Images {
			out.Content = append(out.Content, picture(i))
		}
		return []block{out}
	}
	return nil
}

func picture(i providers.Image) block {
	return block{Type: "image", Source: &source{"base64", i.MediaType, i.Data}}
}
