package agui

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// chat is a message of a conversation as clients get it.
type chat struct {
	ID         string     `json:"id"`
	Role       string     `json:"role"`
	Content    *string    `json:"content,omitempty"` // nil in messages with tool calls
	ToolCalls  []toolCall `json:"toolCalls,omitempty"`
	ToolCallID string     `json:"toolCallId,omitempty"`

	raw json.RawMessage // what the client sent, unless nil
}

// MarshalJSON implements [json.Marshaler].
func (m chat) MarshalJSON() ([]byte, error) {
	if m.raw != nil {
		return m.raw, nil
	}
	type plain chat
	return json.Marshal(plain(m))
}

// text returns the content of a message if it is a text, or nil.
func (m *chat) text() *string {
	if m.raw == nil {
		return m.Content
	}
	var sent struct {
		Content *string `json:"content"`
	}
	if json.Unmarshal(m.raw, &sent) != nil {
		return nil // it has parts
	}
	return sent.Content
}

// size returns about how many bytes a message has.
func (m *chat) size() int {
	n := 200 + len(m.raw) // names and ids
	if m.Content != nil {
		n += len(*m.Content)
	}
	for _, c := range m.ToolCalls {
		n += len(c.Function.Arguments)
	}
	return n
}

// turn returns the turn in which an agent wrote a message, by the ids of the message, or "".
func (m *chat) turn() wire.MessageID {
	switch m.Role {
	case roleTool:
		return turnOfCall(m.ToolCallID)
	case roleReasoning:
		return turnOfCall(string(turnOfCall(m.ID)))
	case roleAssistant:
		return turnOfCall(m.ID)
	}
	return ""
}

type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function toolFunction `json:"function"`
}

type toolFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func textID(turn wire.MessageID) string             { return string(turn) + ".text" }
func callID(turn wire.MessageID, use string) string { return string(turn) + "." + use }
func resultID(call string) string                   { return call + ".result" }
func reasoningID(turn wire.MessageID, n int) string {
	return string(turn) + ".reasoning." + strconv.Itoa(n)
}

func belongsTo(turn wire.MessageID, id string) bool { return strings.HasPrefix(id, string(turn)+".") }

// turnOf returns the turn of a message that an agent wrote, by its id, or "".
func turnOf(id string) wire.MessageID {
	if turn, ok := strings.CutSuffix(id, ".text"); ok {
		return wire.MessageID(turn)
	}
	if call, ok := strings.CutSuffix(id, ".result"); ok {
		return turnOfCall(call)
	}
	return ""
}

// rowCall is the text of a row about a tool call.
type rowCall struct {
	ID     string          `json:"id"`
	Tool   string          `json:"tool"`
	Input  json.RawMessage `json:"input"`
	Result string          `json:"result"`
}

// chatOf returns the messages of rows, the oldest first. A turn has a row for each stretch of text
// between its tool calls; its text is one message, at the place of the first. The end of the text of a
// running turn is not in rows yet.
func chatOf(rows []wire.UIRow) []chat {
	all := []chat{} // clients reject null
	thoughts, texts := map[wire.MessageID]int{}, map[wire.MessageID]int{}
	for _, row := range rows {
		if row.MessageID == "" {
			continue
		}
		switch row.Say {
		case wire.SayUserFeedback:
			if !isRefused(&row) {
				all = append(all, chat{ID: string(row.MessageID), Role: roleUser, Content: new(row.Text)})
			}
		case wire.SayReasoning:
			thoughts[row.MessageID]++
			all = append(all, chat{ID: reasoningID(row.MessageID, thoughts[row.MessageID]), Role: roleReasoning, Content: new(row.Text)})
		case wire.SayTool:
			all = append(all, chatOfCall(row)...)
		case wire.SayText:
			if i, ok := texts[row.MessageID]; ok {
				*all[i].Content += row.Text
				continue
			}
			texts[row.MessageID] = len(all)
			all = append(all, chat{ID: textID(row.MessageID), Role: roleAssistant, Content: new(row.Text)})
		}
	}
	return all
}

// isRefused reports whether the row of a user's message says that no agent gets the message.
func isRefused(row *wire.UIRow) bool {
	return row.ProgressStatus != nil && row.ProgressStatus.Icon != "reply"
}

// textOfRows returns the text of a turn as far as it is in rows.
func textOfRows(rows []wire.UIRow, turn wire.MessageID) string {
	for _, m := range chatOf(rows) {
		if m.ID == textID(turn) {
			return *m.Content
		}
	}
	return ""
}

// chatOfCall returns the two messages of a call that has ended.
func chatOfCall(row wire.UIRow) []chat {
	var c rowCall
	if json.Unmarshal([]byte(row.Text), &c) != nil || c.ID == "" {
		return nil
	}
	id := callID(row.MessageID, c.ID)
	name := strings.TrimPrefix(c.Tool, frontendPrefix)
	return []chat{
		{ID: id, Role: roleAssistant, ToolCalls: []toolCall{{ID: id, Type: "function", Function: toolFunction{Name: name, Arguments: arguments(c.Input)}}}},
		{ID: resultID(id), Role: roleTool, ToolCallID: id, Content: new(c.Result)},
	}
}

// arguments returns the input of a call as the text of a JSON object.
func arguments(input json.RawMessage) string {
	if len(input) == 0 {
		return "{}"
	}
	return string(input)
}

// conversation returns the messages of a monitor for a client that already has some of them. A
// client keeps the place of a message whose id it knows, so a user's message that it created itself
// must have the client's id: it is the one before the first answer to it.
func conversation(turns turnFinder, known []chat) []chat {
	rows := turns.rows()
	all := chatOf(rows)
	for _, a := range turns.state.Agents() {
		if a.MonitorID == turns.monitor && a.MessageID != "" && a.Status != wire.AgentStatusIdle {
			all = setThinking(all, rows, a.MessageID, turns.thinking(a.MessageID))
			all = setText(all, a.MessageID, turns.state.AgentText(a.Role))
		}
	}
	names := map[string]string{}
	user := ""
	for _, m := range known {
		if m.Role == roleUser {
			user = m.ID
		} else if turn := turnOf(m.ID); turn != "" && user != "" {
			names[string(turn)], user = user, ""
		}
	}
	for i, m := range all {
		if name := names[m.ID]; m.Role == roleUser && name != "" {
			all[i].ID = name
		}
	}
	return withOlder(known, all, cutTurn(rows))
}

// setText sets the text of a turn, which stays where it is if the turn has one already.
func setText(all []chat, turn wire.MessageID, text string) []chat {
	if text == "" {
		return all
	}
	for i := range all {
		if all[i].ID == textID(turn) {
			all[i].Content = new(text)
			return all
		}
	}
	return append(all, chat{ID: textID(turn), Role: roleAssistant, Content: new(text)})
}

// turnConversation returns the messages of a client with those of one turn as rows have them, at
// the end.
func turnConversation(rows []wire.UIRow, known []chat, turn wire.MessageID, thinking, text string) []chat {
	all := []chat{}                // clients reject null
	results := map[string]string{} // ids of the results that the client added itself, by call
	for _, m := range known {
		if m.ID != "" && !belongsTo(turn, m.ID) && !belongsTo(turn, m.ToolCallID) {
			all = append(all, m)
		}
		if m.ToolCallID != "" {
			results[m.ToolCallID] = m.ID
		}
	}
	stored := map[string]bool{}
	for _, m := range chatOf(rows) {
		if !belongsTo(turn, m.ID) {
			continue
		}
		stored[m.ID] = true
		if own := results[m.ToolCallID]; own != "" {
			m.ID = own
		}
		all = append(all, m)
	}
	// A call of the frontend's tool is stored when the agent has taken its result.
	for _, m := range known {
		call := cmp.Or(m.ToolCallID, m.ID)
		if belongsTo(turn, call) && results[call] != "" && !stored[call] {
			all = append(all, m)
		}
	}
	return setText(setThinking(all, rows, turn, thinking), turn, text)
}
