package contextpool

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/everdesk/everdesk/approval"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// ErrOver means that the turn that wants something has ended, or is to end.
var ErrOver = errors.New("the turn is over")

// Config is what a pool is made with.
type Config struct {
	Session wire.SessionID
	// Provider is who thinks in a session that has chosen nobody.
	Provider string
	// Budget bounds background monitors.
	Budget policies.BudgetLimits
	// Window is how many tokens models read, if it is not what their providers
	// say, and CondenseAt from how many per cent of that on a conversation is
	// summed up; 0 means never by itself.
	Window, CondenseAt int
}

// Pool is the part of a session that knows about agents.
type Pool struct {
	cfg    Config
	step   StepWriter
	runner Runner

	about     about
	turns     map[string]*turn // by key
	mains     *policies.Queue[*waiting]
	windows   *policies.Queue[*waiting] // by agent
	arrived   uint64                    // the newest in a queue
	heaped    int                       // bytes of all that waits
	behind    bool                      // something could begin and the step was full
	newest    wire.MessageID            // see Newest
	cut       []*turn                   // those that Recover has still to look at
	tape      Tape
	timelines map[wire.MonitorID]*Timeline
	threads   map[string]*thread // by agent
	grown     []string           // agents whose threads may be too full now
	groups    *policies.WindowConnection
	budget    *policies.MonitorBudget
	reload    *policies.ReloadCache
	asks      map[wire.Millis]*ask // turns that could go on
	questions map[wire.Millis]*question
	asking    history.OpenAsks
	spent     approval.Window
	tasks     *history.Tasks
	relisted  bool // the tasks are not kept yet
	tally     Tally
}

// maxTurns is how many turns of a session are under way at once, those of main
// agents apart. Desktops show as many.
const maxTurns = desktop.MaxAgents - desktop.MaxMonitors

// about is what is known of the pool as a whole.
type about struct {
	// Provider is who was chosen, if somebody was.
	Provider string `json:"provider,omitempty"`
	// Turns counts all that ever began.
	Turns uint64 `json:"turns,omitempty"`
	// Launched says that what is wanted when a desktop begins was done.
	Launched bool `json:"launched,omitempty"`
}

// New is the pool of a session without agents.
func New(cfg Config, stage StepWriter, runner Runner) *Pool {
	p := &Pool{cfg: cfg, step: stage, runner: runner}
	p.empty()
	return p
}

func (p *Pool) empty() {
	p.about, p.arrived, p.heaped, p.tape = about{}, 0, 0, Tape{}
	p.behind, p.newest, p.cut, p.grown = false, "", nil, nil
	p.turns = map[string]*turn{}
	p.mains = policies.NewMainQueue[*waiting]()
	p.windows = policies.NewWindowQueue[*waiting]()
	p.timelines = map[wire.MonitorID]*Timeline{}
	p.threads = map[string]*thread{}
	p.groups = policies.NewWindowConnection()
	p.budget = policies.NewMonitorBudget(p.cfg.Budget)
	p.reload = policies.NewReloadCache()
	p.asks = map[wire.Millis]*ask{}
	p.questions, p.asking, p.spent = map[wire.Millis]*question{}, history.OpenAsks{}, approval.Window{}
	p.tasks = &history.Tasks{}
}

// Provider is who thinks in turns that begin now.
func (p *Pool) Provider() string {
	if p.about.Provider != "" && p.runner.Has(p.about.Provider) {
		return p.about.Provider
	}
	return p.cfg.Provider
}

// SetProvider changes who thinks in the turns that follow, and reports whether
// there is such a provider. Turns that run end with the one they have; the
// conversations go on, since they are kept in a form that everybody reads.
func (p *Pool) SetProvider(name string) bool {
	if !p.runner.Has(name) {
		return false
	}
	before := p.Provider()
	if name != p.about.Provider {
		p.about.Provider = name
		p.keepAbout()
	}
	if name != before {
		p.step.Emit(wire.ProviderChanged{Provider: name})
	}
	return true
}

// Working reports whether there is unfinished work.
func (p *Pool) Working() bool {
	return len(p.turns) > 0 || p.mains.Total() > 0 || p.windows.Total() > 0
}

// Running counts the agents that are at work: not those that wait for a slot, nor
// those that wait for tasks they gave to others.
func (p *Pool) Running() int {
	running, parents := 0, map[string]bool{}
	for _, t := range p.turns {
		if t.State == turnRunning {
			running++
			if parent := p.turns[t.Parent]; parent != nil && parent.State == turnRunning {
				parents[t.Parent] = true
			}
		}
	}
	return running - len(parents)
}

// Alive reports whether the turn of a caller runs and is to go on.
func (p *Pool) Alive(c tools.Caller) bool {
	t := p.of(c)
	return t != nil && t.Stopping == ""
}

// Tick does what is due, and reports whether there is more to do than the step has
// room for. Then it is to be called again in the next one, at once.
func (p *Pool) Tick() (more bool) {
	for ; len(p.cut) > 0; p.cut = p.cut[1:] {
		if p.step.Full() {
			return true
		}
		if t := p.cut[0]; p.turns[t.key()] == t { // else it ended with its parent
			p.resume(t)
		}
	}
	p.settle()
	p.tellTasks()
	return p.behind
}

// Due is when Tick has something to do; zero means never.
func (p *Pool) Due() time.Time {
	due := p.questionsDue()
	for _, m := range p.step.Desk().Monitors() {
		if _, until, denied := p.budget.Denied(m.MonitorID, p.step.Now()); denied && (due.IsZero() || until.Before(due)) {
			due = until
		}
	}
	return due
}

// Interacted notes what a user did on a monitor.
func (p *Pool) Interacted(monitor wire.MonitorID, i wire.UserInteraction) {
	p.step.Keep(p.timeline(monitor).PushUser(i)...)
}

// timeline is that of a monitor.
func (p *Pool) timeline(monitor wire.MonitorID) *Timeline {
	t := p.timelines[monitor]
	if t == nil {
		t = NewTimeline(monitor)
		p.timelines[monitor] = t
	}
	return t
}

// sorted are the turns that run, the oldest first.
func (p *Pool) sorted() []*turn {
	return slices.SortedFunc(maps.Values(p.turns), func(a, b *turn) int { return a.order(b) })
}

// main is the turn of a monitor's main agent, if one runs.
func (p *Pool) main(monitor wire.MonitorID) *turn { return p.turnOf(mainAgent(monitor)) }

// turnOf is the turn of an agent, if one runs.
func (p *Pool) turnOf(agent string) *turn {
	for _, t := range p.turns {
		if t.Agent == agent {
			return t
		}
	}
	return nil
}

// of is the turn of a caller. Who sums up calls nothing.
func (p *Pool) of(c tools.Caller) *turn {
	for _, t := range p.turns {
		if t.Role == c.Agent && t.ID == c.Turn && t.Condensing == nil {
			return t
		}
	}
	return nil
}

// mainAgent and windowAgent name conversations that last.
func mainAgent(monitor wire.MonitorID) string { return "main-" + string(monitor) }

func windowAgent(monitor wire.MonitorID, key string) string {
	return nameOf("window-" + string(monitor) + "/" + key)
}

// settle begins what can begin now, tells those who wait that they do, and shows
// how the monitors are doing. Everything that changes something ends with it.
func (p *Pool) settle() {
	p.relieveAll()
	p.drain()
	p.tellWaiting()
	p.showMonitors()
}

// showMonitors tells of every monitor that is doing otherwise than was said.
func (p *Pool) showMonitors() {
	for _, shown := range p.step.Desk().Monitors() {
		now := p.status(shown.MonitorID)
		var had, has wire.Budget
		if shown.Budget != nil {
			had = *shown.Budget
		}
		if now.Budget != nil {
			has = *now.Budget
		}
		if now.State != shown.State || now.Queue != shown.Queue || has.Denied != had.Denied || !sameUse(now.Context, shown.Context) {
			p.step.Emit(now)
		}
	}
}

// status is how a monitor is doing.
func (p *Pool) status(monitor wire.MonitorID) wire.MonitorStatus {
	s := wire.MonitorStatus{MonitorID: monitor, State: wire.MonitorIdle, Queue: p.mains.Len(string(monitor)), Revision: p.revision(monitor)}
	s.Context = p.fullness(monitor)
	running := slices.ContainsFunc(p.sorted(), func(t *turn) bool { return t.Monitor == monitor })
	if monitor != policies.PrimaryMonitor {
		s.Budget = new(p.budget.Report(monitor, p.step.Now()))
	}
	switch {
	case s.Budget != nil && s.Budget.Denied != "":
		s.State = wire.MonitorOverBudget
	case running:
		s.State = wire.MonitorRunning
	case s.Queue > 0:
		s.State = wire.MonitorWaiting
		if s.Budget != nil {
			s.Budget.Denied = wire.BudgetSlots
		}
	}
	return s
}
