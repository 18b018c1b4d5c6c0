package openai

import (
	"encoding/base64"
	"encoding/json"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/loop"
)

// chatRequest holds the used fields of the body of POST /chat/completions.
type chatRequest struct {
	Model         string        `json:"model"`
	Stream        bool          `json:"stream"`
	StreamOptions streamOptions `json:"stream_options"`
	MaxTokens     int           `json:"max_tokens,omitempty"`
	Effort        string        `json:"reasoning_effort,omitempty"`
	Messages      []chatMessage `json:"messages"`
	Tools         []chatTool    `json:"tools,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type chatMessage struct {
	Role string `json:"role"`
	// Content is a string or, with images or several texts, []chatPart.
	Content any        `json:"content,omitempty"`
	Calls   []chatCall `json:"tool_calls,omitempty"`
	Call    string     `json:"tool_call_id,omitempty"`
}

type chatPart struct {
	Type  string    `json:"type"`
	Text  string    `json:"text,omitempty"`
	Image *chatLink `json:"image_url,omitempty"`
}

type chatLink struct {
	URL string `json:"url"`
}

type chatCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type chatTool struct {
	Type     string       `json:"type"`
	Function chatToolSpec `json:"function"`
}

type chatToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// chatRequest translates a request. Where a setting has two names it uses the older one,
// because other servers know only that.
func (c *client) chatRequest(r loop.Request) chatRequest {
	out := chatRequest{
		Model: r.Model, Stream: true, StreamOptions: streamOptions{true}, MaxTokens: c.cfg.MaxTokens, Effort: r.Effort,
	}
	if r.System != "" {
		out.Messages = append(out.Messages, chatMessage{Role: "system", Content: r.System})
	}
	for _, e := range r.Entries {
		if e.Role == providers.RoleAssistant {
			out.Messages = append(out.Messages, assistantMessages(e.Blocks)...)
		} else {
			out.Messages = append(out.Messages, userMessages(e.Blocks)...)
		}
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, chatTool{"function", chatToolSpec{t.Name, t.Description, schema(t)}})
	}
	return out
}

// assistantMessages translates an entry of the assistant.
func assistantMessages(blocks []providers.Block) []chatMessage {
	m := chatMessage{Role: "assistant"}
	text := ""
	for _, b := range blocks {
		switch b.Kind {
		case providers.BlockText:
			if text != "" {
				text += "\n\n"
			}
			text += b.Text
		case providers.BlockToolCall:
			m.Calls = append(m.Calls, chatCall{b.Call, "function", chatFunction{b.Tool, string(b.Input)}})
		}
	}
	if text != "" {
		m.Content = text
	}
	if text == "" && len(m.Calls) == 0 {
		return nil
	}
	return []chatMessage{m}
}

// userMessages translates an entry of the user: first the results of tools, each as a message,
// then everything else. A result cannot contain images, so they follow.
func userMessages(blocks []providers.Block) (out []chatMessage) {
	var parts []chatPart
	for _, b := range blocks {
		switch b.Kind {
		case providers.BlockToolResult:
			text := b.Text
			if b.IsError {
				text = "Error: " + text
			}
			out = append(out, chatMessage{Role: "tool", Call: b.Call, Content: text})
			for _, i := range b.Images {
				parts = append(parts, chatPart{Type: "image_url", Image: &chatLink{dataURL(i)}})
			}
		case providers.BlockText:
			parts = append(parts, chatPart{Type: "text", Text: b.Text})
		case providers.BlockImage:
			parts = append(parts, chatPart{Type: "image_url", Image: &chatLink{dataURL(*b.Image)}})
		}
	}
	switch {
	case len(parts) == 1 && parts[0].Image == nil:
		// Servers without support for parts accept a plain string.
		out = append(out, chatMessage{Role: "user", Content: parts[0].Text})
	case len(parts) > 0:
		out = append(out, chatMessage{Role: "user", Content: parts})
	}
	return out
}

// schema returns the input schema of a tool.
func schema(t providers.Tool) json.RawMessage {
	if len(t.Schema) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return t.Schema
}

func dataURL(i providers.Image) string {
	return "data:" + i.MediaType + ";base64," + base64.StdEncoding.EncodeToString(i.Data)
}
