package session

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workflow"
)

// Runner runs the agents of a session that is owned here.
type Runner interface {
	contextpool.Runner
	// Close stops everything and returns when it has stopped.
	Close()
}

// parkTime is how long a session that is handed over waits for tools that are
// under way. Those that are not done by then may or may not have run.
const parkTime = 5 * time.Second

// toolUse is a call of a tool. Agents name theirs independently of each other.
type toolUse struct {
	agent wire.AgentID
	call  string
}

// agents is what a session that is owned here knows of its agents. It belongs to
// the goroutine of the session.
type agents struct {
	// nextPoolDue is when the pool has something to do, and poolWorking says that it has unfinished
	// work; asked says that it was asked something since that was known. A step that
	// asks the pool nothing, as those of programs that only show something, costs it
	// nothing.
	nextPoolDue time.Time
	poolWorking bool
	poolTouched bool
	// levelsStale says that it may be another since it was counted.
	levelsStale bool
	parkedSince time.Time // since when nothing new begins

	plan        planning
	pool        *contextpool.Pool
	runner      Runner
	answerWaits answerWaits
	apps        apps

	// answered are the answers of this step to messages that the ledger does
	// not have yet; late are those who sent a message again before there was
	// an answer, as far as there is room.
	answered    map[wire.MessageID]reply
	lateSenders map[wire.MessageID][]wire.ConnectionID

	// openTools are the tools that have begun and not ended.
	openTools map[toolUse]bool
	heldItems []item // what would have begun while parked
}

// maxLateMessages is how many messages are remembered that came again before they were
// answered, and maxLateSenders how many senders of each.
const (
	maxLateMessages = 1000
	maxLateSenders  = 16
)

// addLateSender notes who is to hear how a message is answered.
func (a *agents) addLateSender(id wire.MessageID, from wire.ConnectionID) {
	known, found := a.lateSenders[id]
	if (found || len(a.lateSenders) < maxLateMessages) && len(known) < maxLateSenders && !slices.Contains(known, from) {
		a.lateSenders[id] = append(known, from)
	}
}

// startAgents makes the agents of a session that is owned from now on.
func (l *owner) startAgents(tables map[string]map[string][]byte, lists map[string][][]byte) error {
	cfg := l.live.hub.cfg
	if cfg.NewRunner == nil {
		return nil
	}
	a := &agents{poolTouched: true, levelsStale: true, openTools: map[toolUse]bool{}, lateSenders: map[wire.MessageID][]wire.ConnectionID{}}
	l.agents = a
	a.runner = cfg.NewRunner(l.ctx, agentpool.SessionRef{
		Session: l.live.id, Epoch: l.lease.Epoch, User: l.user, Sink: port{l}, Desktop: port{l},
	})
	a.pool = contextpool.New(contextpool.Config{
		Session: l.live.id, Provider: cfg.Provider, Budget: cfg.Budget, Window: cfg.Window, CondenseAt: cfg.CondenseAt,
	}, stepWriter{l}, a.runner)
	if err := a.pool.Restore(tables, lists); err != nil {
		return &store.CorruptError{Where: "agents of session " + string(l.live.id), Reason: err.Error()}
	}
	if len(tables[history.TaskTable]) == 0 {
		tasks, err := l.live.hub.rebuildTasks(l.ctx, l.live.id, tables)
		if err != nil {
			return err
		}
		a.pool.SetTasks(tasks)
	}
	if err := a.apps.restore(tables[appsTable]); err != nil {
		return &store.CorruptError{Where: "apps of session " + string(l.live.id), Reason: err.Error()}
	}
	return l.restorePlan(tables[workflow.Table])
}

// stopAgents stops the agents. What they still wanted of the session is forgotten:
// whoever owns it next goes on with what was committed.
func (l *owner) stopAgents() {
	a := l.agents
	if a == nil {
		return
	}
	l.cancel(nil)
	a.runner.Close()
	l.live.mailbox.removeItems(func(it *item) bool {
		if it.work != nil {
			it.finish(errLost)
		}
		return it.work != nil
	})
	for i := range a.heldItems {
		a.heldItems[i].finish(errLost)
	}
	a.heldItems = nil
}

// storedForm is what the agents of an owner of ours have written or wanted to write, in
// the form in which the store has it.
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

// allOps is what is kept of the agents.
func (a *agents) allOps() []store.Op {
	if a == nil {
		return nil
	}
	return slices.Concat(a.pool.AllOps(), a.apps.all(), a.plan.All())
}

// repairLists is what makes the lists of agents that are not loaded those that we know.
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
		a.poolWorking = a.pool.Busy()
	}
	return a.poolWorking || a.plan.Working()
}

// levelsChanged reports whether there may be other agents than those that were counted last.
func (a *agents) levelsChanged() bool { return a != nil && a.levelsStale }

// refreshLevels counts them.
func (a *agents) refreshLevels(into *contextpool.Gauges) {
	if a.levelsChanged() {
		a.pool.Gauges(into)
		a.levelsStale = false
	}
}

// queuedMessages counts the messages that wait.
func (a *agents) queuedMessages() int {
	if a == nil {
		return 0
	}
	return a.pool.QueuedCount()
}

// runningMessages are the messages of turns that are under way and not told to end.
func (a *agents) runningMessages() map[wire.MessageID]bool {
	all := map[wire.MessageID]bool{}
	if a == nil {
		return all
	}
	for _, t := range a.pool.Turns() {
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

// hasRunningTurns reports whether agents are at work that do not wait for people, who take
// their time: whoever owns the session next can wait for them as well.
func (a *agents) hasRunningTurns() bool {
	return a != nil && a.parkedSince.IsZero() && a.pool.RunningAgents() > a.answerWaits.count()
}

// poolForUpdate is the pool, for whoever may change something in it.
func (a *agents) poolForUpdate() *contextpool.Pool {
	a.poolTouched, a.levelsStale = true, true
	return a.pool
}

// poolDue reports whether the pool was asked something or has something to do.
func (a *agents) poolDue(now time.Time) bool {
	return a != nil && (a.poolTouched || !a.nextPoolDue.IsZero() && !now.Before(a.nextPoolDue))
}

// tickPool does what is due, and reports whether there is more than the step has room
// for.
func (a *agents) tickPool(now time.Time) (more bool) {
	if !a.poolDue(now) {
		return false
	}
	a.poolTouched, a.levelsStale = a.pool.Tick(), true
	a.nextPoolDue, a.poolWorking = a.pool.Due(), a.pool.Busy()
	return a.poolTouched
}

// parkTools lets nothing new begin, and reports whether everything that has begun has
// ended or had its time.
func (a *agents) parkTools(now time.Time) bool {
	if a == nil {
		return true
	}
	if a.parkedSince.IsZero() {
		a.parkedSince = now
	}
	return len(a.openTools) == 0 || !now.Before(a.parkedSince.Add(parkTime))
}

// isParking reports whether that has begun. Then the session is handed over even if
// it need not be any more: what was held back begins with the next owner.
func (a *agents) isParking() bool { return a != nil && !a.parkedSince.IsZero() }

// submitToAgent gives a message to an agent and says how it was answered, if it was.
func (l *owner) submitToAgent(m contextpool.Message, give func()) reply {
	if l.agents == nil {
		l.row(wire.UIRow{
			Type: wire.RowSay, Say: wire.SayUserFeedback, Text: m.Text, MonitorID: m.Monitor, MessageID: m.ID,
		})
		return reply{
			Verdict: verdictRejected, Code: wire.CodeProviderUnavailable, Reason: "no agent is available in this session",
			Monitor: m.Monitor, Public: true,
		}
	}
	l.agents.answered = map[wire.MessageID]reply{}
	give()
	r, ok := l.agents.answered[m.ID]
	l.agents.answered, l.answered = nil, true
	if !ok {
		return reply{Verdict: verdictPending, Monitor: m.Monitor}
	}
	return r
}

// stepWriter is the step of a session as its agents see it.
type stepWriter struct{ *owner }

func (s stepWriter) Now() time.Time               { return s.now }
func (s stepWriter) Desk() *desktop.State         { return s.state }
func (s stepWriter) Emit(p wire.ServerPayload)    { s.emit(p) }
func (s stepWriter) Full() bool                   { return s.stepFull() }
func (s stepWriter) Then(effect func())           { s.step.effects = append(s.step.effects, effect) }
func (s stepWriter) Row(r wire.UIRow) wire.Millis { return s.row(r) }

// NextRow is the id of the row that comes next.
func (s stepWriter) NextRow() wire.RowID { return s.lastRow + 1 }

// Keep adds to the step. A conversation may be long, so its bytes count.
func (s stepWriter) Keep(ops ...store.Op) {
	s.step.ops = append(s.step.ops, ops...)
	for i := range ops {
		for _, v := range ops[i].Values {
			s.step.bytes += len(v)
		}
	}
}

// Cancel closes what an agent asked and nobody needs any more.
func (s stepWriter) Cancel(agent wire.AgentID) {
	now := s.state.Snapshot()
	for _, d := range now.Dialogs {
		if d.AgentID == agent {
			s.closeDialog(d, ending{Reason: wire.ClosedCancelled}, "", "")
		}
	}
	for _, p := range now.Prompts {
		if p.AgentID == agent {
			s.closePrompt(p, ending{Reason: wire.ClosedCancelled}, "", nil)
		}
	}
}

// Answer says how a message was answered and remembers it for when the message
// is sent again.
func (s stepWriter) Answer(p wire.ServerPayload) {
	s.emit(p)
	id := wire.MessageOf(p)
	r := replyOf(p)
	if s.agents.answered != nil {
		s.agents.answered[id] = r
	}
	if known, ok := s.ledger.find(id); ok {
		known.Reply = r
		s.ledger.update(id, known, &s.step.ops)
	}
	if r.Verdict != verdictQueued {
		for _, to := range s.agents.lateSenders[id] {
			s.emitReply(&Command{From: Sender{Connection: to}, Message: wire.Message{ID: id}}, r, true)
		}
		delete(s.agents.lateSenders, id)
	}
}

// replyOf is what the ledger keeps of an answer.
func replyOf(p wire.ServerPayload) reply {
	switch p := p.(type) {
	case wire.MessageAccepted:
		return reply{Verdict: verdictAccepted, Monitor: p.MonitorID, Agent: p.AgentID, How: p.How}
	case wire.MessageQueued:
		return reply{Verdict: verdictQueued, Monitor: p.MonitorID, Place: p.Position}
	case wire.MessageRejected:
		return reply{
			Verdict: verdictRejected, Code: p.Code, Reason: p.Reason, Monitor: p.MonitorID, Public: true,
		}
	}
	panic(fmt.Sprintf("%T answers no message", p))
}

// row adds a row to the conversation that people see, and returns its name.
func (l *owner) row(r wire.UIRow) wire.Millis {
	l.lastRow++
	l.lastTS = max(l.lastTS+1, wire.Millis(l.now.UnixMilli()))
	r.ID, r.TS = l.lastRow, l.lastTS
	l.emit(wire.MessageUpdated{
		Action: wire.RowCreated, Message: r, MonitorID: r.MonitorID, AgentID: r.AgentID, MessageID: r.MessageID,
	})
	return r.TS
}

// Report implements [agentpool.Sink].
func (p port) Report(ctx context.Context, r agentpool.Report) error {
	it := item{origin: r.RunID(), work: func() { p.l.agents.poolForUpdate().HandleReport(r) }}
	if _, ok := r.(agentpool.Began); ok {
		it.work = func() {
			p.l.observeRunStart(r.RunID())
			p.l.agents.poolForUpdate().HandleReport(r)
		}
		// Or owners that die right then would ask a model again and again.
		return p.putAndWait(ctx, it)
	}
	return p.put(ctx, it)
}
