package sessionfile

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// Line is a message in messages.jsonl, in a common format for other programs.
type Line struct {
	Type      LineType       `json:"type"`
	Timestamp time.Time      `json:"timestamp"`
	Content   string         `json:"content,omitempty"`
	AgentID   wire.AgentID   `json:"agentId"`
	Source    Origin         `json:"source"`
	MonitorID wire.MonitorID `json:"monitorId,omitempty"`
	MessageID wire.MessageID `json:"messageId,omitempty"`
	// ToolUseID, ToolName and ToolInput are set for tools.
	ToolUseID string          `json:"toolUseId,omitempty"`
	ToolName  string          `json:"toolName,omitempty"`
	ToolInput json.RawMessage `json:"toolInput,omitempty"`
	IsError   bool            `json:"isError,omitempty"`
}

// LineType is the kind of a line.
type LineType string

// The kinds of lines.
const (
	LineUser       LineType = "user"
	LineAssistant  LineType = "assistant"
	LineThinking   LineType = "thinking"
	LineToolUse    LineType = "tool_use"
	LineToolResult LineType = "tool_result"
)

// Origin is the conversation of a message: that of a window, or else the main conversation
// of its monitor.
type Origin struct{ Window wire.WindowID }

// MarshalJSON writes "main" or {"window":"id"}.
func (o Origin) MarshalJSON() ([]byte, error) {
	if o.Window == "" {
		return []byte(`"main"`), nil
	}
	return json.Marshal(map[string]wire.WindowID{"window": o.Window})
}

// linesOf converts a row for messages.jsonl. Rows of other kinds have no lines.
func linesOf(r *wire.UIRow) []Line {
	line := Line{
		Timestamp: time.UnixMilli(int64(r.TS)).UTC(), Content: r.Text, AgentID: r.AgentID,
		Source: Origin{r.WindowID}, MonitorID: r.MonitorID, MessageID: r.MessageID,
	}
	switch r.Say {
	case wire.SayUserFeedback:
		line.Type = LineUser
		if line.AgentID == "" { // the row does not name the agent
			line.AgentID = wire.AgentID("main-" + r.MonitorID)
			if r.WindowID != "" {
				line.AgentID = wire.AgentID("window-" + r.WindowID)
			}
		}
	case wire.SayText, wire.SaySubtaskResult, wire.SayCompletionResult:
		line.Type = LineAssistant
	case wire.SayReasoning:
		line.Type = LineThinking
	case wire.SayTool:
		return linesOfTool(line)
	}
	if line.Type == "" || strings.TrimSpace(line.Content) == "" {
		return nil
	}
	return []Line{line}
}

// linesOfTool returns the call of a tool and its result.
func linesOfTool(line Line) []Line {
	var tool struct {
		ID     string          `json:"id"`
		Tool   string          `json:"tool"`
		Status wire.ToolStatus `json:"status"`
		Input  json.RawMessage `json:"input"`
		Result string          `json:"result"`
	}
	if json.Unmarshal([]byte(line.Content), &tool) != nil || tool.Tool == "" {
		return nil
	}
	line.Content, line.ToolUseID, line.ToolName = "", tool.ID, tool.Tool
	use, result := line, line
	use.Type, use.ToolInput = LineToolUse, tool.Input
	result.Type, result.Content, result.IsError = LineToolResult, tool.Result, tool.Status == wire.ToolError
	return []Line{use, result}
}
