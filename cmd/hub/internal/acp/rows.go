package acp

import (
	"encoding/json"
	"strings"

	"github.com/everdesk/everdesk/internal/turntext"
	"github.com/everdesk/everdesk/wire"
)

// A state has the texts of running turns and the newest rows of the conversation. Rows have what turns did until
// then, so a client that was away gets the rows since the last one that it knows, and then what the running
// turns have beyond their rows.

// restart takes a state that replaces events, and the rows down to [translator.firstMissing]. It sends what they
// have that was not sent, and what the turns that run have beyond them. A client that knows the rows, areKnown,
// gets only the latter.
func (t *translator) restart(s *wire.SessionState, rows []wire.UIRow, areKnown bool) {
	rows = t.missing(rows)
	before := t.turns
	t.turns = map[wire.AgentID]*turn{}
	for _, a := range s.Agents {
		if a.Kind != wire.AgentTask && a.Status != wire.AgentStatusIdle && a.MessageID != "" {
			t.turns[a.Role] = t.continueTurn(before[a.Role], a, textBefore(a.Text, textOfRows(rows, a.MessageID)))
		}
	}
	send := t.send
	if areKnown {
		t.send = func(update) {}
	}
	for _, row := range rows {
		t.row(row, turnWith(row.MessageID, t.turns, before))
	}
	t.send = send
	for role, r := range before {
		if t.turns[role] == nil || t.turns[role].message != r.message {
			t.endCalls(r)
		}
	}
	for _, a := range s.Agents {
		if r := t.turns[a.Role]; r != nil {
			t.addText(r, 0, a.Text, func() string { return a.Text })
			t.addRest(r, a.Thinking, s.RecentMessages)
		}
	}
	t.rename(s.Title)
	t.plan(s)
}

// continueTurn returns the turn of an agent. One that the client does not know begins with the rows that it misses,
// before which it has a text.
func (t *translator) continueTurn(known *turn, a wire.AgentState, text string) *turn {
	if known == nil || known.message != a.MessageID {
		known = newTurn(a.MessageID)
		known.text.Reset(text)
		known.saved = known.text.Units()
	} else if _, continues := known.text.More(0, a.Text); !continues {
		known.saved = turntext.Units(text)
		t.addText(known, 0, a.Text, func() string { return a.Text })
	}
	return known
}

// firstMissing returns the id of the first row that the client may miss a part of.
func (t *translator) firstMissing() wire.RowID {
	first := t.last + 1
	for _, r := range t.turns {
		if r.growing != 0 {
			first = min(first, r.growing)
		}
	}
	return first
}

// missing returns the rows that the client misses at least a part of, and records them. Rows of the first sessions
// have no ids.
func (t *translator) missing(rows []wire.UIRow) []wire.UIRow {
	last := t.last
	var all []wire.UIRow
	for _, row := range rows {
		r := turnWith(row.MessageID, t.turns)
		if row.ID > last || last == 0 || r != nil && r.growing == row.ID {
			all = append(all, row)
		}
		t.last = max(t.last, row.ID)
	}
	return all
}

func turnWith(message wire.MessageID, all ...map[wire.AgentID]*turn) *turn {
	for _, turns := range all {
		for _, r := range turns {
			if r.message == message {
				return r
			}
		}
	}
	return nil
}

// textBefore returns the text of a running turn before that in rows. The first rows of the turn may be missing.
func textBefore(text, rows string) string {
	if i := strings.LastIndex(text, rows); i > 0 && !strings.HasPrefix(text, rows) {
		return text[:i]
	}
	return ""
}

// textOfRows returns the text of a turn as far as it is in rows.
func textOfRows(rows []wire.UIRow, message wire.MessageID) string {
	var text strings.Builder
	for _, row := range rows {
		if row.MessageID == message && row.Say == wire.SayText {
			text.WriteString(row.Text)
		}
	}
	return text.String()
}

// liveRow takes a row that was written while the client is there. Of the turns that run it has the texts and
// calls already.
func (t *translator) liveRow(data wire.MessageUpdated) {
	row := data.Message
	t.last = max(t.last, row.ID)
	r := turnWith(row.MessageID, t.turns)
	switch {
	case row.Say == wire.SayUserFeedback && data.Action == wire.RowCreated:
		t.userRow(row)
	case r == nil || isOfTask(row):
	case row.Say == wire.SayText && data.Action == wire.RowCreated:
		t.textRow(row, r)
	case row.Say == wire.SayReasoning:
		r.setGrowing(row)
	}
}

// setGrowing records whether the newest row of thinking grows. What follows a finished one has a row of its own.
func (r *turn) setGrowing(row wire.UIRow) {
	if r.growing = row.ID; row.Partial == nil || !*row.Partial {
		r.growing, r.thinking = 0, ""
	}
}

// isOfTask reports whether a row is of a task that an agent delegated, which is not shown.
func isOfTask(row wire.UIRow) bool {
	return strings.HasPrefix(string(row.AgentID), string(wire.AgentTask)+"-")
}

// row sends what a row has beyond what was sent of its turn, which is nil if the client knows nothing of it.
func (t *translator) row(row wire.UIRow, r *turn) {
	switch {
	case row.Type != wire.RowSay || isOfTask(row):
	case row.Say == wire.SayUserFeedback:
		t.userRow(row)
	case row.Say == wire.SayText && r == nil:
		t.sendText(updateAgent, row.Text)
	case row.Say == wire.SayText:
		t.textRow(row, r)
	case row.Say == wire.SayReasoning:
		t.thinkingRow(row, r)
	case row.Say == wire.SayTool:
		t.callRow(row, r)
	}
}

// userRow sends a message of a user that did not come from this client.
func (t *translator) userRow(row wire.UIRow) {
	if row.ProgressStatus == nil && !t.isOwn(row.MessageID) {
		t.sendText(updateUser, row.Text)
	}
}

func (t *translator) textRow(row wire.UIRow, r *turn) {
	begin := r.saved
	r.saved += turntext.Units(row.Text)
	t.addText(r, begin, row.Text, func() string { return row.Text })
}

// thinkingRow sends a row of thinking. Rows that are not finished grow.
func (t *translator) thinkingRow(row wire.UIRow, r *turn) {
	if r == nil {
		t.sendText(updateThought, row.Text)
		return
	}
	t.sendThinking(r, row.Text)
	r.setGrowing(row)
}

// sendThinking sends what a stretch of thinking adds to what was sent of it.
func (t *translator) sendThinking(r *turn, text string) {
	more, continues := strings.CutPrefix(text, r.thinking)
	switch {
	case strings.HasPrefix(r.thinking, text):
		return
	case !continues:
		more = "\n" + text
	}
	r.thinking = text
	t.sendText(updateThought, more)
}

// addRest sends the thinking of a running turn that is in no finished row.
func (t *translator) addRest(r *turn, thinking string, rows []wire.UIRow) {
	var finished []string
	for _, row := range rows {
		if row.MessageID == r.message && row.Say == wire.SayReasoning && row.ID != r.growing {
			finished = append(finished, row.Text)
		}
	}
	t.sendThinking(r, turntext.Rest(thinking, finished))
}

// endCalls sends the end of the calls of a turn that has ended. The calls of long turns have no rows.
func (t *translator) endCalls(r *turn) {
	for _, c := range r.calls {
		t.send(t.callEnd(c, wire.ToolComplete, ""))
	}
	r.calls = nil
}

// callRow sends a call that has ended.
func (t *translator) callRow(row wire.UIRow, r *turn) {
	var c struct {
		ID     string          `json:"id"`
		Tool   string          `json:"tool"`
		Status wire.ToolStatus `json:"status"`
		Input  json.RawMessage `json:"input"`
		Result string          `json:"result"`
	}
	if json.Unmarshal([]byte(row.Text), &c) != nil || c.ID == "" {
		return
	}
	done := call{string(row.MessageID) + "." + c.ID, c.Tool, c.Input}
	if r == nil {
		t.send(t.wholeCall(done, c.Status, c.Result))
		return
	}
	t.endCall(r, done, c.Status, c.Result)
}
