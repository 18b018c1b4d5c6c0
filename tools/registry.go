package tools

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// The profiles: which tools an agent has. Main is for the agent of a monitor,
// which hands longer work on, and all for those who stand in for it: window agents
// and ephemeral ones. The others are for task agents.
const (
	ProfileMain    = "main"
	ProfileAll     = "all"
	ProfileDefault = "default"
	ProfileWeb     = "web"
	ProfileCode    = "code"
	ProfileApp     = "app"
)

// Profiles are those a task agent can have.
func Profiles() []string {
	return []string{ProfileDefault, ProfileWeb, ProfileCode, ProfileApp}
}

// Who has a tool.
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
	// in are the profiles that have it.
	in []string
	// parallel tools may run beside others of the same turn, repeatable ones
	// may run again when nobody knows whether they did.
	parallel, repeatable bool
	// todo tools are of agents that work on a todo of a plan alone, and the session
	// is not told of their calls.
	todo bool
	// personal tools are about the owner of the desktop, beyond it.
	personal bool
	use      handler
}

// handler is what a tool does, for one type of input.
type handler struct {
	schema   json.RawMessage
	resolved *jsonschema.Resolved
	takes    string
	decode   func([]byte) (any, error)
	do       func(context.Context, *use, any) providers.ToolResult
	// ask, if there is one, says what the user is asked before, if anything.
	// An error means that the call is wrong anyway.
	ask func(context.Context, *use, any) (*question, error)
}

// with makes a handler of a function. The schema is that of its input.
func with[T any](do func(context.Context, *use, T) providers.ToolResult) handler {
	format := wire.FormatOf[T]()
	schema := schemaOf[T]()
	return handler{
		schema: schema.text, resolved: schema.resolved, takes: schema.takes,
		decode: func(data []byte) (any, error) { return format.Decode(data) },
		do: func(ctx context.Context, u *use, in any) providers.ToolResult {
			return do(ctx, u, in.(T)) //nolint:forcetypeassert // it is what decode made
		},
	}
}

// guarded is [with] for what the user is asked about first.
func guarded[T any](do func(context.Context, *use, T) providers.ToolResult, ask func(context.Context, *use, T) (*question, error)) handler {
	h := with(do)
	h.ask = func(ctx context.Context, u *use, in any) (*question, error) {
		return ask(ctx, u, in.(T)) //nolint:forcetypeassert // it is what decode made
	}
	return h
}

// none is the input of tools that need none.
type none struct{}

// table are all tools, in the order in which models see them.
func table() []tool {
	return slices.Concat(
		windowTools(), noticeTools(), appTools(), storageTools(), userTools(), systemTools(),
		memoryTools(), configTools(), reloadTools(), taskTools(), planTools(),
	)
}

// modelName is how models call a tool: their APIs take no colons.
func modelName(name string) string { return strings.Replace(name, ":", "_", 1) }

// registry finds tools.
type registry struct {
	all []tool
	// byName has every tool by both its names.
	byName map[string]*tool
}

func newRegistry() *registry {
	r := &registry{all: table(), byName: map[string]*tool{}}
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

// of reports whether a caller has the tool.
func (t *tool) of(c Caller) bool {
	return slices.Contains(t.in, c.Profile) && (!t.todo || c.Todo != "")
}

// names are the tools of a caller as models call them.
func (r *registry) names(c Caller) []string {
	var out []string
	for i := range r.all {
		if t := &r.all[i]; t.of(c) {
			out = append(out, modelName(t.name))
		}
	}
	return out
}
