package contextpool

import (
	"cmp"
	"fmt"
	"unicode/utf8"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/history"
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

// startJob implements [Pool.StartJob].
func (s *turnStarter) startJob(j workflow.Job) {
	if s.turns.ofJob(j.Name) != nil {
		return
	}
	t := &turn{Kind: wire.AgentTask, ID: j.Message, Monitor: j.Monitor, User: j.User, Guest: j.Guest, Job: &j}
	t.Profile = cmp.Or(j.Profile, tools.ProfileDefault)
	if j.Mode != "" {
		m, err := s.turns.modeOfTodo(j)
		if err != nil {
			s.ends.JobEnded(workflow.JobResult{Job: j.Name, Outcome: providers.Failed, Failure: providers.Invalid, Reason: fmt.Sprintf("the mode of the todo: %v", err)})
			return
		}
		t.prompt.Mode = m
	}
	if row, ok := s.state.Desktop().Rows().UserRow(j.Message); ok {
		t.Row = row.ID
	}
	s.register(t, string(j.Role))
	t.prompt.After = truncate(j.Prompt, jobPromptBytes) // the prompt has no user content
	j.Prompt = ""
	s.launch(t, nil)
}

// thinkingOnly reports whether the turn is a job that only thinks: it has no tools, and its
// text is not published.
func (t *turn) thinkingOnly() bool { return t.Job != nil && t.Job.Todo == "" }

// outputHidden reports whether the text of the turn is not published while it grows.
func (t *turn) outputHidden() bool { return t.Condensing != nil || t.isTitling() || t.thinkingOnly() }

// title returns the description of the turn for people.
func (t *turn) title() string {
	if t.Job != nil {
		return t.Job.Title
	}
	return t.prompt.Content
}

// fillJobRun fills a run of a job.
func (s *turnStarter) fillJobRun(t *turn, r *agentpool.Run) {
	r.Job, r.Todo = t.Job.Name, t.Job.Todo
	h := s.threads.byAgent[mainAgent(t.Monitor)]
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
func (e *turnEnder) reportJob(t *turn, outcome providers.Outcome, reason string) {
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
	e.ends.JobEnded(w)
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
