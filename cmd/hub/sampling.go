package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/mcpclient"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
)

// completionTime bounds the answer of a model to an MCP server.
const completionTime = 5 * time.Minute

// completer asks the model of a turn for an MCP server. It implements [tools.Models].
type completer struct {
	models interface {
		Get(user, name string) (providers.Provider, bool)
	}
}

// Complete implements [tools.Models].
func (m completer) Complete(ctx context.Context, c tools.Caller, r mcpclient.ModelRequest) (mcpclient.ModelAnswer, error) {
	p, ok := m.models.Get(c.User, c.Provider)
	if !ok {
		return mcpclient.ModelAnswer{}, fmt.Errorf("there is no model %s any more", c.Provider)
	}
	if p.Caps().Process {
		// Such an agent has tools of its own, which a server must not use.
		return mcpclient.ModelAnswer{}, errors.New("the agent of this conversation is a program, which answers only its user")
	}
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	spec := providers.Spec{Agent: "mcp " + r.Server, System: r.System}
	last := len(r.Messages) - 1
	for _, message := range r.Messages[:last] {
		role := providers.RoleUser
		if message.FromModel {
			role = providers.RoleAssistant
		}
		spec.From.Entries = append(spec.From.Entries, providers.Entry{
			Role: role, Turn: "mcp", Blocks: []providers.Block{{Kind: providers.BlockText, Text: message.Text}},
		})
	}
	text, err := providers.Complete(ctx, p, spec, r.Messages[last].Text)
	return mcpclient.ModelAnswer{Text: text, Model: p.Name()}, err //nolint:wrapcheck // it says what failed
}
