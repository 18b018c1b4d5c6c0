package loop

import (
	"context"

	"github.com/everdesk/everdesk/providers"
)

// Model completes conversations. It must be safe for concurrent use.
type Model interface {
	// Stream requests the next reply and calls say for each piece of it, on the calling
	// goroutine. The error is a [*providers.Failure], or the context has ended; the reply then
	// holds what was received: finished blocks, and the text passed to say.
	Stream(ctx context.Context, r Request, say func(Piece)) (Reply, error)
}

// Request is the input of a model call.
type Request struct {
	// Model selects the model; empty means the client's default.
	Model  string
	System string
	// Effort is that of [providers.Spec].
	Effort string
	// Entries begin with the user and alternate. Every tool call is followed by its result, in
	// the next entry and before anything else in it. Inputs of tools are objects, no text is
	// blank, and blocks of other backends are left out.
	Entries []providers.Entry
	Tools   []providers.Tool
}

// Piece is a new part of a reply: text or thinking.
type Piece struct {
	Text     string
	Thinking string
	// Hidden is content that is not published, such as a part of a tool's input. It counts
	// towards MaxReply.
	Hidden string
}

// Reply is the reply of a model.
type Reply struct {
	// Model is the called model.
	Model  string
	Blocks []providers.Block
	Usage  providers.Usage
	Stop   Stop
}

// Stop is the reason why a reply ended.
type Stop string

// Reasons why replies end.
const (
	// StopEnd means that the model is done, or that its tool calls are to be executed.
	StopEnd Stop = "end"
	// StopLength means that the reply became too long. A truncated tool call is not among the
	// blocks.
	StopLength Stop = "length"
)

// calls returns the tool calls among blocks.
func calls(blocks []providers.Block) []providers.Block {
	var all []providers.Block
	for _, b := range blocks {
		if b.Kind == providers.BlockToolCall {
			all = append(all, b)
		}
	}
	return all
}
