package agui

import (
	"encoding/json"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// The states of tasks.
const (
	taskRunning   = "running"
	taskCompleted = "completed"
	taskAborted   = "aborted"
)

// taskActivity returns the state of a task of a turn as an event.
func taskActivity(turn wire.MessageID, id wire.TaskID, status string) event {
	return event{
		Type: typeActivity, MessageID: string(turn) + ".task." + string(id), ActivityType: "everdesk.task",
		Content: map[string]any{"taskId": id, "status": status},
	}
}

// taskEnded sends the end of a task, if it is one of the turn. It may have begun before the run.
func (r *Run) taskEnded(task wire.Task, status string) {
	if r.phase == phaseRunning && isTaskOf(r.turn, task.AgentID) {
		r.emit(taskActivity(r.turn, task.TaskID, status))
	}
}

// isTaskOf reports whether an agent works on a task that a turn delegated.
func isTaskOf(turn wire.MessageID, agent wire.AgentID) bool {
	return strings.HasPrefix(string(agent), string(wire.AgentTask)+"-"+string(turn)+"-")
}

// windowActivity returns a window that a turn opened as an event.
func windowActivity(turn wire.MessageID, id wire.WindowID, title string, monitor wire.MonitorID) event {
	return event{
		Type: typeActivity, MessageID: string(turn) + ".window." + string(id), ActivityType: "everdesk.window",
		Content: map[string]any{"windowId": id, "title": title, "monitorId": monitor},
	}
}

// windowActivities sends the windows that the turn opened.
func (r *Run) windowActivities(data wire.Actions) {
	if !r.shows(data.AgentID) {
		return
	}
	for _, a := range data.Actions {
		if open, ok := a.(wire.WindowCreate); ok {
			r.emit(windowActivity(r.turn, open.WindowID, open.Title, data.MonitorID))
		}
	}
}

// activities returns the windows that a turn has opened and the tasks that it delegated and that have ended, as far as
// rows have them. The end of others is sent when they end.
func activities(turn wire.MessageID, rows []wire.UIRow) (all []event) {
	for _, row := range rows {
		switch {
		case row.Say == wire.SayTool && row.MessageID == turn:
			var c struct {
				Tool   string          `json:"tool"`
				Status wire.ToolStatus `json:"status"`
				Input  struct {
					WindowID wire.WindowID `json:"windowId"`
					Title    string        `json:"title"`
				} `json:"input"`
			}
			if json.Unmarshal([]byte(row.Text), &c) == nil && c.Tool == "window:create" && c.Status == wire.ToolComplete && c.Input.WindowID != "" {
				all = append(all, windowActivity(turn, c.Input.WindowID, c.Input.Title, row.MonitorID))
			}
		case row.Say == wire.SayAPIReqFinished && isTaskOf(turn, row.AgentID):
			var end struct {
				TaskID  wire.TaskID  `json:"taskId"`
				Outcome wire.Outcome `json:"outcome"`
			}
			if json.Unmarshal([]byte(row.Text), &end) != nil || end.TaskID == "" {
				continue
			}
			status := taskAborted
			if end.Outcome == wire.OutcomeCompleted {
				status = taskCompleted
			}
			all = append(all, taskActivity(turn, end.TaskID, status))
		}
	}
	return all
}
