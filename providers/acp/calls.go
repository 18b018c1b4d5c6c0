package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/everdesk/everdesk/internal/truncation"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/agent"
)

// report is what an agent reports about a call of a tool. Later reports have only what changed.
type report struct {
	ID        string          `json:"toolCallId"`
	Title     string          `json:"title"`
	Kind      string          `json:"kind"`
	Status    string          `json:"status"`
	Input     json.RawMessage `json:"rawInput"`
	Output    json.RawMessage `json:"rawOutput"`
	Content   []callContent   `json:"content"`
	Locations []struct {
		Path string `json:"path"`
	} `json:"locations"`
	Meta reportMeta `json:"_meta"`
}

// reportMeta has pieces of the output of a command, which some agents send instead of content.
type reportMeta struct {
	Delta  terminalOutput `json:"terminal_output_delta"`
	Output terminalOutput `json:"terminal_output"`
}

// terminalOutput is a piece of the output of a command.
type terminalOutput struct {
	Data string `json:"data"`
}

// maxTerminal bounds the collected output of a command, in bytes. Its first part is kept.
const maxTerminal = 1 << 20

// callContent is content of a call: a block, a change of a file, or a terminal of the hub, which
// there is none of.
type callContent struct {
	Type    string          `json:"type"`
	Content json.RawMessage `json:"content"`
	Path    string          `json:"path"`
	Old     string          `json:"oldText"`
	New     string          `json:"newText"`
}

// toolCall is a call of a tool of the agent, as far as it is known.
type toolCall struct {
	report
	started, ended bool
	hub            string // the tool of the hub that it calls, if any
	terminal       string // output of the command so far
}

// merge adds a report to what is known of a call and returns a copy of that.
func (b *backend) merge(r report) toolCall {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.calls[r.ID]
	if c == nil {
		c = &toolCall{report: report{ID: r.ID}}
		b.calls[r.ID] = c
	}
	if r.Title != "" {
		c.Title = r.Title
	}
	if r.Kind != "" {
		c.Kind = r.Kind
	}
	if r.Status != "" {
		c.Status = r.Status
	}
	r.Title = c.Title
	if tool, input := wrappedCall(b.tools, r); tool != "" {
		c.hub, r.Input = tool, input
	}
	if in := string(r.Input); in != "" && in != "null" && in != "{}" {
		c.Input = r.Input
	}
	if out := string(r.Output); out != "" && out != "null" {
		c.Output = r.Output
	}
	if len(r.Content) > 0 {
		c.Content = r.Content
	}
	if len(r.Locations) > 0 {
		c.Locations = r.Locations
	}
	c.terminal = truncation.Bytes(c.terminal+r.Meta.Delta.Data+r.Meta.Output.Data, maxTerminal)
	if c.hub == "" {
		c.hub = hubTool(b.tools, c.report)
	}
	return *c
}

// hubTool returns the tool of the hub that a call is of; empty if it is none. Only the exact names
// count that agents are known to build, and no kind that has an effect of its own: such a call needs
// no approval, because the hub asks itself where it has to.
func hubTool(tools []providers.Tool, r report) string {
	switch r.Kind {
	case "execute", "edit", "delete", "move", "read", "fetch", "switch_mode":
		return ""
	}
	id, _, _ := strings.Cut(r.ID, "-")
	for _, t := range tools {
		switch r.Title {
		case serverName + "_" + t.Name, "mcp__" + serverName + "__" + t.Name, "mcp_" + serverName + "_" + t.Name,
			"Tool: " + serverName + "/" + t.Name, serverName + "/" + t.Name, t.Name + " (" + serverName + " MCP Server)":
			return t.Name
		}
		if id == "mcp_"+serverName+"_"+t.Name || id == serverName+"__"+t.Name {
			return t.Name
		}
	}
	return ""
}

// wrappedCall returns the tool of the hub and the input of a call that codex-acp reports: it gives all calls of
// MCP servers the kind of a command. Nothing but the exact form counts, because a command needs approval.
func wrappedCall(tools []providers.Tool, r report) (tool string, input json.RawMessage) {
	all := decode[map[string]json.RawMessage](r.Input)
	tool = decode[string](all["tool"])
	known := slices.ContainsFunc(tools, func(t providers.Tool) bool { return t.Name == tool })
	if len(all) != 3 || all["arguments"] == nil || decode[string](all["server"]) != serverName || !known || r.Title != "mcp."+serverName+"."+tool {
		return "", nil
	}
	return tool, all["arguments"]
}

// hubCall is a call of a tool of the hub. The agent reports it on one way and makes it on another; it
// is one call for both.
type hubCall struct{ id, tool, input string }

// reportTimeout bounds the wait for the report of a call that is being made. Agents report a call
// before they make it; one that does not is not waited for again.
const reportTimeout = 2 * time.Second

// callHub executes a tool of the hub. It waits for the agent's report of the call, because what the
// agent said before the call is on that way, too.
func (b *backend) callHub(ctx context.Context, c providers.ToolCall) providers.ToolResult {
	late := time.NewTimer(reportTimeout)
	defer late.Stop()
	for {
		b.mu.Lock()
		first, ok := claim(&b.reported, c.Name, c.Input)
		silent, more := b.silent || !b.running, b.moreReports
		if !ok && silent {
			b.made = append(b.made, hubCall{c.ID, c.Name, plainInput(c.Input)})
		}
		b.mu.Unlock()
		if ok {
			c.ID = first.id
		}
		if ok || silent {
			b.takePrompt()
			r := b.session.Call(ctx, c)
			b.holdResult(ctx)
			return r
		}
		select {
		case <-more:
		case <-late.C:
			b.mu.Lock()
			b.silent = true
			b.mu.Unlock()
		case <-ctx.Done():
			return providers.ToolResult{Text: "The call was canceled.", IsError: true}
		}
	}
}

// holdResult delays the result of a call while the turn is being interrupted, because the agent may
// receive it before the interrupt and go on.
func (b *backend) holdResult(ctx context.Context) {
	b.mu.Lock()
	hold, over := b.running && b.interrupted, b.over
	b.mu.Unlock()
	if !hold {
		return
	}
	late := time.NewTimer(reportTimeout)
	defer late.Stop()
	select {
	case <-over:
	case <-ctx.Done():
	case <-late.C:
	}
}

// claim removes the call of a tool with an input from a list and returns it. Without that, it is the
// oldest call of the tool of which one of both inputs is not known, because some agents do not report it.
func claim(list *[]hubCall, tool string, input json.RawMessage) (hubCall, bool) {
	plain := plainInput(input)
	i := slices.IndexFunc(*list, func(h hubCall) bool { return h.tool == tool && h.input == plain })
	if i < 0 {
		i = slices.IndexFunc(*list, func(h hubCall) bool { return h.tool == tool && (h.input == unknownInput || plain == unknownInput) })
	}
	if i < 0 {
		return hubCall{}, false
	}
	h := (*list)[i]
	*list = slices.Delete(*list, i, i+1)
	return h, true
}

// unknownInput is the plain form of an input that the agent has not reported.
const unknownInput = "null"

// plainInput returns an input in one form, whatever the order of its keys.
func plainInput(input json.RawMessage) string {
	return string(encode(decode[map[string]any](input)))
}

// updateCall reports the progress of a call. A call is reported as started when the agent has begun
// it, because only then its input is complete.
func (b *backend) updateCall(r report) {
	c := b.merge(r)
	done := c.Status == "completed" || c.Status == "failed"
	if (c.Status == "in_progress" || done) && !c.started {
		b.startCall(c)
	}
	if !done || c.ended {
		return
	}
	b.session.ToolEnded(c.ID, providers.ToolResult{Text: c.result(b.dir), IsError: c.Status == "failed"})
	b.mu.Lock()
	if known := b.calls[c.ID]; known != nil {
		known.ended = true
	}
	steered := len(b.steers) > 0
	b.mu.Unlock()
	if steered {
		b.wg.Go(func() { _ = b.cutOff(b.ctx) }) // fails only if the program has ended
	}
}

// startCall reports that a call has begun.
func (b *backend) startCall(c toolCall) {
	b.mu.Lock()
	known := b.calls[c.ID]
	first := known != nil && !known.started
	if first {
		known.started = true
	}
	if first && c.hub != "" {
		if _, made := claim(&b.made, c.hub, c.Input); made {
			first = false
		} else {
			b.reported = append(b.reported, hubCall{c.ID, c.hub, plainInput(c.Input)})
			defer b.notifyReport() // after the report to the session
		}
	}
	b.mu.Unlock()
	switch {
	case !first:
	case c.hub != "" && plainInput(c.Input) == unknownInput: // it is known with its input when it is made
	case c.hub != "":
		b.session.ToolStarted(providers.ToolCall{ID: c.ID, Name: c.hub, Input: providers.WholeInput(c.Input)})
	default:
		b.session.ToolStarted(c.translate(b.dir))
	}
}

// notifyReport wakes the calls that wait for their report.
func (b *backend) notifyReport() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.moreReports)
	b.moreReports = make(chan struct{})
}

// result returns the result of a call as text.
func (c toolCall) result(dir workDir) string {
	var parts []string
	for _, p := range c.Content {
		switch p.Type {
		case "content":
			if text := decode[block](p.Content).text(); text != "" {
				parts = append(parts, text)
			}
		case "diff":
			parts = append(parts, diff(dir.relative(p.Path), p.Old, p.New))
		}
	}
	if len(parts) == 0 && c.terminal != "" {
		return c.terminal
	}
	if len(parts) == 0 && len(c.Output) > 0 {
		if text := decode[string](c.Output); text != "" {
			return text
		}
		return string(c.Output)
	}
	return strings.Join(parts, "\n")
}

// translate returns a call with the names that the hub's rules know: commands with the command line,
// changes of files as a patch, and paths in the working directory as relative ones.
func (c toolCall) translate(dir workDir) providers.ToolCall {
	out := providers.ToolCall{ID: c.ID, Name: c.Kind}
	switch c.Kind {
	case "execute":
		out.Name, out.Input = "shell", c.command(dir)
	case "edit":
		if patch := c.patch(dir); patch != "" {
			out.Name, out.Input = "apply_patch", encode(map[string]any{"patch": patch})
		}
	case "search":
		out.Name = "grep"
	case "", "other", "think":
		out.Name = toolName(c.Title)
	}
	if out.Input == nil {
		out.Input = c.ownInput(dir)
	}
	return out
}

// toolName makes a name of a title, which no rule knows: the title may be chosen by the model.
func toolName(title string) string {
	title, _, _ = strings.Cut(strings.TrimSpace(title), "\n")
	if title == "" || len(title) > 80 {
		return "agent tool"
	}
	return "agent tool: " + title
}

// command returns the input of a command. Without a command line of which the agent says that it
// runs it, there is only its title, which no rule approves.
func (c toolCall) command(dir workDir) json.RawMessage {
	in := decode[struct {
		Command json.RawMessage `json:"command"`
		Cmd     json.RawMessage `json:"cmd"`
		Dir     string          `json:"cwd"`
		WorkDir string          `json:"workdir"`
	}](c.Input)
	line := in.Command
	if len(line) == 0 {
		line = in.Cmd
	}
	text := decode[string](line)
	if words := decode[[]string](line); len(words) > 0 {
		text = commandLine(words, dir)
	}
	if text == "" {
		return encode(map[string]any{"title": c.Title, "input": c.Input})
	}
	out := map[string]any{"command": text}
	for _, cwd := range []string{in.Dir, in.WorkDir} {
		if cwd != "" {
			out["cwd"] = dir.relative(cwd)
		}
	}
	return encode(out)
}

// commandLine joins the words of a command. The script of a shell that is given one is the command
// itself, unless the agent may have written that shell.
func commandLine(words []string, dir workDir) string {
	if script, ok := agent.ShellScript(words, dir.path); ok {
		return script
	}
	for i, w := range words {
		if w == "" || strings.ContainsFunc(w, func(r rune) bool { return !strings.ContainsRune(plainRunes, r) }) {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// plainRunes need no quotes in a shell.
const plainRunes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"

// patch returns the changes of files of a call.
func (c toolCall) patch(dir workDir) string {
	var d strings.Builder
	for _, p := range c.Content {
		if p.Type == "diff" {
			d.WriteString(diff(dir.relative(p.Path), p.Old, p.New))
		}
	}
	return d.String()
}

// ownInput returns the agent's input with the files that the call is about.
func (c toolCall) ownInput(dir workDir) json.RawMessage {
	in := decode[map[string]any](c.Input)
	if in == nil {
		in = map[string]any{}
		if len(c.Input) > 0 {
			in["input"] = c.Input
		}
	}
	for key, v := range in {
		if text, ok := v.(string); ok && filepath.IsAbs(text) {
			in[key] = dir.relative(text)
		}
	}
	var files []string
	for _, l := range c.Locations {
		files = append(files, dir.relative(l.Path))
	}
	if len(files) > 0 {
		in["files"] = files
	}
	if c.Title != "" {
		in["title"] = c.Title
	}
	return encode(in)
}

// encode encodes a value as people read it, without escapes for HTML.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return json.RawMessage(`{}`) // never for what was decoded from JSON
	}
	return bytes.TrimSpace(b.Bytes())
}
