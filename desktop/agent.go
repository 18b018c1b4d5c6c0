package desktop

import (
	"cmp"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// kindOfAgent derives the kind from an agent's role. A plan and its agents are task agents.
func kindOfAgent(role wire.AgentID) wire.AgentKind {
	for _, k := range []wire.AgentKind{wire.AgentWindow, wire.AgentEphemeral, wire.AgentTask} {
		if strings.HasPrefix(string(role), string(k)+"-") {
			return k
		}
	}
	if strings.HasPrefix(string(role), "plan-") {
		return wire.AgentTask
	}
	return wire.AgentMain
}

// agent returns the record of an agent, which exists from the first event that names it
// until its turn is complete. It returns nil for an empty role.
func (s *State) agent(role wire.AgentID, monitor wire.MonitorID, message wire.MessageID, now wire.Millis) *record[wire.AgentState] {
	if role == "" {
		return nil
	}
	if s.agents.get(role) == nil {
		if s.agents.len() >= MaxAgents {
			if oldest, ok := s.agents.first(agentsByStart); ok {
				s.endAgent(oldest.Role)
			}
		}
		s.agents.put(role, wire.AgentState{
			Role: role, Kind: kindOfAgent(role), MonitorID: monitor, Status: wire.AgentStatusRunning,
			MessageID: message, StartedAt: now,
		})
	}
	return s.agents.get(role)
}

func agentsByStart(a, b *wire.AgentState) int {
	return cmp.Or(cmp.Compare(a.StartedAt, b.StartedAt), cmp.Compare(a.Role, b.Role))
}

// running is agent for events that only a running agent causes.
func (s *State) running(role wire.AgentID, monitor wire.MonitorID, message wire.MessageID, now wire.Millis) *record[wire.AgentState] {
	r := s.agent(role, monitor, message, now)
	if r != nil && r.value.Status != wire.AgentStatusRunning {
		s.agents.touch(r).Status = wire.AgentStatusRunning
	}
	return r
}

func (s *State) endAgent(role wire.AgentID) {
	if s.agents.get(role) == nil {
		return
	}
	s.agents.drop(role)
	s.dropText(streamKey{role, false})
	s.dropText(streamKey{role, true})
}

func (s *State) acceptMessage(p wire.MessageAccepted, now wire.Millis) {
	if p.Duplicate {
		return
	}
	s.dequeue(p.MessageID)
	r := s.running(p.AgentID, p.MonitorID, p.MessageID, now)
	if r == nil || p.How == wire.TakenSteered {
		return
	}
	if r.value.MessageID != p.MessageID {
		s.agents.touch(r).MessageID = p.MessageID
		s.dropText(streamKey{p.AgentID, false})
		s.dropText(streamKey{p.AgentID, true})
	}
	if p.How == wire.TakenEphemeral && r.value.Kind != wire.AgentEphemeral {
		s.agents.touch(r).Kind = wire.AgentEphemeral
	}
}

func (s *State) setThinking(p wire.AgentThinking, now wire.Millis) {
	if s.running(p.AgentID, p.MonitorID, p.MessageID, now) != nil {
		s.addText(streamKey{p.AgentID, true}, p.Content, p.Delta, p.Offset)
	}
}

func (s *State) setResponse(p wire.AgentResponse, now wire.Millis) {
	if p.IsComplete {
		s.endAgent(p.AgentID)
		return
	}
	if s.running(p.AgentID, p.MonitorID, p.MessageID, now) != nil {
		s.addText(streamKey{p.AgentID, false}, p.Content, p.Delta, p.Offset)
	}
}

func (s *State) setTool(p wire.ToolProgress, now wire.Millis) {
	r := s.running(p.AgentID, p.MonitorID, p.MessageID, now)
	if r == nil {
		return
	}
	switch {
	case p.Status == wire.ToolRunning && r.value.Tool != p.ToolName:
		s.agents.touch(r).Tool = p.ToolName
	case p.Status != wire.ToolRunning && r.value.Tool == p.ToolName:
		s.agents.touch(r).Tool = ""
	}
}

func (s *State) setWindowAgent(p wire.WindowAgentStatus, now wire.Millis) {
	if p.Status == wire.AgentReleased {
		s.endAgent(p.AgentID)
		return
	}
	had := s.agents.get(p.AgentID) != nil
	r := s.agent(p.AgentID, p.MonitorID, p.MessageID, now)
	if r == nil {
		return
	}
	a := s.agents.touch(r)
	a.WindowID = p.WindowID
	switch {
	case p.Status == wire.AgentActive:
		a.Status = wire.AgentStatusRunning
	case !had:
		a.Status = wire.AgentStatusIdle
	}
}

func (s *State) enqueue(p wire.MessageQueued, now wire.Millis) {
	monitor := cmp.Or(p.MonitorID, firstMonitor)
	q, _ := s.queues.value(monitor)
	known := slices.ContainsFunc(q.Messages, func(m wire.QueuedMessage) bool { return m.ID == p.MessageID })
	if p.Duplicate || known || p.MessageID == "" || len(q.Messages) >= MaxQueued || !s.addMonitor(monitor) {
		return
	}
	at := min(max(p.Position-1, 0), len(q.Messages))
	// Snapshots share the old list, so it must not change.
	list := slices.Insert(slices.Clone(q.Messages), at, wire.QueuedMessage{ID: p.MessageID, Timestamp: now})
	s.queues.put(monitor, wire.QueueUpdated{MonitorID: monitor, Messages: list})
}

func (s *State) dequeue(message wire.MessageID) {
	for monitor, r := range s.queues.items {
		i := slices.IndexFunc(r.value.Messages, func(m wire.QueuedMessage) bool { return m.ID == message })
		if i < 0 {
			continue
		}
		s.setQueue(wire.QueueUpdated{
			MonitorID: monitor, Messages: slices.Concat(r.value.Messages[:i], r.value.Messages[i+1:]),
		})
	}
}

func (s *State) setQueue(p wire.QueueUpdated) {
	if len(p.Messages) == 0 {
		s.queues.drop(p.MonitorID)
		return
	}
	if s.addMonitor(p.MonitorID) {
		list := p.Messages[:min(len(p.Messages), MaxQueued)]
		s.queues.put(p.MonitorID, wire.QueueUpdated{MonitorID: p.MonitorID, Messages: list})
	}
}
