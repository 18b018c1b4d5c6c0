package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/loop"
	"github.com/everdesk/everdesk/providers/sse"
)

// responsesEvent holds the used fields of a stream event.
type responsesEvent struct {
	Type  string          `json:"type"`
	Delta json.RawMessage `json:"delta"`
	// SummaryIndex is the number of a part of a summary.
	SummaryIndex int             `json:"summary_index"`
	Item         json.RawMessage `json:"item"`
	Response     struct {
		Error      *sse.APIError `json:"error"`
		Incomplete struct {
			Reason string `json:"reason"`
		} `json:"incomplete_details"`
		Usage struct {
			Input   int `json:"input_tokens"`
			Output  int `json:"output_tokens"`
			Details struct {
				Cached int `json:"cached_tokens"`
			} `json:"input_tokens_details"`
		} `json:"usage"`
	} `json:"response"`
	// An error event has its fields here, or in Error.
	Error   *sse.APIError `json:"error"`
	Code    string        `json:"code"`
	Message string        `json:"message"`
}

// delta returns the text of an event, if it has any.
func (e responsesEvent) delta() string {
	var text string
	if json.Unmarshal(e.Delta, &text) != nil {
		return "" // the delta of another kind of event
	}
	return text
}

// responsesReader assembles a reply from a stream.
type responsesReader struct {
	server  *sse.Server
	say     func(loop.Piece)
	blocks  []providers.Block // blocks of complete items
	text    strings.Builder   // text of the incomplete message
	refused string
	usage   providers.Usage
	length  bool
}

// event processes one event and reports whether it was the last.
func (r *responsesReader) event(e sse.Event) (bool, error) {
	if string(e.Data) == "[DONE]" {
		return false, nil // sent last by some servers; it does not end a reply in this API
	}
	var v responsesEvent
	if err := json.Unmarshal(e.Data, &v); err != nil {
		return false, &providers.Failure{Class: providers.Transport, Err: fmt.Errorf("read an event of the stream: %w", err)}
	}
	switch v.Type {
	case "response.output_text.delta":
		if piece := v.delta(); piece != "" {
			r.text.WriteString(piece)
			r.say(loop.Piece{Text: piece})
		}
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		r.say(loop.Piece{Thinking: v.delta()})
	case "response.reasoning_summary_part.added":
		if v.SummaryIndex > 0 {
			r.say(loop.Piece{Thinking: "\n\n"})
		}
	case "response.output_item.done":
		return false, r.item(v.Item)
	case "response.completed", "response.incomplete":
		return true, r.finish(v)
	case "response.failed":
		t := sse.APIError{Message: "the reply failed"}
		if v.Response.Error != nil {
			t = *v.Response.Error
		}
		return false, r.server.Failure(0, t)
	case "error":
		t := sse.APIError{Code: v.Code, Message: v.Message}
		if v.Error != nil {
			t = *v.Error
		}
		return false, r.server.Failure(0, t)
	}
	return false, nil
}

// item adds a complete item.
func (r *responsesReader) item(raw json.RawMessage) error {
	var it item
	err := json.Unmarshal(raw, &it)
	if err != nil && (it.Type == "" || it.Type == "message" || it.Type == "function_call") {
		return &providers.Failure{Class: providers.Transport, Err: fmt.Errorf("read an item of the stream: %w", err)}
	}
	if len(r.blocks) >= maxParts {
		return &providers.Failure{Class: providers.Transport, Err: errors.New("the reply has too many items")}
	}
	switch it.Type {
	case "message":
		r.text.Reset() // the item repeats the whole text
		for _, b := range it.Content {
			r.text.WriteString(b.Text)
			r.refused += b.Refusal
		}
		r.blocks = append(r.blocks, providers.Block{Kind: providers.BlockText, Text: r.text.String()})
		r.text.Reset()
	case "function_call":
		if it.Status == "incomplete" {
			return nil
		}
		r.say(loop.Piece{Hidden: it.Call + it.Name + it.Arguments})
		r.blocks = append(r.blocks, providers.Block{
			Kind: providers.BlockToolCall, Call: it.Call, Tool: it.Name, Input: json.RawMessage(it.Arguments),
		})
	case "reasoning":
		if it.Encrypted != "" { // without it the item is useless in the next request
			r.say(loop.Piece{Hidden: string(raw)})
			r.blocks = append(r.blocks, providers.Block{Kind: providers.BlockOpaque, Opaque: raw})
		}
	}
	return nil
}

// end implements reader. Only an event ends a reply.
func (r *responsesReader) end(err error) error { return err }

// finish processes the last event.
func (r *responsesReader) finish(v responsesEvent) error {
	u := v.Response.Usage
	r.usage = providers.Usage{Input: max(0, u.Input-u.Details.Cached), Output: u.Output, CacheRead: u.Details.Cached}
	r.length = v.Response.Incomplete.Reason == "max_output_tokens"
	switch {
	case r.refused != "":
		return r.server.Failure(0, sse.APIError{Code: "content_filter", Message: r.refused})
	case v.Response.Incomplete.Reason == "content_filter":
		return r.server.Failure(0, sse.APIError{Code: "content_filter", Message: "the model will not answer this"})
	}
	return nil
}

// reply returns the content received so far: incomplete text, and only complete other items.
func (r *responsesReader) reply() loop.Reply {
	out := loop.Reply{Stop: loop.StopEnd, Usage: r.usage, Blocks: r.blocks}
	if r.length {
		out.Stop = loop.StopLength
	}
	if r.text.Len() > 0 {
		out.Blocks = append(out.Blocks, providers.Block{Kind: providers.BlockText, Text: r.text.String()})
	}
	return out
}
