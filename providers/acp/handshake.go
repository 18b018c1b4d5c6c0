package acp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/agent"
	"github.com/everdesk/everdesk/providers/jsonrpc"
)

// protocolVersion is the version of the protocol that this package speaks.
const protocolVersion = 1

// serverName is the name of the hub's tools as an MCP server.
const serverName = "everdesk"

// codeAuth is the error of an agent that needs a login.
const codeAuth = -32000

// abilities is what an agent says of itself.
type abilities struct {
	Version      int `json:"protocolVersion"`
	Capabilities struct {
		Load bool `json:"loadSession"`
		MCP  struct {
			HTTP bool `json:"http"`
		} `json:"mcpCapabilities"`
		Prompt struct {
			Image bool `json:"image"`
		} `json:"promptCapabilities"`
		Session struct {
			Fork *struct{} `json:"fork"`
		} `json:"sessionCapabilities"`
	} `json:"agentCapabilities"`
	Info struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"agentInfo"`
	Auth []struct {
		Name string `json:"name"`
	} `json:"authMethods"`
	Meta struct {
		Steering struct {
			Supported bool `json:"supported"`
		} `json:"steering"`
	} `json:"_meta"`
}

// signInMethods returns the names of the agent's ways to sign in.
func (a abilities) signInMethods() string {
	var names []string
	for _, m := range a.Auth {
		names = append(names, m.Name)
	}
	return strings.Join(names, ", ")
}

// notACommand precedes a message that begins with a slash. Agents take such a message for a command of
// their own and ignore space before it; OpenCode drops an unknown one without an error.
const notACommand = "The message of the user:\n"

// prompt returns messages as the agent expects them.
func (a abilities) prompt(messages []agent.Message) (blocks []map[string]any) {
	for _, m := range messages {
		if text := m.Text; text != "" {
			if strings.HasPrefix(strings.TrimSpace(text), "/") {
				text = notACommand + text
			}
			blocks = append(blocks, map[string]any{"type": "text", "text": text})
		}
		for _, i := range m.Images {
			if !a.Capabilities.Prompt.Image {
				blocks = append(blocks, map[string]any{"type": "text", "text": "\n(The user added an image here, which you cannot read.)"})
				continue
			}
			blocks = append(blocks, map[string]any{"type": "image", "mimeType": i.MediaType, "data": i.Data})
		}
	}
	return blocks
}

// initialize exchanges what both ends support.
func (b *backend) initialize(ctx context.Context) error {
	err := b.conn.Call(ctx, "initialize", map[string]any{
		"protocolVersion": protocolVersion,
		"clientInfo":      map[string]any{"name": "everdesk", "title": "Everdesk", "version": "1"},
		"clientCapabilities": map[string]any{
			"fs": map[string]any{"readTextFile": !b.cfg.OwnReads, "writeTextFile": true}, "terminal": false,
		},
	}, &b.able)
	if err != nil {
		return err
	}
	if b.able.Version != protocolVersion {
		return fmt.Errorf("the agent speaks version %d of the protocol, want %d", b.able.Version, protocolVersion)
	}
	return nil
}

// open begins, resumes or forks a conversation.
func (b *backend) open(ctx context.Context, o agent.Opening) error {
	servers := b.servers(ctx, o)
	if o.Resume != "" {
		err := b.resume(ctx, o, servers)
		if err == nil || ctx.Err() != nil {
			return err
		}
		b.cfg.Logger.InfoContext(ctx, "agent does not resume its conversation, sending it a transcript", "provider", b.cfg.Name, "agent", o.Spec.Agent, "error", providers.RedactError(err, b.cfg.Secrets...))
		o.Session.Anew()
	}
	if o.Spec.System != "" {
		b.intro = "<instructions>\n" + o.Spec.System + "\n</instructions>\n\n"
	}
	return b.begins(ctx, "session/new", map[string]any{"cwd": o.Dir, "mcpServers": servers})
}

// resume continues the agent's own conversation, or a copy of it.
func (b *backend) resume(ctx context.Context, o agent.Opening, servers []any) error {
	params := map[string]any{"sessionId": o.Resume, "cwd": o.Dir, "mcpServers": servers}
	switch {
	case o.Fork && b.able.Capabilities.Session.Fork != nil:
		return b.begins(ctx, "session/fork", params)
	case o.Fork:
		return errors.New("the agent does not fork conversations")
	case !b.able.Capabilities.Load:
		return errors.New("the agent does not load conversations")
	}
	var r opened
	if err := b.conn.Call(ctx, "session/load", params, &r); err != nil {
		return err
	}
	b.mu.Lock()
	b.id, b.costs.resumed = o.Resume, true
	b.mu.Unlock()
	return b.setMode(ctx, r)
}

// opened is the answer to a method that opens a conversation.
type opened struct {
	ID    string `json:"sessionId"`
	Modes struct {
		Current   string `json:"currentModeId"`
		Available []struct {
			ID string `json:"id"`
		} `json:"availableModes"`
	} `json:"modes"`
}

// AskingModes returns the modes in which known agents ask before they change something.
func AskingModes() []string { return []string{"default", "read-only"} }

// setMode sets the first mode of the settings that the agent has. Some agents begin in a mode in which a
// model decides what needs no approval, and keep the mode of an earlier conversation.
func (b *backend) setMode(ctx context.Context, r opened) error {
	modes := b.cfg.Modes
	if len(modes) == 0 {
		modes = AskingModes()
	}
	for _, mode := range modes {
		for _, m := range r.Modes.Available {
			if m.ID != mode {
				continue
			}
			if r.Modes.Current == mode {
				return nil
			}
			if err := b.conn.Call(ctx, "session/set_mode", map[string]any{"sessionId": b.ID(), "modeId": mode}, nil); err != nil {
				return fmt.Errorf("set the mode %s of the agent: %w", mode, err)
			}
			return nil
		}
	}
	return nil
}

// begins calls a method that returns the id of a conversation.
func (b *backend) begins(ctx context.Context, method string, params map[string]any) error {
	var r opened
	if err := b.conn.Call(ctx, method, params, &r); err != nil {
		if e, ok := errors.AsType[*jsonrpc.Error](err); ok && e.Code == codeAuth {
			return fmt.Errorf("the agent wants a login (%s): give it a key as a variable, or sign in with the program and HOME=%s: %w", b.able.signInMethods(), b.cfg.Home, err)
		}
		return err
	}
	if r.ID == "" {
		return fmt.Errorf("%s returned no id", method)
	}
	b.mu.Lock()
	b.id = r.ID
	b.mu.Unlock()
	return b.setMode(ctx, r)
}

// servers returns the MCP server with the hub's tools, if there are any.
func (b *backend) servers(ctx context.Context, o agent.Opening) []any {
	switch {
	case len(b.tools) == 0 || o.Spec.MCP == nil:
		return []any{}
	case !b.able.Capabilities.MCP.HTTP:
		b.cfg.Logger.WarnContext(ctx, "agent has no MCP over HTTP, so it has no tools of the desktop", "provider", b.cfg.Name)
		return []any{}
	}
	e := o.Spec.MCP(b.callHub)
	return []any{map[string]any{
		"type": "http", "name": serverName, "url": e.URL,
		"headers": []any{map[string]any{"name": "Authorization", "value": "Bearer " + e.Token}},
	}}
}
