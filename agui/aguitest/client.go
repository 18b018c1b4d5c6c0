package aguitest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Message is a message of the conversation.
type Message struct {
	ID         string          `json:"id"`
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content,omitempty"`
	ToolCalls  []ToolCall      `json:"toolCalls,omitempty"`
	ToolCallID string          `json:"toolCallId,omitempty"`
}

// Text returns the content of a message if it is a text.
func (m Message) Text() string {
	var text string
	_ = json.Unmarshal(m.Content, &text) // otherwise it has none
	return text
}

// ToolCall is a tool call of a message.
type ToolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// Interrupt is a question at the end of a run.
type Interrupt struct {
	ID         string `json:"id"`
	Reason     string `json:"reason"`
	Message    string `json:"message"`
	ToolCallID string `json:"toolCallId"`
	// ResponseSchema describes the answer.
	ResponseSchema json.RawMessage `json:"responseSchema"`
}

// Event is an event of a run.
type Event struct {
	Type         string          `json:"type"`
	ThreadID     string          `json:"threadId"`
	RunID        string          `json:"runId"`
	MessageID    string          `json:"messageId"`
	Role         string          `json:"role"`
	Delta        json.RawMessage `json:"delta"`
	ToolCallID   string          `json:"toolCallId"`
	ToolCallName string          `json:"toolCallName"`
	Content      json.RawMessage `json:"content"`
	Snapshot     json.RawMessage `json:"snapshot"`
	Messages     *[]Message      `json:"messages"`
	StepName     string          `json:"stepName"`
	ActivityType string          `json:"activityType"`
	Name         string          `json:"name"`
	Value        json.RawMessage `json:"value"`
	Message      string          `json:"message"`
	Code         string          `json:"code"`
	Usage        json.RawMessage `json:"usage"`
	Outcome      *struct {
		Type       string      `json:"type"`
		Interrupts []Interrupt `json:"interrupts"`
		// PendingToolCallIDs are calls that the client executes.
		PendingToolCallIDs []string `json:"pendingToolCallIds"`
	} `json:"outcome"`
}

// Client has what a client has after the events so far.
type Client struct {
	Messages   []Message
	State      map[string]map[string]json.RawMessage
	Interrupts []Interrupt
	// Activities has the contents of activities by the ids of their messages.
	Activities map[string]string
	// Events are all events, Error the one that ended a run, if any.
	Events []Event
	Error  *Event

	running, ended bool
	open           map[string]bool // started and not ended
}

// Types returns the types of all events, without repetitions.
func (c *Client) Types() []string {
	var all []string
	for _, e := range c.Events {
		if len(all) == 0 || all[len(all)-1] != e.Type {
			all = append(all, e.Type)
		}
	}
	return all
}

// Texts returns all texts of a role.
func (c *Client) Texts(role string) []string {
	var all []string
	for _, m := range c.Messages {
		if m.Role == role && len(m.ToolCalls) == 0 {
			all = append(all, m.Text())
		}
	}
	return all
}

// Begin begins a run.
func (c *Client) Begin() {
	c.running, c.ended, c.open, c.Error, c.Interrupts = false, false, map[string]bool{}, nil, nil
}

// End checks that a run has ended with a final event: a client takes a stream without one as success.
func (c *Client) End() error {
	if !c.ended {
		return errors.New("the stream ends without RUN_FINISHED or RUN_ERROR")
	}
	return nil
}

// Apply takes an event, or says why clients reject it.
func (c *Client) Apply(data []byte) error {
	var e Event
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	c.Events = append(c.Events, e)
	switch {
	case strings.Contains(string(data), ":null"):
		return fmt.Errorf("a field of %s is null", data)
	case c.ended && e.Type != "RUN_STARTED":
		return fmt.Errorf("%s after the end of the run", e.Type)
	case e.Type == "RUN_STARTED" && c.running && !c.ended:
		return errors.New("RUN_STARTED within a run")
	case e.Type != "RUN_STARTED" && e.Type != "RUN_ERROR" && !c.running:
		return fmt.Errorf("the first event is %s, not RUN_STARTED", e.Type)
	}
	return c.apply(e)
}

func (c *Client) apply(e Event) error {
	switch e.Type {
	case "RUN_STARTED":
		c.Begin() // another run may follow on the same stream
		c.running = true
		return want(e.ThreadID != "" && e.RunID != "", e, "threadId and runId")
	case "RUN_FINISHED":
		c.ended = true
		if len(c.open) > 0 {
			return fmt.Errorf("RUN_FINISHED with open parts: %v", c.open)
		}
		if e.Outcome != nil {
			c.Interrupts = e.Outcome.Interrupts
		}
		return want(e.ThreadID != "" && e.RunID != "", e, "threadId and runId")
	case "RUN_ERROR":
		c.ended, c.Error = true, &e
		return want(e.Message != "", e, "message")
	case "STATE_SNAPSHOT":
		c.State = nil
		return json.Unmarshal(e.Snapshot, &c.State)
	case "STATE_DELTA":
		return c.patch(e)
	case "MESSAGES_SNAPSHOT":
		return c.merge(e)
	case "ACTIVITY_SNAPSHOT":
		if c.Activities == nil {
			c.Activities = map[string]string{}
		}
		c.Activities[e.MessageID] = string(e.Content)
		return want(e.MessageID != "" && e.ActivityType != "" && e.Content != nil, e, "messageId, activityType and content")
	case "CUSTOM":
		return want(e.Name != "", e, "name")
	case "TOOL_CALL_RESULT":
		c.Messages = append(c.Messages, Message{ID: e.MessageID, Role: "tool", ToolCallID: e.ToolCallID, Content: e.Content})
		return want(e.MessageID != "" && e.ToolCallID != "" && e.Content != nil, e, "messageId, toolCallId and content")
	}
	return c.part(e)
}

// part takes an event of a part that starts, continues and ends.
func (c *Client) part(e Event) error {
	kind, step, ok := cutLast(e.Type)
	if !ok {
		return fmt.Errorf("unknown type %s", e.Type)
	}
	key := kind + " " + e.MessageID + e.ToolCallID + e.StepName
	switch step {
	case "START", "STARTED":
		if c.open[key] {
			return fmt.Errorf("%s: %s is open", e.Type, key)
		}
		c.open[key] = true
		return c.start(e)
	case "CONTENT", "ARGS":
		if !c.open[key] {
			return fmt.Errorf("%s: %s is not open", e.Type, key)
		}
		return c.content(e)
	case "END", "FINISHED":
		if !c.open[key] {
			return fmt.Errorf("%s: %s is not open", e.Type, key)
		}
		delete(c.open, key)
		return nil
	}
	return fmt.Errorf("unknown type %s", e.Type)
}

func cutLast(typ string) (kind, step string, ok bool) {
	i := strings.LastIndexByte(typ, '_')
	if i < 0 {
		return "", "", false
	}
	return typ[:i], typ[i+1:], true
}

func (c *Client) start(e Event) error {
	switch e.Type {
	case "TEXT_MESSAGE_START", "REASONING_MESSAGE_START":
		if c.find(e.MessageID) < 0 { // otherwise the text is appended
			c.Messages = append(c.Messages, Message{ID: e.MessageID, Role: e.Role})
		}
		return want(e.MessageID != "" && e.Role != "", e, "messageId and role")
	case "TOOL_CALL_START":
		call := ToolCall{ID: e.ToolCallID, Type: "function"}
		call.Function.Name = e.ToolCallName
		c.Messages = append(c.Messages, Message{ID: e.ToolCallID, Role: "assistant", ToolCalls: []ToolCall{call}})
		return want(e.ToolCallID != "" && e.ToolCallName != "", e, "toolCallId and toolCallName")
	}
	return nil
}

func (c *Client) content(e Event) error {
	var delta string
	if err := json.Unmarshal(e.Delta, &delta); err != nil {
		return fmt.Errorf("%s without a text: %w", e.Type, err)
	}
	i := c.find(e.MessageID + e.ToolCallID)
	if i < 0 {
		return fmt.Errorf("%s of an unknown message %s", e.Type, e.MessageID)
	}
	if e.ToolCallID != "" {
		c.Messages[i].ToolCalls[0].Function.Arguments += delta
		return nil
	}
	text, err := json.Marshal(c.Messages[i].Text() + delta)
	c.Messages[i].Content = text
	return err
}

func (c *Client) find(id string) int {
	return slices.IndexFunc(c.Messages, func(m Message) bool { return m.ID == id })
}

// merge takes a snapshot of the messages: known ones keep their place, others follow.
func (c *Client) merge(e Event) error {
	if e.Messages == nil {
		return errors.New("MESSAGES_SNAPSHOT without messages")
	}
	var kept []Message
	for _, old := range c.Messages {
		if i := slices.IndexFunc(*e.Messages, func(m Message) bool { return m.ID == old.ID }); i >= 0 {
			kept = append(kept, (*e.Messages)[i])
		}
	}
	for _, m := range *e.Messages {
		if c.find(m.ID) < 0 {
			kept = append(kept, m)
		}
	}
	c.Messages = kept
	return nil
}

// patch applies a patch. A real client skips one that it cannot apply; a test must see it.
func (c *Client) patch(e Event) error {
	var operations []struct {
		Op    string          `json:"op"`
		Path  string          `json:"path"`
		Value json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(e.Delta, &operations); err != nil {
		return err
	}
	for _, o := range operations {
		parts := strings.Split(o.Path, "/")
		if len(parts) != 3 || c.State[parts[1]] == nil {
			return fmt.Errorf("patch of %s: no such place", o.Path)
		}
		section, key := c.State[parts[1]], strings.NewReplacer("~1", "/", "~0", "~").Replace(parts[2])
		if _, there := section[key]; there == (o.Op == "add") {
			return fmt.Errorf("%s %s: it is there: %v", o.Op, o.Path, there)
		}
		if delete(section, key); o.Op != "remove" {
			section[key] = o.Value
		}
	}
	return nil
}

func want(ok bool, e Event, fields string) error {
	if !ok {
		return fmt.Errorf("%s without %s", e.Type, fields)
	}
	return nil
}
