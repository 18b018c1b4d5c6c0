package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/tools/mcpserver"
	"github.com/everdesk/everdesk/wire"
)

// mcpClients admits programs with the MCP tokens of sessions.
type mcpClients struct {
	authority *auth.Authority
	hub       func() *session.Hub // it is built later
}

// ID implements [mcpserver.Clients].
func (mcpClients) ID(token string) (string, bool) { return auth.MCPTokenID(token) }

// Expires implements [mcpserver.Clients].
func (m mcpClients) Expires(ctx context.Context, token string) (time.Time, error) {
	at, err := m.authority.MCPTokens.Expires(ctx, token)
	return at, refusal(err)
}

// refusal returns the error for a token that cannot be checked, or is not valid.
func refusal(err error) error {
	if err == nil {
		return nil
	}
	if _, refused := errors.AsType[*auth.Error](err); refused {
		return mcpserver.ErrRefused
	}
	return fmt.Errorf("check MCP token: %w", err)
}

// Admit implements [mcpserver.Clients].
func (m mcpClients) Admit(ctx context.Context, token string) (mcpserver.Client, error) {
	t, err := m.authority.MCPTokens.Authenticate(ctx, token)
	if err != nil {
		return mcpserver.Client{}, refusal(err)
	}
	// The tools of MCP servers differ between users.
	info, err := m.hub().Info(ctx, t.Session)
	if errors.Is(err, store.ErrNotFound) {
		return mcpserver.Client{}, mcpserver.ErrRefused
	}
	if err != nil {
		return mcpserver.Client{}, fmt.Errorf("look up the session of the MCP token: %w", err)
	}
	if !t.ValidFor(info.User, info.UserChanges) {
		return mcpserver.Client{}, mcpserver.ErrRefused // the session was given to another user
	}
	return mcpserver.Client{
		Caller: tools.Caller{Profile: t.Profile, User: info.User, Session: t.Session}, Expires: t.Expires,
		Execute: func(ctx context.Context, call providers.ToolCall) providers.ToolResult {
			r, err := m.hub().CallTool(ctx, t.Session, session.ClientCall{
				ID: wire.MessageID(call.ID), Token: t.ID, Name: t.Name, User: info.User, Monitor: t.Monitor, Profile: t.Profile, Tool: call.Name, Input: call.Input,
			})
			if err != nil {
				return providers.ToolResult{Text: fmt.Sprintf("The desktop did not take the call: %v.", err), IsError: true}
			}
			return r
		},
	}, nil
}
