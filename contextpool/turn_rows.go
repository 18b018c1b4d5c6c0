package contextpool

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// turnRows writes the rows about turns that people see: text, thinking, tool calls and the end.
type turnRows struct {
	*services
	turns   *turnSet
	threads *threadSet
}

// dropUnkeptText removes published text that is not in the thread, which the next run produces
// again, and all published thinking.
func (tr *turnRows) dropUnkeptText(t *turn) {
	if t.textUnits > t.ThreadUnits {
		kept := utf16Prefix(t.text.String(), t.ThreadUnits)
		t.text.Reset()
		t.text.WriteString(kept)
		t.textUnits = utf16Len(kept)
		tr.step.Emit(wire.AgentResponse{Offset: t.textUnits, AgentID: t.Role, MonitorID: t.Monitor, MessageID: t.messageID()})
	}
	t.thinking.Reset()
	t.ThinkingKept, t.thinkingUnsaved, t.thinkingWritten = 0, false, false
	if t.thinkingUnits > 0 {
		t.thinkingUnits = 0
		tr.step.Emit(wire.AgentThinking{AgentID: t.Role, MonitorID: t.Monitor, MessageID: t.messageID()})
	}
}

// addTruncationRow adds the row saying that the model read only a part of the conversation. The
// thread itself is unchanged.
func (tr *turnRows) addTruncationRow(t *turn, s providers.Truncation) {
	if t.Condensing != nil {
		t.Condensing.LeftOut += s.Left
		tr.turns.store(t)
		return
	}
	if t.isTitling() {
		return
	}
	row := tr.threads.turnRow(t, wire.SaySlidingWindowTruncation, truncationText(s.Left))
	row.ContextTruncation = &wire.ContextTruncation{
		MessagesRemoved: s.Left, PrevContextTokens: s.Before, NewContextTokens: s.After,
	}
	tr.rows.AddRow(row)
}

func truncationText(left int) string {
	return fmt.Sprintf("The conversation was too long for the model: its %d oldest messages are left out.", left)
}

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

// toolRow is the JSON text of a row about an ended tool call.
type toolRow struct {
	ID   string `json:"id,omitempty"`
	Tool string `json:"tool"`
	// Title is the title of a tool of an MCP server.
	Title  string          `json:"title,omitempty"`
	Status wire.ToolStatus `json:"status"`
	// Input is the tool's input with long values truncated.
	Input  json.RawMessage `json:"input,omitempty"`
	Result string          `json:"result,omitempty"`
	// DurationMS is nil if the call was executed within one step.
	DurationMS *int64 `json:"durationMs,omitempty"`
}

// addToolRow adds the row of the nth call of a turn.
func (tr *turnRows) addToolRow(t *turn, n int, r toolRow) {
	if n <= toolRows && !t.rowRemoved {
		r.Result = truncate(r.Result, tr.rowLimit())
		tr.rows.AddRow(tr.threads.turnRow(t, wire.SayTool, string(encode(r))))
	}
}

// addCallRow adds the row of an ended call.
func (tr *turnRows) addCallRow(t *turn, n int, use tools.Call, s wire.ToolStatus, result string) {
	r := toolRow{ID: truncate(use.ID, nameBytes), Tool: use.Tool, Title: use.Title, Status: s, Input: rowInput(use.Input, tr.rowLimit()), Result: result}
	if began, ok := t.toolStarts[use.ID]; ok {
		r.DurationMS = new(max(tr.step.Now().Sub(began).Milliseconds(), 0))
	}
	tr.addToolRow(t, n, r)
}

// addOpenCallRows adds the rows of the calls that are open when a turn ends.
func (tr *turnRows) addOpenCallRows(t *turn) {
	for _, c := range t.calls {
		if !c.Ended {
			tr.addToolRow(t, c.Number, toolRow{
				ID: truncate(c.ID, nameBytes), Tool: c.Tool, Status: wire.ToolError,
				Input: rowInput(c.Input, tr.rowLimit()), Result: mayHaveRun(c.Tool),
			})
		}
	}
}

// addTextRow adds a row with the text that has no row yet, and links it to the agent's newest
// message in the thread h. It is called in the step that adds the text to the thread: a row that
// comes later, after a restart of the turn for example, would show the text of several messages
// and name only one of them, and rewinding to that row would leave the others to the model. The
// text is not produced again. The caller stores the turn.
func (tr *turnRows) addTextRow(t *turn, h *thread) {
	text := t.textWithoutRow()
	if strings.TrimSpace(text) == "" || t.Kind == wire.AgentTask || t.TextRows >= toolRows || tr.step.Full() {
		return
	}
	row := tr.threads.turnRow(t, wire.SayText, text)
	if id := h.newestAnswer(); id > 0 {
		row.ConversationHistoryIndex = new(int(id)) //nolint:gosec // message ids fit into an int
	}
	tr.rows.AddRow(row)
	t.RowUnits = t.textUnits
	t.TextRows++
}

// textWithoutRow returns the text that has no row yet.
func (t *turn) textWithoutRow() string {
	text := t.text.String()
	return text[len(utf16Prefix(text, t.RowUnits)):]
}

// inParagraph returns text, with the end of a paragraph before it if it is the first text after a message that
// was added to the turn: what follows answers that message, too, and must not continue a line. Text that comes
// after a row begins a row of its own.
func (t *turn) inParagraph(text string) string {
	if text == "" || t.RowUnits == t.textUnits || t.ParagraphAt == 0 || t.textUnits != t.ParagraphAt || strings.HasSuffix(t.text.String(), "\n\n") || strings.HasPrefix(text, "\n\n") {
		return text
	}
	return "\n\n" + strings.TrimLeft(text, " \n")
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
func (tr *turnRows) updateThinkingRow(t *turn, room int) {
	if t.thinkingUnsaved {
		tr.writeThinkingRow(t, room, true)
	}
}

// finishThinkingRow writes the thinking text for the last time and finishes the row. The caller
// stores the turn.
func (tr *turnRows) finishThinkingRow(t *turn, room int) {
	if t.thinkingUnsaved {
		tr.writeThinkingRow(t, room, false)
	}
	if t.ThinkingRow > 0 {
		tr.finishRow(t.Monitor, t.ThinkingRow)
		t.ThinkingRow = 0
	}
}

func (tr *turnRows) writeThinkingRow(t *turn, room int, grows bool) {
	t.thinkingUnsaved, t.thinkingWritten = false, true
	row := tr.threads.turnRow(t, wire.SayReasoning, truncate(strings.ToValidUTF8(t.thinking.String(), ""), room))
	if strings.TrimSpace(row.Text) == "" {
		return
	}
	var before *wire.UIRow
	if t.ThinkingRow > 0 {
		before = &wire.UIRow{Type: wire.RowSay, Say: wire.SayReasoning, TS: t.ThinkingRow, Partial: new(true)}
	}
	row, action := history.NextVersion(before, row, grows)
	if action == wire.RowCreated {
		row.TS = tr.rows.AddRow(row)
	} else {
		tr.updateRow(row)
	}
	was := t.ThinkingRow
	if t.ThinkingRow = 0; grows {
		t.ThinkingRow = row.TS
	}
	if t.ThinkingRow != was {
		tr.turns.store(t)
	}
}

// finishOrphanRows finishes the growing rows of turns that no longer exist.
func (tr *turnRows) finishOrphanRows() {
	for _, m := range tr.state.Desktop().Monitors() {
		for _, row := range tr.state.Desktop().Rows().On(m.MonitorID) {
			if history.IsPartial(row) && !slices.ContainsFunc(tr.turns.sorted(), func(t *turn) bool { return t.ThinkingRow == row.TS }) {
				tr.updateRow(history.FinalVersion(row))
			}
		}
	}
}

// commitThinking marks the thinking text so far as final, because a restart of the turn
// continues from here. Later thinking gets a row of its own. The caller stores the turn.
func (tr *turnRows) commitThinking(t *turn) {
	tr.finishThinkingRow(t, thinkingBytes)
	t.ThinkingKept = t.thinkingUnits
	t.thinkingWritten = false
	t.thinking.Reset()
}

// addEndRow adds the row about the end of a turn.
func (tr *turnRows) addEndRow(t *turn, end wire.AgentResponse) {
	r := history.TurnEnd{
		Outcome: providers.Outcome(end.Outcome), DurationMS: end.DurationMS, Reason: truncate(end.Reason, reasonBytes),
		TaskID: t.taskID(), ParentTaskID: wire.TaskID(t.Parent), Provider: t.Provider, Joined: t.joinedMessages(),
	}
	if t.Kind == wire.AgentTask {
		r.Task = truncate(t.title(), fullRowBytes)
	}
	if u := end.Usage; u != nil {
		r.InputTokens, r.OutputTokens, r.CacheReads, r.CacheWrites, r.CostUSD, r.CostUnknown =
			u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheWriteTokens, u.CostUSD, u.CostUnknown
	}
	tr.rows.AddRow(tr.threads.turnRow(t, wire.SayAPIReqFinished, string(encode(r))))
}
