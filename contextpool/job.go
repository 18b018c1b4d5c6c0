package contextpool

import (
	"cmp"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workflow"
)

const (
	// jobSystem is the system prompt of jobs that only think.
	jobSystem = "You think for an assistant that works on somebody's desktop: you read a request, plan the work on it, or sum up " +
		"what came of it. You have no tools, and people do not read what you say: it is read by a program, so you answer " +
		"with nothing but what the prompt asks for."
	// unsureWork marks a job that was cut off after it had used tools.
	unsureWork = "work"
	// jobPromptBytes bounds the prompt of a job. jobTextBytes bounds the text that a plan reads
	// of a job, and the published text of a plan.
	jobPromptBytes = 512 << 10
	jobTextBytes   = 64 << 10
	// planBytes bounds the result of a plan, and requestBytes the request, in the main agent's
	// timeline.
	planBytes    = 4 << 10
	requestBytes = 500
)

// StartJob starts a job of a plan with an agent of its own, on a copy of the main agent's
// thread. The job waits for a slot like any other turn. Exactly one [EndListener.JobEnded]
// follows, in the step in which the job ends.
func (p *Pool) StartJob(j workflow.Job) {
	if p.HasJob(j.Name) {
		return
	}
	t := &turn{Kind: wire.AgentTask, ID: j.Message, Monitor: j.Monitor, Guest: j.Guest, Job: &j}
	t.Profile = cmp.Or(j.Profile, tools.ProfileDefault)
	if row, ok := p.state.Desktop().Rows().UserRow(j.Message); ok {
		t.Row = row.ID
	}
	p.registerTurn(t, string(j.Role))
	t.prompt.After = truncate(j.Prompt, jobPromptBytes) // the prompt has no user content
	j.Prompt = ""
	p.launchTurn(t, nil)
	p.advance()
}

// StopJob ends a job as soon as its run can be interrupted.
func (p *Pool) StopJob(name, reason string) {
	if t := p.findJob(name); t != nil {
		p.stopTurn(t, reason)
		p.advance()
	}
}

// HasJob reports whether the job is under way.
func (p *Pool) HasJob(name string) bool { return p.findJob(name) != nil }

func (p *Pool) findJob(name string) *turn {
	for _, t := range p.turns {
		if t.Job != nil && t.Job.Name == name {
			return t
		}
	}
	return nil
}

// thinkingOnly reports whether the turn is a job that only thinks: it has no tools, and its
// text is not published.
func (t *turn) thinkingOnly() bool { return t.Job != nil && t.Job.Todo == "" }

// outputHidden reports whether the text of the turn is not published while it grows.
func (t *turn) outputHidden() bool { return t.Condensing != nil || t.thinkingOnly() }

// title returns the description of the turn for people.
func (t *turn) title() string {
	if t.Job != nil {
		return t.Job.Title
	}
	return t.prompt.Content
}

// fillJobRun fills a run of a job.
func (p *Pool) fillJobRun(t *turn, r *agentpool.Run) {
	r.Job, r.Todo = t.Job.Name, t.Job.Todo
	h := p.threads[mainAgent(t.Monitor)]
	r.From, r.Fork = h.forkThread(), true
	if !t.thinkingOnly() {
		return
	}
	r.System = jobSystem
	if h.hasMessages() { // otherwise only the backend has the conversation
		r.From = providers.Thread{Entries: history.Plain(history.Effective(h.closedMessages()), true)}
	}
}

// reportJob gives the result of a job to the plan.
func (p *Pool) reportJob(t *turn, outcome providers.Outcome, reason string) {
	w := workflow.JobResult{
		Job: t.Job.Name, Outcome: outcome, Text: truncateFront(t.text.String(), jobTextBytes), Failure: t.failureClass, Unsure: t.uncertain, Usage: t.Usage,
	}
	if outcome != providers.Completed {
		w.Reason = reason
		for _, c := range t.calls {
			if !c.Ended {
				w.Unsure = c.Tool
				break
			}
		}
	}
	p.ends.JobEnded(w)
}

// truncateFront returns at most the last limit bytes of a text, without splitting a rune.
func truncateFront(text string, limit int) string {
	text = sanitize(text)
	from := max(len(text)-limit, 0)
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return text[from:]
}

// BeginPlan accepts a message that is executed as a plan. People see the plan as an agent with
// that role until [Pool.EndPlan].
func (p *Pool) BeginPlan(m Message, role wire.AgentID) {
	p.addMessageRow(&m, m.Text)
	p.acceptMessage(&m, role, wire.TakenDirect)
	p.recordPlanOnTape(policies.SpeakerUser, m.Monitor, m.Text, m.Row)
	p.advance()
}

// EndPlan publishes the end of a plan and adds it to the timeline, which the monitor's main
// agent reads at its next turn.
func (p *Pool) EndPlan(c workflow.Close) {
	row := wire.UIRow{Type: wire.RowSay, Say: wire.SayText, MonitorID: c.Monitor, AgentID: c.Role, MessageID: c.Message}
	text := truncate(c.Text, jobTextBytes)
	said := 0
	if text != "" {
		said = utf16Len(text)
		p.step.Emit(wire.AgentResponse{Delta: text, AgentID: c.Role, MonitorID: c.Monitor, MessageID: c.Message})
		row.Text = text
		p.rows.AddRow(row)
		p.recordPlanOnTape(policies.SpeakerAssistant, c.Monitor, text, p.rows.NextRowID()-1)
	}
	reason := truncate(c.Reason, reasonBytes)
	if c.Outcome == providers.Failed {
		row.Say, row.Text = wire.SayError, reason
		p.rows.AddRow(row)
	}
	p.step.AddOps(p.timeline(c.Monitor).PushPlan(c.Role, p.planSummary(c))...)
	p.step.Emit(wire.AgentResponse{
		IsComplete: true, Outcome: wire.Outcome(c.Outcome), Reason: reason, Offset: said,
		AgentID: c.Role, MonitorID: c.Monitor, MessageID: c.Message, Usage: wireUsage(c.Usage),
		DurationMS: int(max(p.step.Now().UnixMilli()-int64(c.Started), 0)),
	})
	p.advance()
}

// planSummary returns the timeline text for a plan that has ended.
func (p *Pool) planSummary(c workflow.Close) string {
	about := ""
	if row, ok := p.state.Desktop().Rows().UserRow(c.Message); ok {
		about = " for " + strconv.Quote(truncate(row.Text, requestBytes))
	}
	if c.Outcome == providers.Completed {
		return fmt.Sprintf("A plan%s was carried out. The user was told: %s", about, truncate(c.Text, planBytes))
	}
	return fmt.Sprintf("A plan%s was not carried out to its end (%s): %s", about, c.Outcome, truncate(c.Reason, planBytes))
}

// recordPlanOnTape appends a message to or of a plan to the tape.
func (p *Pool) recordPlanOnTape(by policies.Speaker, monitor wire.MonitorID, text string, row wire.RowID) {
	if text != "" {
		p.step.AddOps(p.tape.Append(TapeMessage{
			By: by, Text: text, Time: wire.Millis(p.step.Now().UnixMilli()), Monitor: monitor, Row: row,
		})...)
	}
}
