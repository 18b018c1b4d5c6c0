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

// ErrTurnOver means that the calling turn has ended or is being stopped.
var ErrTurnOver = errors.New("the turn is over")

// Config holds the settings of a pool.
type Config struct {
	Session wire.SessionID
	// Provider is the default provider, used until the session chooses one.
	Provider string
	// Budget limits the monitors other than the first one.
	Budget policies.BudgetLimits
	// Window is the size of the models' context window in tokens; 0 means the size that the
	// provider reports. CondenseAt is the percentage of the window from which on a conversation
	// is summarised automatically; 0 means never.
	Window, CondenseAt int
}

// Pool is the part of a session that deals with agents. It is not safe for concurrent use: only
// the session's goroutine calls it, within a step.
type Pool struct {
	cfg       Config
	step      StepWriter
	rows      RowLog
	state     StateReader
	ends      EndListener
	runner    Runner
	providers Providers

	about         poolState
	turns         map[string]*turn // by turn.key()
	mainQueue     *policies.Queue[*queuedMessage]
	windowQueue   *policies.Queue[*queuedMessage] // by agent name
	lastArrival   uint64                          // arrival number of the newest queued message
	queuedBytes   int                             // size of all queued messages
	pendingStarts bool                            // a queued message could begin, but the step was full
	lastBegun     wire.MessageID                  // see LastBegun
	recovering    []*turn                         // turns that Recover has not processed yet
	tape          Tape
	timelines     map[wire.MonitorID]*Timeline
	threads       map[string]*thread // by agent name
	grownThreads  []string           // agents whose threads may exceed their limits now
	groups        *policies.WindowConnection
	budget        *policies.MonitorBudget
	reload        *policies.ReloadCache
	resumeAsks    map[wire.Millis]*resumeAsk // interrupted turns that the user may resume, by the row that asks
	questions     map[wire.Millis]*question
	openAsks      history.OpenAsks
	approvalUsage approval.Window
	tasks         *history.Tasks
	tasksUnsaved  bool // tasks has not been written to the store yet
	totals        Totals
}

// maxTurns is the number of turns under way from which on a session begins no turns of ephemeral,
// window and task agents, except jobs of plans. The rest of desktop.MaxAgents is for one main agent
// per monitor.
const maxTurns = desktop.MaxAgents - desktop.MaxMonitors

// poolState is the stored state of the pool as a whole.
type poolState struct {
	// Provider is the provider that a user chose, empty if none was chosen.
	Provider string `json:"provider,omitempty"`
	// Turns counts all turns that ever began in the session.
	Turns uint64 `json:"turns,omitempty"`
	// Launched says that the launch hooks have run.
	Launched bool `json:"launched,omitempty"`
}

// New returns the pool of a session without agents.
func New(cfg Config, s Session, runner Runner, available Providers) *Pool {
	p := &Pool{cfg: cfg, step: s.Step, rows: s.Rows, state: s.State, ends: s.Ends, runner: runner, providers: available}
	p.initState()
	return p
}

func (p *Pool) initState() {
	p.about, p.lastArrival, p.queuedBytes, p.tape = poolState{}, 0, 0, Tape{}
	p.pendingStarts, p.lastBegun, p.recovering, p.grownThreads = false, "", nil, nil
	p.turns = map[string]*turn{}
	p.mainQueue = policies.NewMainQueue[*queuedMessage]()
	p.windowQueue = policies.NewWindowQueue[*queuedMessage]()
	p.timelines = map[wire.MonitorID]*Timeline{}
	p.threads = map[string]*thread{}
	p.groups = policies.NewWindowConnection()
	p.budget = policies.NewMonitorBudget(p.cfg.Budget)
	p.reload = policies.NewReloadCache()
	p.resumeAsks = map[wire.Millis]*resumeAsk{}
	p.questions, p.openAsks, p.approvalUsage = map[wire.Millis]*question{}, history.OpenAsks{}, approval.Window{}
	p.tasks = &history.Tasks{}
}

// Provider returns the provider of turns that begin now: the chosen one if it exists, else the
// default.
func (p *Pool) Provider() string {
	if p.about.Provider != "" && p.providers.HasProvider(p.about.Provider) {
		return p.about.Provider
	}
	return p.cfg.Provider
}

// SetProvider changes the provider of later turns and reports whether it exists. Turns under way
// keep their provider. Threads continue, because they are stored in a form that every provider
// can read.
func (p *Pool) SetProvider(name string) bool {
	if !p.providers.HasProvider(name) {
		return false
	}
	before := p.Provider()
	if name != p.about.Provider {
		p.about.Provider = name
		p.storeState()
	}
	if name != before {
		p.step.Emit(wire.ProviderChanged{Provider: name})
	}
	return true
}

// Busy reports whether there is a turn under way or a queued message.
func (p *Pool) Busy() bool {
	return len(p.turns) > 0 || p.mainQueue.Total() > 0 || p.windowQueue.Total() > 0
}

// RunningAgents counts the agents that are executing. Agents that wait for a slot or for their
// tasks do not count.
func (p *Pool) RunningAgents() int {
	running, parents := 0, map[string]bool{}
	for _, t := range p.turns {
		if t.running() {
			running++
			if parent := p.turns[t.Parent]; parent != nil && parent.running() {
				parents[t.Parent] = true
			}
		}
	}
	return running - len(parents)
}

// TurnActive reports whether the caller's turn is under way and not being stopped.
func (p *Pool) TurnActive(c tools.Caller) bool {
	t := p.callerTurn(c)
	return t != nil && !t.stopping()
}

// Tick does the work that is due: it recovers turns after a change of owner, starts queued
// messages and publishes waiting tasks. It reports whether more remains than the step has room
// for; if so, the session calls it again at once, in the next step.
func (p *Pool) Tick() (more bool) {
	for ; len(p.recovering) > 0; p.recovering = p.recovering[1:] {
		if p.step.Full() {
			return true
		}
		if t := p.recovering[0]; p.turns[t.key()] == t { // otherwise the turn ended together with its parent
			p.recoverTurn(t)
		}
	}
	p.advance()
	p.updateWaitingTasks()
	return p.pendingStarts
}

// Due returns the time of the next necessary Tick; zero means never.
func (p *Pool) Due() time.Time {
	due := p.questionsDue()
	for _, m := range p.state.Desktop().Monitors() {
		if _, until, denied := p.budget.Denied(m.MonitorID, p.step.Now()); denied && (due.IsZero() || until.Before(due)) {
			due = until
		}
	}
	return due
}

// RecordInteraction adds a user's interaction to the monitor's timeline.
func (p *Pool) RecordInteraction(monitor wire.MonitorID, i wire.UserInteraction) {
	p.step.AddOps(p.timeline(monitor).PushUser(i)...)
}

// timeline returns the timeline of a monitor and creates it if necessary.
func (p *Pool) timeline(monitor wire.MonitorID) *Timeline {
	t := p.timelines[monitor]
	if t == nil {
		t = NewTimeline(monitor)
		p.timelines[monitor] = t
	}
	return t
}

// sortedTurns returns the turns under way, the oldest first.
func (p *Pool) sortedTurns() []*turn {
	return slices.SortedFunc(maps.Values(p.turns), func(a, b *turn) int { return a.compare(b) })
}

// mainTurn returns the turn of the monitor's main agent, or nil.
func (p *Pool) mainTurn(monitor wire.MonitorID) *turn { return p.turnOfAgent(mainAgent(monitor)) }

// turnOfAgent returns the agent's turn, or nil.
func (p *Pool) turnOfAgent(agent string) *turn {
	for _, t := range p.turns {
		if t.Agent == agent {
			return t
		}
	}
	return nil
}

// callerTurn returns the caller's turn, or nil. Turns that summarise call no tools and are
// never returned.
func (p *Pool) callerTurn(c tools.Caller) *turn {
	for _, t := range p.turns {
		if t.Role == c.Agent && t.ID == c.Turn && t.Condensing == nil {
			return t
		}
	}
	return nil
}

// mainAgent and windowAgent return the names of lasting agents.
func mainAgent(monitor wire.MonitorID) string { return "main-" + string(monitor) }

func windowAgent(monitor wire.MonitorID, key string) string {
	return storeName("window-" + string(monitor) + "/" + key)
}

// advance compacts threads that have become too large, starts the queued messages that can start
// now, replies MESSAGE_QUEUED to those that stay queued, and publishes changed monitor states.
// Most methods that change turns or queues end with it.
func (p *Pool) advance() {
	p.compactGrownThreads()
	p.startQueued()
	p.notifyQueued()
	p.emitMonitorStatus()
}

// emitMonitorStatus publishes the status of every monitor whose state, queue, denied budget or
// context use differs from the published one.
func (p *Pool) emitMonitorStatus() {
	for _, shown := range p.state.Desktop().Monitors() {
		now := p.monitorStatus(shown.MonitorID)
		var shownBudget, budget wire.Budget
		if shown.Budget != nil {
			shownBudget = *shown.Budget
		}
		if now.Budget != nil {
			budget = *now.Budget
		}
		if now.State != shown.State || now.Queue != shown.Queue || budget.Denied != shownBudget.Denied || !sameUse(now.Context, shown.Context) {
			p.step.Emit(now)
		}
	}
}

// monitorStatus returns the current status of a monitor. Queue counts the messages to its main
// agent.
func (p *Pool) monitorStatus(monitor wire.MonitorID) wire.MonitorStatus {
	s := wire.MonitorStatus{MonitorID: monitor, State: wire.MonitorIdle, Queue: p.mainQueue.Len(string(monitor)), Revision: p.revision(monitor)}
	s.Context = p.contextUse(monitor)
	running := slices.ContainsFunc(p.sortedTurns(), func(t *turn) bool { return t.Monitor == monitor })
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
