package desktop

import (
	"cmp"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// agents holds the agents that have a turn, and their texts.
type agents struct {
	all   table[wire.AgentID, wire.AgentState] // without their texts
	texts texts
}

// kindOfAgent derives the kind from an agent's role. A plan and its agents are task agents.
func kindOfAgent(role wire.AgentID) wire.AgentKind {
	for _, k := range []wire.AgentKind{wire.AgentWindow, wire.AgentEphemeral, wire.AgentTask, wire.AgentClient} {
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
func (a *agents) agent(role wire.AgentID, monitor wire.MonitorID, message wire.MessageID, now wire.Millis) *record[wire.AgentState] {
	if role == "" {
		return nil
	}
	if a.all.get(role) == nil {
		if a.all.len() >= MaxAgents {
			if oldest, ok := a.all.first(agentsByStart); ok {
				a.end(oldest.Role)
			}
		}
		a.all.put(role, wire.AgentState{
			Role: role, Kind: kindOfAgent(role), MonitorID: monitor, Status: wire.AgentStatusRunning,
			MessageID: message, StartedAt: now,
		})
	}
	return a.all.get(role)
}

func agentsByStart(a, b *wire.AgentState) int {
	return cmp.Or(cmp.Compare(a.StartedAt, b.StartedAt), cmp.Compare(a.Role, b.Role))
}

// runningAgent is agent for events that only a running agent causes.
func (a *agents) runningAgent(role wire.AgentID, monitor wire.MonitorID, message wire.MessageID, now wire.Millis) *record[wire.AgentState] {
	r := a.agent(role, monitor, message, now)
	if r != nil && r.value.Status != wire.AgentStatusRunning {
		a.all.touch(r).Status = wire.AgentStatusRunning
	}
	return r
}

// end removes an agent and its texts.
func (a *agents) end(role wire.AgentID) {
	if a.all.get(role) == nil {
		return
	}
	a.all.drop(role)
	a.texts.drop(streamKey{role, false})
	a.texts.drop(streamKey{role, true})
}

// accept starts or continues the turn of the agent that took a message.
func (a *agents) accept(p wire.MessageAccepted, now wire.Millis) {
	r := a.runningAgent(p.AgentID, p.MonitorID, p.MessageID, now)
	if r == nil || p.How == wire.TakenSteered {
		return
	}
	if r.value.MessageID != p.MessageID {
		a.all.touch(r).MessageID = p.MessageID
		a.texts.drop(streamKey{p.AgentID, false})
		a.texts.drop(streamKey{p.AgentID, true})
	}
	if p.How == wire.TakenEphemeral && r.value.Kind != wire.AgentEphemeral {
		a.all.touch(r).Kind = wire.AgentEphemeral
	}
}

func (a *agents) applyThinking(p wire.AgentThinking, now wire.Millis) {
	if a.runningAgent(p.AgentID, p.MonitorID, p.MessageID, now) != nil {
		a.texts.add(streamKey{p.AgentID, true}, p.Content, p.Delta, p.Offset)
	}
}

func (a *agents) applyResponse(p wire.AgentResponse, now wire.Millis) {
	if p.IsComplete {
		a.end(p.AgentID)
		return
	}
	if a.runningAgent(p.AgentID, p.MonitorID, p.MessageID, now) != nil {
		a.texts.add(streamKey{p.AgentID, false}, p.Content, p.Delta, p.Offset)
	}
}

func (a *agents) setTool(p wire.ToolProgress, now wire.Millis) {
	r := a.runningAgent(p.AgentID, p.MonitorID, p.MessageID, now)
	if r == nil {
		return
	}
	switch {
	case p.Status == wire.ToolRunning && (r.value.Tool != p.ToolName || r.value.ToolProgress != p.Message):
		state := a.all.touch(r)
		state.Tool, state.ToolProgress = p.ToolName, p.Message
	case p.Status != wire.ToolRunning && r.value.Tool == p.ToolName:
		state := a.all.touch(r)
		state.Tool, state.ToolProgress = "", ""
	}
}

func (a *agents) setWindowAgent(p wire.WindowAgentStatus, now wire.Millis) {
	if p.Status == wire.AgentReleased {
		a.end(p.AgentID)
		return
	}
	had := a.all.get(p.AgentID) != nil
	r := a.agent(p.AgentID, p.MonitorID, p.MessageID, now)
	if r == nil {
		return
	}
	state := a.all.touch(r)
	state.WindowID = p.WindowID
	switch {
	case p.Status == wire.AgentActive:
		state.Status = wire.AgentStatusRunning
	case !had:
		state.Status = wire.AgentStatusIdle
	}
}

// anyRunning reports whether an agent is running.
func (a *agents) anyRunning() bool {
	for _, r := range a.all.items {
		if r.value.Status == wire.AgentStatusRunning {
			return true
		}
	}
	return false
}

// addTo adds the agents of the shown monitors, with their texts, to a snapshot.
func (a *agents) addTo(state *wire.SessionState, shown func(wire.MonitorID) bool) {
	list := a.all.sorted(func(a *wire.AgentState) bool { return shown(a.MonitorID) }, byRole)
	for i := range list {
		list[i].Text = a.texts.text(streamKey{list[i].Role, false})
		list[i].Thinking = a.texts.text(streamKey{list[i].Role, true})
	}
	state.Agents = list
}

func byRole(a, b *wire.AgentState) int { return cmp.Compare(a.Role, b.Role) }

// load fills the empty tables from a snapshot.
func (a *agents) load(p *wire.SessionState) {
	a.texts.streams = nil
	for _, state := range p.Agents {
		text, thinking := state.Text, state.Thinking
		state.Text, state.Thinking = "", ""
		a.all.put(state.Role, state)
		a.texts.extend(streamKey{state.Role, false}, text)
		a.texts.extend(streamKey{state.Role, true}, thinking)
	}
}

// afterRestore computes the sizes of the texts from the restored tables, and drops pieces
// without an agent.
func (a *agents) afterRestore() {
	for role := range a.all.items {
		a.texts.measure(streamKey{role, false})
		a.texts.measure(streamKey{role, true})
	}
	a.texts.dropUnmeasured()
}
