package main

import (
	"github.com/everdesk/everdesk/metrics"
	"github.com/everdesk/everdesk/wire"
)

// levels returns the current values of the gauges.
func (h *App) levels() metrics.Levels {
	s := h.hub.Gauges()
	l := metrics.Levels{
		Working: s.Working, Waiting: s.Waiting, Stalled: s.Stalled, Stuck: s.Stuck, Idle: s.Idle, Followed: s.Followed,
		Connections: h.server.Connections(), Draining: h.server.Draining(),
		InUse: h.limiter.Running(), Limit: h.limiter.Limits().Agents,
		MainQueue: s.Pool.Mains, WindowQueue: s.Pool.Windows, Mailbox: s.Mailbox,
		Approvals: s.Approvals, Prompts: s.Prompts, Plans: s.Plans, Oldest: s.Oldest,
		Agents: []metrics.AgentLevel{
			{Kind: wire.AgentMain, Running: s.Pool.Main.Running, Waiting: s.Pool.Main.Waiting},
			{Kind: wire.AgentEphemeral, Running: s.Pool.Ephemeral.Running, Waiting: s.Pool.Ephemeral.Waiting},
			{Kind: wire.AgentWindow, Running: s.Pool.Window.Running, Waiting: s.Pool.Window.Waiting},
			{Kind: wire.AgentTask, Running: s.Pool.Task.Running, Waiting: s.Pool.Task.Waiting},
		},
	}
	return l
}
