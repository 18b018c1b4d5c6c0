package session

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workflow"
)

// Runner runs the agents of a session that is owned here.
type Runner struct {
	Runs      contextpool.Runner
	Providers contextpool.Providers
	// Views calls tools of MCP servers for their views; nil means that there are none.
	Views Views
	// Modes finds the modes of the session's user; nil means that there are none.
	Modes Modes
	// AwaitDisposed waits until the runs that Runs.Dispose has ended do nothing any more, or ctx ends.
	AwaitDisposed func(ctx context.Context) error
	// Close stops all runs and returns when they have stopped.
	Close func()
}

// Modes finds and lists the modes of a user.
type Modes interface {
	contextpool.Modes
	// ModeIDs returns the ids of all modes.
	ModeIDs() []string
}

// parkTime is how long a session that is handed over waits for running tools. The outcome of a tool
// that takes longer is unknown to the next owner.
const parkTime = 5 * time.Second

// toolUse identifies a tool call. Call ids are unique per agent only.
type toolUse struct {
	agent wire.AgentID
	call  string
}

// agents is the state of the agents of an owned session. It belongs to the goroutine of the session.
type agents struct {
	w *stepWriter

	// nextPoolDue is when the pool has something to do, and poolWorking whether it has unfinished
	// work, both as of the last tick. poolTouched says that the pool may have changed since. Steps
	// that do not use the pool, such as those of programs that only emit actions, therefore cost it
	// nothing.
	nextPoolDue time.Time
	poolWorking bool
	poolTouched bool
	// gaugesStale says that the pool may have changed since its gauges were counted.
	gaugesStale bool
	parkedSince time.Time // since when no new tool starts; zero while tools may start

	plan        ownedPlan
	pool        *contextpool.Pool
	runner      Runner
	answerWaits answerWaits
	apps        apps
	checkpoints checkpointing
	notebooks   notebooks
	viewCalls   *viewCalls

	// answered are the replies of this step to messages that the ledger does not have yet; nil
	// outside submitToAgent. lateSenders are the connections that repeated a message before it was
	// answered.
	answered    map[wire.MessageID]reply
	lateSenders map[wire.MessageID][]wire.ConnectionID

	// openTools are the tool calls that have started and not ended.
	openTools map[toolUse]bool
	heldItems []item // tool starts that arrived while parked
}

// Bounds of lateSenders: messages, and connections per message.
const (
	maxLateMessages = 1000
	maxLateSenders  = 16
)

// addLateSender records a connection that is to get the reply to a message, within the bounds
// above.
func (a *agents) addLateSender(id wire.MessageID, from wire.ConnectionID) {
	known, found := a.lateSenders[id]
	if (found || len(a.lateSenders) < maxLateMessages) && len(known) < maxLateSenders && !slices.Contains(known, from) {
		a.lateSenders[id] = append(known, from)
	}
}

// startAgents restores the agents, apps and plan of a session that becomes owned here.
func (ow *owner) startAgents(tables map[string]map[string][]byte, lists map[string][][]byte) error {
	cfg := ow.live.env.cfg
	if cfg.NewRunner == nil {
		return nil
	}
	a := &agents{w: &ow.w, poolTouched: true, gaugesStale: true, viewCalls: newViewCalls(), openTools: map[toolUse]bool{}, lateSenders: map[wire.MessageID][]wire.ConnectionID{}}
	ow.setAgents(a)
	session := poolSession{stepWriter: &ow.w, owner: ow, agents: a, commands: &ow.commands, clientCalls: &ow.live.env.clientCalls, log: ow.live.log}
	a.runner = cfg.NewRunner(ow.held.ctx, agentpool.SessionRef{
		Session: ow.live.id, Epoch: ow.held.lease.Epoch, User: ow.w.user, Sink: port{ow}, Desktop: port{ow}.desktop(),
	})
	a.pool = contextpool.New(contextpool.Config{
		Session: ow.live.id, Provider: cfg.Provider, Budget: cfg.Budget, Window: cfg.Window, CondenseAt: cfg.CondenseAt,
		Titles: cfg.Titles, Modes: a.runner.Modes, ViewContexts: a.takeViewContexts,
	}, contextpool.Session{Step: session, Rows: session, State: session, Ends: session}, a.runner.Runs, a.runner.Providers)
	if err := a.pool.Restore(tables, lists); err != nil {
		return &store.CorruptError{Where: "agents of session " + string(ow.live.id), Reason: err.Error()}
	}
	if len(tables[history.TaskTable]) == 0 {
		tasks, err := ow.live.env.reader.rebuildTasks(ow.held.ctx, ow.live.id, tables)
		if err != nil {
			return err
		}
		a.pool.SetTasks(tasks)
	}
	if err := a.apps.restore(tables[appsTable]); err != nil {
		return &store.CorruptError{Where: "apps of session " + string(ow.live.id), Reason: err.Error()}
	}
	a.checkpoints.desktops, a.checkpoints.toolWait = cfg.CheckpointDesktops, cfg.CheckpointWait
	a.checkpoints.w, a.checkpoints.port, a.checkpoints.repo, a.checkpoints.log = &ow.w, port{ow}, cfg.Checkpoints, ow.live.log
	if err := a.checkpoints.restore(tables[checkpointsTable]); err != nil {
		return &store.CorruptError{Where: "checkpoints of session " + string(ow.live.id), Reason: err.Error()}
	}
	nb := &a.notebooks
	nb.w, nb.port, nb.kernels, nb.off, nb.user, nb.log = &ow.w, port{ow}, cfg.Kernels, cfg.KernelsOff, ow.w.user, ow.live.log
	nb.watch = &ow.kernelWatch
	nb.ctx, nb.cancel = context.WithCancel(ow.held.ctx)
	if err := nb.restore(tables[notebooksTable]); err != nil {
		return &store.CorruptError{Where: "notebooks of session " + string(ow.live.id), Reason: err.Error()}
	}
	plan := cfg.Plan
	if m := a.runner.Modes; m != nil {
		plan.Modes = m.ModeIDs
	}
	return a.restorePlan(plan, tables[workflow.Table])
}

// poolSession fills the roles of [contextpool.Session]: the pool of agents writes the owner's step.
type poolSession struct {
	*stepWriter
	owner       *owner
	agents      *agents
	commands    *commands
	clientCalls *clientCalls
	log         *slog.Logger
}

// EmitReply implements [contextpool.StepWriter].
func (s poolSession) EmitReply(p wire.ServerPayload) { s.commands.replies.addReply(p) }

// CancelQuestions implements [contextpool.EndListener].
func (s poolSession) CancelQuestions(agent wire.AgentID) { s.commands.questions.cancelAll(agent) }

// JobEnded implements [contextpool.EndListener].
func (s poolSession) JobEnded(w workflow.JobResult) {
	s.agents.plan.jobResults = append(s.agents.plan.jobResults, w)
}

// ClientCallEnded implements [contextpool.EndListener].
func (s poolSession) ClientCallEnded(c ClientCall, r providers.ToolResult) {
	if c.Server != "" {
		s.owner.viewAnswered(c, r)
		return
	}
	s.AfterCommit(func() { s.clientCalls.deliver(c, r) })
}

// TitleEnded implements [contextpool.EndListener].
func (s poolSession) TitleEnded(title, reason string) {
	if title == "" {
		s.log.Warn("no title found for the session", "reason", reason)
		return
	}
	s.commands.card.Title = title
	s.step.card = s.commands.card.encode()
	s.Emit(wire.SessionRenamed{Title: title})
}

// RemoveRows implements [contextpool.RowLog].
func (s poolSession) RemoveRows(r wire.HistoryRewound, since, stay []wire.UIRow) {
	s.agents.plan.recordRewind(since, stay)
	s.removeRows(r, since, stay)
}

// stopWork stops the agents and everything else that runs beside the session, and drops its pending
// work: the next owner continues from what was committed.
func (ow *owner) stopWork() {
	ow.held.cancel(nil)
	a := ow.agents
	if a != nil {
		a.runner.Close()
		a.checkpoints.stopped.Wait()
		a.notebooks.close()
		a.viewCalls.wg.Wait()
	}
	ow.keyframes.stopped.Wait()
	ow.live.mailbox.removeItems(func(it *item) bool {
		if it.work != nil {
			it.finish(errLost)
		}
		return it.work != nil
	})
	if a == nil {
		return
	}
	for i := range a.heldItems {
		a.heldItems[i].finish(errLost)
	}
	a.heldItems = nil
}

// storedForm returns everything stored of the agents, including changes that are not committed, in
// the form in which the store returns it.
func (a *agents) storedForm() (tables map[string]map[string][]byte, lists map[string][][]byte) {
	tables, lists = map[string]map[string][]byte{}, map[string][][]byte{}
	for _, op := range a.allOps() {
		switch op.Kind {
		case store.OpSet:
			if tables[op.Name] == nil {
				tables[op.Name] = map[string][]byte{}
			}
			tables[op.Name][op.Field] = op.Values[0]
		case store.OpPush:
			lists[op.Name] = append(lists[op.Name], op.Values...)
		}
	}
	return tables, lists
}

// allOps returns the ops that store everything of the agents.
func (a *agents) allOps() []store.Op {
	if a == nil {
		return nil
	}
	return slices.Concat(a.pool.AllOps(), a.apps.all(), a.checkpoints.all(), a.notebooks.allOps(), a.plan.All())
}

// repairLists returns the ops that make the lists of agents that are not loaded match what this
// owner knows.
func (a *agents) repairLists(tables map[string]map[string][]byte) ([]store.Op, error) {
	if a == nil {
		return nil, nil
	}
	return a.pool.RepairColdLists(tables)
}

// working reports whether there is unfinished work.
func (a *agents) working() bool {
	if a == nil {
		return false
	}
	if a.poolTouched {
		a.poolWorking = a.pool.View.Busy()
	}
	return a.poolWorking || a.plan.Working() || a.checkpoints.working() || a.notebooks.working()
}

// gaugesChanged reports whether the levels may have changed since they were last counted.
func (a *agents) gaugesChanged() bool { return a != nil && a.gaugesStale }

// refreshGauges counts the agents again if they may have changed.
func (a *agents) refreshGauges(into *contextpool.Gauges) {
	if a.gaugesChanged() {
		a.pool.View.Gauges(into)
		a.gaugesStale = false
	}
}

// queuedMessages is the number of messages in queues.
func (a *agents) queuedMessages() int {
	if a == nil {
		return 0
	}
	return a.pool.View.QueuedCount()
}

// runningMessages returns the messages of the turns that run and are not being stopped.
func (a *agents) runningMessages() map[wire.MessageID]bool {
	all := map[wire.MessageID]bool{}
	if a == nil {
		return all
	}
	for _, t := range a.pool.View.Turns() {
		if !t.Stopping {
			all[t.Message] = true
		}
	}
	return all
}

func (a *agents) nextDue() time.Time {
	if a == nil {
		return time.Time{}
	}
	if !a.parkedSince.IsZero() {
		return a.parkedSince.Add(parkTime)
	}
	return earliest(a.nextPoolDue, a.plan.Due())
}

// hasRunningTurns reports whether turns run that do not wait for people. People take their time,
// and the next owner can wait for them as well.
func (a *agents) hasRunningTurns() bool {
	return a != nil && a.parkedSince.IsZero() && a.pool.View.RunningAgents() > a.answerWaits.count()
}

// poolForUpdate returns the pool for a call that may change it.
func (a *agents) poolForUpdate() *contextpool.Pool {
	a.poolTouched, a.gaugesStale = true, true
	return a.pool
}

// poolDue reports whether the pool may have changed or has something to do.
func (a *agents) poolDue(now time.Time) bool {
	return a != nil && (a.poolTouched || !a.nextPoolDue.IsZero() && !now.Before(a.nextPoolDue))
}

// tickPool runs what is due in the pool, and reports whether there is more than fits into the step.
func (a *agents) tickPool(now time.Time) (more bool) {
	if !a.poolDue(now) {
		return false
	}
	a.poolTouched, a.gaugesStale = a.pool.Tick(), true
	a.nextPoolDue, a.poolWorking = a.pool.Due(), a.pool.View.Busy()
	return a.poolTouched
}

// parkTools lets no new tool start, and reports whether all running tools have ended or parkTime is
// over.
func (a *agents) parkTools(now time.Time) bool {
	if a == nil {
		return true
	}
	if a.parkedSince.IsZero() {
		a.parkedSince = now
	}
	return len(a.openTools) == 0 && !a.checkpoints.working() || !now.Before(a.parkedSince.Add(parkTime))
}

// Report implements [agentpool.Sink].
func (p port) Report(ctx context.Context, r agentpool.Report) error {
	it := item{origin: r.RunID(), work: func() { p.owner.agents.poolForUpdate().HandleReport(r) }}
	if _, ok := r.(agentpool.Began); ok {
		it.work = func() {
			p.owner.commands.replies.observeRunStart(r.RunID())
			p.owner.agents.poolForUpdate().HandleReport(r)
		}
		// The start must be committed before the model is called, else owners that die at this
		// point would call it again and again.
		return p.putAndWait(ctx, it)
	}
	return p.put(ctx, it)
}
