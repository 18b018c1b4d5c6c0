package openai

import (
	"encoding/json"
	"strings"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/loop"
)

// responsesRequest holds the used fields of the body of POST /responses.
type responsesRequest struct {
	Model        string          `json:"model"`
	Stream       bool            `json:"stream"`
	Store        bool            `json:"store"`
	Include      []string        `json:"include,omitempty"`
	Instructions string          `json:"instructions,omitempty"`
	MaxTokens    int             `json:"max_output_tokens,omitempty"`
	Reasoning    *reasoning      `json:"reasoning,omitempty"`
	Input        []any           `json:"input"` // item, or a raw item of an earlier reply
	Tools        []responsesTool `json:"tools,omitempty"`
}

// reasoning says how much a model reasons, and requests a summary of that for people.
type reasoning struct {
	Effort  string `json:"effort,omitempty"`
	Summary string `json:"summary,omitempty"`
}

// item is an item of a conversation, in either direction.
type item struct {
	Type      string        `json:"type"`
	Status    string        `json:"status,omitempty"`
	Role      string        `json:"role,omitempty"`
	Content   []contentPart `json:"content,omitempty"`
	Call      string        `json:"call_id,omitempty"`
	Name      string        `json:"name,omitempty"`
	Arguments string        `json:"arguments,omitempty"`
	// Output is a string or, with images, []bit.
	Output any `json:"output,omitempty"`
	// Encrypted is the encrypted content of a reasoning item.
	Encrypted string `json:"encrypted_content,omitempty"`
}

// contentPart is a part of an item.
type contentPart struct {
	Type    string `json:"type"`
	Text    string `json:"text,omitempty"`
	Refusal string `json:"refusal,omitempty"`
	Image   string `json:"image_url,omitempty"`
}

type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

func (c *client) responsesRequest(r loop.Request) responsesRequest {
	out := responsesRequest{
		Model: r.Model, Stream: true, Instructions: r.System, MaxTokens: c.cfg.MaxTokens,
	}
	if r.Effort != "" {
		out.Reasoning = &reasoning{Effort: r.Effort}
	}
	if isReasoningModel(r.Model) {
		out.Include = []string{"reasoning.encrypted_content"}
		if !c.noSummaries.Load() {
			out.Reasoning = &reasoning{Effort: r.Effort, Summary: "auto"}
		}
	}
	for _, e := range r.Entries {
		if e.Role == providers.RoleAssistant {
			out.Input = append(out.Input, assistantItems(e.Blocks)...)
		} else {
			out.Input = append(out.Input, userItems(e.Blocks)...)
		}
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, responsesTool{"function", t.Name, t.Description, schema(t), false})
	}
	return out
}

// isReasoningModel reports whether a model reasons. Other models refuse requests for encrypted
// reasoning.
func isReasoningModel(model string) bool {
	return !strings.HasPrefix(model, "gpt-4") && !strings.HasPrefix(model, "gpt-3") && !strings.HasPrefix(model, "chatgpt")
}

// assistantItems translates an entry of the assistant.
func assistantItems(blocks []providers.Block) (out []any) {
	for _, b := range blocks {
		switch b.Kind {
		case providers.BlockText:
			out = append(out, item{Type: "message", Role: "assistant", Content: []contentPart{{Type: "output_text", Text: b.Text}}})
		case providers.BlockOpaque:
			out = append(out, b.Opaque)
		case providers.BlockToolCall:
			out = append(out, item{Type: "function_call", Call: b.Call, Name: b.Tool, Arguments: string(b.Input)})
		}
	}
	return out
}

// userItems translates an entry of the user: each tool result as an item, and everything else
// as one message.
func userItems(blocks []providers.Block) (out []any) {
	message := item{Type: "message", Role: "user"}
	for _, b := range blocks {
		switch b.Kind {
		case providers.BlockToolResult:
			out = append(out, item{Type: "function_call_output", Call: b.Call, Output: output(b)})
		case providers.BlockText:
			message.Content = append(message.Content, contentPart{Type: "input_text", Text: b.Text})
		case providers.BlockImage:
			message.Content = append(message.Content, contentPart{Type: "input_image", Image: dataURL(*b.Image)})
		}
	}
	if len(message.Content) > 0 {
		out = append(out, message)
	}
	return out
}

// output translates the result of a call.
func output(b providers.Block) any {
	text := b.Text
	if b.IsError {
		text = "Error: " + text
	}
	if len(b.Images) == 0 {
		return text
	}
	var bits []contentPart
	if text != "" {
		bits = append(bits, contentPart{Type: "input_text", Text: text})
	}
	for _, i := range b.Images {
		bits = append(bits, contentPart{Type: "input_image", Image: dataURL(i)})
	}
	return bits
}
