package agui

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

// turnFinder finds the turns of a monitor, and what became of their messages, in the state of the session.
type turnFinder struct {
	state   *desktop.State
	monitor wire.MonitorID
	older   []wire.UIRow // rows before those of the state, see [Run.AddRows]
}

// rows returns the rows of the monitor, oldest first.
func (t turnFinder) rows() []wire.UIRow { return slices.Concat(t.older, t.state.Rows().On(t.monitor)) }

// userRow returns the row of a user's message.
func (t turnFinder) userRow(message wire.MessageID) (wire.UIRow, bool) {
	rows := t.rows()
	if i := userRow(rows, message); i >= 0 {
		return rows[i], true
	}
	return wire.UIRow{}, false
}

// userRow returns the index of the row of a user's message, or -1.
func userRow(rows []wire.UIRow, message wire.MessageID) int {
	return slices.IndexFunc(rows, func(r wire.UIRow) bool { return r.MessageID == message && r.Say == wire.SayUserFeedback })
}

// running returns the turn of the main agent of the monitor, or that of the plan, if one runs.
func (t turnFinder) running() wire.MessageID {
	plan := t.ofPlan()
	running := wire.MessageID("")
	for _, a := range t.state.Agents() {
		switch {
		case a.MonitorID != t.monitor || a.Status == wire.AgentStatusIdle || a.MessageID == "":
		case a.Kind == wire.AgentMain:
			return a.MessageID
		case a.MessageID == plan:
			running = plan
		}
	}
	return running
}

// ofPlan returns the turn that makes and executes the plan of the session, or "".
func (t turnFinder) ofPlan() wire.MessageID {
	if plan := t.state.Snapshot().Plan; plan != nil {
		return plan.MessageID
	}
	return ""
}

// refusal returns why a message was not taken, for example because a user removed it from the queue.
func (t turnFinder) refusal(message wire.MessageID) (reason string, refused bool) {
	row, ok := t.userRow(message)
	if !ok || !isRefused(&row) {
		return "", false
	}
	return row.ProgressStatus.Text, true
}

// joined returns the turn of the main agent that a message joined, or "". Such a message neither waits nor was
// refused, and no rows of an agent are about it: they are about the message that began the turn.
func (t turnFinder) joined(message wire.MessageID) wire.MessageID {
	rows := t.rows()
	at := userRow(rows, message)
	if at < 0 || isRefused(&rows[at]) || t.isQueued(message) || message == t.ofPlan() || t.began(message) {
		return ""
	}
	turn := wire.MessageID("")
	for _, row := range rows[at+1:] {
		if row.Say == wire.SayUserFeedback || !isOfMainAgent(&row) {
			continue
		}
		turn = row.MessageID
		break
	}
	if turn == "" {
		turn = t.running()
	}
	if turn == message || userRow(rows, turn) > at {
		return ""
	}
	return turn
}

// began reports whether a message began a turn. A message that waited for another turn is followed by rows of that one
// before it has its own.
func (t turnFinder) began(message wire.MessageID) bool {
	return slices.ContainsFunc(t.state.Agents(), func(a wire.AgentState) bool { return a.MessageID == message && a.Status != wire.AgentStatusIdle }) ||
		slices.ContainsFunc(t.rows(), func(row wire.UIRow) bool { return row.MessageID == message && isOfMainAgent(&row) })
}

// isOfMainAgent reports whether a row is of the turn of a main agent.
func isOfMainAgent(row *wire.UIRow) bool {
	return row.MessageID != "" && strings.HasPrefix(string(row.AgentID), string(wire.AgentMain)+"-")
}

// isQueued reports whether a message waits for its agent.
func (t turnFinder) isQueued(message wire.MessageID) bool {
	view := t.state.Snapshot()
	_, isQueued := FindMessage(&view, message)
	return isQueued
}

// isAsked reports whether a turn waits for the answer to a question.
func (t turnFinder) isAsked(turn wire.MessageID) bool {
	view := t.state.Snapshot()
	for _, q := range questionsOf(&view) {
		if q.turn == turn || turnOfAgent(&view, q.agent) == turn {
			return true
		}
	}
	return false
}

// end returns how a turn ended, from its last row.
func (t turnFinder) end(turn wire.MessageID) (wire.AgentResponse, bool) {
	for _, row := range t.rows() {
		if row.MessageID != turn || row.Say != wire.SayAPIReqFinished {
			continue
		}
		var end struct {
			Outcome wire.Outcome `json:"outcome"`
			Reason  string       `json:"reason"`
		}
		_ = json.Unmarshal([]byte(row.Text), &end) // an unknown outcome is success
		return wire.AgentResponse{MessageID: turn, IsComplete: true, Outcome: end.Outcome, Reason: end.Reason}, true
	}
	return wire.AgentResponse{}, false
}
