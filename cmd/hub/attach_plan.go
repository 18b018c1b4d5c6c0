package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// planEvent displays the events of a plan. It returns false for other events.
func (v *view) planEvent(p wire.ServerPayload) bool {
	switch d := p.(type) {
	case wire.LayerStart:
		v.line(tintBlue, "plan: %s%s", d.Layer, after(": ", d.Description))
	case wire.LayerComplete:
		v.line(tintDim, "plan: %s is done in %s", d.Layer, spanText(d.DurationMS))
	case wire.PlanGenerated:
		v.line(tintBlue, "plan %s: %s%s", oneLine(string(d.PlanID)), howMany(len(d.Todos), "todo"), estimateText(d.EstimatedDurationSec, d.EstimatedCostUSD))
		v.todos(d.Todos)
	case wire.PlanApproved:
		v.line(tintGreen, "plan %s approved by %s", oneLine(string(d.PlanID)), oneLine(d.ApprovedBy))
	case wire.PlanModified:
		v.modified(d)
	case wire.PlanComplete:
		v.complete(d)
	case wire.PlanFailure:
		v.failed(d)
	case wire.PlanCleared:
		v.line(tintDim, "plan%s is gone", after(" ", string(d.PlanID)))
	case wire.HITLPaused:
		v.line(tintYellow, "plan paused by %s%s  [:resume, :modify … or :cancel]", oneLine(d.PausedBy), after(": ", d.Reason))
	case wire.HITLResumed:
		v.line(tintBlue, "plan goes on")
	default:
		return v.todo(p) || v.planQuestion(p)
	}
	return true
}

// todo displays the events of a todo. It returns false for other events.
func (v *view) todo(p wire.ServerPayload) bool {
	switch d := p.(type) {
	case wire.TodoStarted:
		v.line(tintNone, "%s %s: %s%s", todoMark(wire.TodoInProgress), oneLine(string(d.TodoID)), shorten(oneLine(d.Task), 100), after(", by ", agentOf(d.AgentID)))
	case wire.TodoProgress:
		items := ""
		if d.ItemsTotal > 0 {
			items = fmt.Sprintf(" (%d of %d)", d.ItemsProcessed, d.ItemsTotal)
		}
		v.line(tintDim, "  %s %.0f%%%s%s", oneLine(string(d.TodoID)), d.ProgressPercentage, after(": ", d.CurrentStep), items)
	case wire.TodoUpdated:
		v.line(tintDim, "%s", todoText(d.Todo))
	case wire.TodoCompleted:
		t := tintGreen
		if d.Status == wire.TodoSkipped {
			t = tintYellow
		}
		v.line(t, "%s %s %s in %s%s", todoMark(d.Status), oneLine(string(d.TodoID)), d.Status, spanText(d.DurationMS), resultText(d.ResultSummary))
	case wire.TodoFailed:
		again := ""
		if d.RetryAt > 0 {
			again = fmt.Sprintf("; again at %s, %d of %d", v.clock(d.RetryAt), d.RetryCount, d.MaxRetries)
		} else if d.Status == wire.TodoStatusFailed {
			again = "  [:retry " + oneLine(string(d.TodoID)) + " or :skip " + oneLine(string(d.TodoID)) + "]"
		}
		v.line(tintRed, "%s %s: %s (%s)%s", todoMark(wire.TodoStatusFailed), oneLine(string(d.TodoID)), oneLine(d.Error.Message), oneLine(d.Error.Code), again)
	case wire.ExecutionProgress:
		v.line(tintDim, "plan: %s", progressText(d))
	default:
		return false
	}
	return true
}

// planQuestion displays the questions of a plan and their ends. It returns false for other
// events.
func (v *view) planQuestion(p wire.ServerPayload) bool {
	switch d := p.(type) {
	case wire.HITLPlanReview:
		v.line(tintYellow, "? %s  [:approve, :modify … or :reject%s] #%s", oneLine(d.Message), v.deadline(d.HITLDeadline), shortID(d.RequestID))
	case wire.HITLApprovalRequest:
		v.line(tintYellow, "? May %s run? %s  [:approve, :skip %s or :reject, which ends the plan%s] #%s", oneLine(string(d.TodoID)), oneLine(d.Reason),
			oneLine(string(d.TodoID)), v.deadline(d.HITLDeadline), shortID(d.RequestID))
		v.line(tintYellow, "    %s", todoText(d.Todo))
	case wire.HITLInputRequest:
		v.line(tintYellow, "? %s  [:answer %s%s%s%s] #%s", oneLine(d.Question), answerForm(d), after(", else ", string(d.DefaultValue)),
			after(", for ", string(d.TodoID)), v.deadline(d.HITLDeadline), shortID(d.RequestID))
		for _, o := range d.Options {
			v.line(tintYellow, "    %s", optionText(o))
		}
	case wire.HITLClarification:
		v.line(tintYellow, "? %s  [:answer …%s] #%s", oneLine(d.Ambiguity+" "+d.Question), v.deadline(d.HITLDeadline), shortID(d.RequestID))
		for _, s := range d.Suggestions {
			v.line(tintYellow, "    %s", oneLine(s))
		}
	case wire.HITLClosed:
		took := after(" with ", cmp.Or(d.Action, string(d.Value)))
		if d.Reason != wire.ClosedAnswered {
			took = after("; taken is ", cmp.Or(d.Action, string(d.Value)))
		}
		v.line(tintYellow, "question #%s %s%s", shortID(d.RequestID), d.Reason, took)
	default:
		return false
	}
	return true
}

// modified displays the changes of a plan.
func (v *view) modified(d wire.PlanModified) {
	v.line(tintBlue, "plan %s changed, version %d: %s%s", oneLine(string(d.PlanID)), d.NewVersion, howMany(len(d.UpdatedTodos), "todo"),
		estimateText(d.EstimatedDurationSec, d.EstimatedCostUSD))
	for _, c := range d.Changes {
		sign := map[wire.PlanEdit]string{wire.PlanAdd: "+", wire.PlanRemove: "-", wire.PlanUpdate: "~"}[c.Action]
		v.line(tintNone, "    %s %s%s", cmp.Or(sign, "~"), oneLine(string(c.TodoID)), after(": ", shorten(oneLine(c.Task), 100)))
	}
}

// complete displays the result of a plan, except its text, which is displayed as the answer of
// the plan's agent.
func (v *view) complete(d wire.PlanComplete) {
	v.line(tintGreen, "plan done: %s%s", oneLine(d.Status), statisticsText(d.Statistics))
	if d.Response.Summary != "" {
		v.line(tintNone, "    %s", oneLine(d.Response.Summary))
	}
	for _, a := range d.Response.Attachments {
		v.line(tintNone, "    %s %q: %s", oneLine(a.Type), oneLine(a.Title), oneLine(a.URL))
	}
	if len(d.Response.NextActions) > 0 {
		v.line(tintDim, "    next perhaps: %s", oneLine(strings.Join(d.Response.NextActions, "; ")))
	}
}

// failed displays why a plan failed or was cancelled.
func (v *view) failed(d wire.PlanFailure) {
	hint := ""
	if d.Error.Recoverable && d.Error.FailedTodo != "" {
		hint = fmt.Sprintf("  [:retry %s or :skip %s]", oneLine(string(d.Error.FailedTodo)), oneLine(string(d.Error.FailedTodo)))
	}
	t := tintRed
	if d.Status == "cancelled" {
		t = tintYellow
	}
	v.line(t, "plan %s: %s (%s)%s%s", oneLine(d.Status), oneLine(d.Error.Message), oneLine(d.Error.Code), statisticsText(d.Statistics), hint)
}

// todos displays the todos of a plan.
func (v *view) todos(all []wire.Todo) {
	for _, t := range all {
		v.line(tintNone, "    %s", todoText(t))
	}
}

// planState displays the plan of a snapshot with its open questions.
func (v *view) planState(s wire.SessionState) {
	if p := s.Plan; p != nil {
		paused := ""
		if p.PausedBy != "" {
			paused = ", paused by " + oneLine(p.PausedBy) + after(": ", p.PauseReason)
		}
		v.line(tintBlue, "plan %s %s%s%s", oneLine(string(p.ID)), p.Status, paused, after(": ", shorten(oneLine(p.Request), 100)))
		v.todos(s.Todos)
	}
	for _, q := range s.HITLRequests {
		if p, ok := q.(wire.ServerPayload); ok {
			v.planQuestion(p)
		}
	}
}

// clock formats a time as the time of day.
func (v *view) clock(at wire.Millis) string {
	return time.UnixMilli(int64(at)).In(v.zone).Format(time.TimeOnly)
}

// deadline formats the deadline of a question, starting with a comma; "" for none.
func (v *view) deadline(d wire.HITLDeadline) string {
	if d.ExpiresAt == 0 {
		return ""
	}
	return ", until " + v.clock(d.ExpiresAt)
}

// todoMark returns the symbol of a status.
func todoMark(s wire.TodoStatus) string {
	switch s {
	case wire.TodoInProgress:
		return "▶"
	case wire.TodoStatusCompleted:
		return "✓"
	case wire.TodoStatusFailed:
		return "✗"
	case wire.TodoNeedsApproval, wire.TodoNeedsInput:
		return "?"
	case wire.TodoSkipped, wire.TodoCancelled, wire.TodoBlocked:
		return "–"
	}
	return "○"
}

// todoText formats a todo on one line.
func todoText(t wire.Todo) string {
	text := fmt.Sprintf("%s %s %s: %s", todoMark(t.Status), oneLine(string(t.ID)), strings.ReplaceAll(string(cmp.Or(t.Status, wire.TodoPending)), "_", " "), shorten(oneLine(t.Task), 100))
	var more []string
	if len(t.DependsOn) > 0 {
		names := make([]string, len(t.DependsOn))
		for i, id := range t.DependsOn {
			names[i] = oneLine(string(id))
		}
		more = append(more, "after "+strings.Join(names, ", "))
	}
	if t.Tool != "" {
		more = append(more, "with "+oneLine(t.Tool))
	}
	if t.RequiresApproval {
		more = append(more, "asks first")
	}
	if text := strings.TrimPrefix(estimateText(t.EstimatedDurationSec, t.EstimatedCostUSD), ", "); text != "" {
		more = append(more, text)
	}
	if t.Error != nil {
		more = append(more, oneLine(t.Error.Message))
	}
	if len(more) > 0 {
		text += " (" + strings.Join(more, "; ") + ")"
	}
	return text
}

// estimateText formats an estimate, starting with a comma; "" for none.
func estimateText(seconds, dollars float64) string {
	text := ""
	if seconds > 0 {
		text += ", about " + (time.Duration(seconds*1000) * time.Millisecond).Round(time.Second).String()
	}
	if dollars > 0 {
		text += fmt.Sprintf(", $%.2f", dollars)
	}
	return text
}

// statisticsText formats the statistics of a plan, starting with a comma; "" for none.
func statisticsText(s *wire.PlanStatistics) string {
	if s == nil {
		return ""
	}
	text := fmt.Sprintf(", %d of %d in %s", s.Completed, s.TotalTodos, spanText(s.ExecutionTimeMS))
	if s.TokensUsed > 0 {
		text += ", " + howMany(s.TokensUsed, "token")
	}
	if s.CostUSD > 0 {
		text += fmt.Sprintf(", $%.4f", s.CostUSD)
	}
	return text
}

// progressText formats the progress of a plan.
func progressText(d wire.ExecutionProgress) string {
	parts := []string{fmt.Sprintf("%d of %d done (%.0f%%)", d.Completed, d.TotalTodos, d.ProgressPercentage)}
	for _, part := range []struct {
		n    int
		word string
	}{{d.InProgress, "running"}, {d.Pending, "to come"}, {d.Blocked, "blocked"}, {d.Skipped, "skipped"}, {d.Failed, "failed"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.word))
		}
	}
	return strings.Join(parts, ", ")
}

// resultText formats the result of a todo, starting with a colon; "" for none. Of an object with
// a text it shows only that.
func resultText(raw json.RawMessage) string {
	var only struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &only) == nil && only.Text != "" {
		return after(": ", shorten(oneLine(only.Text), 200))
	}
	return after(": ", shorten(oneLine(string(raw)), 200))
}

// answerForm returns the argument of :answer that a question expects.
func answerForm(d wire.HITLInputRequest) string {
	switch d.InputType {
	case wire.AnswerChoice:
		return "ONE"
	case wire.AnswerMulti:
		return "SOME, MORE"
	case wire.AnswerNumber:
		form := "NUMBER"
		if d.Min != nil {
			form += fmt.Sprintf(" from %g", *d.Min)
		}
		if d.Max != nil {
			form += fmt.Sprintf(" to %g", *d.Max)
		}
		return form
	case wire.AnswerDate:
		if d.Range {
			return "2026-02-06 2026-02-28"
		}
		return "2026-02-06"
	case wire.AnswerConfirm:
		return "yes or no"
	}
	return "…"
}

func optionText(o wire.Option) string {
	text := oneLine(o.Value)
	if label := oneLine(o.Label); label != text {
		text += "  " + label
	}
	return text
}

// agentOf returns a short name of an agent, or "".
func agentOf(role wire.AgentID) string {
	if role == "" {
		return ""
	}
	return agentLabel(role, "")
}

// after returns before followed by text on one line, or "" if text is empty.
func after(before, text string) string {
	if text = oneLine(text); text == "" {
		return ""
	}
	return before + text
}

// howMany formats a number with its noun, in the plural unless n is 1.
func howMany(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
