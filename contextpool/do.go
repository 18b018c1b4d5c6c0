package contextpool

import (
	"github.com/everdesk/everdesk/desk"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// Do does actions of a turn that are no plan of a tool, such as those a tab has
// to answer. They count like any others. It says why not, if not.
func (p *Pool) Do(c tools.Caller, actions ...wire.Action) *desk.Refusal {
	if r := p.stage.Desk().CheckAll(c.Monitor, actions); r != nil {
		return r
	}
	p.stage.Emit(wire.Actions{Actions: actions, AgentID: c.Agent, MonitorID: c.Monitor, MessageID: c.Turn})
	return nil
}
