package contextpool

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// How much people find of a turn when they come back.
const (
	// toolRows is how many calls of a turn have a row: no turn is to push all that
	// was said before it out of the conversation.
	toolRows = 60
	// rowBytes is how much a row has of a call's input and of its result, and
	// fullRowBytes how much when many turns end together.
	rowBytes     = 2 << 10
	fullRowBytes = 256
	// thinkingBytes is how much a row has of what an agent thought.
	thinkingBytes = 16 << 10
)

// row is one about a turn.
func (t *turn) row(say wire.Say, text string) wire.UIRow {
	r := wire.UIRow{
		Type: wire.RowSay, Say: say, Text: text, MonitorID: t.Monitor, AgentID: t.Role, MessageID: t.message(), WindowID: t.Window,
	}
	if h := t.threads[t.Agent]; t.Lasting && h != nil {
		h.link(&r)
	}
	return r
}

// What the row of a message that nobody answers has for an icon.
const (
	refusedIcon  = "circle-slash"
	takenOutIcon = "discard"
)

// rowRefused shows in the row of a message that nobody will answer it, to those
// who were not told or come later. When many are refused together, those that
// have no room in the step stay as they are.
func (p *Pool) rowRefused(id wire.MessageID, icon, reason string) {
	row, ok := p.step.Desk().Said(id)
	if !ok || p.step.Full() {
		return
	}
	row.ProgressStatus = &wire.ProgressStatus{Icon: icon, Text: cut(reason, reasonBytes)}
	p.step.Emit(wire.MessageUpdated{Action: wire.RowUpdated, Message: row, MonitorID: row.MonitorID, MessageID: id})
}

// toolRow is what a row says about a tool call that has ended.
type toolRow struct {
	ID     string          `json:"id,omitempty"`
	Tool   string          `json:"tool"`
	Status wire.ToolStatus `json:"status"`
	// Input is what the tool was given; its long values are cut.
	Input  json.RawMessage `json:"input,omitempty"`
	Result string          `json:"result,omitempty"`
	// DurationMS is not there if the call was done in the step that made it.
	DurationMS *int64 `json:"durationMs,omitempty"`
}

// rowTool adds the row of the nth call of a turn.
func (p *Pool) rowTool(t *turn, n int, r toolRow) {
	if n <= toolRows && !t.undone {
		r.Result = cut(r.Result, p.rowRoom())
		p.step.Row(t.row(wire.SayTool, string(encode(r))))
	}
}

// rowRoom is how long the input and the result in a row may be.
func (p *Pool) rowRoom() int {
	if p.step.Full() {
		return fullRowBytes
	}
	return rowBytes
}

// rowCalled adds the row of a call that has ended.
func (p *Pool) rowCalled(t *turn, n int, use tools.Call, s wire.ToolStatus, result string) {
	r := toolRow{ID: cut(use.ID, nameBytes), Tool: use.Tool, Status: s, Input: rowInput(use.Input, p.rowRoom()), Result: result}
	if began, ok := t.began[use.ID]; ok {
		r.DurationMS = new(max(p.step.Now().Sub(began).Milliseconds(), 0))
	}
	p.rowTool(t, n, r)
}

// rowOpen adds the rows of the calls that a turn leaves open at its end.
func (p *Pool) rowOpen(t *turn) {
	for _, c := range t.calls {
		if !c.Ended {
			p.rowTool(t, c.Number, toolRow{
				ID: cut(c.ID, nameBytes), Tool: c.Tool, Status: wire.ToolError,
				Input: rowInput(c.Input, p.rowRoom()), Result: mayHaveRun(c.Tool),
			})
		}
	}
}

// rowText shows what a turn said before it uses tools, so that it stays before
// them, or before it heard something else, so that who takes that back does not take
// it along. The conversation has it: it is not said again; the message is the newest,
// unless it is named. The caller keeps the turn.
func (p *Pool) rowText(t *turn, message uint64) {
	text := t.untold()
	if strings.TrimSpace(text) == "" || t.Kind == wire.AgentTask || t.Parts >= toolRows || p.step.Full() {
		return
	}
	row := t.row(wire.SayText, text)
	if message > 0 {
		row.ConversationHistoryIndex = new(int(message)) //nolint:gosec // a thread has fewer
	}
	p.step.Row(row)
	t.Told = t.said
	t.Parts++
}

// untold is what a turn said that has no row.
func (t *turn) untold() string {
	text := t.text.String()
	return text[len(firstUnits(text, t.Told)):]
}

// calls reports whether tools are used in what the conversation has become.
func calls(entries []providers.Entry) bool {
	return slices.ContainsFunc(entries, func(e providers.Entry) bool {
		return slices.ContainsFunc(e.Blocks, func(b providers.Block) bool { return b.Kind == providers.BlockToolCall })
	})
}

// think notes what an agent thought, until there is a row of it.
func (t *turn) think(text string) {
	if room := thinkingBytes + utf8.UTFMax - t.thoughts.Len(); room > 0 && text != "" {
		t.thoughts.WriteString(text[:min(len(text), room)])
		t.unshown = true
	}
}

// rowThoughts shows what an agent thought, in one row that grows until it is certain
// that the turn does not think the same again.
func (p *Pool) rowThoughts(t *turn, room int) {
	if t.unshown {
		p.growThoughts(t, room, true)
	}
}

// endThoughts shows what an agent thought for the last time: the row, if there is
// one, does not grow any more. The caller keeps the turn.
func (p *Pool) endThoughts(t *turn, room int) {
	if t.unshown {
		p.growThoughts(t, room, false)
	}
	if t.Thoughts > 0 {
		p.finishRow(t.Monitor, t.Thoughts)
		t.Thoughts = 0
	}
}

func (p *Pool) growThoughts(t *turn, room int, grows bool) {
	t.unshown, t.mulled = false, true
	row := t.row(wire.SayReasoning, cut(strings.ToValidUTF8(t.thoughts.String(), ""), room))
	if strings.TrimSpace(row.Text) == "" {
		return
	}
	var before *wire.UIRow
	if t.Thoughts > 0 {
		before = &wire.UIRow{Type: wire.RowSay, Say: wire.SayReasoning, TS: t.Thoughts, Partial: new(true)}
	}
	row, action := history.NextVersion(before, row, grows)
	if action == wire.RowCreated {
		row.TS = p.step.Row(row)
	} else {
		p.changeRow(row)
	}
	was := t.Thoughts
	if t.Thoughts = 0; grows {
		t.Thoughts = row.TS
	}
	if t.Thoughts != was {
		p.keepTurn(t)
	}
}

// finishRow ends a row that grew and of which nobody says more.
func (p *Pool) finishRow(monitor wire.MonitorID, ts wire.Millis) {
	row, ok := p.rowAt(monitor, ts)
	if ok && history.IsPartial(row) {
		p.changeRow(history.FinalVersion(row))
	}
}

// finishRows ends the rows that grew for turns that are not there any more.
func (p *Pool) finishRows() {
	for _, m := range p.step.Desk().Monitors() {
		for _, row := range p.step.Desk().Rows(m.MonitorID) {
			if history.IsPartial(row) && !slices.ContainsFunc(p.sorted(), func(t *turn) bool { return t.Thoughts == row.TS }) {
				p.changeRow(history.FinalVersion(row))
			}
		}
	}
}

// changeRow shows another version of a row.
func (p *Pool) changeRow(row wire.UIRow) {
	p.step.Emit(wire.MessageUpdated{
		Action: wire.RowUpdated, Message: row, MonitorID: row.MonitorID, AgentID: row.AgentID, MessageID: row.MessageID,
	})
}

// rowAt is a row, which the desktop may have forgotten.
func (p *Pool) rowAt(monitor wire.MonitorID, ts wire.Millis) (wire.UIRow, bool) {
	if row, ok := p.step.Desk().Row(ts); ok {
		return row, true
	}
	rows, err := p.step.Rows(monitor, ts, false)
	if err != nil || len(rows) == 0 {
		return wire.UIRow{}, false // it is over all the same
	}
	return rows[0], true
}

// mused is told that the turn, if it is cut off, goes on from here: what it
// thinks from now on has a row of its own. The caller keeps the turn.
func (p *Pool) mused(t *turn) {
	p.endThoughts(t, thinkingBytes)
	t.Mused = t.thought
	t.mulled = false
	t.thoughts.Reset()
}

// rowEnd adds the row that says how a turn ended.
func (p *Pool) rowEnd(t *turn, end wire.AgentResponse) {
	r := history.TurnEnd{
		Outcome: providers.Outcome(end.Outcome), DurationMS: end.DurationMS, Reason: cut(end.Reason, reasonBytes),
		TaskID: t.task(), ParentTaskID: wire.TaskID(t.Parent), Provider: t.Provider,
	}
	if t.Kind == wire.AgentTask {
		r.Task = cut(t.subject(), fullRowBytes)
	}
	if u := end.Usage; u != nil {
		r.InputTokens, r.OutputTokens, r.CacheReads, r.CacheWrites, r.CostUSD =
			u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheWriteTokens, u.CostUSD
	}
	p.step.Row(t.row(wire.SayAPIReqFinished, string(encode(r))))
}
