package workflow

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Bounds of the stored state, in bytes unless stated otherwise.
const (
	resultBytes     = 8 << 10
	maxError        = 1000
	maxStep         = 200
	maxComment      = 2000
	maxInstructions = 20 // number of instructions
	maxValues       = 30 // number of values of a todo
	maxRejected     = 16 << 10
	maxTitle        = 200
	maxShown        = 4 << 10  // of the request, in events
	maxData         = 15 << 10 // of all results, in events
	maxOpen         = 20       // number of open questions
)

// defaultRetries is the number of retries of a todo that does not specify it.
const defaultRetries = 3

// Error codes of todos and plans, for programs.
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

// Origins of a pause or a continuation.
const (
	byUser      = "user"
	byInterrupt = "interrupt"
)

// state is what the parts of a [Flow] share.
type state struct {
	cfg      Config
	step     StepWriter
	executor Executor

	numbers numbers
	plan    *plan    // the newest plan, which may have ended; nil if there was none
	todos   todoList // in the order of the plan
	asks    []*ask   // open questions, oldest first

	control wire.MessageID // the control message being executed

	reported     tally    // the counts that were last emitted
	numbersDirty bool     // numbers are not stored yet
	planDirty    bool     // plan is not stored yet
	removed      []string // fields of the table to delete
}

// numbers counts the plans and questions of the session, so that no id is reused.
type numbers struct {
	Plans    uint64 `json:"plans,omitempty"`
	Requests uint64 `json:"requests,omitempty"`
}

// plan is the stored state of a plan as a whole.
type plan struct {
	ID wire.PlanID `json:"id"`
	// Version is 0 until there are todos.
	Version int `json:"version,omitempty"`
	// Message is the message it executes, or the control message that reopened the plan
	// after it had ended, at Since.
	Message wire.MessageID  `json:"message,omitempty"`
	Monitor wire.MonitorID  `json:"monitor,omitempty"`
	User    string          `json:"user,omitempty"`
	Guest   bool            `json:"guest,omitempty"`
	Status  wire.PlanStatus `json:"status,omitempty"`
	Layer   wire.Layer      `json:"layer"`
	// Entered is the start of the current layer, Started the start of the plan.
	Entered wire.Millis `json:"entered"`
	Started wire.Millis `json:"started"`
	Since   wire.Millis `json:"since,omitempty"`
	// Paused is set while the plan is paused.
	Paused *pause `json:"paused,omitempty"`
	// ModelTask is the pending or running task of a model, if any.
	ModelTask *modelTask `json:"think,omitempty"`
	// Instructions are requested changes that no model processes yet.
	Instructions []string `json:"instructions,omitempty"`
	// Insight is the interpretation of the request, Clarified the answer to Question about
	// it, Comment the user's comment on the approval.
	Insight   json.RawMessage `json:"insight,omitempty"`
	Question  string          `json:"question,omitempty"`
	Clarified string          `json:"clarified,omitempty"`
	Comment   string          `json:"comment,omitempty"`
	// ModelJobs counts the jobs of model tasks by layer. Attempts is the highest attempt of
	// a removed todo: a new todo of the same id continues from there, so that job names
	// stay unique.
	ModelJobs map[wire.Layer]int `json:"thoughts,omitempty"`
	Attempts  int                `json:"attempts,omitempty"`
	// Usage is the total usage, Spent the usage for the current message.
	Usage providers.Usage `json:"usage,omitzero"`
	Spent providers.Usage `json:"spent,omitzero"`

	request      string // stored separately, because it is long and does not change
	requestDirty bool   // request is not stored yet
}

// pause says why a plan is paused.
type pause struct {
	By     string `json:"by"`
	Reason string `json:"reason,omitempty"`
}

// modelTask is a request to a model for the plan itself.
type modelTask struct {
	// Layer is the purpose: to interpret the request, to plan, or to answer.
	Layer wire.Layer `json:"layer"`
	// Job is the running job, if any.
	Job string `json:"job,omitempty"`
	// Instructions are the requested changes of the plan.
	Instructions []string `json:"instructions,omitempty"`
	// Fault lists the faults of the previous draft, Rejected.
	Fault    string `json:"wrong,omitempty"`
	Rejected string `json:"said,omitempty"`
	// Tries counts the failures; At is the time of the next try.
	Tries int         `json:"tries,omitempty"`
	At    wire.Millis `json:"at,omitempty"`
}

// role returns the agent id of the plan.
func (p *plan) role() wire.AgentID { return wire.AgentID(p.ID) }

func (p *plan) ended() bool {
	switch p.Status {
	case wire.PlanCompleted, wire.PlanFailed, wire.PlanRejected, wire.PlanCancelled:
		return true
	}
	return false
}

// todo is one todo of the plan and its state.
type todo struct {
	// Place orders the todos of a plan.
	Place  int             `json:"place"`
	Draft  draftTodo       `json:"draft"`
	Status wire.TodoStatus `json:"status"`
	// Doubt says why the user must be asked before the todo runs again.
	Doubt string `json:"doubt,omitempty"`
	// Approved is set once the user approved it; Values holds the user's answers.
	Approved bool    `json:"approved,omitempty"`
	Values   []value `json:"values,omitempty"`
	// Attempt counts the jobs, Retries the failures that were retried; RetryAt is the time
	// of the next retry.
	Attempt int         `json:"attempt,omitempty"`
	Retries int         `json:"retries,omitempty"`
	RetryAt wire.Millis `json:"retryAt,omitempty"`
	// Job is the running job, Agent its agent. Halt is set while the job is being stopped
	// and says what happens to the todo then; HaltBy is the message that requested it.
	Job        string          `json:"job,omitempty"`
	Agent      wire.AgentID    `json:"agent,omitempty"`
	Halt       halt            `json:"halt,omitempty"`
	HaltReason string          `json:"haltWhy,omitempty"`
	HaltBy     wire.MessageID  `json:"haltBy,omitempty"`
	Began      wire.Millis     `json:"began,omitempty"`
	DurationMS int             `json:"took,omitempty"`
	Result     json.RawMessage `json:"result,omitempty"`
	Error      *wire.TodoError `json:"error,omitempty"`

	Progress progress `json:"progress,omitzero"`

	dirty      bool // not stored yet
	unreported bool // no event has reported the change
}

// halt says why a job is being stopped.
type halt string

const (
	haltSkip      halt = "skip"
	haltInterrupt halt = "interrupt"
)

// progress is the progress of a todo as reported by its agent.
type progress struct {
	Percentage float64 `json:"percentage,omitempty"`
	Step       string  `json:"step,omitempty"`
	Processed  int     `json:"processed,omitempty"`
	Total      int     `json:"total,omitempty"`
}

// value is the user's answer for a field of a todo.
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

// isDone reports whether todos that depend on this one can continue.
func (t *todo) isDone() bool {
	return t.Status == wire.TodoStatusCompleted || t.Status == wire.TodoSkipped
}

// frozen reports whether the todo can no longer be changed.
func (t *todo) frozen() bool {
	return t.isDone() || t.Status == wire.TodoInProgress || t.Status == wire.TodoStatusFailed
}

// wire returns the todo for the client.
func (t *todo) wire() wire.Todo {
	d := t.Draft
	out := wire.Todo{
		ID: d.ID, Task: d.Task, Tool: d.Tool, Mode: d.Mode, Status: t.Status, Priority: d.Priority, DependsOn: d.DependsOn,
		RequiresApproval: d.RequiresApproval, EstimatedDurationSec: d.EstimatedDurationSec, EstimatedCostUSD: d.EstimatedCostUSD,
		ProgressPercentage: t.Progress.Percentage, CurrentStep: t.Progress.Step,
		ItemsProcessed: t.Progress.Processed, ItemsTotal: t.Progress.Total,
		RetryCount: t.Retries, MaxRetries: t.maxRetries(), RetryAt: t.RetryAt,
		StartedAt: t.Began, AgentID: t.Agent, DurationMS: t.DurationMS, Error: t.Error, ResultSummary: t.Result,
	}
	if out.DependsOn == nil {
		out.DependsOn = []wire.TodoID{}
	}
	return out
}

// setStatus changes the status, which an event has yet to report.
func (t *todo) setStatus(s wire.TodoStatus) {
	t.Status, t.dirty, t.unreported = s, true, true
}

// clearHalt is called when the job that was being stopped has ended.
func (t *todo) clearHalt() { t.Halt, t.HaltReason, t.HaltBy = "", "", "" }

// markReported records that an event has reported the todo.
func (t *todo) markReported() { t.dirty, t.unreported = true, false }

// backoff returns the delay before the n-th retry, starting with 1.
func (s *state) backoff(n int) wire.Millis {
	const longest = 30 * time.Second
	wait := s.cfg.RetryFirst
	for range n - 1 {
		if wait >= longest {
			break
		}
		wait *= 2
	}
	return wire.Millis(min(wait, longest).Milliseconds())
}

// since returns the milliseconds that have passed since t.
func (s *state) since(t wire.Millis) int { return int(max(s.now()-t, 0)) }

func (s *state) now() wire.Millis { return wire.Millis(s.step.Now().UnixMilli()) }

func (s *state) addUsage(u providers.Usage) {
	s.plan.Usage, s.plan.Spent = s.plan.Usage.Add(u), s.plan.Spent.Add(u)
	s.planDirty = true
}

// todoOfJob returns the todo that a job works on.
func (s *state) todoOfJob(job string) *todo {
	i := slices.IndexFunc(s.todos, func(t *todo) bool { return job != "" && t.Job == job })
	if i < 0 || !s.Active() {
		return nil
	}
	return s.todos[i]
}

// Active reports whether a plan is in progress.
func (s *state) Active() bool { return s.plan != nil && !s.plan.ended() }

// job returns a job of the plan.
func (s *state) job(name string, todo wire.TodoID, title, prompt string) Job {
	return Job{
		Name: name, Plan: s.plan.ID, Message: s.plan.Message, Monitor: s.plan.Monitor, User: s.plan.User, Guest: s.plan.Guest,
		Role: wire.AgentID(name), Todo: todo, Title: truncateBytes(title, maxTitle), Prompt: prompt,
	}
}

func (s *state) statistics() *wire.PlanStatistics {
	c, u := s.todos.count(), s.plan.Usage
	return &wire.PlanStatistics{
		TotalTodos: c.total, Completed: c.completed, Failed: c.failed, Skipped: c.skipped, ExecutionTimeMS: s.since(s.plan.Started),
		TokensUsed: u.Input + u.Output + u.CacheRead + u.CacheWrite, CostUSD: u.USD, CostUnknown: u.Unpriced,
	}
}
