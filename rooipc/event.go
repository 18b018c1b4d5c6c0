package rooipc

import (
	"time"

	"github.com/everdesk/everdesk/wire"
)

// The names of events.
const (
	eventTaskCreated       = "taskCreated"
	eventTaskStarted       = "taskStarted"
	eventTaskCompleted     = "taskCompleted"
	eventTaskAborted       = "taskAborted"
	eventTaskFocused       = "taskFocused"
	eventTaskUnfocused     = "taskUnfocused"
	eventTaskActive        = "taskActive"
	eventTaskInteractive   = "taskInteractive"
	eventTaskResumable     = "taskResumable"
	eventTaskIdle          = "taskIdle"
	eventTaskPaused        = "taskPaused"
	eventTaskUnpaused      = "taskUnpaused"
	eventTaskSpawned       = "taskSpawned"
	eventDelegated         = "taskDelegated"
	eventDelegationDone    = "taskDelegationCompleted"
	eventDelegationResumed = "taskDelegationResumed"
	eventMessage           = "message"
	eventTaskModeSwitched  = "taskModeSwitched"
	eventTaskAskResponded  = "taskAskResponded"
	eventQueue             = "queuedMessagesUpdated"
	eventTaskToolFailed    = "taskToolFailed"
	eventTaskUsage         = "taskTokenUsageUpdated"
	eventCommands          = "commandsResponse"
	eventModes             = "modesResponse"
	eventModels            = "modelsResponse"
)

// event is an event of a task. Its payload is a tuple of an exact length.
type event struct {
	Name    string `json:"eventName"`
	Payload []any  `json:"payload"`
}

// taskEvent is an event as a message. Clients strip what the protocol does not have: Seq and Error.
type taskEvent struct {
	Type   string `json:"type"`
	Origin string `json:"origin"`
	Data   event  `json:"data"`
	// Seq is the position in the log up to which the client has seen everything, if this is the last
	// event of the position.
	Seq   string     `json:"seq,omitempty"`
	Error *errorInfo `json:"error,omitempty"`
}

type errorInfo struct {
	Code    wire.Code `json:"code"`
	Name    string    `json:"name"`
	Message string    `json:"message"`
	Command string    `json:"command,omitempty"`
}

func frameOfEvent(e event, seq string) []byte {
	return frameOf(taskEvent{Type: "TaskEvent", Origin: originServer, Data: e, Seq: seq})
}

// Error returns a frame that says that a command failed. The protocol has no errors, so it is a row of
// the task; programs that know more read its error field. task is empty if the client has none.
func Error(task string, now time.Time, code wire.Code, command, reason string) []byte {
	text := reason
	if command != "" {
		text = command + ": " + reason
	}
	e := messageEvent(task, wire.RowCreated, message{TS: float64(now.UnixMilli()), Type: wire.RowSay, Say: wire.SayError, Text: text})
	return frameOf(taskEvent{
		Type: "TaskEvent", Origin: originServer, Data: e,
		Error: &errorInfo{Code: code, Name: code.Info().Name, Message: reason, Command: command},
	})
}

// Mode is a mode in the answer to GetModes.
type Mode struct {
	Slug string `json:"slug"`
	Name string `json:"name"`
}

// Modes returns the answer to GetModes.
func Modes(all []Mode) []byte {
	return frameOfEvent(event{eventModes, []any{nonNil(all)}}, "")
}

// Model is a model in the answer to GetModels.
type Model struct {
	ContextWindow       int  `json:"contextWindow"`
	SupportsPromptCache bool `json:"supportsPromptCache"`
}

// Models returns the answer to GetModels, by the names of models.
func Models(all map[string]Model) []byte {
	if all == nil {
		all = map[string]Model{}
	}
	return frameOfEvent(event{eventModels, []any{all}}, "")
}

// Commands returns the answer to GetCommands. The hub has no slash commands.
func Commands() []byte { return frameOfEvent(event{eventCommands, []any{[]string{}}}, "") }

// nonNil returns a list that is not null in JSON.
func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
