package attach

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/everdesk/everdesk/cmd/hub/internal/terminal"
	"github.com/everdesk/everdesk/wire"
)

// response displays a piece of an answer, the end of a turn, or that the hub lost a piece and
// sends it again.
func (v *view) response(d wire.AgentResponse) {
	if d.Joined != "" {
		return // the end of the message that began the turn is displayed
	}
	ref, label := streamRef{agent: d.AgentID}, agentLabel(d.AgentID, d.MonitorID)
	if d.Delta == "" && !d.IsComplete {
		v.out.rewind(ref, d.Offset)
	}
	v.out.addText(ref, label, d.Delta, d.Offset)
	if !d.IsComplete {
		return
	}
	v.out.finish(d.AgentID)
	v.out.dropTexts(d.AgentID)
	took := spanText(d.DurationMS)
	switch d.Outcome {
	case wire.OutcomeFailed:
		v.out.line(tintRed, "%s: failed after %s: %s", label, took, terminal.OneLine(d.Reason))
	case wire.OutcomeInterrupted:
		v.out.line(tintYellow, "%s: interrupted after %s: %s", label, took, terminal.OneLine(d.Reason))
	default:
		v.out.line(tintDim, "%s: done in %s%s", label, took, usageText(d.Usage))
	}
	v.out.flushHeld()
}

func spanText(ms int) string {
	d := time.Duration(ms) * time.Millisecond
	if d > time.Second {
		d = d.Round(100 * time.Millisecond)
	}
	return d.String()
}

// usageText formats the usage of a turn, starting with a comma; "" for none.
func usageText(u *wire.Usage) string {
	if u == nil {
		return ""
	}
	text := fmt.Sprintf(", %d tokens in", u.InputTokens)
	if cached := u.CacheReadTokens + u.CacheWriteTokens; cached > 0 {
		text += fmt.Sprintf(" and %d by the cache", cached)
	}
	text += fmt.Sprintf(", %d out", u.OutputTokens)
	return text + costText(u.CostUSD, u.CostUnknown)
}

// costText formats a cost of which a part may be unknown, starting with a comma; "" for nothing.
func costText(usd float64, unknown bool) string {
	switch {
	case usd > 0 && unknown:
		return fmt.Sprintf(", $%.4f and more", usd)
	case usd > 0:
		return fmt.Sprintf(", $%.4f", usd)
	case unknown:
		return ", cost unknown"
	}
	return ""
}

// agentEvent displays how messages are handled, and the activity of agents except their text and
// thinking. It returns false for other events.
func (v *view) agentEvent(p wire.ServerPayload) bool {
	switch d := p.(type) {
	case wire.MessageUpdated:
		v.rowChanged(d)
	case wire.MessageAccepted:
		if !d.Duplicate { // a duplicate repeats an earlier answer
			v.out.line(tintDim, "#%s → %s (%s)", shortID(d.MessageID), agentLabel(d.AgentID, d.MonitorID), cmp.Or(d.How, wire.TakenDirect))
		}
	case wire.MessageQueued:
		if !d.Duplicate {
			v.out.line(tintDim, "#%s waits, number %d for %s", shortID(d.MessageID), d.Position, cmp.Or(d.MonitorID, firstMonitor))
		}
	case wire.MessageRejected:
		v.out.line(tintRed, "#%s refused: %s (%d)", shortID(d.MessageID), terminal.OneLine(d.Reason), d.Code)
	case wire.AgentError:
		v.out.line(tintRed, "%s: %s", agentLabel(d.AgentID, d.MonitorID), terminal.OneLine(d.Error))
	case wire.ToolProgress:
		v.tool(d)
	case wire.AppProtocolRequest:
		v.out.line(tintDim, "%s: asks the app in window %s", agentLabel(d.AgentID, d.MonitorID), v.title(d.MonitorID, d.WindowID))
	case wire.ViewActive:
		v.out.line(tintDim, "window %s is used in a tab", v.title(d.MonitorID, d.WindowID))
	case wire.TurnInterrupted:
		v.out.line(tintYellow, "%s: cut off: %s", agentLabel(d.AgentID, d.MonitorID), terminal.OneLine(d.Reason))
	case wire.TaskCreated, wire.TaskStarted, wire.TaskCompleted, wire.TaskAborted, wire.TaskFocused, wire.TaskUnfocused,
		wire.TaskActive, wire.TaskInteractive, wire.TaskResumable, wire.TaskIdle, wire.TaskPaused, wire.TaskUnpaused,
		wire.TaskSpawned, wire.TaskAskResponded, wire.TaskUserMessage, wire.TaskToolFailed, wire.TaskTokenUsageUpdated:
		// Not displayed: the texts and actions of task agents are displayed as they arrive.
	case wire.WindowAgentStatus:
		v.out.line(tintDim, "window %s: agent %s %s", v.title(d.MonitorID, d.WindowID), agentLabel(d.AgentID, d.MonitorID), d.Status)
	default:
		return false
	}
	return true
}

// tool displays a tool call.
func (v *view) tool(d wire.ToolProgress) {
	v.out.finish(d.AgentID)
	label, name := agentLabel(d.AgentID, d.MonitorID), terminal.OneLine(d.ToolName)
	message := terminal.Shorten(terminal.OneLine(d.Message), 100)
	if message != "" {
		message = ": " + message
	}
	switch d.Status {
	case wire.ToolRunning:
		if message != "" {
			v.out.line(tintDim, "%s: %s%s", label, name, message)
			return
		}
		v.out.line(tintDim, "%s: uses %s %s", label, name, terminal.Shorten(terminal.OneLine(string(d.ToolInput)), 100))
	case wire.ToolError:
		v.out.line(tintYellow, "%s: %s did not work%s", label, name, message)
	default:
		v.out.line(tintDim, "%s: %s is done%s", label, name, message)
	}
}

// rowChanged displays a row of the conversation unless it was displayed as it arrived.
func (v *view) rowChanged(d wire.MessageUpdated) {
	r := d.Message
	switch {
	case r.Partial != nil && *r.Partial, asksElsewhere(r):
	case r.Type == wire.RowAsk && r.IsAnswered:
		v.out.line(tintYellow, "question #%s answered", shortID(rowID(r)))
	case (r.Say == wire.SayText || r.Say == wire.SaySubtaskResult) && v.out.hasText(r.AgentID):
	case r.Say == wire.SayError && r.AgentID != "": // the end of the turn reports it
	case isDetail(r): // tools, thinking and turn ends were displayed as they arrived
	default:
		v.row(r)
	}
}

// isDetail reports whether a row is about the course of a turn, not about the conversation.
func isDetail(r wire.UIRow) bool {
	return r.Say == wire.SayTool || r.Say == wire.SayReasoning || r.Say == wire.SayAPIReqFinished
}

// row displays a row of the conversation.
func (v *view) row(r wire.UIRow) {
	t, name := tintNone, cmp.Or(string(r.Say), string(r.Ask))
	switch {
	case r.Say == wire.SayUserFeedback:
		t, name = tintBlue, "user"
		if r.MessageID != "" {
			name += " #" + shortID(r.MessageID)
		}
	case asks(r):
		v.out.line(tintYellow, "? %s  [:yes, :no or :answer …] #%s", terminal.OneLine(r.Text), shortID(rowID(r)))
		return
	case r.AgentID != "":
		name = agentLabel(r.AgentID, r.MonitorID)
		if r.Say != wire.SayText && r.Say != wire.SaySubtaskResult {
			t = tintYellow
		}
	}
	v.out.line(t, "%s: %s", name, indent(strings.TrimRight(terminal.Plain(r.Text), "\n")))
}

// questionEvent displays questions and their ends. It returns false for other events.
func (v *view) questionEvent(p wire.ServerPayload) bool {
	switch d := p.(type) {
	case wire.ApprovalRequest:
		v.dialog(d)
	case wire.DialogClosed:
		answer := string(d.Reason)
		switch {
		case d.Reason == wire.ClosedAnswered && d.Confirmed:
			answer = "answered with yes"
		case d.Reason == wire.ClosedAnswered:
			answer = "answered with no"
		}
		v.out.line(tintYellow, "question #%s %s", shortID(d.DialogID), answer)
	case wire.PromptClosed:
		v.out.line(tintYellow, "question #%s %s", shortID(d.PromptID), d.Reason)
	default:
		return false
	}
	return true
}

// dialog displays a yes or no question.
func (v *view) dialog(d wire.ApprovalRequest) {
	yes, no := cmp.Or(terminal.OneLine(d.ConfirmText), "yes"), cmp.Or(terminal.OneLine(d.CancelText), "no")
	always := ""
	if d.PermissionOptions != nil && d.PermissionOptions.ShowRememberChoice {
		always = " [always]"
	}
	v.out.line(tintYellow, "? %s: %s  [%s with :yes%s, %s with :no%s] #%s", terminal.OneLine(d.Title), terminal.OneLine(d.Message),
		yes, always, no, always, shortID(d.DialogID))
}

// prompt displays a question that is answered with a choice or a text.
func (v *view) prompt(p wire.Prompt) {
	v.out.line(tintYellow, "? %s: %s  [:answer …] #%s", terminal.OneLine(p.Title), terminal.OneLine(p.Message), shortID(p.ID))
	for _, o := range p.Options {
		text := terminal.OneLine(o.Value)
		if label := terminal.OneLine(o.Label); label != text {
			text += "  " + label
		}
		if more := terminal.OneLine(o.Description); more != "" {
			text += "  (" + terminal.Shorten(more, 80) + ")"
		}
		v.out.line(tintYellow, "    %s", text)
	}
}

// monitor displays the state of a monitor. It omits a change between idle and running of a known
// monitor or the first one, because the agents' events show that.
func (v *view) monitor(d wire.MonitorStatus) {
	if v.monitors == nil {
		v.monitors = map[wire.MonitorID]wire.MonitorStatus{}
	}
	before, known := v.monitors[d.MonitorID]
	if v.monitors[d.MonitorID] = d; d.State == wire.MonitorRemoved {
		delete(v.monitors, d.MonitorID)
	}
	usual := d.State == wire.MonitorIdle || d.State == wire.MonitorRunning
	if usual && before.Queue == d.Queue && d.Budget == nil && (known || d.MonitorID == firstMonitor) {
		return
	}
	t := tintDim
	if d.State == wire.MonitorOverBudget || d.Budget != nil && d.Budget.Denied != "" {
		t = tintYellow
	}
	text := monitorText(d)
	if b := d.Budget; b != nil && b.Until > 0 {
		text += " until " + time.UnixMilli(int64(b.Until)).In(v.out.zone).Format(time.TimeOnly)
	}
	v.out.line(t, "%s", text)
}

// monitorText formats the state of a monitor.
func monitorText(d wire.MonitorStatus) string {
	state := string(d.State)
	switch d.State {
	case wire.MonitorWaiting:
		state = "waits for a free agent"
	case wire.MonitorOverBudget:
		state = "over its budget"
	}
	text := fmt.Sprintf("%s: %s", d.MonitorID, state)
	if d.Queue > 0 {
		text += fmt.Sprintf(", %d waiting", d.Queue)
	}
	if b := d.Budget; b != nil {
		text += fmt.Sprintf(" (in a minute %d/%d actions, %d/%d bytes; %d/%d turns)",
			b.Actions, b.ActionsLimit, b.Output, b.OutputLimit, b.Running, b.RunningLimit)
		if b.Denied != "" {
			text += fmt.Sprintf(", no more %s", b.Denied)
		}
	}
	return text
}

// agentText formats the status of an agent, its message and its tool.
func agentText(a wire.AgentState) string {
	text := fmt.Sprintf("%s %s", agentLabel(a.Role, a.MonitorID), a.Status)
	if a.MessageID != "" {
		text += " on #" + shortID(a.MessageID)
	}
	if a.Tool != "" {
		text += ", uses " + terminal.OneLine(a.Tool)
	}
	return text
}

// waitingText formats a queued message.
func waitingText(m wire.MonitorID, place int, w wire.QueuedMessage) string {
	text := fmt.Sprintf("#%s waits, number %d for %s", shortID(w.ID), place, m)
	if w.Text != "" {
		text += ": " + terminal.Shorten(terminal.OneLine(w.Text), 80)
	}
	return text
}
