package tools

import (
	"context"
	"fmt"
	"slices"

	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
)

// coverage says what one answer of the user covers.
type coverage struct {
	// scope names the calls for which an answer holds for the rest of the turn; empty for this call only.
	scope string
	// own is a source that does not count: data of a page is no reason to ask before a command to that page.
	own string
	// harmless says that this call neither leaves the hub nor deletes anything, so that nothing is asked.
	harmless bool
}

// covering returns a function for tool.covers from one for the tool's input.
func covering[T any](of func(*use, T) coverage) func(*use, any) coverage {
	return func(u *use, in any) coverage {
		return of(u, in.(T)) //nolint:forcetypeassert // it is what decode made
	}
}

// appData covers all data of an app.
func appData(app string) coverage { return coverage{scope: "data of the app " + app} }

// sourceRunes bounds the name of a source.
const sourceRunes = 200

// OutsideResult marks a result as data of others from outside the hub, for the model and for the session. source
// names where it comes from, such as example.com. Tools of MCP servers and of pages call it for every result
// that has data of the server, errors included.
//
// The tool also says whether its calls leave the hub: by its annotation, unless that says that it only reads.
func OutsideResult(source string, r providers.ToolResult) providers.ToolResult {
	return marked(source, r, policies.OutsideData)
}

// outsideFile is [OutsideResult] for text that agents write back.
func outsideFile(source string, r providers.ToolResult) providers.ToolResult {
	return marked(source, r, policies.ExactOutsideData)
}

func marked(source string, r providers.ToolResult, enclose func(source, text string) string) providers.ToolResult {
	r.Source = truncate(oneLine(source), sourceRunes)
	r.Text = enclose(r.Source, truncate(r.Text, maxResult-2*sourceRunes))
	return r
}

// canLeave reports whether calls of a tool can leave the hub or delete something. A tool that is not known
// to be harmless can.
func (r *registry) canLeave(t *tool) bool {
	if t.leaves || t.stays {
		return t.leaves
	}
	a, known := r.annotations[t.name]
	return !known || !a.hints.ReadOnly && (a.hints.Destructive || a.hints.OpenWorld)
}

// mayRun returns nil if the call may run, else the reason why not. It asks what the tool wants to have asked.
// An agent that has read outside data also asks for every call that leaves the hub or deletes something.
func (u consent) mayRun(ctx context.Context, t *tool, in any) error {
	var asked *question
	if t.use.ask != nil {
		var err error
		if asked, err = t.use.ask(ctx, u.use, in); err != nil {
			return err
		}
	}
	sources, scope, err := u.outsideSources(ctx, t, in)
	switch {
	case err != nil:
		return fmt.Errorf("it is not known what this agent has read: %w", err)
	case asked != nil:
		return u.permitted(ctx, *asked, len(sources) > 0)
	case len(sources) == 0:
		return nil
	}
	title := u.tools.annotation(t).title
	if title == "" {
		title = "Use " + modelName(t.name)
	}
	if err := u.permitted(ctx, question{
		title: title + "?", yes: "Allow", topic: t.name, message: modelName(t.name) + "\n" + visible(string(u.call.Input)),
	}, true); err != nil || scope == "" {
		return err
	}
	return u.Desktop.Trust.AllowScope(ctx, u.Caller, scope)
}

// shownInput bounds the code of a cell that users approve, and the beginning of the input of a view, in
// characters.
const shownInput = 16 << 10

// outsideSources returns the sources of outside data that the agent has read, if the user must be asked for
// this call because of it, and what the answer covers.
func (u consent) outsideSources(ctx context.Context, t *tool, in any) (sources []string, scope string, err error) {
	if u.Desktop.Trust == nil || !u.tools.canLeave(t) {
		return nil, "", nil
	}
	var c coverage
	if t.covers != nil {
		c = t.covers(u.use, in)
	}
	if c.harmless {
		return nil, "", nil
	}
	sources, err = u.Desktop.Trust.OutsideSources(ctx, u.Caller, c.scope)
	return slices.DeleteFunc(sources, func(s string) bool { return c.own != "" && s == c.own }), c.scope, err
}
