package rooipctest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Row is the newest version of a row.
type Row struct {
	TaskID  string
	TS      float64 `json:"ts"`
	Type    string  `json:"type"`
	Ask     string  `json:"ask"`
	Say     string  `json:"say"`
	Text    string  `json:"text"`
	Partial *bool   `json:"partial"`
	// IsAnswered is set in rows that ask.
	IsAnswered bool `json:"isAnswered"`
}

// Event is an event that was accepted.
type Event struct {
	Name    string
	Payload []json.RawMessage
}

// Failure is an error that the hub reported.
type Failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Command string `json:"command"`
}

// Client remembers what it received. The zero value is ready.
type Client struct {
	ID     string
	Seq    string // of the last event that had one
	Events []Event
	Errors []Failure
	Rows   []Row // in the order of their creation
}

// Apply takes a frame without its delimiter.
func (c *Client) Apply(frame []byte) error {
	var outer struct {
		Type string `json:"type"`
		Data struct {
			Type   string          `json:"type"`
			Origin string          `json:"origin"`
			Data   json.RawMessage `json:"data"`
			Seq    string          `json:"seq"`
			Error  *Failure        `json:"error"`
		} `json:"data"`
	}
	if err := json.Unmarshal(frame, &outer); err != nil {
		return err
	}
	if outer.Type != "message" || outer.Data.Origin != "server" {
		return fmt.Errorf("type %q and origin %q, want message and server", outer.Type, outer.Data.Origin)
	}
	switch outer.Data.Type {
	case "Ack":
		var ack struct {
			ClientID  string `json:"clientId"`
			PID, PPID *int
		}
		if err := json.Unmarshal(outer.Data.Data, &ack); err != nil || ack.ClientID == "" || ack.PID == nil || ack.PPID == nil {
			return fmt.Errorf("ack %s, want clientId, pid and ppid", outer.Data.Data)
		}
		c.ID = ack.ClientID
		return nil
	case "TaskEvent":
		if outer.Data.Seq != "" {
			c.Seq = outer.Data.Seq
		}
		if outer.Data.Error != nil {
			c.Errors = append(c.Errors, *outer.Data.Error)
		}
		return c.event(outer.Data.Data, outer.Data.Error != nil)
	}
	return fmt.Errorf("message of type %q", outer.Data.Type)
}

// shapes are the payloads of events: t is a text, u a usage of tokens, w one of tools, n the name of a
// tool, m a row, q a list of messages, l another list, o another object.
func shapes() map[string]string {
	return map[string]string{
		"taskCreated": "t", "taskStarted": "t", "taskCompleted": "tuwo", "taskAborted": "t", "taskFocused": "t", "taskUnfocused": "t",
		"taskActive": "t", "taskInteractive": "t", "taskResumable": "t", "taskIdle": "t", "taskPaused": "t", "taskUnpaused": "t",
		"taskSpawned": "tt", "taskDelegated": "tt", "taskDelegationCompleted": "ttt", "taskDelegationResumed": "tt", "message": "m",
		"taskModeSwitched": "tt", "taskAskResponded": "t", "queuedMessagesUpdated": "tq", "taskToolFailed": "tnt",
		"taskTokenUsageUpdated": "tuw", "commandsResponse": "l", "modesResponse": "l", "modelsResponse": "o",
	}
}

func (c *Client) event(data []byte, failed bool) error {
	var e struct {
		Name    string            `json:"eventName"`
		Payload []json.RawMessage `json:"payload"`
		TaskID  json.RawMessage   `json:"taskId"`
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	shape, ok := shapes()[e.Name]
	if !ok || len(shape) != len(e.Payload) || e.TaskID != nil {
		return fmt.Errorf("event %s with %d values, want %q and no taskId", e.Name, len(e.Payload), shape)
	}
	for i, kind := range []byte(shape) {
		if err := c.value(kind, e.Payload[i], failed); err != nil {
			return fmt.Errorf("%s[%d]: %w: %s", e.Name, i, err, e.Payload[i])
		}
	}
	c.Events = append(c.Events, Event{e.Name, e.Payload})
	return nil
}

var errValue = errors.New("a client refuses the value")

// value checks a value of a payload.
func (c *Client) value(kind byte, data json.RawMessage, failed bool) error {
	if bytes.Contains(data, []byte(":null")) || string(data) == "null" {
		return errValue
	}
	switch kind {
	case 't':
		return json.Unmarshal(data, new(string))
	case 'n':
		var name string
		if err := json.Unmarshal(data, &name); err != nil {
			return err
		}
		return checkTool(name)
	case 'u':
		var u map[string]json.RawMessage
		if err := json.Unmarshal(data, &u); err != nil {
			return err
		}
		for _, name := range []string{"totalTokensIn", "totalTokensOut", "totalCost", "contextTokens"} {
			if json.Unmarshal(u[name], new(float64)) != nil {
				return fmt.Errorf("%w: %s", errValue, name)
			}
		}
		return nil
	case 'w':
		var uses map[string]struct{ Attempts, Failures *int }
		if err := json.Unmarshal(data, &uses); err != nil {
			return err
		}
		for name, n := range uses {
			if err := checkTool(name); err != nil || n.Attempts == nil || n.Failures == nil {
				return fmt.Errorf("%w: %s", errValue, name)
			}
		}
		return nil
	case 'm':
		return c.row(data, failed)
	case 'q', 'l':
		return json.Unmarshal(data, new([]map[string]any))
	default:
		return json.Unmarshal(data, new(map[string]any))
	}
}

func checkTool(name string) error {
	known := "execute_command read_file read_command_output write_to_file apply_diff edit search_and_replace search_replace edit_file apply_patch " +
		"search_files list_files use_mcp_tool access_mcp_resource ask_followup_question attempt_completion switch_mode new_task codebase_search " +
		"update_todo_list run_slash_command skill generate_image custom_tool"
	if !slices.Contains(strings.Fields(known), name) {
		return fmt.Errorf("%w: tool %q", errValue, name)
	}
	return nil
}

func (c *Client) row(data []byte, failed bool) error {
	var m struct {
		TaskID  *string `json:"taskId"`
		Action  string  `json:"action"`
		Message Row     `json:"message"`
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return err
	}
	asks := "followup command command_output completion_result tool api_req_failed resume_task resume_completed_task mistake_limit_reached " +
		"use_mcp_server auto_approval_max_req_reached"
	says := "error api_req_started api_req_finished api_req_retried api_req_retry_delayed api_req_rate_limit_wait api_req_deleted text image " +
		"reasoning completion_result user_feedback user_feedback_diff command_output shell_integration_warning mcp_server_request_started " +
		"mcp_server_response subtask_result checkpoint_saved rooignore_error diff_error condense_context condense_context_error " +
		"sliding_window_truncation codebase_search_result user_edit_todos too_many_tools_warning tool"
	row := m.Message
	isAsk := row.Type == "ask" && row.Say == "" && slices.Contains(strings.Fields(asks), row.Ask)
	isSay := row.Type == "say" && row.Ask == "" && slices.Contains(strings.Fields(says), row.Say)
	if m.TaskID == nil || m.Action != "created" && m.Action != "updated" || !isAsk && !isSay || row.TS <= 0 {
		return errValue
	}
	if failed {
		return nil // not a row of the conversation
	}
	row.TaskID = *m.TaskID
	if i := slices.IndexFunc(c.Rows, func(r Row) bool { return r.TS == row.TS }); i >= 0 {
		c.Rows[i] = row
	} else {
		c.Rows = append(c.Rows, row)
	}
	return nil
}

// Names returns the names of all events that are no rows.
func (c *Client) Names() []string {
	var names []string
	for _, e := range c.Events {
		if e.Name != "message" {
			names = append(names, e.Name)
		}
	}
	return names
}

// Texts returns the texts of the rows of a kind, and whether one of them still grows.
func (c *Client) Texts(say string) (texts []string, grows bool) {
	for _, r := range c.Rows {
		if r.Say == say {
			texts = append(texts, r.Text)
			grows = grows || r.Partial != nil && *r.Partial
		}
	}
	return texts, grows
}
