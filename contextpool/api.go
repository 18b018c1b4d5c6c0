package contextpool

import (
	"errors"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/desk"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// ErrOver means that the turn that wants something has ended.
var ErrOver = errors.New("the turn is over")

// Config is what a pool is made with.
type Config struct {
	Session wire.SessionID
	// Provider is who thinks in a session that has chosen nobody.
	Provider string
	// Budget bounds background monitors.
	Budget policies.BudgetLimits
}

// Pool is the part of a session that knows about agents.
type Pool struct {
	cfg   Config
	stage Stage
	crew  Crew
}

// New is the pool of a session without agents.
func New(cfg Config, stage Stage, crew Crew) *Pool {
	return &Pool{cfg: cfg, stage: stage, crew: crew}
}

// Restore reads what was kept. An error means that it cannot be read.
func (p *Pool) Restore(tables map[string]map[string][]byte, lists map[string][][]byte) error {
	return nil
}

// All is everything that is to be kept, for a store that forgot.
func (p *Pool) All() []store.Op { return nil }

// Recover is called once by a new owner, inside a step: it says what becomes of
// the turns that were under way, and goes on with the queues. On a session that
// has never run it does what is wanted when a desktop begins.
func (p *Pool) Recover() {}

// User takes a message to the main agent of a monitor.
func (p *Pool) User(m Message) {}

// Window takes a message to a window.
func (p *Pool) Window(m Message) {}

// Component takes a press on a button in a window.
func (p *Pool) Component(m Message, a wire.ComponentAction) {}

// Interrupt stops turns and reports whether there was what it names.
func (p *Pool) Interrupt(scope wire.InterruptScope, monitor wire.MonitorID, agent wire.AgentID, queues wire.InterruptQueues) bool {
	return false
}

// Reset ends everything and forgets all conversations.
func (p *Pool) Reset() {}

// RemoveMonitor does what Reset does for one monitor.
func (p *Pool) RemoveMonitor(m wire.MonitorID) {}

// SetProvider changes who thinks in the turns that follow, and reports whether
// there is such a provider.
func (p *Pool) SetProvider(name string) bool { return false }

// TakeBack takes a message out of its queue and reports whether it was there.
func (p *Pool) TakeBack(id wire.MessageID) bool { return false }

// Decide answers the question whether a turn that was cut off goes on. It reports
// whether the row asks that.
func (p *Pool) Decide(ts wire.Millis, yes bool, text string) bool { return false }

// Interacted notes what a user did on a monitor.
func (p *Pool) Interacted(monitor wire.MonitorID, i wire.UserInteraction) {}

// Closed is told that a user or a program closed a window.
func (p *Pool) Closed(monitor wire.MonitorID, window wire.WindowID) {}

// FailedReload notes that something that was done again did not work.
func (p *Pool) FailedReload(id string) {}

// Hear takes a report of the crew.
func (p *Pool) Hear(r agentpool.Report) {}

// Tick does what is due.
func (p *Pool) Tick() {}

// Due is when Tick has something to do; zero means never.
func (p *Pool) Due() time.Time { return time.Time{} }

// Working reports whether there is unfinished work.
func (p *Pool) Working() bool { return false }

// Provider is who thinks in turns that begin now.
func (p *Pool) Provider() string { return p.cfg.Provider }

// Act does what a plan wants.
func (p *Pool) Act(c tools.Caller, call tools.Call, plan func(*desk.State) tools.Plan) (providers.ToolResult, error) {
	return providers.ToolResult{}, ErrOver
}

// Begin notes that a tool starts.
func (p *Pool) Begin(c tools.Caller, call tools.Call) error { return ErrOver }

// End notes what came of a tool.
func (p *Pool) End(c tools.Caller, call tools.Call, r providers.ToolResult) error { return ErrOver }

// Delegate runs a task agent; done is called when it has ended.
func (p *Pool) Delegate(c tools.Caller, t tools.Task, done func(tools.TaskResult)) {}

// ReloadOptions are what could be done again for a turn.
func (p *Pool) ReloadOptions(c tools.Caller) []policies.ReloadOption { return nil }

// Reload does something again.
func (p *Pool) Reload(c tools.Caller, call tools.Call, id string) (providers.ToolResult, error) {
	return providers.ToolResult{}, ErrOver
}

// Alive reports whether the turn of a caller runs.
func (p *Pool) Alive(c tools.Caller) bool { return false }
