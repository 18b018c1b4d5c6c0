package session

import (
	"log/slog"
	"time"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// A step that reaches one of these sizes is committed before more is added.
const (
	stepEvents = 512
	stepBytes  = 1 << 20
	stepOps    = 1024
)

// step is one batch in the making: events, table changes, and the effects that follow the commit.
type step struct {
	heading  wire.Heading
	events   []broadcast.Event
	frames   [][]byte
	buf      []byte // backing memory of frames, unless a frame outgrew it
	ops      []store.Op
	consumed []string
	card     []byte
	user     string // to whom the session belongs after the step, unless empty
	bytes    int
	// turnEnds are the final events of turns in this step, each with the whole text of the turn.
	// The desktop state does not keep them, and a rewrite needs them.
	turnEnds []wire.AgentResponse
	// durable asks the store for a durable commit, because the step acknowledges something to a
	// client. archived says that rows were added to archives or changed there.
	durable, archived bool
	// effects run after the commit.
	effects []func()
}

func (s *step) full() bool {
	return len(s.frames) >= stepEvents || s.bytes >= stepBytes || len(s.ops)+len(s.consumed) >= stepOps
}

func (s *step) empty() bool {
	return s == nil || len(s.frames) == 0 && len(s.ops) == 0 && len(s.consumed) == 0 && s.card == nil
}

// stepWriter writes the step of an owned session: it appends events, folds them into the state and
// keeps the archives of the conversations in line. It is what the parts of an owner share: the
// state, the step, and the time of the step.
type stepWriter struct {
	id       wire.SessionID
	user     string // the session's user
	log      *slog.Logger
	observer MessageObserver
	reader   *storeReader
	held     *heldLease

	state *desktop.State
	step  *step // nil while nothing is processed

	now       time.Time     // of the step, by the store's clock
	clockSkew time.Duration // how far the store's clock is ahead of the local one
	top       wire.Position // position of the newest committed event
	working   bool          // the store knows that the session has unfinished work

	archives archives
	lastRow  wire.RowID  // highest id of any row
	lastTS   wire.Millis // highest time of any row

	lastEventAt    time.Time // time of the newest event
	lastProgressAt time.Time // when agents last made progress, or the session was claimed
	openQuestions  questionTimes
}

// advanceClock sets the time of the next step, by the store's clock. It never goes back.
func (w *stepWriter) advanceClock(now time.Time) {
	if now = now.Add(w.clockSkew); now.After(w.now) {
		w.now = now
	}
}

// nextPosition is the position of the next event.
func (w *stepWriter) nextPosition() wire.Position {
	return wire.Position{Epoch: w.held.lease.Epoch, Seq: w.top.Seq + uint64(len(w.step.frames)) + 1}
}

// Emit adds an event to the step and folds it into the state. A row goes to the archive, too.
func (w *stepWriter) Emit(data wire.ServerPayload) {
	switch d := data.(type) {
	case wire.MessageUpdated:
		w.emitRow(d)
	default:
		w.state.Apply(w.appendEvent(data))
	}
}

// appendEvent adds an event to the step without folding it into the state.
func (w *stepWriter) appendEvent(data wire.ServerPayload) wire.Event {
	e := wire.Event{Session: w.id, At: w.nextPosition(), Time: w.now.UTC().Truncate(time.Millisecond), Data: data}
	from := len(w.step.buf)
	w.step.buf = w.step.heading.AppendEvent(w.step.buf, &e)
	frame := w.step.buf[from:len(w.step.buf):len(w.step.buf)]
	w.step.frames = append(w.step.frames, frame)
	w.step.events = append(w.step.events, broadcastEvent(e, frame))
	w.step.bytes += len(frame)
	w.lastEventAt = e.Time
	w.trackEvent(data)
	return e
}

// trackEvent updates what the owner derives from its events: open questions, progress of agents,
// ends of turns, and whether the step must be durable.
func (w *stepWriter) trackEvent(data wire.ServerPayload) {
	switch d := data.(type) {
	case wire.Actions:
		for _, a := range d.Actions {
			w.trackActionQuestion(a)
		}
		if d.AgentID != "" {
			w.lastProgressAt = w.lastEventAt
		}
	case wire.AgentResponse:
		if d.IsComplete {
			w.step.durable = true
			w.step.turnEnds = append(w.step.turnEnds, withFullText(d, w.state.AgentText(d.AgentID)))
		}
		w.lastProgressAt = w.lastEventAt
	default:
		w.trackQuestion(data)
		w.step.durable = w.step.durable || mustBeDurable(data)
		if isProgress(data) {
			w.lastProgressAt = w.lastEventAt
		}
	}
}

// isProgress reports whether an event shows that agents make progress: an agent caused it, or it
// starts one. Events caused by people and tabs do not count, because they say nothing of an agent
// that hangs.
func isProgress(data wire.ServerPayload) bool {
	switch data.(type) {
	case wire.AgentThinking, wire.ToolProgress, wire.ApprovalRequest, wire.MessageAccepted, wire.TurnInterrupted,
		wire.LayerStart, wire.LayerComplete, wire.PlanGenerated, wire.PlanApproved, wire.PlanModified, wire.TodoStarted, wire.TodoProgress,
		wire.TodoUpdated, wire.TodoCompleted, wire.TodoFailed, wire.HITLPlanReview, wire.HITLApprovalRequest, wire.HITLInputRequest,
		wire.HITLClarification, wire.HITLClosed, wire.HITLResumed, wire.PlanComplete, wire.PlanFailure:
		return true
	}
	return false
}

// mustBeDurable reports whether an event acknowledges a message or an answer, or ends a turn. A
// client does not repeat what was acknowledged, so such an event must not be lost with the only
// store node that has it. Other events can be produced again, by the agent or by an owner that
// still has them.
func mustBeDurable(data wire.ServerPayload) bool {
	switch d := data.(type) {
	case wire.MessageAccepted, wire.MessageQueued, wire.MessageRejected, wire.TurnInterrupted, wire.DialogClosed, wire.PromptClosed,
		wire.HistoryRewound, wire.CheckpointRestored, wire.CellExecuted, wire.HITLClosed, wire.HITLPaused, wire.HITLResumed, wire.PlanApproved, wire.PlanModified,
		wire.PlanComplete, wire.PlanFailure:
		return true
	case wire.TodoUpdated, wire.TodoCompleted:
		return wire.MessageOf(d) != ""
	}
	return false
}

func (w *stepWriter) Now() time.Time { return w.now }

func (w *stepWriter) Desktop() *desktop.State { return w.state }

func (w *stepWriter) AfterCommit(effect func()) { w.step.effects = append(w.step.effects, effect) }

// NextRowID is the id of the next row.
func (w *stepWriter) NextRowID() wire.RowID { return w.lastRow + 1 }

// AddOps adds ops to the step. Their bytes count, because conversations can be long.
func (w *stepWriter) AddOps(ops ...store.Op) {
	w.step.ops = append(w.step.ops, ops...)
	for i := range ops {
		for _, v := range ops[i].Values {
			w.step.bytes += len(v)
		}
	}
}

// AddRow adds a row to the conversation and returns its time, which identifies it.
func (w *stepWriter) AddRow(r wire.UIRow) wire.Millis {
	w.lastRow++
	w.lastTS = max(w.lastTS+1, wire.Millis(w.now.UnixMilli()))
	r.ID, r.TS = w.lastRow, w.lastTS
	w.Emit(wire.MessageUpdated{
		Action: wire.RowCreated, Message: r, MonitorID: r.MonitorID, AgentID: r.AgentID, MessageID: r.MessageID,
	})
	return r.TS
}
