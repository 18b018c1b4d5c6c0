package rooipc

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// CommandName is the name of a command.
type CommandName string

// The commands.
const (
	StartNewTask        CommandName = "StartNewTask"
	CancelTask          CommandName = "CancelTask"
	CloseTask           CommandName = "CloseTask"
	ResumeTask          CommandName = "ResumeTask"
	SendMessage         CommandName = "SendMessage"
	GetCommands         CommandName = "GetCommands"
	GetModes            CommandName = "GetModes"
	GetModels           CommandName = "GetModels"
	DeleteQueuedMessage CommandName = "DeleteQueuedMessage"
)

// Command is a command of a client. Only the fields of its name are set.
type Command struct {
	ClientID string
	Name     CommandName
	// Text and Images belong to StartNewTask and SendMessage. Images are data: URLs.
	Text   string
	Images []string
	// Mode and Approval are the parts of the configuration of StartNewTask that the hub uses; nil and
	// empty if it has none.
	Mode     string
	Approval *wire.AutoApproval
	// Target is the task of ResumeTask or the message of DeleteQueuedMessage.
	Target string
	// MessageID is the id of the message of StartNewTask and SendMessage, so that a client may repeat the
	// latter, and After the position after which ResumeTask continues. Both are extensions, and may be empty.
	MessageID wire.MessageID
	After     wire.Position
}

// InputError is a frame that cannot be executed.
type InputError struct {
	// Command is the name of the command, if it is known.
	Command CommandName
	Field   string
	Reason  string
}

// Error implements error.
func (e *InputError) Error() string {
	if e.Field == "" {
		return e.Reason
	}
	return e.Field + ": " + e.Reason
}

// ParseCommand reads a frame of a client. A frame whose event is not a message is not for the hub, so ok
// is false; a node-ipc server would execute it as an event of its own. The error is an [*InputError].
func ParseCommand(frame []byte) (c Command, ok bool, err error) {
	var outer struct {
		Type string          `json:"type"`
		Data json.RawMessage `json:"data"`
	}
	if json.Unmarshal(frame, &outer) != nil {
		return c, false, &InputError{Reason: "the frame is not a JSON object with a type and data"}
	}
	if outer.Type != messageType {
		return c, false, nil
	}
	var m struct {
		Type     string  `json:"type"`
		Origin   string  `json:"origin"`
		ClientID *string `json:"clientId"`
		Data     struct {
			Name      CommandName     `json:"commandName"`
			Data      json.RawMessage `json:"data"`
			MessageID wire.MessageID  `json:"messageId"`
			After     string          `json:"seq"`
		} `json:"data"`
	}
	if string(outer.Data) == "null" || json.Unmarshal(outer.Data, &m) != nil {
		return c, false, &InputError{Field: "data", Reason: "want a TaskCommand"}
	}
	bad := func(field, format string, args ...any) (Command, bool, error) {
		return c, false, &InputError{Command: m.Data.Name, Field: field, Reason: fmt.Sprintf(format, args...)}
	}
	switch {
	case m.Type != "TaskCommand":
		return bad("type", "want TaskCommand")
	case m.Origin != originClient:
		return bad("origin", "want client")
	case m.ClientID == nil:
		return bad("clientId", "it is missing; it is in the Ack of the connection")
	case m.Data.MessageID != "" && m.Data.MessageID.Validate() != nil:
		return bad("messageId", "want 1 to 64 characters")
	}
	c = Command{ClientID: *m.ClientID, Name: m.Data.Name, MessageID: m.Data.MessageID}
	if m.Data.After != "" {
		if c.After, err = wire.ParsePosition(m.Data.After); err != nil {
			return bad("seq", "want the seq of an event")
		}
	}
	if err := c.readData(m.Data.Data); err != nil {
		return Command{}, false, err
	}
	return c, true, nil
}

// readData reads the data of the command.
func (c *Command) readData(data json.RawMessage) error {
	wrong := func(format string, args ...any) error {
		return &InputError{Command: c.Name, Field: "data", Reason: fmt.Sprintf(format, args...)}
	}
	switch c.Name {
	case StartNewTask, SendMessage:
		return c.readMessage(data)
	case ResumeTask, DeleteQueuedMessage:
		if json.Unmarshal(data, &c.Target) != nil || c.Target == "" {
			return wrong("want an id")
		}
		return nil
	case CancelTask, CloseTask, GetCommands, GetModes, GetModels:
		return nil // data that the protocol does not have is ignored
	default:
		c.Name = ""
		return wrong("there is no such command")
	}
}

// readMessage reads the data of StartNewTask and SendMessage.
func (c *Command) readMessage(data json.RawMessage) error {
	wrong := func(field, reason string) error { return &InputError{Command: c.Name, Field: field, Reason: reason} }
	var in map[string]json.RawMessage
	if json.Unmarshal(data, &in) != nil || in == nil {
		return wrong("data", "want an object")
	}
	if text, ok := in["text"]; ok && unmarshalStrict(text, &c.Text) != nil {
		return wrong("data.text", "want a text")
	} else if !ok && c.Name == StartNewTask {
		return wrong("data.text", "it is missing")
	}
	if images, ok := in["images"]; ok && unmarshalStrict(images, &c.Images) != nil {
		return wrong("data.images", "want a list of data: URLs")
	}
	if slices.ContainsFunc(c.Images, func(s string) bool { return !strings.HasPrefix(s, "data:image/") }) {
		return wrong("data.images", "want data: URLs of pictures")
	}
	if c.Name == SendMessage {
		return nil
	}
	var newTab bool
	if tab, ok := in["newTab"]; ok && unmarshalStrict(tab, &newTab) != nil {
		return wrong("data.newTab", "want true or false")
	}
	var settings map[string]json.RawMessage
	if json.Unmarshal(in["configuration"], &settings) != nil || settings == nil {
		return wrong("data.configuration", "want an object")
	}
	if mode, ok := settings["mode"]; ok && unmarshalStrict(mode, &c.Mode) != nil {
		return wrong("data.configuration.mode", "want a text")
	}
	rules, field, err := approvalOf(settings)
	if err != nil {
		return wrong("data.configuration."+field, err.Error())
	}
	c.Approval = rules
	return nil
}
