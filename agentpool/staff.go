package agentpool

import (
	"context"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// Hands is what agents act with.
type Hands interface {
	// Tools are those of a profile.
	Tools(profile string) []providers.Tool
	// Call uses one.
	Call(ctx context.Context, c tools.Caller, call providers.ToolCall) providers.ToolResult
	// Brief is what a model is told about itself and where it is.
	Brief(ctx context.Context, c tools.Caller) (string, error)
	// Launch does what the user wants to happen when a desktop begins.
	Launch(ctx context.Context, c tools.Caller)
}

// Badges let programs outside the hub act as an agent.
type Badges interface {
	// Issue makes a badge that is good until it is revoked.
	Issue(c tools.Caller) (e providers.Endpoint, revoke func())
}

// Employer is the session that a crew works for.
type Employer struct {
	Session wire.SessionID
	User    string
	Sink    Sink
	Desktop tools.Desktop
}
