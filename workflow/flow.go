package workflow

import (
	"encoding/json"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Table is where everything is kept.
const Table = "workflow"

// MaxTodos is how many todos a plan has at most.
const MaxTodos = 50

// Config is what a flow is made with. Zero values are replaced by what is said.
type Config struct {
	// Parallel is how many todos run at once: 4.
	Parallel int
	// AnswerTime is how long a question is open: 5 minutes; that whether a todo may
	// run twice as long.
	AnswerTime time.Duration
	// AskAbove is the cost, in dollars, from which on a todo needs somebody's yes:
	// 0.25. Less than 0 means never.
	AskAbove float64
	// RetryFirst is how long a todo that failed waits before it runs again: 1 s, then
	// twice as long, 30 s at most.
	RetryFirst time.Duration
	// Tools are the profiles that a todo can name, and Dangerous those of them that
	// need somebody's yes.
	Tools, Dangerous []string
}

// Stage is the step of the session that a [Flow] writes into.
type Stage interface {
	// Now is the time of the step.
	Now() time.Time
	// Emit adds an event to the step.
	Emit(p wire.ServerPayload)
	// Keep adds changes of the session's tables.
	Keep(ops ...store.Op)
}

// Hands do what a plan needs. What they do becomes part of the step; nothing of it
// calls the flow back before the method that called them has returned.
type Hands interface {
	// Begin has a task agent work. Exactly one [Worked] with the job's name follows.
	Begin(j Job)
	// Stop has a job end soon, as interrupted; Worked follows.
	Stop(job, reason string)
	// Answered tells who asked through [Flow.Ask] how its question ended.
	Answered(e Answered)
	// Close ends the message of the plan: what people read, how it ended.
	Close(c Close)
}

// Request is a message that is to be worked off as a plan.
type Request struct {
	// Message is its id, By who sent it.
	Message wire.MessageID
	By      wire.ConnectionID
	Monitor wire.MonitorID
	Text    string
	// Guest says that it is of somebody else than the owner of the session.
	Guest bool
}

// Job is work for a task agent.
type Job struct {
	// Name is unlike that of any other job of the session.
	Name    string         `json:"name"`
	Plan    wire.PlanID    `json:"plan"`
	Message wire.MessageID `json:"message"`
	Monitor wire.MonitorID `json:"monitor"`
	Guest   bool           `json:"guest,omitempty"`
	// Role is the agent's, as people see it.
	Role wire.AgentID `json:"role"`
	// Todo is what it is for, if it is for one. Other jobs only think: they have no
	// tools, and what they say is for the plan alone.
	Todo wire.TodoID `json:"todo,omitempty"`
	// Profile is the tools of a todo's agent.
	Profile string `json:"profile,omitempty"`
	// Title is what people read of it, Prompt what the agent is told.
	Title  string `json:"title"`
	Prompt string `json:"-"`
}

// Worked is what came of a job.
type Worked struct {
	Job     string
	Outcome providers.Outcome
	// Text is what the agent said, Reason why it did not get to its end.
	Text, Reason string
	// Failure is what kind of trouble it was, if it failed for one of the backend.
	Failure providers.Class
	// Unsure is the tool of which nobody knows whether it ran, or the word "work"
	// if it is not known how far the agent came: it is not to run again unasked.
	Unsure string
	Usage  providers.Usage
}

// Answered is how a question that was asked through [Flow.Ask] ended.
type Answered struct {
	Request wire.RequestID
	// Value is the answer, or the default. Without one, Reason says why.
	Value  json.RawMessage
	Reason wire.CloseReason
}

// Close is how the message of a plan ended.
type Close struct {
	Message wire.MessageID
	Monitor wire.MonitorID
	// Role is the plan as an agent.
	Role    wire.AgentID
	Outcome providers.Outcome
	// Text is the answer, Reason why there is none.
	Text, Reason string
	Started      wire.Millis
	Usage        providers.Usage
}

// Refusal says why something is not done.
type Refusal struct {
	Code   wire.Code
	Reason string
	// Field is the part of the message that is wrong.
	Field string
}

// Flow is the plan of a session. The zero value is not usable; see [New].
type Flow struct {
	cfg   Config
	stage Stage
	hands Hands
}

// New is the flow of a session without a plan.
func New(cfg Config, stage Stage, hands Hands) *Flow {
	return &Flow{cfg: cfg, stage: stage, hands: hands}
}

// Restore reads what was kept.
func (f *Flow) Restore(table map[string][]byte) error { return nil }

// All is everything that is kept, for a store that forgot.
func (f *Flow) All() []store.Op { return nil }

// Recover is called once by a new owner, in a step, before the jobs go on. alive
// says whether somebody works on a job.
func (f *Flow) Recover(alive func(job string) bool) {}

// Begin works a message off as a plan. The caller has accepted it, with the role
// that it returns, unless it is refused.
func (f *Flow) Begin(r Request) (wire.AgentID, *Refusal) { return "", nil }

// Active reports whether a plan is under way.
func (f *Flow) Active() bool { return false }

// Worked takes what came of a job.
func (f *Flow) Worked(w Worked) {}

// Answer takes an answer of a person: one of the four hitl responses.
func (f *Flow) Answer(by wire.ConnectionID, m wire.ClientPayload) *Refusal { return nil }

// Control takes an order of a person: one of the five control messages.
func (f *Flow) Control(by wire.ConnectionID, m wire.ClientPayload) *Refusal { return nil }

// Progress says how far the todo of a job is.
func (f *Flow) Progress(job string, p wire.TodoProgress) *Refusal { return nil }

// Ask asks people for a value that the todo of a job needs. If the same field was
// answered before, the answer is there at once; else [Hands.Answered] follows.
func (f *Flow) Ask(job string, q wire.HITLInputRequest) (wire.RequestID, *Answered, *Refusal) {
	return "", nil, nil
}

// Interrupted is told that the user stopped everything: the plan stands still.
func (f *Flow) Interrupted(by wire.ConnectionID) {}

// Reset gives up the plan and forgets it, in this very step. Jobs are over already.
func (f *Flow) Reset(reason string) {}

// Tick does what is due.
func (f *Flow) Tick() {}

// Due is when Tick has something to do; zero means never.
func (f *Flow) Due() time.Time { return time.Time{} }

// Working reports whether somebody has to own the session for the plan's sake: work
// is under way, or something becomes due.
func (f *Flow) Working() bool { return false }
