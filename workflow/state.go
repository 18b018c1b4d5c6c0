package workflow

import (
	"encoding/json"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// The bounds of what is kept, in bytes unless it is said otherwise.
const (
	resultBytes     = 8 << 10
	maxError        = 1000
	maxStep         = 200
	maxComment      = 2000
	maxInstructions = 20 // of them
	maxValues       = 30 // of a todo
	maxSaid         = 16 << 10
	maxTitle        = 200
	maxShown        = 4 << 10  // of the request, in events
	maxData         = 15 << 10 // of all results, in events
	maxOpen         = 20       // questions at once
)

// defaultRetries is how often a todo that says nothing about it is tried again.
const defaultRetries = 3

// Why todos and plans fail, for programs.
const (
	codeTool        = "TOOL_EXECUTION_FAILED"
	codeProvider    = "PROVIDER_UNAVAILABLE"
	codeTimeout     = "HITL_TIMEOUT"
	codeInterrupted = "INTERRUPTED"
	codeInvalid     = "PLAN_INVALID"
	codeRejected    = "PLAN_REJECTED"
	codeCancelled   = "CANCELLED"
	codeExecution   = "EXECUTION_FAILED"
)

// Who makes a plan stand still or go on.
const (
	byUser      = "user"
	byInterrupt = "interrupt"
)

// numbers count what there ever was in the session, so that no name is given twice.
type numbers struct {
	Plans    uint64 `json:"plans,omitempty"`
	Requests uint64 `json:"requests,omitempty"`
}

// plan is what is known of a plan as a whole.
type plan struct {
	ID wire.PlanID `json:"id"`
	// Version is 0 until there are todos.
	Version int `json:"version,omitempty"`
	// Message is what it works off, or the order that made it go on after it had
	// ended, and Since when that was.
	Message wire.MessageID  `json:"message,omitempty"`
	Monitor wire.MonitorID  `json:"monitor,omitempty"`
	Guest   bool            `json:"guest,omitempty"`
	Status  wire.PlanStatus `json:"status,omitempty"`
	Layer   wire.Layer      `json:"layer"`
	// Entered is when the layer began, Started when the plan did.
	Entered wire.Millis `json:"entered"`
	Started wire.Millis `json:"started"`
	Since   wire.Millis `json:"since,omitempty"`
	// Paused is there while it stands still.
	Paused *pause `json:"paused,omitempty"`
	// Think is what a model is to think about, or does.
	Think *thought `json:"think,omitempty"`
	// Instructions are changes that nobody thinks about yet.
	Instructions []string `json:"instructions,omitempty"`
	// Insight is what the request was understood as, Clarified what was answered to
	// the Question about it, Comment what was said when the plan was approved.
	Insight   json.RawMessage `json:"insight,omitempty"`
	Question  string          `json:"question,omitempty"`
	Clarified string          `json:"clarified,omitempty"`
	Comment   string          `json:"comment,omitempty"`
	// Thoughts counts the jobs that think, and Attempts is the most that one of the
	// todos that are gone had: whatever has its name next goes on from there.
	Thoughts map[wire.Layer]int `json:"thoughts,omitempty"`
	Attempts int                `json:"attempts,omitempty"`
	// Usage is what everything took, Spent what it took for the message.
	Usage providers.Usage `json:"usage,omitzero"`
	Spent providers.Usage `json:"spent,omitzero"`

	request string // kept apart, since it is long and does not change
	spoken  bool   // it is to be kept
}

// pause is why a plan stands still.
type pause struct {
	By     string `json:"by"`
	Reason string `json:"reason,omitempty"`
}

// thought is what a model thinks about for the plan.
type thought struct {
	// Layer is what for: to understand, to plan, or to answer.
	Layer wire.Layer `json:"layer"`
	// Job is who thinks, if somebody does already.
	Job string `json:"job,omitempty"`
	// Instructions are how the plan is to be changed.
	Instructions []string `json:"instructions,omitempty"`
	// Wrong is what was wrong with what was Said before.
	Wrong string `json:"wrong,omitempty"`
	Said  string `json:"said,omitempty"`
	// Tries counts the failures, after which it is tried again At.
	Tries int         `json:"tries,omitempty"`
	At    wire.Millis `json:"at,omitempty"`
}

// role is the plan as an agent.
func (p *plan) role() wire.AgentID { return wire.AgentID(p.ID) }

func (p *plan) ended() bool {
	switch p.Status {
	case wire.PlanCompleted, wire.PlanFailed, wire.PlanRejected, wire.PlanCancelled:
		return true
	}
	return false
}

// todo is one step of the plan and how far it is.
type todo struct {
	// Place orders the todos of a plan.
	Place  int             `json:"place"`
	Draft  draftTodo       `json:"draft"`
	Status wire.TodoStatus `json:"status"`
	// Doubt is why it is not to run again unasked.
	Doubt string `json:"doubt,omitempty"`
	// Approved says that somebody said yes, Values what was answered.
	Approved bool    `json:"approved,omitempty"`
	Values   []value `json:"values,omitempty"`
	// Attempt counts the jobs, Retries the failures after which it was tried again,
	// which it is at RetryAt.
	Attempt int         `json:"attempt,omitempty"`
	Retries int         `json:"retries,omitempty"`
	RetryAt wire.Millis `json:"retryAt,omitempty"`
	// Job is who works on it, as Agent. Halt says that the job was told to end, and
	// what becomes of the todo then, HaltBy which message said so.
	Job     string          `json:"job,omitempty"`
	Agent   wire.AgentID    `json:"agent,omitempty"`
	Halt    halt            `json:"halt,omitempty"`
	HaltWhy string          `json:"haltWhy,omitempty"`
	HaltBy  wire.MessageID  `json:"haltBy,omitempty"`
	Began   wire.Millis     `json:"began,omitempty"`
	Took    int             `json:"took,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *wire.TodoError `json:"error,omitempty"`

	Progress progress `json:"progress,omitzero"`

	touched bool // it is to be kept
	unsaid  bool // and no event tells of it
}

// halt is why a job was told to end.
type halt string

const (
	haltSkip      halt = "skip"
	haltInterrupt halt = "interrupt"
)

// progress is how far a todo is, as who works on it says.
type progress struct {
	Percentage float64 `json:"percentage,omitempty"`
	Step       string  `json:"step,omitempty"`
	Processed  int     `json:"processed,omitempty"`
	Total      int     `json:"total,omitempty"`
}

// value is an answer that a todo was given.
type value struct {
	Field string          `json:"field"`
	Value json.RawMessage `json:"value"`
}

func (t *todo) valueOf(field string) (json.RawMessage, bool) {
	for _, v := range t.Values {
		if v.Field == field {
			return v.Value, true
		}
	}
	return nil, false
}

func (t *todo) maxRetries() int {
	if t.Draft.MaxRetries == nil {
		return defaultRetries
	}
	return *t.Draft.MaxRetries
}

// over reports whether those that depend on the todo can go on.
func (t *todo) over() bool {
	return t.Status == wire.TodoStatusCompleted || t.Status == wire.TodoSkipped
}

// frozen reports whether the todo can no longer be changed.
func (t *todo) frozen() bool {
	return t.over() || t.Status == wire.TodoInProgress || t.Status == wire.TodoStatusFailed
}

// wire is the todo as people see it.
func (t *todo) wire() wire.Todo {
	d := t.Draft
	out := wire.Todo{
		ID: d.ID, Task: d.Task, Tool: d.Tool, Status: t.Status, Priority: d.Priority, DependsOn: d.DependsOn,
		RequiresApproval: d.RequiresApproval, EstimatedDurationSec: d.EstimatedDurationSec, EstimatedCostUSD: d.EstimatedCostUSD,
		ProgressPercentage: t.Progress.Percentage, CurrentStep: t.Progress.Step,
		ItemsProcessed: t.Progress.Processed, ItemsTotal: t.Progress.Total,
		RetryCount: t.Retries, MaxRetries: t.maxRetries(), RetryAt: t.RetryAt,
		StartedAt: t.Began, AgentID: t.Agent, DurationMS: t.Took, Error: t.Error, ResultSummary: t.Result,
	}
	if out.DependsOn == nil {
		out.DependsOn = []wire.TodoID{}
	}
	return out
}

// become gives the todo another state, of which an event is to tell.
func (t *todo) become(s wire.TodoStatus) {
	t.Status, t.touched, t.unsaid = s, true, true
}

// unhalt notes that the job which was told to end has ended.
func (t *todo) unhalt() { t.Halt, t.HaltWhy, t.HaltBy = "", "", "" }

// said notes that an event has told of the todo.
func (t *todo) said() { t.touched, t.unsaid = true, false }

// backoff is how long the n-th attempt waits, the first of which is 1.
func (f *Flow) backoff(n int) wire.Millis {
	const longest = 30 * time.Second
	wait := f.cfg.RetryFirst
	for range n - 1 {
		if wait >= longest {
			break
		}
		wait *= 2
	}
	return wire.Millis(min(wait, longest).Milliseconds())
}
