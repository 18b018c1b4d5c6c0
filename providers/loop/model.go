package loop

import (
	"context"

	"github.com/everdesk/everdesk/providers"
)

// Model completes conversations. Its methods may be called by many goroutines.
type Model interface {
	// Stream asks for the next reply and calls say for each piece of it, on the
	// calling goroutine. An error is a [*providers.Failure], or the context has
	// ended; the reply then holds what had come so far: finished blocks, and the
	// text as far as say was told of it.
	Stream(ctx context.Context, r Request, say func(Piece)) (Reply, error)
}

// Request is what a model is asked.
type Request struct {
	// Model is which one; empty means the client's default.
	Model  string
	System string
	// Entries begin with the user and alternate. Every tool call is followed by
	// its result, in the next entry and before anything else in it. Inputs of
	// tools are objects, no text is blank, and blocks of other backends are not
	// there.
	Entries []providers.Entry
	Tools   []providers.Tool
}

// Piece is something new in a reply: text or thinking.
type Piece struct {
	Text     string
	Thinking string
	// Hidden is what nobody is shown, such as a part of a tool's input. It
	// counts when a reply becomes too long.
	Hidden string
}

// Reply is what a model answered.
type Reply struct {
	// Model is the one that was asked.
	Model  string
	Blocks []providers.Block
	Usage  providers.Usage
	Stop   Stop
}

// Stop is why a reply ended.
type Stop string

// Why replies end.
const (
	// StopEnd means that the model is done, or wants its tools called.
	StopEnd Stop = "end"
	// StopLength means that the reply became too long. A tool call that it cut
	// is not among the blocks.
	StopLength Stop = "length"
)

// calls are the tool calls among blocks.
func calls(blocks []providers.Block) []providers.Block {
	var all []providers.Block
	for _, b := range blocks {
		if b.Kind == providers.BlockToolCall {
			all = append(all, b)
		}
	}
	return all
}
