package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/loop"
	"github.com/everdesk/everdesk/providers/sse"
)

// redacted is the type of encrypted thinking.
const redacted = "redacted_thinking"

// maxBlocks bounds the blocks of a reply.
const maxBlocks = 1024

// event holds the used fields of a stream event.
type event struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Usage usage `json:"usage"`
	} `json:"message"`
	Block block `json:"content_block"`
	Delta struct {
		Type       string `json:"type"`
		Text       string `json:"text"`
		Thinking   string `json:"thinking"`
		Signature  string `json:"signature"`
		Partial    string `json:"partial_json"`
		StopReason string `json:"stop_reason"`
	} `json:"delta"`
	Usage usage        `json:"usage"`
	Error sse.APIError `json:"error"`
}

// usage holds cumulative counts since the beginning of the reply.
type usage struct {
	Input      int `json:"input_tokens"`
	Output     int `json:"output_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
}

// part is a block of the reply that is being received.
type part struct {
	index int
	block block
	text  strings.Builder // text, thinking or the input of a tool
	sign  strings.Builder // the signature of thinking
	done  bool
}

// reader assembles a reply from a stream.
type reader struct {
	server *sse.Server
	say    func(loop.Piece)
	parts  []*part
	usage  usage
	stop   string
}

// event processes one event and reports whether it was the last.
func (r *reader) event(e sse.Event) (bool, error) {
	var v event
	if err := json.Unmarshal(e.Data, &v); err != nil {
		return false, &providers.Failure{Class: providers.Transport, Err: fmt.Errorf("read an event of the stream: %w", err)}
	}
	switch v.Type {
	case "message_start":
		r.count(v.Message.Usage)
	case "content_block_start":
		if len(r.parts) >= maxBlocks {
			return false, &providers.Failure{Class: providers.Transport, Err: errors.New("the reply has too many parts")}
		}
		p := &part{index: v.Index, block: v.Block}
		r.parts = append(r.parts, p)
		p.sign.WriteString(v.Block.Signature)
		piece := loop.Piece{
			Text: v.Block.Text, Hidden: v.Block.ID + v.Block.Name + v.Block.Signature + v.Block.Data + string(v.Block.Input),
		}
		if v.Block.Thinking != nil {
			piece.Thinking = *v.Block.Thinking
		}
		r.add(p, piece)
	case "content_block_delta":
		p := r.part(v.Index)
		if p == nil {
			return false, &providers.Failure{Class: providers.Transport, Err: errors.New("the stream goes on with a part that it never began")}
		}
		p.sign.WriteString(v.Delta.Signature)
		p.text.WriteString(v.Delta.Partial)
		r.add(p, loop.Piece{Text: v.Delta.Text, Thinking: v.Delta.Thinking, Hidden: v.Delta.Signature + v.Delta.Partial})
	case "content_block_stop":
		if p := r.part(v.Index); p != nil {
			p.done = true
		}
	case "message_delta":
		r.count(v.Usage)
		if v.Delta.StopReason != "" {
			r.stop = v.Delta.StopReason
		}
	case "message_stop":
		return true, r.refusal()
	case "error":
		return false, r.server.Failure(0, v.Error)
	}
	return false, nil
}

// add appends new content to a part and publishes it.
func (r *reader) add(p *part, piece loop.Piece) {
	p.text.WriteString(piece.Text)
	p.text.WriteString(piece.Thinking)
	r.say(piece)
}

// part returns the open part with that index, or nil.
func (r *reader) part(index int) *part {
	for _, p := range r.parts {
		if p.index == index && !p.done {
			return p
		}
	}
	return nil
}

// count updates the counts; fields missing in an event keep their value.
func (r *reader) count(u usage) {
	r.usage.Input = max(r.usage.Input, u.Input)
	r.usage.Output = max(r.usage.Output, u.Output)
	r.usage.CacheRead = max(r.usage.CacheRead, u.CacheRead)
	r.usage.CacheWrite = max(r.usage.CacheWrite, u.CacheWrite)
}

// refusal returns an error if the model refused to answer.
func (r *reader) refusal() error {
	if r.stop != "refusal" {
		return nil
	}
	return &providers.Failure{Class: providers.Refused, Err: errors.New("the model will not answer this")}
}

// reply returns the content received so far: incomplete text, and only complete other blocks.
func (r *reader) reply() loop.Reply {
	out := loop.Reply{Stop: loop.StopEnd, Usage: providers.Usage{
		Input: r.usage.Input, Output: r.usage.Output, CacheRead: r.usage.CacheRead, CacheWrite: r.usage.CacheWrite,
	}}
	if r.stop == "max_tokens" || r.stop == "model_context_window_exceeded" {
		out.Stop = loop.StopLength
	}
	for i, p := range r.parts {
		text := p.text.String()
		switch {
		case p.block.Type == "text":
			out.Blocks = append(out.Blocks, providers.Block{Kind: providers.BlockText, Text: text})
		case !p.done:
		case p.block.Type == "thinking":
			out.Blocks = append(out.Blocks, providers.Block{
				Kind: providers.BlockThinking, Text: text, Signature: p.sign.String(),
			})
		case p.block.Type == redacted:
			if opaque, err := json.Marshal(block{Type: redacted, Data: p.block.Data}); err == nil {
				out.Blocks = append(out.Blocks, providers.Block{Kind: providers.BlockOpaque, Opaque: opaque})
			}
		case p.block.Type == "tool_use":
			if out.Stop == loop.StopLength && i == len(r.parts)-1 {
				continue // the last call is truncated: a complete one would end the reply for another reason
			}
			input := json.RawMessage(text)
			if text == "" {
				input = p.block.Input
			}
			out.Blocks = append(out.Blocks, providers.Block{
				Kind: providers.BlockToolCall, Call: p.block.ID, Tool: p.block.Name, Input: input,
			})
		}
	}
	return out
}
