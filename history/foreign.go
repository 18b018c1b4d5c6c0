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

// ErrForeign means that something is no thread as other programs write it.
var ErrForeign = errors.New("this is no list of messages")

// LoadForeign reads a thread as other programs keep it: a JSON array of messages
// with a role, a content that is a text or blocks (text, image, tool_use,
// tool_result, thinking), a ts and the same tags as ours. The summary may be the
// last message, as it is here, or stand before the last ones that were kept. What it
// cannot make sense of is left out and counted, blocks and whole messages alike;
// results are made to fit their calls, see [Repair].
// The messages have ids, and no rows.
func LoadForeign(data []byte) (all []Message, skipped int, err error) {
	var items []json.RawMessage
	if err := json.Unmarshal(data, &items); err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrForeign, err)
	}
	if items == nil {
		return nil, 0, ErrForeign
	}
	tools := map[string]string{} // names of calls
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

// foreignMessage is a message of another program. Whatever is not what it should be
// is left out; so every field is read by itself.
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

// lenient is a value of a type, or its zero.
func lenient[T any](data json.RawMessage) (v T) {
	if len(data) > 0 && json.Unmarshal(data, &v) != nil {
		var zero T
		return zero
	}
	return v
}

// message is all of it but its blocks.
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
	// Of pictures.
	Source struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	} `json:"source"`
	// Of calls.
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
	// Of results.
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

// blocks are those of a message, and how many were left out. Names of tools are
// noted by their calls, for their results.
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
		} else if b.Type != "text" { // a blank one says nothing
			skipped++
		}
	}
	return out, skipped
}

// contentOf is a content: blocks, or a text.
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
	default: // thinking too: its signature is good for one backend and one account
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
