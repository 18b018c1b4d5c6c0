package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/everdesk/everdesk/mcpclient"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Servers has the tools of MCP servers; [mcpclient.Manager] implements it.
type Servers interface {
	// Prepare makes the tools of a user known, as far as that is possible soon.
	Prepare(ctx context.Context, at mcpclient.Place)
	// Tools returns the known tools of a user. It does not block.
	Tools(user string) []mcpclient.Tool
	// Find returns a tool of a user by its name for models. If it is not known, its server is started.
	Find(ctx context.Context, at mcpclient.Place, name string) (mcpclient.Tool, bool)
	// Revision changes when the tools of a user change.
	Revision(user string) string
	// Call calls a tool of a server. A [*mcpclient.UncertainError] means that it may or may not have run;
	// other errors mean that it did not, unless ctx ended.
	Call(ctx context.Context, at mcpclient.Place, server string, c mcpclient.Call) (mcpclient.Result, error)
	// ViewTool returns a tool of a server that its views may call.
	ViewTool(ctx context.Context, at mcpclient.Place, server, name string) (mcpclient.Tool, bool)
}

// Models asks the model of a turn on behalf of an MCP server.
type Models interface {
	// Complete returns the answer of the caller's model, which gets no tools and nothing of the conversation.
	Complete(ctx context.Context, c Caller, r mcpclient.ModelRequest) (mcpclient.ModelAnswer, error)
}

// place returns where the servers of the caller run.
func (c Caller) place() mcpclient.Place {
	return mcpclient.Place{User: c.User, Session: string(c.Session)}
}

// Prepare makes the tools of the caller's MCP servers known, before [Executor.Tools] or [Executor.AllTools] lists them.
// It starts servers, which may take some seconds.
func (e *Executor) Prepare(ctx context.Context, c Caller) {
	if e.cfg.Servers != nil && !c.hasSmallWindow() && !c.Guest {
		e.cfg.Servers.Prepare(ctx, c.place())
	}
}

// Revision changes when the tools of the caller change. It is empty for callers without tools of MCP servers or of
// the message's sender.
func (e *Executor) Revision(c Caller) string {
	revision := ""
	if e.cfg.Servers != nil && !c.hasSmallWindow() {
		revision = e.cfg.Servers.Revision(c.User)
	}
	for _, t := range c.ClientTools {
		revision = digest(revision, t.Name, t.Description, string(t.Parameters))
	}
	return revision
}

// serverTools returns the known tools of the caller's MCP servers.
func (e *Executor) serverTools(c Caller) []*tool {
	if e.cfg.Servers == nil || c.hasSmallWindow() {
		return nil
	}
	all := e.cfg.Servers.Tools(c.User)
	out := make([]*tool, len(all))
	for i := range all {
		out[i] = serverTool(all[i])
	}
	return out
}

// lookUp returns the tool with a name, or nil.
func (e *Executor) lookUp(ctx context.Context, c Caller, name string) *tool {
	if c.ViewOf != "" {
		return e.viewTool(ctx, c, name)
	}
	if t := cmp.Or(e.tools.byName[name], findClientTool(c, name)); t != nil || e.cfg.Servers == nil {
		return t
	}
	t, ok := e.cfg.Servers.Find(ctx, c.place(), name)
	if !ok {
		return nil
	}
	return serverTool(t)
}

// anyInput accepts every object; the server checks it.
var anyInput = sync.OnceValue(func() *jsonschema.Resolved {
	r, err := (&jsonschema.Schema{}).Resolve(nil)
	if err != nil {
		panic("tools: resolve the empty schema: " + err.Error())
	}
	return r
})

// serverTool returns a tool of an MCP server as a row of the table of tools. It belongs to the owner of the
// desktop. Calls of a tool that is not known to only read ask the user, unless the auto-approval rules allow it.
func serverTool(t mcpclient.Tool) *tool {
	in := everyone
	if len(t.Profiles) > 0 {
		in = t.Profiles
	}
	about := t.Description
	if about == "" {
		about = t.Title
	}
	return &tool{
		name: t.ModelName, about: strings.TrimSpace(fmt.Sprintf("[MCP server %s] %s", t.Server, about)), in: in,
		parallel: t.OnlyReads(), repeatable: t.OnlyReads(), writes: !t.OnlyReads(), personal: true,
		// A call sends its input to the server, whatever the server says about it.
		leaves: !t.OnlyReads() || t.Hints.OpenWorld, stays: t.OnlyReads() && !t.Hints.OpenWorld,
		covers: func(*use, any) coverage { return coverage{scope: t.ModelName, own: serverSource(t)} },
		of: &serverNote{
			annotation: annotation{title: t.Title, hints: providers.ToolHints{
				ReadOnly: t.Hints.ReadOnly, Destructive: t.Hints.Destructive, Idempotent: t.Hints.Idempotent, OpenWorld: t.Hints.OpenWorld,
			}},
			onlyReads: t.OnlyReads(),
		},
		use: handler{
			schema: func() inputSchema { return inputSchema{text: t.Schema, resolved: anyInput} },
			decode: objectInput,
			do: func(ctx context.Context, u *use, in any) providers.ToolResult {
				return serverCall{u}.callServer(ctx, t, in.(json.RawMessage)) //nolint:forcetypeassert // it is what objectInput returns
			},
			ask: func(_ context.Context, u *use, _ any) (*question, error) { return serverCall{u}.serverQuestion(t), nil },
		},
	}
}

// serverNote is what a server says about its tool. onlyReads says that it is believed to change nothing.
type serverNote struct {
	annotation
	onlyReads bool
}

// objectInput returns an input that is an object as it is.
func objectInput(data []byte) (any, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil || fields == nil {
		return nil, errors.New("it is not an object")
	}
	return json.RawMessage(data), nil
}

// serverCall is a call of a tool of an MCP server.
type serverCall struct{ *use }

// serverQuestion returns the question to the user before a call, or nil for a tool that only reads.
func (u serverCall) serverQuestion(t mcpclient.Tool) *question {
	if t.OnlyReads() {
		return nil
	}
	return &question{
		title:   "Use " + visible(truncate(t.Name, 100)) + " of the MCP server " + visible(t.Server) + "?",
		message: visible(string(u.call.Input)), yes: "Allow", topic: t.ModelName,
	}
}

// callServer calls a tool of an MCP server. The session knows that the call has begun, so that it is never
// executed twice.
func (u serverCall) callServer(ctx context.Context, t mcpclient.Tool, input json.RawMessage) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		call := mcpclient.Call{Tool: t.Name, Input: input, Caller: string(u.Session) + "/" + string(u.Agent), Ask: u.askForServer}
		var stop func()
		call.OnProgress, stop = u.reportProgress(ctx)
		defer stop()
		if u.cfg.Models != nil {
			call.Complete = u.completeForServer
		}
		r, err := u.cfg.Servers.Call(ctx, u.place(), t.Server, call)
		if err != nil && ctx.Err() != nil {
			return providers.ToolResult{}, err
		}
		out := providers.ToolResult{Text: r.Text, IsError: r.IsError}
		if err != nil { // it may have text of the server
			out = fail(sentence(err.Error()))
		}
		for _, i := range r.Images {
			out.Images = append(out.Images, providers.Image{MediaType: i.MediaType, Data: i.Data})
		}
		out = OutsideResult(serverSource(t), out)
		if err == nil {
			out.Text += u.openView(ctx, t, input, r)
		}
		return out, nil
	})
}

// serverSource names the server of a tool as a source of data.
func serverSource(t mcpclient.Tool) string { return "the MCP server " + t.Server }

// askForServer asks the user what a server wants to know, one field after the other.
func (u serverCall) askForServer(ctx context.Context, q mcpclient.Question) (mcpclient.Answer, error) {
	title := "The MCP server " + visible(q.Server) + " asks"
	if len(q.Fields) == 0 {
		r, err := u.askField(ctx, title, q, mcpclient.Field{Type: "boolean", Title: "Continue"}, 0)
		ok, _ := r.(bool)
		return mcpclient.Answer{Accepted: ok, Values: map[string]any{}}, err
	}
	a := mcpclient.Answer{Accepted: true, Values: map[string]any{}}
	for i, f := range q.Fields {
		v, err := u.askField(ctx, title, q, f, i)
		switch {
		case err != nil:
			return mcpclient.Answer{}, err
		case v == nil && f.Required:
			return mcpclient.Answer{}, nil
		case v != nil:
			a.Values[f.Name] = v
		}
	}
	return a, nil
}

// errModelRefused tells a server that the user does not want it to ask the model.
var errModelRefused = errors.New("the user does not allow the server to ask the model")

// completeForServer asks the model for a server, if the user agrees. The user sees what the model is asked.
func (u serverCall) completeForServer(ctx context.Context, r mcpclient.ModelRequest) (mcpclient.ModelAnswer, error) {
	var text strings.Builder
	if r.System != "" {
		fmt.Fprintf(&text, "System: %s\n\n", r.System)
	}
	for _, m := range r.Messages {
		text.WriteString(m.Text + "\n\n")
	}
	q := mcpclient.Question{Server: r.Server, Message: text.String()}
	yes, err := u.askField(ctx, "The MCP server "+visible(r.Server)+" wants to ask the model", q, mcpclient.Field{Type: "boolean", Title: "Ask the model?"}, r.Number)
	if err != nil {
		return mcpclient.ModelAnswer{}, err
	}
	if yes != true {
		return mcpclient.ModelAnswer{}, errModelRefused
	}
	return u.cfg.Models.Complete(ctx, u.Caller, r)
}

// askField asks for the value of one field. It is nil if the user gave none.
func (u serverCall) askField(ctx context.Context, title string, q mcpclient.Question, f mcpclient.Field, index int) (any, error) {
	label := f.Title
	if label == "" {
		label = f.Name
	}
	lines := []string{visible(q.Message), visible(label)}
	if f.Description != "" {
		lines = append(lines, visible(f.Description))
	}
	if len(q.Fields) > 1 {
		title += fmt.Sprintf(" (%d of %d)", index+1, len(q.Fields))
	}
	p := wire.Prompt{Title: title, Message: truncate(strings.Join(lines, "\n\n"), 10_000), MultiSelect: f.Type == "array"}
	choices := f.Choices
	if f.Type == "boolean" {
		choices = []mcpclient.Choice{{Value: "true", Title: "Yes"}, {Value: "false", Title: "No"}}
	}
	for _, c := range choices[:min(len(choices), maxOptions)] {
		p.Options = append(p.Options, wire.PromptOption{Value: c.Value, Label: visible(truncate(c.Title, 200))})
	}
	if len(p.Options) == 0 {
		p.InputField = &wire.PromptInput{Label: visible(truncate(label, 200)), Type: wire.PromptText}
	}
	p.ID = wire.PromptID(u.question(title, p.Message+strconv.Itoa(index)))
	r, err := u.Desktop.Users.Ask(ctx, u.Caller, p, answerTimeout)
	if err != nil || r.Dismissed {
		return nil, err
	}
	return fieldValue(f, r)
}

// fieldValue returns the value of a field from the answer of the user, or nil if there is none.
func fieldValue(f mcpclient.Field, r wire.UserPromptResponse) (any, error) {
	given := strings.TrimSpace(r.Text)
	if f.Type != "array" && len(r.SelectedValues) > 0 {
		given = r.SelectedValues[0]
	}
	switch f.Type {
	case "array":
		if len(r.SelectedValues) == 0 {
			return nil, nil
		}
		values := make([]any, len(r.SelectedValues))
		for i, v := range r.SelectedValues {
			values[i] = v
		}
		return values, nil
	case "boolean":
		return given == "true", nil
	}
	if given == "" {
		return nil, nil
	}
	switch f.Type {
	case "number", "integer":
		n, err := strconv.ParseFloat(given, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number", truncate(given, 100))
		}
		return n, nil
	}
	return given, nil
}

// deniedServerTools returns the names of tools of MCP servers that the caller does not have.
func (e *Executor) deniedServerTools(c Caller) []string {
	var names []string
	for _, t := range e.serverTools(c) {
		if !e.tools.availableTo(t, c) || c.Guest {
			names = append(names, t.name)
		}
	}
	slices.Sort(names)
	return names
}
