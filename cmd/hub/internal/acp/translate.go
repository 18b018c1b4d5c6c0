package acp

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/internal/turntext"
	"github.com/everdesk/everdesk/wire"
)

// translator turns the log of a session into updates.
type translator struct {
	send func(update)
	// desktop is the address of the session in a browser, and files that of its files.
	desktop string
	files   *url.URL
	// isOwn reports whether a message is one of this client, which it shows itself.
	isOwn func(wire.MessageID) bool
	// turns are the running turns whose text is shown, by agent.
	turns map[wire.AgentID]*turn
}

// turn is a running turn.
type turn struct {
	message wire.MessageID
	text    turntext.Sent
	calls   []call // the tool calls that run, the newest last
}

// call is a tool call.
type call struct {
	id, tool string
	input    json.RawMessage
}

func newTranslator(desktop string, files *url.URL, isOwn func(wire.MessageID) bool, send func(update)) *translator {
	return &translator{send: send, desktop: desktop, files: files, isOwn: isOwn, turns: map[wire.AgentID]*turn{}}
}

// replay sends the conversation so far.
func (t *translator) replay(s *wire.SessionState) {
	for _, row := range s.RecentMessages {
		t.row(row)
		if row.Type != wire.RowSay {
			continue
		}
		switch row.Say {
		case wire.SayText:
			t.sendText(updateAgent, row.Text)
		case wire.SayReasoning:
			t.sendText(updateThought, row.Text)
		case wire.SayTool:
			t.callRow(row)
		}
	}
	t.plan(s)
}

// restart takes a state that replaces events: it sends the text that was not sent of the turns that
// run, and forgets the others.
func (t *translator) restart(s *wire.SessionState) {
	running := map[wire.AgentID]*turn{}
	for _, a := range s.Agents {
		if a.Kind == wire.AgentTask || a.Status == wire.AgentStatusIdle || a.MessageID == "" {
			continue
		}
		known := t.turns[a.Role]
		if known == nil || known.message != a.MessageID {
			known = &turn{message: a.MessageID}
			known.text.Reset(shownText(a.Text, textOfRows(s.RecentMessages, a.MessageID))) // replayed, or seen before
		}
		running[a.Role] = known
		t.addText(known, 0, a.Text)
	}
	for role, ended := range t.turns {
		if running[role] == nil {
			t.addText(ended, 0, textOfRows(s.RecentMessages, ended.message))
		}
	}
	t.turns = running
	t.plan(s)
}

// shownText returns the part of the text of a running turn up to the end of that in rows. The state may not hold
// the first rows of the turn.
func shownText(text, rows string) string {
	if strings.HasPrefix(text, rows) {
		return rows
	}
	if i := strings.LastIndex(text, rows); i > 0 {
		return text[:i+len(rows)]
	}
	return rows
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

// event translates an event. s returns the state after it.
func (t *translator) event(data wire.ServerPayload, s func() wire.SessionState) {
	switch data := data.(type) {
	case wire.MessageAccepted:
		if !data.Duplicate && data.How != wire.TakenSteered {
			t.turns[data.AgentID] = &turn{message: data.MessageID}
		}
	case wire.MessageUpdated:
		if data.Action == wire.RowCreated {
			t.row(data.Message)
		}
	case wire.AgentThinking:
		if t.turns[data.AgentID] != nil {
			t.sendText(updateThought, data.Delta)
		}
	case wire.AgentResponse:
		if r := t.turns[data.AgentID]; r != nil {
			t.addText(r, data.Offset, data.Delta)
			if data.IsComplete && data.Joined == "" {
				delete(t.turns, data.AgentID)
			}
		}
	case wire.ToolProgress:
		if r := t.turns[data.AgentID]; r != nil {
			t.toolProgress(r, data)
		}
	case wire.SessionRenamed:
		t.send(update{Kind: updateInfo, Title: data.Title})
	case wire.PlanGenerated, wire.PlanModified, wire.TodoStarted, wire.TodoUpdated, wire.TodoCompleted, wire.TodoFailed:
		state := s()
		t.plan(&state)
	}
}

// addText sends what a piece of text adds. A text that changes, after the store lost the newest events,
// is sent from its beginning: clients cannot take back what they show.
func (t *translator) addText(r *turn, offset int, piece string) {
	if piece == "" {
		return
	}
	more, ok := r.text.More(offset, piece)
	if !ok {
		r.text.Reset("")
		more = "\n" + piece
	}
	r.text.Add(more)
	t.sendText(updateAgent, more)
}

// sendText sends a piece of text, unless it is empty: clients require the text of a block.
func (t *translator) sendText(kind, text string) {
	if text != "" {
		t.send(update{Kind: kind, Content: textBlock(text)})
	}
}

// row sends a message of a user that did not come from this client.
func (t *translator) row(row wire.UIRow) {
	if row.Say == wire.SayUserFeedback && row.ProgressStatus == nil && !t.isOwn(row.MessageID) {
		t.sendText(updateUser, row.Text)
	}
}

// toolProgress sends the beginning or the end of a tool call.
func (t *translator) toolProgress(r *turn, data wire.ToolProgress) {
	id := string(r.message) + "." + cmp.Or(data.ToolUseID, data.ToolName)
	if data.Status == wire.ToolRunning && slices.ContainsFunc(r.calls, func(c call) bool { return c.id == id }) {
		u := update{Kind: updateCallChange, ToolCallID: id, Status: "in_progress"}
		if data.Message != "" {
			u.Content = []toolContent{{"content", textBlock(data.Message)}}
		}
		t.send(u)
		return
	}
	if data.Status == wire.ToolRunning {
		r.calls = append(r.calls, call{id, data.ToolName, data.ToolInput})
		t.send(update{Kind: updateCall, ToolCallID: id, Title: data.ToolName, ToolKind: kindOf(data.ToolName), Status: "in_progress", RawInput: data.ToolInput})
		return
	}
	for i, running := range r.calls {
		if running.id == id {
			r.calls = append(r.calls[:i], r.calls[i+1:]...)
			t.send(t.callEnd(running, data.Status, data.Message))
			return
		}
	}
}

// callEnd returns the update for a call that has ended.
func (t *translator) callEnd(c call, status wire.ToolStatus, result string) update {
	u := update{Kind: updateCallChange, ToolCallID: c.id, Status: "completed"}
	if status == wire.ToolError {
		u.Status = "failed"
	}
	content := []toolContent{}
	if result != "" {
		content = append(content, toolContent{"content", textBlock(result)})
	}
	if link, ok := t.link(c); ok && status != wire.ToolError {
		content = append(content, toolContent{"content", link})
	}
	if len(content) > 0 {
		u.Content = content
	}
	return u
}

// link returns the link of a call, if it has one: windows are shown in the desktop, and files of the session
// are in the hub, not on the machine of the client.
func (t *translator) link(c call) (block, bool) {
	switch {
	case strings.HasPrefix(c.tool, "window:"):
		return block{Type: "resource_link", URI: t.desktop, Name: "Everdesk"}, true
	case c.tool == "storage:write", c.tool == "storage:read":
		var in struct {
			Path string `json:"path"`
		}
		if json.Unmarshal(c.input, &in) != nil || in.Path == "" {
			return block{}, false
		}
		return block{Type: "resource_link", URI: t.files.JoinPath(strings.Split(in.Path, "/")...).String(), Name: in.Path}, true
	}
	return block{}, false
}

// callRow sends a call of the past.
func (t *translator) callRow(row wire.UIRow) {
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
	id := string(row.MessageID) + "." + c.ID
	end := t.callEnd(call{id, c.Tool, c.Input}, c.Status, c.Result)
	end.Kind, end.Title, end.ToolKind, end.RawInput = updateCall, c.Tool, kindOf(c.Tool), c.Input
	t.send(end)
}

// lastCall returns the tool call of an agent that asks a question, or "".
func (t *translator) lastCall(agent wire.AgentID) string {
	if r := t.turns[agent]; r != nil && len(r.calls) > 0 {
		return r.calls[len(r.calls)-1].id
	}
	return ""
}

// kindOf returns the kind of a tool, by which clients choose an icon.
func kindOf(tool string) string {
	for _, k := range []struct{ part, kind string }{
		{"read", "read"},
		{"list", "read"},
		{"write", "edit"},
		{"edit", "edit"},
		{"update", "edit"},
		{"delete", "delete"},
		{"remove", "delete"},
		{"move", "move"},
		{"search", "search"},
		{"http", "fetch"},
		{"browser", "fetch"},
		{"run", "execute"},
		{"shell", "execute"},
		{"command", "execute"},
	} {
		if strings.Contains(tool, k.part) {
			return k.kind
		}
	}
	return "other"
}

// plan sends the todos, if there are any.
func (t *translator) plan(s *wire.SessionState) {
	if len(s.Todos) == 0 {
		return
	}
	entries := []planEntry{}
	for _, todo := range s.Todos {
		e := planEntry{Content: todo.Task, Priority: "medium", Status: "pending"}
		switch todo.Status {
		case wire.TodoInProgress, wire.TodoNeedsApproval, wire.TodoNeedsInput:
			e.Status = "in_progress"
		case wire.TodoStatusCompleted, wire.TodoSkipped, wire.TodoCancelled, wire.TodoStatusFailed:
			e.Status = "completed"
		}
		entries = append(entries, e)
	}
	t.send(update{Kind: updatePlan, Entries: &entries})
}
