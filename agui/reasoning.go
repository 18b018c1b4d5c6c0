package agui

import (
	"slices"

	"github.com/everdesk/everdesk/internal/turntext"
	"github.com/everdesk/everdesk/wire"
)

// A turn has a row for each stretch of thinking between its tool calls. A row may grow until its stretch is
// finished. The number of a stretch is that of its row, also in a run that began in the middle of the turn.

// reasoning is the thinking of a turn as the client has it.
type reasoning struct {
	text turntext.Sent // as the state has it
	open int           // the stretch whose message was started and not ended; 0 if there is none
	rows int           // the rows of the turn
	// growing is the newest of them if it is not finished.
	growing wire.Millis
}

// next returns the number of the stretch to which new thinking belongs.
func (x *reasoning) next() int {
	if x.growing != 0 {
		return x.rows
	}
	return x.rows + 1
}

// addRow takes a row of the turn, or a new version of one.
func (x *reasoning) addRow(row wire.UIRow, change wire.RowChange) {
	if change == wire.RowCreated {
		x.rows++
	}
	if x.growing = 0; row.Partial != nil && *row.Partial {
		x.growing = row.TS
	}
}

// thoughts are the stretches of thinking of a turn in rows.
func thoughts(rows []wire.UIRow, turn wire.MessageID) (all []wire.UIRow) {
	for _, row := range rows {
		if row.MessageID == turn && row.Say == wire.SayReasoning {
			all = append(all, row)
		}
	}
	return all
}

// joinReasoning takes the thinking of the turn that the run begins to show.
func (r *Run) joinReasoning() {
	r.reasoning = reasoning{}
	for _, row := range thoughts(r.turns.rows(), r.turn) {
		r.reasoning.addRow(row, wire.RowCreated)
	}
	r.reasoning.text.Reset(r.turns.thinking(r.turn))
}

// thinking returns the thinking of a running turn so far.
func (t turnFinder) thinking(turn wire.MessageID) string {
	for _, a := range t.state.Agents() {
		if a.MessageID == turn && a.Status != wire.AgentStatusIdle {
			return t.state.AgentThinking(a.Role)
		}
	}
	return ""
}

// addReasoning sends a piece of thinking. If it changes what was sent, because the turn was restarted, all messages
// of the turn are sent again.
func (r *Run) addReasoning(data wire.AgentThinking) {
	more, ok := r.reasoning.text.More(data.Offset, data.Delta)
	if !ok || data.Delta == "" && data.Offset < r.reasoning.text.Units() {
		r.closeReasoning()
		r.closeText()
		r.reasoning.text.Reset(r.turns.thinking(r.turn))
		r.sendTurn(r.turn, r.text.String())
		return
	}
	if more == "" {
		return
	}
	r.closeText()
	r.reasoning.text.Add(more)
	if n := r.reasoning.next(); r.reasoning.open != n {
		r.closeReasoning()
		r.reasoning.open = n
		r.emit(event{Type: typeReasoningStart, MessageID: reasoningID(r.turn, n)})
		r.emit(event{Type: typeThoughtStart, MessageID: reasoningID(r.turn, n), Role: roleReasoning})
	}
	r.emit(event{Type: typeThoughtContent, MessageID: reasoningID(r.turn, r.reasoning.open), Delta: more})
}

func (r *Run) closeReasoning() {
	if id := reasoningID(r.turn, r.reasoning.open); r.reasoning.open != 0 {
		r.reasoning.open = 0
		r.emit(event{Type: typeThoughtEnd, MessageID: id})
		r.emit(event{Type: typeReasoningEnd, MessageID: id})
	}
}

// setThinking adds the thinking of a running turn that is in no finished row.
func setThinking(all []chat, rows []wire.UIRow, turn wire.MessageID, thinking string) []chat {
	var x reasoning
	var finished []string
	for _, row := range thoughts(rows, turn) {
		if x.addRow(row, wire.RowCreated); x.growing == 0 {
			finished = append(finished, row.Text)
		}
	}
	rest := turntext.Rest(thinking, finished)
	if rest == "" {
		return all
	}
	m := chat{ID: reasoningID(turn, x.next()), Role: roleReasoning, Content: &rest}
	if i := slices.IndexFunc(all, func(other chat) bool { return other.ID == m.ID }); i >= 0 {
		all[i] = m
		return all
	}
	return append(all, m)
}
