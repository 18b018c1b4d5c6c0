package tools

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/everdesk/everdesk/modes"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Profiles determine the tools of an agent. ProfileMain is for the main agent of a monitor,
// which delegates longer work, and ProfileAll for window agents and ephemeral agents. The others
// are for task agents.
const (
	ProfileMain    = "main"
	ProfileAll     = "all"
	ProfileDefault = "default"
	ProfileWeb     = "web"
	ProfileCode    = "code"
	ProfileApp     = "app"
)

// Profiles returns the profiles of task agents.
func Profiles() []string {
	return []string{ProfileDefault, ProfileWeb, ProfileCode, ProfileApp}
}

// Groups of profiles.
var (
	workers  = append([]string{ProfileAll}, Profiles()...)
	leaders  = []string{ProfileMain, ProfileAll}
	everyone = append([]string{ProfileMain}, workers...)
)

// tool is a row of the table of tools.
type tool struct {
	// name is namespace:tool.
	name  string
	about string
	// in lists the profiles that include the tool.
	in []string
	// parallel tools may run concurrently with others of the same turn. repeatable tools may
	// run again if it is unknown whether they ran.
	parallel, repeatable bool
	// writes says that the tool changes files, so that a checkpoint is saved before the first one of a
	// turn.
	writes bool
	// todo tools are only for agents that work on a todo of a plan; their calls are not
	// reported to the session.
	todo bool
	// asks says that the tool changes nothing itself: it asks users, reports to them, or delegates to an
	// agent with the same mode.
	asks bool
	// personal tools access data of the desktop's owner beyond the desktop; turns of guests
	// cannot use them.
	personal bool
	// leaves says that a call sends data out of the hub, deletes something, or changes what later
	// conversations read. Tools that are destructive or reach elsewhere by their annotation leave, too, unless
	// stays says that all they change is the desktop, or a sandbox whose content is not used yet. Agents that have read data from outside ask before such
	// a call; see [Trust]. covers, unless nil, says which calls one answer of the user covers.
	leaves, stays bool
	covers        func(*use, any) coverage
	// of is set for tools of MCP servers.
	of  *serverNote
	use handler
}

// handler executes a tool for one type of input.
type handler struct {
	// schema returns the schema of the input. The first call makes it: making all of
	// them takes most of the time in which a hub is built.
	schema func() inputSchema
	decode func([]byte) (any, error)
	do     func(context.Context, *use, any) providers.ToolResult
	// ask, unless nil, returns the question for the user before the tool runs, or nil. The
	// error means that the call is invalid.
	ask func(context.Context, *use, any) (*question, error)
}

// with returns a handler that calls do. The schema is derived from the input type.
func with[T any](do func(context.Context, *use, T) providers.ToolResult) handler {
	format := wire.FormatOf[T]()
	return handler{
		schema: sync.OnceValue(schemaOf[T]),
		decode: func(data []byte) (any, error) { return format.Decode(data) },
		do: func(ctx context.Context, u *use, in any) providers.ToolResult {
			return do(ctx, u, in.(T)) //nolint:forcetypeassert // it is what decode made
		},
	}
}

// guarded is [with] for tools that ask the user first.
func guarded[T any](do func(context.Context, *use, T) providers.ToolResult, ask func(context.Context, *use, T) (*question, error)) handler {
	h := with(do)
	h.ask = func(ctx context.Context, u *use, in any) (*question, error) {
		return ask(ctx, u, in.(T)) //nolint:forcetypeassert // it is what decode made
	}
	return h
}

// none is the input of tools without input.
type none struct{}

// table returns all tools that a hub with this configuration has, in the order in which models see
// them.
func table(cfg Config) []tool {
	var outside []tool
	if cfg.Web != nil {
		outside = append(outside, webTools()...)
	}
	if cfg.Browser.Pages != nil {
		outside = append(outside, browserTools()...)
	}
	if cfg.Scripts != nil {
		outside = append(outside, scriptTools()...)
	}
	if cfg.Notebooks {
		outside = append(outside, notebookTools()...)
	}
	if len(cfg.Env.Names) > 0 {
		outside = append(outside, envTools()...)
	}
	if cfg.Apps != nil {
		outside = append(outside, slices.Concat(userAppTools(), devTools())...)
	}
	return slices.Concat(
		windowTools(), noticeTools(), appTools(), storageTools(), userTools(), systemTools(), shortcutTools(), skillTools(cfg),
		outside, memoryTools(), configTools(), reloadTools(), taskTools(), planTools(),
	)
}

// modelName returns the name of a tool for models, whose APIs allow no colons.
func modelName(name string) string { return strings.Replace(name, ":", "_", 1) }

// registry looks up tools.
type registry struct {
	all []tool
	// byName has every tool under both its names.
	byName      map[string]*tool
	annotations map[string]annotation
}

func newRegistry(cfg Config) *registry {
	r := &registry{all: table(cfg), byName: map[string]*tool{}, annotations: annotations()}
	for i := range r.all {
		t := &r.all[i]
		for _, name := range []string{t.name, modelName(t.name)} {
			if r.byName[name] != nil {
				panic("tools: two tools are called " + name)
			}
			r.byName[name] = t
		}
	}
	return r
}

// forModel returns the tool as models see it.
func (t *tool) forModel() providers.Tool {
	return providers.Tool{Name: modelName(t.name), Description: t.about, Schema: t.use.schema().text, Parallel: t.parallel}
}

// availableTo reports whether a caller has the tool.
func (r *registry) availableTo(t *tool, c Caller) bool { return t.isFor(c) && r.allowedIn(t, c.Mode) }

// allowedIn reports whether the tool profile of a mode has the tool. A profile of a later version counts
// as the narrowest one.
func (r *registry) allowedIn(t *tool, m *modes.Mode) bool {
	if m == nil || m.Tools == modes.ToolsAll || t.asks || r.onlyReads(t) {
		return true
	}
	return m.Tools == modes.ToolsShow && strings.HasPrefix(t.name, "window:") && t.name != "window:app_command"
}

// annotation returns the annotation of a tool.
func (r *registry) annotation(t *tool) annotation {
	if t.of != nil {
		return t.of.annotation
	}
	return r.annotations[t.name]
}

// onlyReads reports whether a tool changes nothing. What an MCP server claims counts only if it is trusted.
func (r *registry) onlyReads(t *tool) bool {
	if t.of != nil {
		return t.of.onlyReads
	}
	return r.annotations[t.name].hints.ReadOnly
}

// isFor reports whether the kind of the caller's agent has the tool.
func (t *tool) isFor(c Caller) bool {
	if c.hasSmallWindow() {
		// A main agent has no task agents to write files for it.
		return hasSmallTool(t.name) && (slices.Contains(t.in, c.Profile) || c.Profile == ProfileMain)
	}
	return slices.Contains(t.in, c.Profile) && (!t.todo || c.Todo != "")
}

// names returns the model names of a caller's tools.
func (r *registry) names(c Caller) []string {
	var out []string
	for i := range r.all {
		if t := &r.all[i]; r.availableTo(t, c) {
			out = append(out, modelName(t.name))
		}
	}
	return out
}
