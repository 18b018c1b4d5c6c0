package session

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/internal/truncation"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Inspection is the detailed state of a session for the admin view.
type Inspection struct {
	Status   Status
	Monitors []MonitorView
	Agents   []AgentView
	Windows  []WindowView
	Dialogs  []wire.ApprovalRequest
	Prompts  []wire.OpenPrompt
	// Requests are the open questions of the plan.
	Requests []wire.HITLRequest
	// Messages are the newest entries of the ledger, the newest first.
	Messages []MessageView
}

// MonitorView is a monitor with its queue.
type MonitorView struct {
	wire.MonitorStatus
	Queue []QueuedView
	// Bounded says that the monitor has a budget, and Used is its use in per cent.
	Bounded bool
	Used    int
}

// QueuedView is a message in a queue.
type QueuedView struct {
	ID     wire.MessageID
	Place  int // from 1
	Since  wire.Millis
	Window wire.WindowID
	Text   string
}

// AgentView is an agent that runs or is kept for its window or monitor.
type AgentView struct {
	wire.AgentState // without its text
	Parent          wire.AgentID
	Provider        string
	Attempt         int
}

// WindowView is an open window.
type WindowView struct {
	ID       wire.WindowID
	Monitor  wire.MonitorID
	Title    string
	Renderer string
	Lock     wire.AgentID
}

// MessageView is the ledger's entry of a message.
type MessageView struct {
	ID      wire.MessageID
	Time    wire.Millis
	Verdict string
	Code    wire.Code
	Agent   wire.AgentID
	// State is the state of a message for an agent: running, waiting or ended. It is empty for
	// other messages, and in an Inspection from the store.
	State string
}

// maxInspected bounds the messages in an Inspection, and maxQueuedText the text of a queued
// message, in bytes.
const (
	maxInspected  = 100
	maxQueuedText = 500
)

// maxViewers bounds the tabs that [Hub.Viewers] returns.
const maxViewers = 500

// Inspect returns the details of a session that is owned here. The error is [*Error] if it is not
// owned here or does not answer within 100 ms.
func (h *Hub) Inspect(ctx context.Context, id wire.SessionID) (Inspection, error) {
	var ow *owner
	if ls := h.registry.lookup(id); ls != nil {
		ow = ls.activeOwner.Load()
	}
	if ow == nil {
		return Inspection{}, refusal(wire.CodeSessionInvalidState, "the session is not owned by this replica")
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	answer := make(chan Inspection, 1)
	want := &statusRequest{run: func(in *introspection) { answer <- in.inspect() }}
	ow.view.requestStatus(want)
	select {
	case i := <-answer:
		return i, nil
	case <-ctx.Done():
		ow.view.requests.cancel(want)
		return Inspection{Status: ow.view.stuck()}, refusal(wire.CodeSessionInvalidState, "the session does not answer")
	}
}

// inspect makes the Inspection. The session's goroutine calls it between two steps.
func (in *introspection) inspect() Inspection {
	i := inspectState(in.w.state, &in.replies.ledger)
	i.Status = *in.report()
	if in.agents == nil {
		return i
	}
	pool := in.agents.pool
	for n := range i.Monitors {
		m := &i.Monitors[n]
		m.Used, m.Bounded = pool.View.BudgetUsed(m.MonitorID)
	}
	for _, w := range pool.View.QueuedMessages() {
		n := slices.IndexFunc(i.Monitors, func(m MonitorView) bool { return m.MonitorID == w.Monitor })
		if n < 0 {
			continue
		}
		known, _ := in.replies.ledger.find(w.ID)
		i.Monitors[n].Queue = append(i.Monitors[n].Queue, QueuedView{
			ID: w.ID, Place: w.Place, Since: known.Time, Window: w.Window, Text: truncateBytes(w.Text, maxQueuedText),
		})
	}
	for _, t := range pool.View.Turns() {
		n := slices.IndexFunc(i.Agents, func(a AgentView) bool { return a.Role == t.Role })
		if n < 0 {
			n = len(i.Agents)
			status := wire.AgentStatusWaiting
			if t.Running {
				status = wire.AgentStatusRunning
			}
			i.Agents = append(i.Agents, AgentView{AgentState: wire.AgentState{
				Role: t.Role, Kind: t.Kind, MonitorID: t.Monitor, WindowID: t.Window, Status: status,
				MessageID: t.Message, StartedAt: t.Started,
			}})
		}
		a := &i.Agents[n]
		a.Parent, a.Provider, a.Attempt = t.Parent, t.Provider, t.Attempt
		a.Tool = cmp.Or(a.Tool, t.Tool)
	}
	i.setMessageStates(pool.View.QueuedMessages(), pool.View.Turns())
	return i
}

// The states of a message.
const (
	messageWaiting = "waiting"
	messageRunning = "running"
	messageEnded   = "ended"
)

// setMessageStates sets the state of the messages for agents.
func (i *Inspection) setMessageStates(queued []contextpool.QueuedMessage, turns []contextpool.Turn) {
	now := make(map[wire.MessageID]string, len(queued)+len(turns))
	for _, w := range queued {
		now[w.ID] = messageWaiting
	}
	for _, t := range turns {
		state := messageWaiting
		if t.Running {
			state = messageRunning
		}
		now[t.Message] = state
		for _, id := range t.Taken {
			now[id] = state
		}
	}
	for n := range i.Messages {
		m := &i.Messages[n]
		switch m.Verdict {
		case string(verdictAccepted):
			m.State = cmp.Or(now[m.ID], messageEnded)
		case string(verdictQueued):
			m.State = now[m.ID]
		}
	}
}

// inspectState makes the part of an Inspection that the desktop state and the ledger contain.
func inspectState(state *desktop.State, l *ledger) Inspection {
	var i Inspection
	for _, m := range state.Monitors() {
		i.Monitors = append(i.Monitors, MonitorView{MonitorStatus: m})
		for _, w := range state.Windows(m.MonitorID) {
			i.Windows = append(i.Windows, WindowView{
				ID: w.WindowID, Monitor: w.MonitorID, Title: w.Title, Renderer: rendererOf(w.Content), Lock: w.Lock,
			})
		}
	}
	for _, a := range state.Agents() {
		i.Agents = append(i.Agents, AgentView{AgentState: a})
	}
	i.Dialogs, i.Prompts = state.Notices().OpenQuestions()
	i.Requests = state.Snapshot().HITLRequests
	for _, d := range slices.Backward(l.order) {
		if len(i.Messages) == maxInspected {
			break
		}
		e := l.by[d.id]
		i.Messages = append(i.Messages, MessageView{
			ID: d.id, Time: e.Time, Verdict: cmp.Or(string(e.Reply.Verdict), "done"), Code: e.Reply.Code, Agent: e.Reply.Agent,
		})
	}
	return i
}

// rendererOf returns the renderer of a window. The name of an unknown renderer comes from a client
// and may have any length, so it is "other".
func rendererOf(c wire.Content) string {
	if _, ok := c.(wire.OtherContent); ok {
		return "other"
	}
	return wire.RendererOf(c)
}

// InspectStored returns what the store has of a session, wherever it is owned, without loading it.
// Only the owner knows queues and budgets.
func (h *Hub) InspectStored(ctx context.Context, id wire.SessionID) (Inspection, error) {
	got, err := h.env.reader.load(ctx, id, "")
	if err != nil {
		return Inspection{}, asError(err)
	}
	var l ledger
	if err := l.restore(got.tables[ledgerTable]); err != nil {
		return Inspection{}, &store.CorruptError{Where: "ledger of session " + string(id), Reason: err.Error()}
	}
	i := inspectState(got.state, &l)
	i.Status = Status{
		ID: id, User: got.info.User, Title: got.state.Title(), Epoch: got.info.Epoch, Top: got.info.Top, Updated: got.info.Updated,
		Monitors: got.state.MonitorCount(), Windows: got.state.WindowCount(), Questions: len(i.Dialogs) + len(i.Prompts) + len(i.Requests),
		Working: got.info.Working,
	}
	return i, nil
}

// truncateBytes cuts a text to at most limit bytes, at a rune boundary.
func truncateBytes(text string, limit int) string {
	return truncation.BytesMarked(text, limit, "…")
}

// Viewers returns the oldest tabs of a session at this replica.
func (h *Hub) Viewers(id wire.SessionID) []broadcast.Viewer {
	ls := h.registry.lookup(id)
	if ls == nil || !ls.isReady() || ls.center == nil {
		return nil
	}
	return ls.center.Viewers(maxViewers)
}

// Tail returns the log of a session after a position, and then new events as they are committed. It
// does not load the session. The errors are those of the store.
func (h *Hub) Tail(ctx context.Context, id wire.SessionID, after wire.Position) iter.Seq2[store.News, error] {
	return h.env.store.Tail(ctx, id, after)
}
