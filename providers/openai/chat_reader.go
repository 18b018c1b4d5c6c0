package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/loop"
	"github.com/everdesk/everdesk/providers/sse"
)

// maxParts bounds the calls or items of a reply.
const maxParts = 1024

// chatChunk holds the used fields of a stream event.
type chatChunk struct {
	Choices []struct {
		Delta struct {
			Content   string `json:"content"`
			Refusal   string `json:"refusal"`
			Reasoning string `json:"reasoning_content"`
			Thinking  string `json:"reasoning"` // used by some servers instead of reasoning_content
			Calls     []struct {
				Index    *int   `json:"index"`
				ID       string `json:"id"`
				Function struct {
					Name      string    `json:"name"`
					Arguments arguments `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"delta"`
		Finish string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Input   int `json:"prompt_tokens"`
		Output  int `json:"completion_tokens"`
		Details struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
	Error *sse.APIError `json:"error"`
}

// arguments is a string of JSON or, from some servers, the JSON itself.
type arguments string

// UnmarshalJSON decodes either form.
func (a *arguments) UnmarshalJSON(data []byte) error {
	var text string
	switch {
	case string(data) == "null":
	case json.Unmarshal(data, &text) == nil:
		*a = arguments(text)
	default:
		*a = arguments(data)
	}
	return nil
}

// partialCall is a tool call that is being received.
type partialCall struct {
	index int
	id    string
	name  string
	input strings.Builder
}

// chatReader assembles a reply from a stream.
type chatReader struct {
	server  *sse.Server
	say     func(loop.Piece)
	text    strings.Builder
	refused strings.Builder
	calls   []*partialCall
	usage   providers.Usage
	finish  string
}

// event processes one event and reports whether it was the last.
func (r *chatReader) event(e sse.Event) (bool, error) {
	if strings.TrimSpace(string(e.Data)) == "[DONE]" {
		return true, nil
	}
	var v chatChunk
	if err := json.Unmarshal(e.Data, &v); err != nil {
		return false, &providers.Failure{Class: providers.Transport, Err: fmt.Errorf("read an event of the stream: %w", err)}
	}
	if v.Error != nil {
		return false, r.server.Failure(0, *v.Error)
	}
	if u := v.Usage; u != nil {
		r.usage = providers.Usage{Input: max(0, u.Input-u.Details.Cached), Output: u.Output, CacheRead: u.Details.Cached}
	}
	for _, c := range v.Choices {
		thought := cmp.Or(c.Delta.Reasoning, c.Delta.Thinking)
		if c.Delta.Content != "" || thought != "" {
			r.text.WriteString(c.Delta.Content)
			r.say(loop.Piece{Text: c.Delta.Content, Thinking: thought})
		}
		r.refused.WriteString(c.Delta.Refusal)
		for _, d := range c.Delta.Calls {
			call, err := r.call(d.Index, d.ID)
			if err != nil {
				return false, err
			}
			call.id = cmp.Or(call.id, d.ID)
			call.name = cmp.Or(call.name, d.Function.Name)
			call.input.WriteString(string(d.Function.Arguments))
			r.say(loop.Piece{Hidden: d.ID + d.Function.Name + string(d.Function.Arguments)})
		}
		r.finish = cmp.Or(c.Finish, r.finish)
	}
	return false, nil
}

// call returns the call that a fragment belongs to. Servers that do not number their calls give
// each a different id, or send it in one piece.
func (r *chatReader) call(index *int, id string) (*partialCall, error) {
	number := len(r.calls) - 1
	switch {
	case index != nil:
		number = *index
	case id != "" || number < 0:
		number++
	}
	// From the newest back: a server that gives all its calls the same index distinguishes them
	// by id.
	for _, c := range slices.Backward(r.calls) {
		if c.index == number && (id == "" || c.id == "" || c.id == id) {
			return c, nil
		}
	}
	if len(r.calls) >= maxParts {
		return nil, &providers.Failure{Class: providers.Transport, Err: errors.New("the reply has too many calls")}
	}
	c := &partialCall{index: number}
	r.calls = append(r.calls, c)
	return c, nil
}

// end ignores an error of the stream after the reply has ended: at most the usage is missing.
func (r *chatReader) end(err error) error {
	switch {
	case err != nil && r.finish == "":
		return err
	case r.refused.Len() > 0:
		return r.server.Failure(0, sse.APIError{Code: "content_filter", Message: r.refused.String()})
	case r.finish == "content_filter":
		return r.server.Failure(0, sse.APIError{Code: "content_filter", Message: "the model will not answer this"})
	}
	return nil
}

// reply returns the content received so far. Calls count only when the reply has ended, because
// no event marks a call as complete.
func (r *chatReader) reply() loop.Reply {
	out := loop.Reply{Stop: loop.StopEnd, Usage: r.usage}
	if r.finish == "length" {
		out.Stop = loop.StopLength
	}
	if r.text.Len() > 0 {
		out.Blocks = append(out.Blocks, providers.Block{Kind: providers.BlockText, Text: r.text.String()})
	}
	for i, c := range r.calls {
		cut := out.Stop == loop.StopLength && i == len(r.calls)-1
		if c.name != "" && !cut {
			out.Blocks = append(out.Blocks, providers.Block{
				Kind: providers.BlockToolCall, Call: c.id, Tool: c.name, Input: json.RawMessage(c.input.String()),
			})
		}
	}
	return out
}
