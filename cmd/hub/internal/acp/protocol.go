package acp

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// protocolVersion is the version of ACP that this package speaks.
const protocolVersion = 1

// initialized is the answer to initialize.
type initialized struct {
	ProtocolVersion int          `json:"protocolVersion"`
	Capabilities    capabilities `json:"agentCapabilities"`
	AgentInfo       agentInfo    `json:"agentInfo"`
	AuthMethods     []string     `json:"authMethods"` // none: the credential of the hub is a flag
}

type agentInfo struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Version string `json:"version"`
}

type capabilities struct {
	LoadSession bool `json:"loadSession"`
	Prompt      struct {
		Image           bool `json:"image"`
		EmbeddedContext bool `json:"embeddedContext"`
	} `json:"promptCapabilities"`
	Session struct {
		List   struct{} `json:"list"`
		Resume struct{} `json:"resume"`
		Close  struct{} `json:"close"`
	} `json:"sessionCapabilities"`
}

// sessionParams are the parameters of all methods of a session.
type sessionParams struct {
	SessionID wire.SessionID `json:"sessionId"`
}

// opened is the answer to session/new, session/load and session/resume.
type opened struct {
	SessionID wire.SessionID `json:"sessionId,omitempty"`
	Modes     modes          `json:"modes"`
}

type modes struct {
	Current   string `json:"currentModeId"`
	Available []mode `json:"availableModes"`
}

type mode struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

// The modes of a session for its client: how the hub takes a prompt.
const (
	modeChat = "chat"
	modePlan = "plan"
)

func modesWith(current string) modes {
	return modes{Current: current, Available: []mode{
		{modeChat, "Chat", "The agent answers at once."},
		{modePlan, "Plan", "The agent writes a plan, which people review before it runs."},
	}}
}

// listed is the answer to session/list.
type listed struct {
	Sessions   []listedSession `json:"sessions"`
	NextCursor string          `json:"nextCursor,omitempty"`
}

type listedSession struct {
	SessionID wire.SessionID `json:"sessionId"`
	// Cwd is required. Files of a session are in the hub, so it is the folder that the client names.
	Cwd       string `json:"cwd"`
	Title     string `json:"title,omitempty"`
	UpdatedAt string `json:"updatedAt,omitempty"`
}

// update is the content of session/update: each kind uses some of the fields.
type update struct {
	Kind       string          `json:"sessionUpdate"`
	Content    any             `json:"content,omitempty"` // a block, or a list of toolContent
	ToolCallID string          `json:"toolCallId,omitempty"`
	Title      string          `json:"title,omitempty"`
	ToolKind   string          `json:"kind,omitempty"`
	Status     string          `json:"status,omitempty"`
	RawInput   json.RawMessage `json:"rawInput,omitempty"`
	Entries    *[]planEntry    `json:"entries,omitempty"`
	Mode       string          `json:"currentModeId,omitempty"`
}

// The kinds of updates.
const (
	updateUser       = "user_message_chunk"
	updateAgent      = "agent_message_chunk"
	updateThought    = "agent_thought_chunk"
	updateCall       = "tool_call"
	updateCallChange = "tool_call_update"
	updatePlan       = "plan"
	updateInfo       = "session_info_update"
	updateMode       = "current_mode_update"
)

// block is a piece of content.
type block struct {
	Type     string         `json:"type"`
	Text     string         `json:"text,omitempty"`
	Data     string         `json:"data,omitempty"`
	MimeType string         `json:"mimeType,omitempty"`
	URI      string         `json:"uri,omitempty"`
	Name     string         `json:"name,omitempty"`
	Resource *blockResource `json:"resource,omitempty"`
}

type blockResource struct {
	URI  string  `json:"uri"`
	Text *string `json:"text"` // nil in binary resources
}

func textBlock(text string) block { return block{Type: "text", Text: text} }

// toolContent is a piece of the result of a tool call.
type toolContent struct {
	Type    string `json:"type"`
	Content block  `json:"content"`
}

type planEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority"`
	Status   string `json:"status"`
}

// permissionRequest are the parameters of session/request_permission.
type permissionRequest struct {
	SessionID wire.SessionID     `json:"sessionId"`
	ToolCall  permissionCall     `json:"toolCall"`
	Options   []permissionOption `json:"options"`
}

type permissionCall struct {
	ToolCallID string        `json:"toolCallId"`
	Title      string        `json:"title"`
	Content    []toolContent `json:"content,omitempty"`
}

type permissionOption struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// permissionAnswer is the answer to it.
type permissionAnswer struct {
	Outcome struct {
		Outcome  string `json:"outcome"`
		OptionID string `json:"optionId"`
	} `json:"outcome"`
}

// formRequest are the parameters of elicitation/create.
type formRequest struct {
	SessionID wire.SessionID `json:"sessionId"`
	Mode      string         `json:"mode"`
	Message   string         `json:"message"`
	Schema    struct {
		Type       string               `json:"type"`
		Title      string               `json:"title,omitempty"`
		Properties map[string]formField `json:"properties"`
		Required   []string             `json:"required,omitempty"`
	} `json:"requestedSchema"`
}

// formField is a field of a form: a text, one of several options, or some of them.
type formField struct {
	Type        string       `json:"type"`
	Title       string       `json:"title,omitempty"`
	Description string       `json:"description,omitempty"`
	OneOf       []formOption `json:"oneOf,omitempty"`
	Items       *formItems   `json:"items,omitempty"`
}

type formItems struct {
	AnyOf []formOption `json:"anyOf"`
}

type formOption struct {
	Value string `json:"const"`
	Title string `json:"title"`
}

// userMessage returns the message of a prompt. The error says which part of it the hub does not take.
func userMessage(prompt []block) (wire.UserMessage, error) {
	var m wire.UserMessage
	var text strings.Builder
	for i, b := range prompt {
		piece := ""
		switch {
		case b.Type == "text":
			piece = b.Text
		case b.Type == "image" && strings.HasPrefix(b.MimeType, "image/"):
			m.Interactions = append(m.Interactions, wire.UserInteraction{Type: wire.DidDraw, ImageData: "data:" + b.MimeType + ";base64," + b.Data})
		case b.Type == "resource_link":
			piece = b.Name + " (" + b.URI + ")"
		case b.Type == "resource" && b.Resource != nil && b.Resource.Text != nil:
			piece = b.Resource.URI + "\n```\n" + *b.Resource.Text + "\n```"
		default:
			return m, fmt.Errorf("prompt[%d]: the hub takes text, pictures, links, and resources with their text, not this %q", i, b.Type)
		}
		if piece != "" && text.Len() > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(piece)
	}
	m.Content = text.String()
	return m, nil
}
