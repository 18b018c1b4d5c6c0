package mcpclient

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of requests for the model (sampling).
const (
	maxSamplingBytes = 64 << 10 // of all texts of a request
	maxSamplings     = 10       // requests during one call
)

// ModelRequest is a question of a server to the model of the caller.
type ModelRequest struct {
	Server string
	// Number counts the requests of a call from 1.
	Number int
	// System is the system prompt that the server wants.
	System   string
	Messages []ModelMessage
}

// ModelMessage is a message of a [ModelRequest]. FromModel says that it is sent as an earlier answer of the model.
type ModelMessage struct {
	Text      string
	FromModel bool
}

// ModelAnswer is the answer of the model.
type ModelAnswer struct{ Text, Model string }

// completeModelRequest answers a server that asks for the model. The request belongs to the running calls of one caller, as
// that of [instance.elicit] does.
func (s *instance) completeModelRequest(ctx context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) { //nolint:staticcheck // it is deprecated, and servers use it
	c := s.onlyCaller()
	if c == nil || c.complete == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "no call is running for which the model could be asked"}
	}
	request, err := modelRequest(r.Params)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	request.Number = int(c.samplings.Add(1))
	if request.Number > maxSamplings {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("a call may ask the model at most %d times", maxSamplings)}
	}
	request.Server = s.server.Name
	stop := s.keepInProgress(c)
	defer stop()
	a, err := c.complete(ctx, request)
	if err != nil {
		return nil, &jsonrpc.Error{Code: codeRejected, Message: err.Error()}
	}
	//nolint:staticcheck // as above
	return &mcp.CreateMessageResult{Content: &mcp.TextContent{Text: a.Text}, Model: a.Model, Role: "assistant", StopReason: "endTurn"}, nil
}

// codeRejected is the code that the protocol gives as an example for a request that the user rejected.
const codeRejected = -1

// modelRequest checks and converts a request. Only texts are accepted, and what the server wants to be added to
// them from the conversation is not.
func modelRequest(p *mcp.CreateMessageParams) (ModelRequest, error) { //nolint:staticcheck // as above
	out := ModelRequest{System: p.SystemPrompt}
	size := len(p.SystemPrompt)
	for _, m := range p.Messages {
		text, ok := m.Content.(*mcp.TextContent)
		if !ok {
			return ModelRequest{}, errors.New("only texts can be given to the model")
		}
		size += len(text.Text)
		out.Messages = append(out.Messages, ModelMessage{Text: text.Text, FromModel: m.Role == "assistant"})
	}
	switch {
	case len(out.Messages) == 0 || out.Messages[len(out.Messages)-1].FromModel:
		return ModelRequest{}, errors.New("the last message must be one of the user")
	case size > maxSamplingBytes:
		return ModelRequest{}, fmt.Errorf("the texts have %d bytes, at most %d are accepted", size, maxSamplingBytes)
	}
	return out, nil
}
