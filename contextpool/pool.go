package contextpool

import (
	"errors"
	"slices"
	"time"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/store"
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
	// Titles says that a session without a title gets one from a model after its first answer.
	Titles bool
	// Modes finds the modes of the session's user; nil means that there are none.
	Modes Modes
	// ViewContexts returns the texts for agents of the views of MCP servers on a monitor that no agent has read
	// yet; nil means that there are none. It is called within the step in which a turn begins.
	ViewContexts func(wire.MonitorID) []policies.ViewContext
}

// Pool is the part of a session that deals with agents. It is not safe for concurrent use: only
// the session's goroutine calls it, within a step. It leaves the work to its parts; each calls only
// parts whose fields come before its own. After every call that changes turns or queues the pool
// starts what can start (see advance).
type Pool struct {
	*services

	budget     *monitorBudget
	turns      *turnSet
	threads    *threadSet
	turnRows   *turnRows
	transcript *transcript
	reloads    *reloads
	groups     *windowGroups
	outside    *outsideData
	// Questions holds the open questions to the user.
	Questions  *Questions
	tasks      *taskList
	queues     *queues
	calls      *toolCalls
	starter    *turnStarter
	ender      *turnEnder
	compaction *compaction
	status     *statusReporter
	actions    *turnActions
	router     *router
	reports    *reports
	recovery   *recovery
	resets     *resets
	plans      *planLog
	// Messages routes the messages of users.
	Messages *Messages
	// Tools executes what the tools of running turns do.
	Tools *TurnTools
	// View reads the state of the pool.
	View *View
}

// New returns the pool of a session without agents.
func New(cfg Config, s Session, runner Runner, available Providers) *Pool {
	p := &Pool{services: &services{
		cfg: cfg, step: s.Step, rows: s.Rows, state: s.State, ends: s.Ends, runner: runner, providers: available,
	}}
	p.clear(Totals{})
	return p
}

// clear makes all parts anew, without agents.
func (p *Pool) clear(totals Totals) {
	s := p.services
	p.budget = &monitorBudget{services: s, policy: policies.NewMonitorBudget(s.cfg.Budget)}
	p.turns = &turnSet{services: s, budget: p.budget, byKey: map[string]*turn{}}
	p.threads = &threadSet{services: s, turns: p.turns, byAgent: map[string]*thread{}}
	p.turnRows = &turnRows{services: s, turns: p.turns, threads: p.threads}
	p.transcript = &transcript{services: s, threads: p.threads, timelines: map[wire.MonitorID]*Timeline{}}
	p.reloads = &reloads{services: s, cache: policies.NewReloadCache()}
	p.groups = &windowGroups{services: s, turns: p.turns, connection: policies.NewWindowConnection()}
	p.outside = &outsideData{services: s, byMonitor: map[wire.MonitorID][]string{}}
	p.Questions = &Questions{
		services: s, turns: p.turns, threads: p.threads, outside: p.outside,
		open: map[wire.Millis]*question{}, resumeAsks: map[wire.Millis]*resumeAsk{},
	}
	p.tasks = &taskList{services: s, turns: p.turns, questions: p.Questions, list: &history.Tasks{}, totals: totals}
	p.queues = &queues{
		services: s, budget: p.budget, turns: p.turns, transcript: p.transcript,
		main: policies.NewMainQueue[*queuedMessage](), window: policies.NewWindowQueue[*queuedMessage](),
	}
	p.calls = &toolCalls{services: s, turns: p.turns, turnRows: p.turnRows, tasks: p.tasks, outside: p.outside}
	p.starter = &turnStarter{
		services: s, budget: p.budget, turns: p.turns, threads: p.threads, turnRows: p.turnRows, transcript: p.transcript,
		reloads: p.reloads, groups: p.groups, outside: p.outside, tasks: p.tasks, queues: p.queues, calls: p.calls,
	}
	p.ender = &turnEnder{
		services: s, budget: p.budget, turns: p.turns, threads: p.threads, turnRows: p.turnRows, transcript: p.transcript,
		reloads: p.reloads, groups: p.groups, outside: p.outside, questions: p.Questions, tasks: p.tasks, queues: p.queues, calls: p.calls,
		starter: p.starter,
	}
	p.compaction = &compaction{services: s, budget: p.budget, turns: p.turns, threads: p.threads, starter: p.starter}
	p.status = &statusReporter{services: s, budget: p.budget, turns: p.turns, queues: p.queues, compaction: p.compaction}
	p.actions = &turnActions{
		services: s, budget: p.budget, turns: p.turns, threads: p.threads, transcript: p.transcript, reloads: p.reloads,
		groups: p.groups, outside: p.outside, queues: p.queues, calls: p.calls, ender: p.ender,
	}
	p.router = &router{
		services: s, budget: p.budget, turns: p.turns, groups: p.groups, outside: p.outside, questions: p.Questions, queues: p.queues,
		starter: p.starter, compaction: p.compaction,
	}
	p.reports = &reports{
		services: s, budget: p.budget, turns: p.turns, threads: p.threads, turnRows: p.turnRows, groups: p.groups,
		outside: p.outside, tasks: p.tasks, queues: p.queues, ender: p.ender, router: p.router,
	}
	p.recovery = &recovery{
		services: s, turns: p.turns, threads: p.threads, transcript: p.transcript, groups: p.groups, tasks: p.tasks,
		queues: p.queues, calls: p.calls, starter: p.starter, ender: p.ender, actions: p.actions,
	}
	p.resets = &resets{
		services: s, budget: p.budget, turns: p.turns, threads: p.threads, transcript: p.transcript, groups: p.groups,
		outside: p.outside, questions: p.Questions, tasks: p.tasks, queues: p.queues, ender: p.ender, status: p.status,
	}
	p.plans = &planLog{services: s, turns: p.turns, transcript: p.transcript, queues: p.queues}
	p.Messages = &Messages{services: s, turns: p.turns, questions: p.Questions, queues: p.queues, router: p.router, advance: p.advance}
	p.Tools = &TurnTools{
		services: s, turns: p.turns, reloads: p.reloads, calls: p.calls, starter: p.starter, actions: p.actions, advance: p.advance,
	}
	p.View = &View{services: s, budget: p.budget, turns: p.turns, tasks: p.tasks, queues: p.queues, router: p.router}
}

// SetProvider changes the provider of later turns to what the user means by a name, such as a model
// profile, and reports whether it exists. Turns under way keep their provider. Threads continue, because they are stored in a form that every provider
// can read.
func (p *Pool) SetProvider(name string) bool {
	provider, ok := p.providers.FindProvider(name)
	if !ok {
		return false
	}
	p.turns.setProvider(provider)
	if m := p.turns.mode; m != nil && !m.ProviderChosen {
		next := *m
		next.ProviderChosen = true
		p.turns.setMode(&next)
	}
	if provider != p.state.Desktop().Provider() { // also if the user's default is the same meanwhile
		p.step.Emit(wire.ProviderChanged{Provider: provider})
	}
	return true
}

// Tick does the work that is due: it recovers turns after a change of owner, starts queued
// messages and publishes the tasks that have waited for the user's answer long enough. It reports
// whether more remains than the step has room for; if so, the session calls it again at once, in
// the next step.
func (p *Pool) Tick() (more bool) {
	if p.recovery.recoverTurns() {
		return true
	}
	p.advance()
	p.Questions.updateWaitingTasks()
	return p.router.pendingStarts
}

// Due returns the time of the next necessary Tick; zero means never.
func (p *Pool) Due() time.Time {
	due := p.Questions.due()
	for _, m := range p.state.Desktop().Monitors() {
		if _, until, denied := p.budget.denied(m.MonitorID); denied && (due.IsZero() || until.Before(due)) {
			due = until
		}
	}
	return due
}

// RecordInteraction adds a user's interaction to the monitor's timeline.
func (p *Pool) RecordInteraction(monitor wire.MonitorID, i wire.UserInteraction) {
	p.step.AddOps(p.transcript.timeline(monitor).PushUser(i)...)
}

// advance compacts threads that have become too large, starts the queued messages that can start
// now, has a title found after the first answer, replies MESSAGE_QUEUED to the messages that stay
// queued, and publishes changed monitor states.
// Most methods that change turns or queues end with it.
func (p *Pool) advance() {
	p.compaction.compactGrown()
	p.router.startQueued()
	p.starter.beginTitle()
	p.queues.notifyQueued()
	p.status.emitChanged()
}

// RepairColdLists returns the operations that make the cold lists match the pool after the
// store has lost recent writes. Messages whose move to a cold list was lost are gone; messages
// whose removal was lost are removed again. A cold list holds the messages of a thread that are
// hidden from the model (cold.go). tables are the stored tables of the session.
func (p *Pool) RepairColdLists(tables map[string]map[string][]byte) ([]store.Op, error) {
	return p.threads.repairColdLists(tables)
}

// Restore loads the stored state. The error means that it cannot be read.
func (p *Pool) Restore(tables map[string]map[string][]byte, lists map[string][][]byte) error {
	p.clear(p.tasks.totals)
	for _, restore := range []func(map[string]map[string][]byte) error{
		p.turns.restore, p.queues.restore, p.groups.restore, p.outside.restore, p.budget.restore, p.reloads.restore, p.Questions.restoreAsks, p.Questions.restore,
		p.tasks.restore,
	} {
		if err := restore(tables); err != nil {
			return err
		}
	}
	if err := p.threads.restore(tables[threadTable], lists); err != nil {
		return err
	}
	return p.transcript.restore(lists)
}

// AllOps returns the operations that write the whole state of the pool, for a store that has
// lost data.
func (p *Pool) AllOps() []store.Op {
	return slices.Concat(
		p.turns.allOps(), p.queues.allOps(), p.groups.allOps(), p.outside.allOps(), p.budget.allOps(), p.reloads.allOps(), p.Questions.allOps(),
		p.threads.allOps(), p.transcript.timelineOps(), p.tasks.list.All(), p.transcript.tape.AllOps(),
	)
}

// SetTasks sets the list of tasks of a session that has none stored yet. [Pool.Recover] stores
// it.
func (p *Pool) SetTasks(tasks *history.Tasks) { p.tasks.set(tasks) }
