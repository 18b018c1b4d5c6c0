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

// Bounds of the rows of a turn.
const (
	// toolRows bounds the rows of tool calls per turn, so that one turn does not push the
	// earlier conversation out of the desktop state.
	toolRows = 60
	// rowBytes bounds the input and the result of a call in a row, and fullRowBytes does so
	// when the step is full.
	rowBytes     = 2 << 10
	fullRowBytes = 256
	// thinkingBytes bounds the thinking text in a row.
	thinkingBytes = 16 << 10
)

// row returns a row about the turn.
func (t *turn) row(say wire.Say, text string) wire.UIRow {
	r := wire.UIRow{
		Type: wire.RowSay, Say: say, Text: text, MonitorID: t.Monitor, AgentID: t.Role, MessageID: t.messageID(), WindowID: t.Window,
	}
	if h := t.threads[t.Agent]; t.Lasting && h != nil {
		h.linkRow(&r)
	}
	return r
}

// Icons of rows of messages that are not answered.
const (
	refusedIcon = "circle-slash"
	removedIcon = "discard"
)

// markRowRefused marks the row of a message that will not be answered, for tabs that did not
// get or missed the reply. If the step is full, the row stays unmarked.
func (p *Pool) markRowRefused(id wire.MessageID, icon, reason string) {
	row, ok := p.state.Desktop().Rows().UserRow(id)
	if !ok || p.step.Full() {
		return
	}
	row.ProgressStatus = &wire.ProgressStatus{Icon: icon, Text: truncate(reason, reasonBytes)}
	p.step.Emit(wire.MessageUpdated{Action: wire.RowUpdated, Message: row, MonitorID: row.MonitorID, MessageID: id})
}

// toolRow is the JSON text of a row about an ended tool call.
type toolRow struct {
	ID     string          `json:"id,omitempty"`
	Tool   string          `json:"tool"`
	Status wire.ToolStatus `json:"status"`
	// Input is the tool's input with long values truncated.
	Input  json.RawMessage `json:"input,omitempty"`
	Result string          `json:"result,omitempty"`
	// DurationMS is nil if the call was executed within one step.
	DurationMS *int64 `json:"durationMs,omitempty"`
}

// addToolRow adds the row of the nth call of a turn.
func (p *Pool) addToolRow(t *turn, n int, r toolRow) {
	if n <= toolRows && !t.rowRemoved {
		r.Result = truncate(r.Result, p.rowLimit())
		p.rows.AddRow(t.row(wire.SayTool, string(encode(r))))
	}
}

// rowLimit returns the maximum length of the input and of the result in a row.
func (p *Pool) rowLimit() int {
	if p.step.Full() {
		return fullRowBytes
	}
	return rowBytes
}

// addCallRow adds the row of an ended call.
func (p *Pool) addCallRow(t *turn, n int, use tools.Call, s wire.ToolStatus, result string) {
	r := toolRow{ID: truncate(use.ID, nameBytes), Tool: use.Tool, Status: s, Input: rowInput(use.Input, p.rowLimit()), Result: result}
	if began, ok := t.toolStarts[use.ID]; ok {
		r.DurationMS = new(max(p.step.Now().Sub(began).Milliseconds(), 0))
	}
	p.addToolRow(t, n, r)
}

// addOpenCallRows adds the rows of the calls that are open when a turn ends.
func (p *Pool) addOpenCallRows(t *turn) {
	for _, c := range t.calls {
		if !c.Ended {
			p.addToolRow(t, c.Number, toolRow{
				ID: truncate(c.ID, nameBytes), Tool: c.Tool, Status: wire.ToolError,
				Input: rowInput(c.Input, p.rowLimit()), Result: mayHaveRun(c.Tool),
			})
		}
	}
}

// addTextRow adds a row with the text that has no row yet. It is called before tool calls, so
// that the text stays before them, and before a message joins, so that rewinding to that
// message does not remove the text. The text is in the thread already and is not produced
// again. message is the id of its message in the thread; 0 means the newest. The caller stores
// the turn.
func (p *Pool) addTextRow(t *turn, message uint64) {
	text := t.textWithoutRow()
	if strings.TrimSpace(text) == "" || t.Kind == wire.AgentTask || t.TextRows >= toolRows || p.step.Full() {
		return
	}
	row := t.row(wire.SayText, text)
	if message > 0 {
		row.ConversationHistoryIndex = new(int(message)) //nolint:gosec // message ids fit into an int
	}
	p.rows.AddRow(row)
	t.RowUnits = t.textUnits
	t.TextRows++
}

// textWithoutRow returns the text that has no row yet.
func (t *turn) textWithoutRow() string {
	text := t.text.String()
	return text[len(utf16Prefix(text, t.RowUnits)):]
}

// hasToolCalls reports whether the entries contain tool calls.
func hasToolCalls(entries []providers.Entry) bool {
	return slices.ContainsFunc(entries, func(e providers.Entry) bool {
		return slices.ContainsFunc(e.Blocks, func(b providers.Block) bool { return b.Kind == providers.BlockToolCall })
	})
}

// bufferThinking appends to the thinking text that will be in the next row.
func (t *turn) bufferThinking(text string) {
	if room := thinkingBytes + utf8.UTFMax - t.thinking.Len(); room > 0 && text != "" {
		t.thinking.WriteString(text[:min(len(text), room)])
		t.thinkingUnsaved = true
	}
}

// updateThinkingRow writes the unsaved thinking text into the turn's growing row. The row grows
// until commitThinking: after that a restart of the turn does not produce the same thinking again.
func (p *Pool) updateThinkingRow(t *turn, room int) {
	if t.thinkingUnsaved {
		p.writeThinkingRow(t, room, true)
	}
}

// finishThinkingRow writes the thinking text for the last time and finishes the row. The caller
// stores the turn.
func (p *Pool) finishThinkingRow(t *turn, room int) {
	if t.thinkingUnsaved {
		p.writeThinkingRow(t, room, false)
	}
	if t.ThinkingRow > 0 {
		p.finishRow(t.Monitor, t.ThinkingRow)
		t.ThinkingRow = 0
	}
}

func (p *Pool) writeThinkingRow(t *turn, room int, grows bool) {
	t.thinkingUnsaved, t.thinkingWritten = false, true
	row := t.row(wire.SayReasoning, truncate(strings.ToValidUTF8(t.thinking.String(), ""), room))
	if strings.TrimSpace(row.Text) == "" {
		return
	}
	var before *wire.UIRow
	if t.ThinkingRow > 0 {
		before = &wire.UIRow{Type: wire.RowSay, Say: wire.SayReasoning, TS: t.ThinkingRow, Partial: new(true)}
	}
	row, action := history.NextVersion(before, row, grows)
	if action == wire.RowCreated {
		row.TS = p.rows.AddRow(row)
	} else {
		p.updateRow(row)
	}
	was := t.ThinkingRow
	if t.ThinkingRow = 0; grows {
		t.ThinkingRow = row.TS
	}
	if t.ThinkingRow != was {
		p.storeTurn(t)
	}
}

// finishRow marks a growing row as finished.
func (p *Pool) finishRow(monitor wire.MonitorID, ts wire.Millis) {
	row, ok := p.findRow(monitor, ts)
	if ok && history.IsPartial(row) {
		p.updateRow(history.FinalVersion(row))
	}
}

// finishOrphanRows finishes the growing rows of turns that no longer exist.
func (p *Pool) finishOrphanRows() {
	for _, m := range p.state.Desktop().Monitors() {
		for _, row := range p.state.Desktop().Rows().On(m.MonitorID) {
			if history.IsPartial(row) && !slices.ContainsFunc(p.sortedTurns(), func(t *turn) bool { return t.ThinkingRow == row.TS }) {
				p.updateRow(history.FinalVersion(row))
			}
		}
	}
}

// updateRow publishes a new version of a row.
func (p *Pool) updateRow(row wire.UIRow) {
	p.step.Emit(wire.MessageUpdated{
		Action: wire.RowUpdated, Message: row, MonitorID: row.MonitorID, AgentID: row.AgentID, MessageID: row.MessageID,
	})
}

// findRow returns a row, from the store if the desktop state has dropped it.
func (p *Pool) findRow(monitor wire.MonitorID, ts wire.Millis) (wire.UIRow, bool) {
	if row, ok := p.state.Desktop().Rows().Row(ts); ok {
		return row, true
	}
	rows, err := p.rows.RowsSince(monitor, ts, false)
	if err != nil || len(rows) == 0 {
		return wire.UIRow{}, false // the question or turn ends without its row
	}
	return rows[0], true
}

// commitThinking marks the thinking text so far as final, because a restart of the turn
// continues from here. Later thinking gets a row of its own. The caller stores the turn.
func (p *Pool) commitThinking(t *turn) {
	p.finishThinkingRow(t, thinkingBytes)
	t.ThinkingKept = t.thinkingUnits
	t.thinkingWritten = false
	t.thinking.Reset()
}

// addEndRow adds the row about the end of a turn.
func (p *Pool) addEndRow(t *turn, end wire.AgentResponse) {
	r := history.TurnEnd{
		Outcome: providers.Outcome(end.Outcome), DurationMS: end.DurationMS, Reason: truncate(end.Reason, reasonBytes),
		TaskID: t.taskID(), ParentTaskID: wire.TaskID(t.Parent), Provider: t.Provider,
	}
	if t.Kind == wire.AgentTask {
		r.Task = truncate(t.title(), fullRowBytes)
	}
	if u := end.Usage; u != nil {
		r.InputTokens, r.OutputTokens, r.CacheReads, r.CacheWrites, r.CostUSD =
			u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheWriteTokens, u.CostUSD
	}
	p.rows.AddRow(t.row(wire.SayAPIReqFinished, string(encode(r))))
}
