package contextpool

import (
	"errors"
	"fmt"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// RewindRequest says how far the conversation of a monitor is rewound.
type RewindRequest struct {
	Monitor wire.MonitorID
	// TS is the first removed row. With Include that row itself stays visible for people.
	TS      wire.Millis
	Include bool
	// Revision, unless nil, is the revision of the conversation that the user saw; the request
	// fails if it has changed.
	Revision *int
	// Message is the id of the command, unless another reply answers it, and By the connection
	// that sent it.
	Message wire.MessageID
	By      wire.ConnectionID
}

// rewindBytes and rewindItems bound the rows and messages written for one rewind, so that all
// of it fits into one batch of the store, together with tasks, turns and the tape. The bound is
// reached only if many agents of a monitor have long summarised threads.
const (
	rewindBytes = 5 << 20
	rewindItems = 2500
)

// writeSize is an amount of data to write.
type writeSize struct{ items, bytes int }

const (
	rewound        = "the conversation was rewound"
	rewoundByOther = "the conversation is not what it was: " + rewound + " by somebody else"
)

// Rewind removes a row and everything after it, for people and for models, in this step, or
// returns the reason why it cannot. Turns of the monitor end as interrupted, and their agents
// begin the next turns with the remaining threads; queued messages whose rows are removed are
// rejected. Changes of windows stay, and so does the reload cache. The timeline is not
// restored: a new turn reads which windows are open.
func (p *Pool) Rewind(u RewindRequest) *desktop.Refusal {
	rows, refused := p.rowsFrom(u, false)
	if refused != nil {
		return refused
	}
	plan, refused := p.planRewind(u, rows)
	if refused != nil {
		return refused
	}
	p.applyRewind(plan)
	p.advance()
	return nil
}

// Edit rewinds to the nearest user message at or before the named row and routes m in its
// place, to the same monitor or window, in the same step. If it returns a reason, nothing has
// changed.
func (p *Pool) Edit(u RewindRequest, m Message) *desktop.Refusal {
	rows, refused := p.rowsFrom(u, true)
	if refused != nil {
		return refused
	}
	u.TS, u.Include = rows[0].TS, false
	m.Monitor, m.Window = u.Monitor, rows[0].WindowID
	if _, open := p.state.Desktop().Window(m.Monitor, m.Window); m.Window != "" && !open {
		return invalidState("there is no window %q any more", m.Window)
	}
	if !p.providers.HasProvider(p.Provider()) {
		return &desktop.Refusal{Code: wire.CodeProviderUnavailable, Reason: fmt.Sprintf("there is no provider %q", p.Provider())}
	}
	plan, refused := p.planRewind(u, rows)
	if refused != nil {
		return refused
	}
	p.applyRewind(plan)
	if m.Window == "" {
		p.HandleUserMessage(m)
	} else {
		p.HandleWindowMessage(m)
	}
	return nil
}

func invalidState(format string, args ...any) *desktop.Refusal {
	return &desktop.Refusal{Code: wire.CodeSessionInvalidState, Reason: fmt.Sprintf(format, args...)}
}

func historyChanged(reason string) *desktop.Refusal {
	return &desktop.Refusal{Code: wire.CodeHistoryChanged, Reason: reason}
}

// rowsFrom returns the rows from the named row on, or, with said, from the nearest user message
// at or before it. There is at least one row.
func (p *Pool) rowsFrom(u RewindRequest, said bool) ([]wire.UIRow, *desktop.Refusal) {
	if u.Revision != nil && *u.Revision != p.revision(u.Monitor) {
		return nil, historyChanged(rewoundByOther)
	}
	rows, err := p.rows.RowsSince(u.Monitor, u.TS, said)
	switch {
	case err != nil:
		return nil, &desktop.Refusal{Code: wire.CodeStoreUnavailable, Reason: "the conversation cannot be read now"}
	case len(rows) == 0:
		return nil, historyChanged("the conversation has no such row, or not any more")
	}
	return rows, nil
}

// revision returns how often the conversation of a monitor was rewound.
func (p *Pool) revision(monitor wire.MonitorID) int {
	m, _ := p.state.Desktop().Monitor(monitor)
	return m.Revision
}

// rewindPlan is a checked rewind that is about to be applied.
type rewindPlan struct {
	RewindRequest
	history.Rewound
	since   []wire.UIRow
	threads []*threadCut // ordered by agent name
	kept    map[wire.RowID]bool
}

// removes reports whether the rewind removes what belongs to a row.
func (u *rewindPlan) removes(row wire.RowID) bool { return row >= u.Row.ID && !u.kept[row] }

// planRewind computes the effects of a rewind. It changes nothing.
func (p *Pool) planRewind(u RewindRequest, since []wire.UIRow) (*rewindPlan, *desktop.Refusal) {
	plan := &rewindPlan{RewindRequest: u, since: since, kept: map[wire.RowID]bool{}}
	c := history.Conversation{Rows: since, Threads: map[string][]history.Message{}}
	for _, agent := range sortedKeys(p.threads) {
		if p.threads[agent].Monitor != u.Monitor {
			continue
		}
		g, err := p.loadThreadCut(p.threads[agent])
		if err != nil {
			return nil, &desktop.Refusal{Code: wire.CodeStoreUnavailable, Reason: "the memory of an agent cannot be read now"}
		}
		c.Threads[agent] = g.all
		plan.threads = append(plan.threads, g)
	}
	var err error
	plan.Rewound, err = history.Rewind(c, history.Target{TS: u.TS, Include: u.Include})
	switch {
	case errors.Is(err, history.ErrOldRow):
		return nil, invalidState("%v", err)
	case err != nil:
		return nil, historyChanged(err.Error())
	}
	total := writeSize{items: len(plan.Kept)}
	for i := range plan.Kept {
		plan.kept[plan.Kept[i].ID] = true
		total.bytes += len(encode(&plan.Kept[i]))
	}
	for _, g := range plan.threads {
		more := g.setCut(plan.Threads[g.h.agent])
		total.items, total.bytes = total.items+more.items, total.bytes+more.bytes
	}
	if total.bytes > rewindBytes || total.items > rewindItems {
		return nil, &desktop.Refusal{
			Code: wire.CodeMessageTooLarge, Reason: "too much would change at once: rewind to a later row first",
		}
	}
	return plan, nil
}

// applyRewind applies a planned rewind.
func (p *Pool) applyRewind(u *rewindPlan) {
	said := wire.HistoryRewound{
		TS: u.TS, Removed: len(u.Removed), Included: u.Include, Revision: p.revision(u.Monitor) + 1,
		MonitorID: u.Monitor, MessageID: u.Message, By: u.By,
	}
	for i := range u.Kept {
		said.Kept = append(said.Kept, u.Kept[i].TS)
	}
	since := u.since
	if u.Include {
		since = since[1:]
	}
	p.rows.RemoveRows(said, since, u.Kept)
	p.rejectRemoved(p.dequeue(func(w *queuedMessage) bool { return w.Monitor == u.Monitor && w.Row > 0 && u.removes(w.Row) }), rewound)
	touched := p.rewindThreads(u)
	for _, t := range p.sortedTurns() {
		if t.Monitor != u.Monitor {
			continue
		}
		touched[t.Agent] = true
		if p.turns[t.key()] == t { // otherwise the turn has ended together with its parent
			p.rewindTurn(t, u)
		}
	}
	p.step.AddOps(p.tape.Rewind(u.Monitor, u.removes)...)
	from := u.Row.TS
	if u.Include {
		from++
	}
	p.step.AddOps(p.tasks.Rewind(u.Monitor, from)...)
	for i := range u.Removed {
		if ts := u.Removed[i].TS; p.resumeAsks[ts] != nil {
			p.deleteAsk(ts)
		}
	}
	for _, agent := range sortedKeys(touched) {
		p.step.AfterCommit(func() { p.runner.Dispose(agent) })
	}
	status := p.monitorStatus(u.Monitor)
	status.Revision = said.Revision
	p.step.Emit(status)
}

// rewindThreads applies the rewind to the threads of the monitor's agents, and returns the
// agents whose provider sessions must be closed: a backend that holds the conversation itself
// cannot remove anything from it.
func (p *Pool) rewindThreads(u *rewindPlan) map[string]bool {
	touched := map[string]bool{}
	for i := range u.Removed {
		touched[u.Removed[i].Thread] = true
	}
	for _, t := range p.turns {
		touched[t.Agent] = touched[t.Agent] || t.Monitor == u.Monitor
	}
	for _, g := range u.threads {
		if h := g.h; g.cut.Changed || touched[h.agent] {
			touched[h.agent] = true
			h.Top, h.ID, h.stale = h.highestID(), "", false
			p.applyThreadCut(g)
			p.estimateTokens(h)
		}
	}
	for agent := range touched {
		if p.threads[agent] == nil || p.threads[agent].Monitor != u.Monitor {
			delete(touched, agent)
		}
	}
	return touched
}

// rewindTurn ends a turn and its tasks because of a rewind. If the row that began the turn is
// removed, only its effects remain, and the timeline reports them to the main agent, whose
// thread no longer has them. Otherwise rows show how the turn ended and its open tool calls get
// results; text that is not in the thread is dropped.
func (p *Pool) rewindTurn(t *turn, u *rewindPlan) {
	known := t.InThread
	t.abort(rewound)
	t.rewound = true
	if t.Row > 0 {
		t.rowRemoved = u.removes(t.Row)
	} else {
		t.rowRemoved = t.Started >= u.Row.TS
	}
	for _, task := range p.tasksOf(t) {
		p.rewindTurn(task, u)
	}
	if p.turns[t.key()] == t { // otherwise the turn has ended together with its last task
		p.endTurn(t, providers.Interrupted, rewound)
	}
	if known && !t.rowRemoved {
		t.InThread = true
		p.closeOpenCalls(t)
	}
	if t.rowRemoved && t.Kind == wire.AgentMain && len(t.actions) > 0 {
		p.step.AddOps(p.timeline(t.Monitor).PushAI(t.Role, t.actions)...)
	}
}
