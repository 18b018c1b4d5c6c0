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
	title string
	last  wire.RowID // the newest row that was taken
}

// turn is a running turn.
type turn struct {
	message  wire.MessageID
	text     turntext.Sent
	saved    int             // the length of the text in rows, in UTF-16 units
	thinking string          // what was sent of the thinking that is in no finished row
	growing  wire.RowID      // the row of thinking that is not finished; 0 if there is none
	calls    []call          // the tool calls that run, the newest last
	begun    map[string]bool // the ids of all calls that were sent
}

func newTurn(message wire.MessageID) *turn { return &turn{message: message, begun: map[string]bool{}} }

// call is a tool call.
type call struct {
	id, tool string
	input    json.RawMessage
}

func newTranslator(desktop string, files *url.URL, isOwn func(wire.MessageID) bool, send func(update)) *translator {
	return &translator{send: send, desktop: desktop, files: files, isOwn: isOwn, turns: map[wire.AgentID]*turn{}}
}

// event translates an event. s returns the state after it.
func (t *translator) event(data wire.ServerPayload, s func() wire.SessionState) {
	switch data := data.(type) {
	case wire.MessageAccepted:
		if !data.Duplicate && data.How != wire.TakenSteered {
			t.turns[data.AgentID] = newTurn(data.MessageID)
		}
	case wire.MessageUpdated:
		t.liveRow(data)
	case wire.AgentThinking:
		if r := t.turns[data.AgentID]; r != nil {
			t.addThinking(r, data)
		}
	case wire.AgentResponse:
		if r := t.turns[data.AgentID]; r != nil {
			t.addText(r, data.Offset, data.Delta, func() string { return textOfAgent(s(), data.AgentID) })
			if data.IsComplete && data.Joined == "" {
				delete(t.turns, data.AgentID)
			}
		}
	case wire.ToolProgress:
		if r := t.turns[data.AgentID]; r != nil {
			t.toolProgress(r, data)
		}
	case wire.SessionRenamed:
		t.rename(data.Title)
	case wire.PlanGenerated, wire.PlanModified, wire.TodoStarted, wire.TodoUpdated, wire.TodoCompleted, wire.TodoFailed:
		state := s()
		t.plan(&state)
	}
}

// addText sends what a piece of text adds. A text that changes, after the store lost the newest events,
// is sent from its beginning: clients cannot take back what they show. whole returns it.
func (t *translator) addText(r *turn, offset int, piece string, whole func() string) {
	if piece == "" {
		return
	}
	more, ok := r.text.More(offset, piece)
	if ok {
		r.text.Add(more)
	} else {
		r.text.Reset(whole())
		more = "\n" + r.text.String()
	}
	t.sendText(updateAgent, more)
}

// addThinking sends a piece of thinking. A turn that is restarted thinks again from the beginning.
func (t *translator) addThinking(r *turn, data wire.AgentThinking) {
	if data.Delta == "" && data.Offset == 0 {
		r.thinking = ""
	}
	r.thinking += data.Delta
	t.sendText(updateThought, data.Delta)
}

// textOfAgent returns the text of the turn that an agent executes.
func textOfAgent(s wire.SessionState, agent wire.AgentID) string {
	for _, a := range s.Agents {
		if a.Role == agent {
			return a.Text
		}
	}
	return ""
}

// rename sends the title of the session, if it has changed.
func (t *translator) rename(title string) {
	if title != t.title {
		t.title = title
		t.send(update{Kind: updateInfo, Title: title})
	}
}

// sendText sends a piece of text, unless it is empty: clients require the text of a block.
func (t *translator) sendText(kind, text string) {
	if text != "" {
		t.send(update{Kind: kind, Content: textBlock(text)})
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
		r.calls, r.begun[id] = append(r.calls, call{id, data.ToolName, data.ToolInput}), true
		t.send(update{Kind: updateCall, ToolCallID: id, Title: data.ToolName, ToolKind: kindOf(data.ToolName), Status: "in_progress", RawInput: data.ToolInput})
		return
	}
	t.endCall(r, call{id, data.ToolName, data.ToolInput}, data.Status, data.Message)
}

// endCall sends the end of a call, which may have begun while the client was away.
func (t *translator) endCall(r *turn, c call, status wire.ToolStatus, result string) {
	i := slices.IndexFunc(r.calls, func(running call) bool { return running.id == c.id })
	switch {
	case i >= 0:
		t.send(t.callEnd(r.calls[i], status, result))
		r.calls = slices.Delete(r.calls, i, i+1)
	case !r.begun[c.id]:
		r.begun[c.id] = true
		t.send(t.wholeCall(c, status, result))
	}
}

// wholeCall returns the update for a call that begins and ends with it.
func (t *translator) wholeCall(c call, status wire.ToolStatus, result string) update {
	u := t.callEnd(c, status, result)
	u.Kind, u.Title, u.ToolKind, u.RawInput = updateCall, c.tool, kindOf(c.tool), c.input
	return u
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

// askingCall returns the tool call of an agent that asks a question, or "". It is the newest one if the question does
// not name one of those that run.
func (t *translator) askingCall(agent wire.AgentID, use string) string {
	r := t.turns[agent]
	if r == nil || len(r.calls) == 0 {
		return ""
	}
	for _, c := range r.calls {
		if c.id == string(r.message)+"."+use {
			return c.id
		}
	}
	return r.calls[len(r.calls)-1].id
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
