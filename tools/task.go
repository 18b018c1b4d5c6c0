package tools

import (
	"cmp"
	"context"
	"errors"

	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

func taskTools() []tool {
	return []tool{{
		// Repeatable, because the session itself stores the call in the step that creates the
		// task; before that step the call has no effect.
		name: "task:run", in: leaders, asks: true, stays: true, parallel: true, repeatable: true, use: with(runTask),
		about: "Hand a piece of work to an agent of its own, which knows this conversation, and wait for what it did. " +
			"Use it for everything that takes more than a step or two. Independent tasks can run side by side.",
	}}
}

// taskProfile is the profile of a task agent.
type taskProfile string

type taskInput struct {
	Objective string      `json:"objective" jsonschema:"What is to be achieved, complete in itself." wire:"min=1,max=20000"`
	Profile   taskProfile `json:"profile,omitempty" jsonschema:"The tools it gets; default by default."`
	Hint      string      `json:"hint,omitempty" jsonschema:"How to go about it." wire:"max=20000"`
}

func runTask(ctx context.Context, u *use, in taskInput) providers.ToolResult {
	if u.Kind == wire.AgentTask {
		return u.refuse(ctx, "A task agent does its work itself.")
	}
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		return u.Desktop.Tasks.Delegate(ctx, u.Caller, Task{
			Profile: cmp.Or(string(in.Profile), ProfileDefault), Objective: in.Objective, Hint: in.Hint, Call: u.call,
		})
	})
}

// Result returns the tool result for the delegating agent.
func (t TaskResult) Result() providers.ToolResult {
	t.Summary = truncate(t.Summary, maxResult/2)
	t.Error = truncate(t.Error, 2000)
	if t.Actions == nil {
		t.Actions = []TaskAction{}
	}
	r := asJSON(t)
	r.IsError = t.Status != providers.Completed
	return bounded(r)
}

func reloadTools() []tool {
	return []tool{
		{
			name: "system:reload_cached", in: leaders, stays: true, use: with(reloadCached),
			about: "Do again what was done for the same request before. Use it when reload_options has an option that fits.",
		},
		{
			name: "system:list_reload_options", in: leaders, parallel: true, repeatable: true, use: with(listReloadOptions),
			about: "List what was done before and could be done again for this request.",
		},
	}
}

type reloadInput struct {
	CacheID string `json:"cacheId" jsonschema:"Such as reload-1." wire:"min=1,max=100"`
}

// reloadCached repeats an entry of the reload cache. The session, which has the cache, does so in
// one step.
func reloadCached(ctx context.Context, u *use, in reloadInput) providers.ToolResult {
	r, err := u.Desktop.Reloads.Reload(ctx, u.Caller, u.call, in.CacheID)
	if err != nil {
		return unreachable(err)
	}
	if !r.IsError {
		u.fire(ctx)
	}
	return r
}

func listReloadOptions(ctx context.Context, u *use, _ none) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		options, err := u.Desktop.Reloads.ReloadOptions(ctx, u.Caller)
		if err != nil {
			return providers.ToolResult{}, errors.Join(errors.New("what could be done again is not known"), err)
		}
		return asJSON(append([]policies.ReloadOption{}, options...)), nil
	})
}
