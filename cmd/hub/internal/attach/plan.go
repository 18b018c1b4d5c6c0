package attach

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/everdesk/everdesk/cmd/hub/internal/terminal"
	"github.com/everdesk/everdesk/wire"
)

// planEvent displays the events of a plan. It returns false for other events.
func (v *view) planEvent(p wire.ServerPayload) bool {
	switch d := p.(type) {
	case wire.LayerStart:
		v.out.line(tintBlue, "plan: %s%s", d.Layer, after(": ", d.Description))
	case wire.LayerComplete:
		v.out.line(tintDim, "plan: %s is done in %s", d.Layer, spanText(d.DurationMS))
	case wire.PlanGenerated:
		v.out.line(tintBlue, "plan %s: %s%s", terminal.OneLine(string(d.PlanID)), howMany(len(d.Todos), "todo"), estimateText(d.EstimatedDurationSec, d.EstimatedCostUSD))
		v.todos(d.Todos)
	case wire.PlanApproved:
		v.out.line(tintGreen, "plan %s approved by %s", terminal.OneLine(string(d.PlanID)), terminal.OneLine(d.ApprovedBy))
	case wire.PlanModified:
		v.modified(d)
	case wire.PlanComplete:
		v.complete(d)
	case wire.PlanFailure:
		v.failed(d)
	case wire.PlanCleared:
		v.out.line(tintDim, "plan%s is gone", after(" ", string(d.PlanID)))
	case wire.HITLPaused:
		v.out.line(tintYellow, "plan paused by %s%s  [:resume, :modify … or :cancel]", terminal.OneLine(d.PausedBy), after(": ", d.Reason))
	case wire.HITLResumed:
		v.out.line(tintBlue, "plan goes on")
	default:
		return v.todo(p) || v.planQuestion(p)
	}
	return true
}

// todo displays the events of a todo. It returns false for other events.
func (v *view) todo(p wire.ServerPayload) bool {
	switch d := p.(type) {
	case wire.TodoStarted:
		v.out.line(tintNone, "%s %s: %s%s", todoMark(wire.TodoInProgress), terminal.OneLine(string(d.TodoID)), terminal.Shorten(terminal.OneLine(d.Task), 100), after(", by ", agentOf(d.AgentID)))
	case wire.TodoProgress:
		items := ""
		if d.ItemsTotal > 0 {
			items = fmt.Sprintf(" (%d of %d)", d.ItemsProcessed, d.ItemsTotal)
		}
		v.out.line(tintDim, "  %s %.0f%%%s%s", terminal.OneLine(string(d.TodoID)), d.ProgressPercentage, after(": ", d.CurrentStep), items)
	case wire.TodoUpdated:
		v.out.line(tintDim, "%s", todoText(d.Todo))
	case wire.TodoCompleted:
		t := tintGreen
		if d.Status == wire.TodoSkipped {
			t = tintYellow
		}
		v.out.line(t, "%s %s %s in %s%s", todoMark(d.Status), terminal.OneLine(string(d.TodoID)), d.Status, spanText(d.DurationMS), resultText(d.ResultSummary))
	case wire.TodoFailed:
		again := ""
		if d.RetryAt > 0 {
			again = fmt.Sprintf("; again at %s, %d of %d", v.clock(d.RetryAt), d.RetryCount, d.MaxRetries)
		} else if d.Status == wire.TodoStatusFailed {
			again = "  [:retry " + terminal.OneLine(string(d.TodoID)) + " or :skip " + terminal.OneLine(string(d.TodoID)) + "]"
		}
		v.out.line(tintRed, "%s %s: %s (%s)%s", todoMark(wire.TodoStatusFailed), terminal.OneLine(string(d.TodoID)), terminal.OneLine(d.Error.Message), terminal.OneLine(d.Error.Code), again)
	case wire.ExecutionProgress:
		v.out.line(tintDim, "plan: %s", progressText(d))
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
		v.out.line(tintYellow, "? %s  [:approve, :modify … or :reject%s] #%s", terminal.OneLine(d.Message), v.deadline(d.HITLDeadline), shortID(d.RequestID))
	case wire.HITLApprovalRequest:
		v.out.line(tintYellow, "? May %s run? %s  [:approve, :skip %s or :reject, which ends the plan%s] #%s", terminal.OneLine(string(d.TodoID)), terminal.OneLine(d.Reason),
			terminal.OneLine(string(d.TodoID)), v.deadline(d.HITLDeadline), shortID(d.RequestID))
		v.out.line(tintYellow, "    %s", todoText(d.Todo))
	case wire.HITLInputRequest:
		v.out.line(tintYellow, "? %s  [:answer %s%s%s%s] #%s", terminal.OneLine(d.Question), answerForm(d), after(", else ", string(d.DefaultValue)),
			after(", for ", string(d.TodoID)), v.deadline(d.HITLDeadline), shortID(d.RequestID))
		for _, o := range d.Options {
			v.out.line(tintYellow, "    %s", optionText(o))
		}
	case wire.HITLClarification:
		v.out.line(tintYellow, "? %s  [:answer …%s] #%s", terminal.OneLine(d.Ambiguity+" "+d.Question), v.deadline(d.HITLDeadline), shortID(d.RequestID))
		for _, s := range d.Suggestions {
			v.out.line(tintYellow, "    %s", terminal.OneLine(s))
		}
	case wire.HITLClosed:
		took := after(" with ", cmp.Or(d.Action, string(d.Value)))
		if d.Reason != wire.ClosedAnswered {
			took = after("; taken is ", cmp.Or(d.Action, string(d.Value)))
		}
		v.out.line(tintYellow, "question #%s %s%s", shortID(d.RequestID), d.Reason, took)
	default:
		return false
	}
	return true
}

// modified displays the changes of a plan.
func (v *view) modified(d wire.PlanModified) {
	v.out.line(tintBlue, "plan %s changed, version %d: %s%s", terminal.OneLine(string(d.PlanID)), d.NewVersion, howMany(len(d.UpdatedTodos), "todo"),
		estimateText(d.EstimatedDurationSec, d.EstimatedCostUSD))
	for _, c := range d.Changes {
		sign := map[wire.PlanEdit]string{wire.PlanAdd: "+", wire.PlanRemove: "-", wire.PlanUpdate: "~"}[c.Action]
		v.out.line(tintNone, "    %s %s%s", cmp.Or(sign, "~"), terminal.OneLine(string(c.TodoID)), after(": ", terminal.Shorten(terminal.OneLine(c.Task), 100)))
	}
}

// complete displays the result of a plan, except its text, which is displayed as the answer of
// the plan's agent.
func (v *view) complete(d wire.PlanComplete) {
	v.out.line(tintGreen, "plan done: %s%s", terminal.OneLine(d.Status), statisticsText(d.Statistics))
	if d.Response.Summary != "" {
		v.out.line(tintNone, "    %s", terminal.OneLine(d.Response.Summary))
	}
	for _, a := range d.Response.Attachments {
		v.out.line(tintNone, "    %s %q: %s", terminal.OneLine(a.Type), terminal.OneLine(a.Title), terminal.OneLine(a.URL))
	}
	if len(d.Response.NextActions) > 0 {
		v.out.line(tintDim, "    next perhaps: %s", terminal.OneLine(strings.Join(d.Response.NextActions, "; ")))
	}
}

// failed displays why a plan failed or was cancelled.
func (v *view) failed(d wire.PlanFailure) {
	hint := ""
	if d.Error.Recoverable && d.Error.FailedTodo != "" {
		hint = fmt.Sprintf("  [:retry %s or :skip %s]", terminal.OneLine(string(d.Error.FailedTodo)), terminal.OneLine(string(d.Error.FailedTodo)))
	}
	t := tintRed
	if d.Status == "cancelled" {
		t = tintYellow
	}
	v.out.line(t, "plan %s: %s (%s)%s%s", terminal.OneLine(d.Status), terminal.OneLine(d.Error.Message), terminal.OneLine(d.Error.Code), statisticsText(d.Statistics), hint)
}

// todos displays the todos of a plan.
func (v *view) todos(all []wire.Todo) {
	for _, t := range all {
		v.out.line(tintNone, "    %s", todoText(t))
	}
}

// planState displays the plan of a snapshot with its open questions.
func (v *view) planState(s wire.SessionState) {
	if p := s.Plan; p != nil {
		paused := ""
		if p.PausedBy != "" {
			paused = ", paused by " + terminal.OneLine(p.PausedBy) + after(": ", p.PauseReason)
		}
		v.out.line(tintBlue, "plan %s %s%s%s", terminal.OneLine(string(p.ID)), p.Status, paused, after(": ", terminal.Shorten(terminal.OneLine(p.Request), 100)))
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
	return time.UnixMilli(int64(at)).In(v.out.zone).Format(time.TimeOnly)
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
	text := fmt.Sprintf("%s %s %s: %s", todoMark(t.Status), terminal.OneLine(string(t.ID)), strings.ReplaceAll(string(cmp.Or(t.Status, wire.TodoPending)), "_", " "), terminal.Shorten(terminal.OneLine(t.Task), 100))
	var more []string
	if len(t.DependsOn) > 0 {
		names := make([]string, len(t.DependsOn))
		for i, id := range t.DependsOn {
			names[i] = terminal.OneLine(string(id))
		}
		more = append(more, "after "+strings.Join(names, ", "))
	}
	if t.Tool != "" {
		more = append(more, "with "+terminal.OneLine(t.Tool))
	}
	if t.RequiresApproval {
		more = append(more, "asks first")
	}
	if text := strings.TrimPrefix(estimateText(t.EstimatedDurationSec, t.EstimatedCostUSD), ", "); text != "" {
		more = append(more, text)
	}
	if t.Error != nil {
		more = append(more, terminal.OneLine(t.Error.Message))
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
	return text + costText(s.CostUSD, s.CostUnknown)
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
		return after(": ", terminal.Shorten(terminal.OneLine(only.Text), 200))
	}
	return after(": ", terminal.Shorten(terminal.OneLine(string(raw)), 200))
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
	text := terminal.OneLine(o.Value)
	if label := terminal.OneLine(o.Label); label != text {
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
	if text = terminal.OneLine(text); text == "" {
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
