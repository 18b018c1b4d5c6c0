package agui

import (
	"bytes"
	"cmp"
	"encoding/json"

	"github.com/everdesk/everdesk/wire"
)

// The types of events that a [Run] sends.
const (
	typeRunStarted       = "RUN_STARTED"
	typeRunFinished      = "RUN_FINISHED"
	typeRunError         = "RUN_ERROR"
	typeStepStarted      = "STEP_STARTED"
	typeStepFinished     = "STEP_FINISHED"
	typeTextStart        = "TEXT_MESSAGE_START"
	typeTextContent      = "TEXT_MESSAGE_CONTENT"
	typeTextEnd          = "TEXT_MESSAGE_END"
	typeReasoningStart   = "REASONING_START"
	typeReasoningEnd     = "REASONING_END"
	typeThoughtStart     = "REASONING_MESSAGE_START"
	typeThoughtContent   = "REASONING_MESSAGE_CONTENT"
	typeThoughtEnd       = "REASONING_MESSAGE_END"
	typeCallStart        = "TOOL_CALL_START"
	typeCallArgs         = "TOOL_CALL_ARGS"
	typeCallEnd          = "TOOL_CALL_END"
	typeCallResult       = "TOOL_CALL_RESULT"
	typeStateSnapshot    = "STATE_SNAPSHOT"
	typeStateDelta       = "STATE_DELTA"
	typeMessagesSnapshot = "MESSAGES_SNAPSHOT"
	typeActivity         = "ACTIVITY_SNAPSHOT"
	typeCustom           = "CUSTOM"
)

// The roles of messages.
const (
	roleUser      = "user"
	roleAssistant = "assistant"
	roleTool      = "tool"
	roleReasoning = "reasoning"
)

// event is an event of any type: each type uses some of the fields. A field that is absent must not
// be null.
type event struct {
	Type         string   `json:"type"`
	ThreadID     string   `json:"threadId,omitempty"`
	RunID        string   `json:"runId,omitempty"`
	Message      string   `json:"message,omitempty"`
	Code         string   `json:"code,omitempty"`
	Outcome      *outcome `json:"outcome,omitempty"`
	Usage        []usage  `json:"usage,omitempty"`
	StepName     string   `json:"stepName,omitempty"`
	MessageID    string   `json:"messageId,omitempty"`
	Role         string   `json:"role,omitempty"`
	Delta        any      `json:"delta,omitempty"` // a text, or the operations of a patch
	ToolCallID   string   `json:"toolCallId,omitempty"`
	ToolCallName string   `json:"toolCallName,omitempty"`
	Content      any      `json:"content,omitempty"` // the result of a call, or an activity
	Snapshot     any      `json:"snapshot,omitempty"`
	Messages     *[]chat  `json:"messages,omitempty"`
	ActivityType string   `json:"activityType,omitempty"`
	Name         string   `json:"name,omitempty"`
	Value        any      `json:"value,omitempty"`
}

// outcome is the way in which a run finished, where it is not simply success.
type outcome struct {
	Type       string      `json:"type"`
	Interrupts []interrupt `json:"interrupts,omitempty"`
	// PendingToolCallIDs are calls that the frontend executes; only clients of 1.0 know the field.
	PendingToolCallIDs []string `json:"pendingToolCallIds,omitempty"`
}

// usage is the number of tokens that a run used.
type usage struct {
	InputTokens           int `json:"inputTokens"`
	OutputTokens          int `json:"outputTokens"`
	CachedInputTokens     int `json:"cachedInputTokens,omitempty"`
	CacheWriteInputTokens int `json:"cacheWriteInputTokens,omitempty"`
}

// usageOf returns the usage of a turn. The input tokens of AG-UI include those of the cache.
func usageOf(u *wire.Usage) []usage {
	if u == nil {
		return nil
	}
	return []usage{{
		InputTokens: u.InputTokens + u.CacheReadTokens + u.CacheWriteTokens, OutputTokens: u.OutputTokens,
		CachedInputTokens: u.CacheReadTokens, CacheWriteInputTokens: u.CacheWriteTokens,
	}}
}

// EndsRun reports whether an event is the final one of a run.
func EndsRun(data []byte) bool {
	return bytes.HasPrefix(data, []byte(`{"type":"`+typeRunFinished+`"`)) || bytes.HasPrefix(data, []byte(`{"type":"`+typeRunError+`"`))
}

// RunStarted returns the event that begins a run.
func RunStarted(thread, run string) []byte {
	return encode(event{Type: typeRunStarted, ThreadID: thread, RunID: run})
}

// RunError returns the event that ends a run with an error.
func RunError(code, message string) []byte {
	return encode(event{Type: typeRunError, Message: cmp.Or(message, "The run failed."), Code: code})
}

// encode returns an event as JSON.
func encode(e event) []byte {
	data, err := json.Marshal(e)
	if err != nil {
		panic(err) // cannot fail: texts, numbers and valid JSON of the log
	}
	return data
}
