package workflow

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Table is the store table with the whole state of a [Flow].
const Table = "workflow"

// MaxTodos bounds the todos of a plan, MaxRequest the message in bytes.
const (
	MaxTodos   = 50
	MaxRequest = 32 << 10
)

// Config configures a [Flow]. A zero value means the default that the field names.
type Config struct {
	Session wire.SessionID
	// Parallel is the number of todos that run at once. Default 4.
	Parallel int
	// AnswerTime is the time limit of a question; approvals of todos have twice as long.
	// Default 5 minutes.
	AnswerTime time.Duration
	// AskAbove is the estimated cost in dollars from which on a todo needs an approval.
	// Negative means never. Default 0.25.
	AskAbove float64
	// RetryFirst is the delay before the first retry of a failed todo. It doubles with
	// every retry, up to 30 s. Default 1 s.
	RetryFirst time.Duration
	// Tools are the tool profiles that a todo can name. None of them needs an approval of its own: each
	// call that can do harm asks.
	Tools []string
	// Modes returns the ids of the modes that a todo can name; nil means none.
	Modes func() []string
}

// StepWriter is the step of the session that a [Flow] writes into.
type StepWriter interface {
	// Now returns the time of the step.
	Now() time.Time
	// Emit adds an event to the step.
	Emit(p wire.ServerPayload)
	// AddOps adds changes of the session's store tables.
	AddOps(ops ...store.Op)
}

// Executor runs the jobs of a plan. Its calls become part of the step; none of them calls
// the flow back before the calling method has returned.
type Executor interface {
	// Begin starts a task agent. Exactly one [JobResult] with the job's name follows.
	Begin(j Job)
	// Stop interrupts a job; its JobResult follows.
	Stop(job, reason string)
	// Answered delivers the end of a question that was asked through [Flow.Ask].
	Answered(e Answered)
	// Close ends the message of the plan: with an answer for the user, or with a reason.
	Close(c Close)
}

// Request is a message to execute as a plan.
type Request struct {
	// Message is the id of the message, By the connection that sent it.
	Message wire.MessageID
	By      wire.ConnectionID
	Monitor wire.MonitorID
	Text    string
	// User is the user who sent it. Guest is set if that is not the owner of the session.
	User  string
	Guest bool
}

// Job is work for a task agent.
type Job struct {
	// Name is unique within the session.
	Name    string         `json:"name"`
	Plan    wire.PlanID    `json:"plan"`
	Message wire.MessageID `json:"message"`
	Monitor wire.MonitorID `json:"monitor"`
	User    string         `json:"user,omitempty"`
	Guest   bool           `json:"guest,omitempty"`
	// Role is the agent id that users see.
	Role wire.AgentID `json:"role"`
	// Todo is set for the job of a todo. Other jobs are model tasks of the plan itself:
	// they have no tools, and their text is not shown.
	Todo wire.TodoID `json:"todo,omitempty"`
	// Profile is the tool profile of a todo's agent.
	Profile string `json:"profile,omitempty"`
	// Mode is the id of the mode of a todo's agent; empty means that of the session.
	Mode string `json:"mode,omitempty"`
	// Title is shown to users, Prompt is sent to the agent.
	Title  string `json:"title"`
	Prompt string `json:"-"`
}

// JobResult is the result of a job.
type JobResult struct {
	Job     string
	Outcome providers.Outcome
	// Text is the output of the agent; Reason says why it did not complete.
	Text, Reason string
	// Failure is the class of the backend error, if one made the job fail.
	Failure providers.Class
	// Unsure is the name of a tool that may or may not have run, or "work" if the progress
	// of the job is unknown. Such a job must not run again without the user's consent.
	Unsure string
	Usage  providers.Usage
}

// Answered is the end of a question that was asked through [Flow.Ask].
type Answered struct {
	Request wire.RequestID
	// Value is the answer or the default. If there is none, Reason says why.
	Value  json.RawMessage
	Reason wire.CloseReason
}

// Close describes how the message of a plan ended.
type Close struct {
	Message wire.MessageID
	Monitor wire.MonitorID
	// Role is the agent id of the plan.
	Role    wire.AgentID
	Outcome providers.Outcome
	// Text is the answer; Reason says why there is none.
	Text, Reason string
	Started      wire.Millis
	Usage        providers.Usage
}

// Refusal says why a call had no effect.
type Refusal struct {
	Code   wire.Code
	Reason string
	// Field is the invalid field of the message.
	Field string
}

// Flow is the plan of a session. Create it with [New]. It handles the calls of the session
// and leaves the rest to its parts, which share one state and call downwards only: the
// planner, the execution of todos, and the questions to the user.
type Flow struct {
	*state
	questions questions
	execution execution
	planner   planner
}

// New returns a flow without a plan.
func New(cfg Config, step StepWriter, executor Executor) *Flow {
	cfg.Parallel = cmp.Or(max(cfg.Parallel, 0), 4)
	cfg.AnswerTime = cmp.Or(max(cfg.AnswerTime, 0), 5*time.Minute)
	cfg.AskAbove = cmp.Or(cfg.AskAbove, 0.25)
	cfg.RetryFirst = cmp.Or(max(cfg.RetryFirst, 0), time.Second)
	s := &state{cfg: cfg, step: step, executor: executor}
	q := questions{s}
	x := execution{s, q}
	return &Flow{state: s, questions: q, execution: x, planner: planner{s, q, x}}
}

// Begin starts a plan for a message and returns its agent id, or refuses it.
func (f *Flow) Begin(r Request) (wire.AgentID, *Refusal) {
	switch {
	case f.Active():
		return "", refuse("a plan is under way")
	case strings.TrimSpace(r.Text) == "":
		return "", &Refusal{Code: wire.CodeInvalidMessage, Reason: "there is nothing to plan", Field: "content"}
	case len(r.Text) > MaxRequest:
		return "", &Refusal{
			Code: wire.CodeMessageTooLarge, Reason: fmt.Sprintf("a plan takes at most %d bytes of text", MaxRequest), Field: "content",
		}
	}
	defer f.finishCall()
	f.clearPlan()
	f.numbers.Plans++
	f.numbersDirty = true
	id := wire.PlanID(fmt.Sprintf("plan-%d", f.numbers.Plans))
	f.plan = &plan{
		ID: id, Message: r.Message, Monitor: r.Monitor, User: r.User, Guest: r.Guest, Started: f.now(), ModelJobs: map[wire.Layer]int{},
		request: r.Text, requestDirty: true,
	}
	f.planner.enterLayer(wire.LayerCognitive, "Understanding the request")
	f.plan.ModelTask = &modelTask{Layer: wire.LayerCognitive}
	return f.plan.role(), nil
}

// HandleJobResult applies the result of a job. It ignores results of jobs that the plan no
// longer waits for.
func (f *Flow) HandleJobResult(w JobResult) {
	if !f.Active() || w.Job == "" {
		return
	}
	defer f.finishCall()
	if t := f.plan.ModelTask; t != nil && t.Job == w.Job {
		f.addUsage(w.Usage)
		f.planner.handleModelResult(t, w)
	} else if t := f.todoOfJob(w.Job); t != nil {
		f.addUsage(w.Usage)
		f.execution.handleResult(t, w)
	}
}

// Progress reports the progress of the todo of a job.
func (f *Flow) Progress(job string, p wire.TodoProgress) *Refusal {
	t := f.todoOfJob(job)
	if t == nil {
		return refuse("the todo of this job has ended or is stopped")
	}
	defer f.finishCall()
	p.TodoID, p.CurrentStep = t.Draft.ID, truncateBytes(p.CurrentStep, maxStep)
	p.ProgressPercentage = min(max(p.ProgressPercentage, 0), 100)
	p.ItemsProcessed, p.ItemsTotal = max(p.ItemsProcessed, 0), max(p.ItemsTotal, 0)
	if now := (progress{p.ProgressPercentage, p.CurrentStep, p.ItemsProcessed, p.ItemsTotal}); now != t.Progress {
		t.Progress = now
		t.dirty = true
		f.step.Emit(p)
	}
	return nil
}

// Interrupted pauses the plan because the user stopped everything. The session calls it
// before it interrupts the jobs, so that interrupted todos start again when the plan
// continues.
func (f *Flow) Interrupted(wire.ConnectionID) {
	if !f.Active() {
		return
	}
	defer f.finishCall()
	for _, t := range f.todos {
		if t.Status == wire.TodoInProgress && t.Halt == "" {
			t.Halt = haltInterrupt
			t.dirty = true
		}
	}
	if f.plan.Paused == nil {
		f.planner.pause(byInterrupt, "", "")
	}
}

// Reset cancels the plan and deletes it, within this step. The session has ended the jobs
// already.
func (f *Flow) Reset(reason string) {
	if f.plan == nil {
		return
	}
	defer f.finishCall()
	if f.Active() {
		for _, t := range f.todos {
			t.Job = ""
		}
		f.plan.ModelTask = nil
		f.planner.abortPlan(wire.PlanCancelled, wire.PlanFailureError{Code: codeCancelled, Message: cmp.Or(reason, "The session was reset.")})
	}
	f.step.Emit(wire.PlanCleared{PlanID: f.plan.ID})
	f.clearPlan()
}

// finishCall ends every call that changes something: it starts what can start, emits events
// and stores the changes.
func (f *Flow) finishCall() {
	f.advance()
	f.step.AddOps(f.changes()...)
}

// advance starts everything that can start now, and emits the changes.
func (f *Flow) advance() {
	if !f.Active() {
		return
	}
	if f.plan.Layer == wire.LayerExecution {
		f.execution.unblock()
	}
	if f.plan.Paused == nil {
		f.planner.startRevision()
		if f.plan.Layer == wire.LayerExecution {
			f.execution.startReady()
			f.planner.concludeExecution()
		}
		f.planner.startModelTask()
	}
	if f.Active() {
		f.execution.emitUpdates()
		f.execution.emitProgress()
	}
}

// refuse returns the refusal of a call that does not fit the state.
func refuse(format string, args ...any) *Refusal {
	return &Refusal{Code: wire.CodeSessionInvalidState, Reason: fmt.Sprintf(format, args...)}
}
