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
	// Checkpoint is the checkpoint to which the files are restored, or empty.
	Checkpoint string
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

const rewound = "the conversation was rewound"

// Reasons why a conversation cannot be rewound as requested.
var (
	errChanged = &history.Error{Code: wire.ReasonHistoryChanged, Text: "the conversation has changed: it was rewound meanwhile"}
	errRowGone = &history.Error{Code: wire.ReasonRowNotFound, Text: "the conversation does not have this row, or no longer"}
)

func invalidState(format string, args ...any) *desktop.Refusal {
	return &desktop.Refusal{Code: wire.CodeSessionInvalidState, Reason: fmt.Sprintf(format, args...)}
}

// refuseRewind returns the refusal with the text and the reason code of err.
func refuseRewind(code wire.Code, err error) *desktop.Refusal {
	return &desktop.Refusal{Code: code, Reason: err.Error(), ReasonCode: history.ReasonCode(err)}
}

// rowsFrom returns the rows from the named row on, or, with said, from the nearest user message
// at or before it. There is at least one row.
func (r *resets) rowsFrom(u RewindRequest, said bool) ([]wire.UIRow, *desktop.Refusal) {
	if u.Revision != nil && *u.Revision != r.revision(u.Monitor) {
		return nil, refuseRewind(wire.CodeHistoryChanged, errChanged)
	}
	rows, err := r.rows.RowsSince(u.Monitor, u.TS, said)
	switch {
	case err != nil:
		return nil, &desktop.Refusal{Code: wire.CodeStoreUnavailable, Reason: "the conversation cannot be read now"}
	case len(rows) == 0:
		return nil, refuseRewind(wire.CodeHistoryChanged, errRowGone)
	}
	return rows, nil
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
func (r *resets) planRewind(u RewindRequest, since []wire.UIRow) (*rewindPlan, *desktop.Refusal) {
	plan := &rewindPlan{RewindRequest: u, since: since, kept: map[wire.RowID]bool{}}
	c := history.Conversation{Rows: since, Threads: map[string][]history.Message{}}
	for _, agent := range sortedKeys(r.threads.byAgent) {
		if r.threads.byAgent[agent].Monitor != u.Monitor {
			continue
		}
		g, err := r.threads.loadThreadCut(r.threads.byAgent[agent])
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
		return nil, refuseRewind(wire.CodeSessionInvalidState, err)
	case err != nil:
		return nil, refuseRewind(wire.CodeHistoryChanged, err)
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
func (r *resets) applyRewind(u *rewindPlan) {
	said := wire.HistoryRewound{
		TS: u.TS, Removed: len(u.Removed), Included: u.Include, Revision: r.revision(u.Monitor) + 1,
		MonitorID: u.Monitor, MessageID: u.Message, By: u.By, Checkpoint: u.Checkpoint,
	}
	for i := range u.Kept {
		said.Kept = append(said.Kept, u.Kept[i].TS)
	}
	since := u.since
	if u.Include {
		since = since[1:]
	}
	r.rows.RemoveRows(said, since, u.Kept)
	r.queues.rejectRemoved(r.queues.dequeue(func(w *queuedMessage) bool { return w.Monitor == u.Monitor && w.Row > 0 && u.removes(w.Row) }), rewound)
	touched := r.rewindThreads(u)
	for _, t := range r.turns.sorted() {
		if t.Monitor != u.Monitor {
			continue
		}
		touched[t.Agent] = true
		if r.turns.byKey[t.key()] == t { // otherwise the turn has ended together with its parent
			r.rewindTurn(t, u)
		}
	}
	r.step.AddOps(r.transcript.tape.Rewind(u.Monitor, u.removes)...)
	from := u.Row.TS
	if u.Include {
		from++
	}
	r.step.AddOps(r.tasks.list.Rewind(u.Monitor, from)...)
	for i := range u.Removed {
		if ts := u.Removed[i].TS; r.questions.resumeAsks[ts] != nil {
			r.questions.deleteAsk(ts)
		}
	}
	for _, agent := range sortedKeys(touched) {
		r.disposeAgent(agent)
	}
	status := r.status.statusOf(u.Monitor)
	status.Revision = said.Revision
	r.step.Emit(status)
}

// rewindThreads applies the rewind to the threads of the monitor's agents, and returns the
// agents whose provider sessions must be closed: a backend that holds the conversation itself
// cannot remove anything from it.
func (r *resets) rewindThreads(u *rewindPlan) map[string]bool {
	touched := map[string]bool{}
	for i := range u.Removed {
		touched[u.Removed[i].Thread] = true
	}
	for _, t := range r.turns.byKey {
		touched[t.Agent] = touched[t.Agent] || t.Monitor == u.Monitor
	}
	for _, g := range u.threads {
		if h := g.h; g.cut.Changed || touched[h.agent] {
			touched[h.agent] = true
			h.Top, h.ID, h.stale = h.highestID(), "", false
			r.threads.applyThreadCut(g)
			r.threads.estimateTokens(h)
		}
	}
	for agent := range touched {
		if r.threads.byAgent[agent] == nil || r.threads.byAgent[agent].Monitor != u.Monitor {
			delete(touched, agent)
		}
	}
	return touched
}

// rewindTurn ends a turn and its tasks because of a rewind. If the row that began the turn is
// removed, only its effects remain, and the timeline reports them to the main agent, whose
// thread no longer has them. Otherwise rows show how the turn ended and its open tool calls get
// results; text that is not in the thread is dropped.
func (r *resets) rewindTurn(t *turn, u *rewindPlan) {
	known := t.InThread
	t.abort(rewound)
	t.rewound = true
	if t.Row > 0 {
		t.rowRemoved = u.removes(t.Row)
	} else {
		t.rowRemoved = t.Started >= u.Row.TS
	}
	for _, task := range r.turns.tasksOf(t) {
		r.rewindTurn(task, u)
	}
	if r.turns.byKey[t.key()] == t { // otherwise the turn has ended together with its last task
		r.ender.end(t, providers.Interrupted, rewound)
	}
	if known && !t.rowRemoved {
		t.InThread = true
		r.threads.closeOpenCalls(t)
	}
	if t.rowRemoved && t.Kind == wire.AgentMain && len(t.actions) > 0 {
		r.step.AddOps(r.transcript.timeline(t.Monitor).PushAI(t.Role, t.actions)...)
	}
}
