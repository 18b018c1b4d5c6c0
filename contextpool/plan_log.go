package contextpool

import (
	"fmt"
	"strconv"

	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workflow"
)

// planLog publishes and records the beginning and the end of plans.
type planLog struct {
	*services
	turns      *turnSet
	transcript *transcript
	queues     *queues
}

// begin implements [Pool.BeginPlan].
func (p *planLog) begin(m Message, role wire.AgentID) {
	p.queues.addMessageRow(&m, m.Text)
	p.queues.accept(&m, role, wire.TakenDirect)
	p.transcript.recordPlan(policies.SpeakerUser, m.Monitor, m.Text, m.Row)
}

// end implements [Pool.EndPlan].
func (p *planLog) end(c workflow.Close) {
	row := wire.UIRow{Type: wire.RowSay, Say: wire.SayText, MonitorID: c.Monitor, AgentID: c.Role, MessageID: c.Message}
	text := truncate(c.Text, jobTextBytes)
	said := 0
	if text != "" {
		said = utf16Len(text)
		p.step.Emit(wire.AgentResponse{Delta: text, AgentID: c.Role, MonitorID: c.Monitor, MessageID: c.Message})
		row.Text = text
		p.rows.AddRow(row)
		p.transcript.recordPlan(policies.SpeakerAssistant, c.Monitor, text, p.rows.NextRowID()-1)
	}
	reason := truncate(c.Reason, reasonBytes)
	if c.Outcome == providers.Failed {
		row.Say, row.Text = wire.SayError, reason
		p.rows.AddRow(row)
	}
	if asked, ok := p.state.Desktop().Rows().UserRow(c.Message); ok && c.Outcome == providers.Completed {
		p.turns.answered = &answer{monitor: c.Monitor, asked: asked.Text, said: text}
	}
	p.step.AddOps(p.transcript.timeline(c.Monitor).PushPlan(c.Role, p.summary(c))...)
	p.step.Emit(wire.AgentResponse{
		IsComplete: true, Outcome: wire.Outcome(c.Outcome), Reason: reason, Offset: said,
		AgentID: c.Role, MonitorID: c.Monitor, MessageID: c.Message, Usage: wireUsage(c.Usage),
		DurationMS: int(max(p.step.Now().UnixMilli()-int64(c.Started), 0)),
	})
}

// summary returns the timeline text for a plan that has ended.
func (p *planLog) summary(c workflow.Close) string {
	about := ""
	if row, ok := p.state.Desktop().Rows().UserRow(c.Message); ok {
		about = " for " + strconv.Quote(truncate(row.Text, requestBytes))
	}
	if c.Outcome == providers.Completed {
		return fmt.Sprintf("A plan%s was carried out. The user was told: %s", about, truncate(c.Text, planBytes))
	}
	return fmt.Sprintf("A plan%s was not carried out to its end (%s): %s", about, c.Outcome, truncate(c.Reason, planBytes))
}
