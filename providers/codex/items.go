package codex

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/agent"
)

// change is the change of a file. Its diff has hunks; for a file that is added or deleted it is the content.
type change struct {
	Path string `json:"path"`
	Kind struct {
		Type   string `json:"type"`
		MoveTo string `json:"move_path"`
	} `json:"kind"`
	Diff string `json:"diff"`
}

// itemStarted reports a tool call.
func (b *backend) itemStarted(session *agent.Session, i item) {
	c := b.toolCall(i)
	if c.Name == "" {
		return
	}
	b.mu.Lock()
	b.calls[i.ID] = c
	b.mu.Unlock()
	session.ToolStarted(c)
}

// toolCall returns the call that an item is, with the names that the rules of the hub know. The name is empty
// if it is none.
func (b *backend) toolCall(i item) providers.ToolCall {
	c := providers.ToolCall{ID: i.ID}
	switch i.Type {
	case "commandExecution":
		c.Name, c.Input = "shell", b.shellInput(i.Command, i.Dir, "")
	case "fileChange":
		c.Name, c.Input = "apply_patch", encode(map[string]string{"patch": b.patch(i.Changes)})
	case "mcpToolCall":
		c.Name, c.Input = mcpTool(i.Server, i.Tool), i.Args
	case "dynamicToolCall": // a tool of the hub, which a request follows for
		c.Name, c.Input = i.Tool, i.Args
	}
	return c
}

// mcpTool returns the name of a tool of an MCP server as the rules of the hub know it.
func mcpTool(server, tool string) string { return "mcp__" + server + "__" + tool }

// shellInput returns the input of a command. The reason is why it is asked for, as when it is to leave the sandbox.
func (b *backend) shellInput(command, dir, reason string) json.RawMessage {
	in := map[string]string{"command": script(command, b.dir)}
	if dir != "" {
		in["cwd"] = b.relative(dir)
	}
	if reason != "" {
		in["reason"] = reason
	}
	return encode(in)
}

// relative returns a path in the working directory without the path of that, so that the rules of the hub
// recognize it as one inside.
func (b *backend) relative(path string) string {
	rel, err := filepath.Rel(b.dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return path
	}
	return rel
}

// patch returns the changes of files as one patch.
func (b *backend) patch(changes []change) string {
	var d strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&d, "+++ %s\n", b.relative(c.Path))
		if c.Kind.MoveTo != "" {
			fmt.Fprintf(&d, "rename to %s\n", b.relative(c.Kind.MoveTo))
		}
		switch c.Kind.Type {
		case "add":
			d.WriteString(marked("+", c.Diff))
		case "delete":
			d.WriteString("deleted file\n" + marked("-", c.Diff))
		default:
			d.WriteString(strings.TrimSuffix(c.Diff, "\n") + "\n")
		}
	}
	return d.String()
}

// marked puts a mark before each line of a text.
func marked(mark, text string) string {
	var d strings.Builder
	for line := range strings.Lines(text) {
		d.WriteString(mark + strings.TrimSuffix(line, "\n") + "\n")
	}
	return d.String()
}

// encode encodes a value as people read it, without escapes for HTML.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil // never for maps of strings and valid JSON
	}
	return bytes.TrimSpace(b.Bytes())
}

// itemCompleted reports the end of a message or a call.
func (b *backend) itemCompleted(session *agent.Session, i item) {
	b.mu.Lock()
	streamed := b.streamed[i.ID]
	delete(b.streamed, i.ID)
	delete(b.calls, i.ID)
	b.mu.Unlock()
	failed := i.Status != "completed"
	switch i.Type {
	case "userMessage":
		if i.ClientID != "" {
			session.Taken(i.ClientID)
		}
	case "agentMessage":
		if len(i.Text) > streamed {
			session.Text(i.Text[streamed:])
		}
	case "commandExecution":
		text := i.Output
		if i.ExitCode != nil && *i.ExitCode != 0 {
			text += fmt.Sprintf("\n(exit code %d)", *i.ExitCode)
			failed = true
		}
		session.ToolEnded(i.ID, providers.ToolResult{Text: text, IsError: failed})
	case "fileChange":
		session.ToolEnded(i.ID, providers.ToolResult{Text: i.Status, IsError: failed})
	case "mcpToolCall":
		session.ToolEnded(i.ID, providers.ToolResult{Text: string(i.Result), IsError: failed})
	}
}
