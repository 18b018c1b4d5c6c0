package history

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// ErrForeign means that the data is not a JSON array of messages.
var ErrForeign = errors.New("not a JSON array of messages")

// LoadForeign reads a thread that another program wrote: a JSON array of messages with a
// role, a content (text or blocks of the types text, image, tool_use, tool_result,
// thinking), a ts, and the same tags as [Message]. The summary may be the last message or
// stand before the messages that were kept. Messages and blocks that cannot be interpreted
// are left out and counted in skipped. Tool results are matched to their calls, see
// [Repair]. The returned messages have ids, but no rows.
func LoadForeign(data []byte) (all []Message, skipped int, err error) {
	var items []json.RawMessage
	if err := json.Unmarshal(data, &items); err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrForeign, err)
	}
	if items == nil {
		return nil, 0, ErrForeign
	}
	tools := map[string]string{} // tool names by call id
	last, turn := uint64(0), 0
	for _, item := range items {
		var f foreignMessage
		if json.Unmarshal(item, &f) != nil || f.Role != providers.RoleUser && f.Role != providers.RoleAssistant {
			skipped++
			continue
		}
		m := f.message()
		var left int
		m.Blocks, left = f.blocks(tools)
		skipped += left
		if len(m.Blocks) == 0 && m.ordinary() {
			if left == 0 {
				skipped++
			}
			continue
		}
		if m.Role == providers.RoleUser && !m.answersOnly() {
			turn++
		}
		m.Entry = Repair(all, m.Entry)
		last = NextID(last)
		m.ID, m.Turn = last, "import-"+strconv.Itoa(turn)
		all = append(all, m)
	}
	return all, skipped, nil
}

// foreignMessage is a message of another program. Every field is decoded separately, so
// that an invalid field does not invalidate the message.
type foreignMessage struct {
	Role               providers.Role  `json:"role"`
	Content            json.RawMessage `json:"content"`
	TS                 json.RawMessage `json:"ts"`
	IsSummary          json.RawMessage `json:"isSummary"`
	CondenseID         json.RawMessage `json:"condenseId"`
	CondenseParent     json.RawMessage `json:"condenseParent"`
	IsTruncationMarker json.RawMessage `json:"isTruncationMarker"`
	TruncationID       json.RawMessage `json:"truncationId"`
	TruncationParent   json.RawMessage `json:"truncationParent"`
}

// lenient decodes a value, or returns the zero value.
func lenient[T any](data json.RawMessage) (v T) {
	if len(data) > 0 && json.Unmarshal(data, &v) != nil {
		var zero T
		return zero
	}
	return v
}

// message converts everything except the blocks.
func (f *foreignMessage) message() Message {
	ts := lenient[float64](f.TS)
	if !(ts >= 0 && ts < 1<<53) {
		ts = 0
	}
	return Message{
		TS: wire.Millis(ts), Entry: providers.Entry{Role: f.Role},
		IsSummary:          lenient[bool](f.IsSummary),
		CondenseID:         lenient[string](f.CondenseID),
		CondenseParent:     lenient[string](f.CondenseParent),
		IsTruncationMarker: lenient[bool](f.IsTruncationMarker),
		TruncationID:       lenient[string](f.TruncationID),
		TruncationParent:   lenient[string](f.TruncationParent),
	}
}

// foreignBlock is a block of another program.
type foreignBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
	// Source is set for images.
	Source struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	} `json:"source"`
	// ID, Name and Input are set for tool calls.
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
	// ToolUseID, Content and IsError are set for tool results.
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

// blocks converts the content, and returns how many blocks were left out. tools maps call
// ids to tool names: calls add to it, results look it up.
func (f *foreignMessage) blocks(tools map[string]string) (out []providers.Block, skipped int) {
	items, said := contentOf(f.Content)
	if strings.TrimSpace(said) != "" {
		return []providers.Block{textBlock(said)}, 0
	}
	for _, item := range items {
		var b foreignBlock
		if json.Unmarshal(item, &b) != nil {
			skipped++
			continue
		}
		if block, ok := b.block(tools); ok {
			out = append(out, block)
		} else if b.Type != "text" { // an empty text does not count
			skipped++
		}
	}
	return out, skipped
}

// contentOf decodes a content, which is a list of blocks or a text.
func contentOf(data json.RawMessage) (items []json.RawMessage, said string) {
	if said = lenient[string](data); said != "" {
		return nil, said
	}
	return lenient[[]json.RawMessage](data), ""
}

func (b *foreignBlock) block(tools map[string]string) (providers.Block, bool) {
	switch b.Type {
	case "text":
		return textBlock(b.Text), strings.TrimSpace(b.Text) != ""
	case "image":
		i, ok := b.image()
		return providers.Block{Kind: providers.BlockImage, Image: i}, ok
	case "tool_use":
		if b.ID != "" {
			tools[b.ID] = b.Name
		}
		return providers.Block{
			Kind: providers.BlockToolCall, Call: b.ID, Tool: b.Name, Input: providers.WholeInput(b.Input),
		}, b.ID != ""
	case "tool_result":
		r := providers.Block{Kind: providers.BlockToolResult, Call: b.ToolUseID, Tool: tools[b.ToolUseID], IsError: b.IsError}
		items, said := contentOf(b.Content)
		r.Text = said
		for _, item := range items {
			var part foreignBlock
			if json.Unmarshal(item, &part) != nil {
				continue
			}
			if i, ok := part.image(); ok {
				r.Images = append(r.Images, *i)
			}
			if part.Type == "text" {
				r.Text = strings.TrimPrefix(r.Text+"\n"+part.Text, "\n")
			}
		}
		return r, b.ToolUseID != ""
	default: // thinking as well: its signature is valid for one backend and one account only
		return providers.Block{}, false
	}
}

func (b *foreignBlock) image() (*providers.Image, bool) {
	if b.Type != "image" || b.Source.Type != "base64" || !strings.HasPrefix(b.Source.MediaType, "image/") {
		return nil, false
	}
	data, err := base64.StdEncoding.DecodeString(b.Source.Data)
	return &providers.Image{MediaType: b.Source.MediaType, Data: data}, err == nil && len(data) > 0
}
