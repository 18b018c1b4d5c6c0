package workflow

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Table is where everything is kept.
const Table = "workflow"

// MaxTodos is how many todos a plan has at most, MaxRequest how many bytes the message
// that it works off.
const (
	MaxTodos   = 50
	MaxRequest = 32 << 10
)

// Config is what a flow is made with. Zero values are replaced by what is said.
type Config struct {
	// Session is whose plans they are.
	Session wire.SessionID
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

	numbers numbers
	plan    *plan   // the newest, which may have ended; nil if there was none
	todos   []*todo // in the order of the plan
	asks    []*ask  // that are open, the oldest first

	order wire.MessageID // the order that is carried out right now

	told     tally    // what was said of how many todos are how far
	recount  bool     // the numbers are to be kept
	reworded bool     // and the plan
	gone     []string // fields of the table that are not needed any more
}

// New is the flow of a session without a plan.
func New(cfg Config, stage Stage, hands Hands) *Flow {
	cfg.Parallel = cmp.Or(max(cfg.Parallel, 0), 4)
	cfg.AnswerTime = cmp.Or(max(cfg.AnswerTime, 0), 5*time.Minute)
	cfg.AskAbove = cmp.Or(cfg.AskAbove, 0.25)
	cfg.RetryFirst = cmp.Or(max(cfg.RetryFirst, 0), time.Second)
	return &Flow{cfg: cfg, stage: stage, hands: hands}
}

// Begin works a message off as a plan. The caller has accepted it, with the role
// that it returns, unless it is refused.
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
	defer f.done()
	f.forget()
	f.numbers.Plans++
	f.recount = true
	id := wire.PlanID(fmt.Sprintf("plan-%d", f.numbers.Plans))
	f.plan = &plan{
		ID: id, Message: r.Message, Monitor: r.Monitor, Guest: r.Guest, Started: f.now(), Thoughts: map[wire.Layer]int{},
		request: r.Text, spoken: true,
	}
	f.enter(wire.LayerCognitive, "Understanding the request")
	f.plan.Think = &thought{Layer: wire.LayerCognitive}
	return f.plan.role(), nil
}

// Active reports whether a plan is under way.
func (f *Flow) Active() bool { return f.plan != nil && !f.plan.ended() }

// Worked takes what came of a job. One that nobody waits for any more is of no
// interest.
func (f *Flow) Worked(w Worked) {
	if !f.Active() || w.Job == "" {
		return
	}
	defer f.done()
	if t := f.plan.Think; t != nil && t.Job == w.Job {
		f.spend(w.Usage)
		f.thought(t, w)
	} else if t := f.atWork(w.Job); t != nil {
		f.spend(w.Usage)
		f.worked(t, w)
	}
}

// Progress says how far the todo of a job is.
func (f *Flow) Progress(job string, p wire.TodoProgress) *Refusal {
	t := f.atWork(job)
	if t == nil {
		return refuse("nobody waits for this work any more")
	}
	defer f.done()
	p.TodoID, p.CurrentStep = t.Draft.ID, cut(p.CurrentStep, maxStep)
	p.ProgressPercentage = min(max(p.ProgressPercentage, 0), 100)
	p.ItemsProcessed, p.ItemsTotal = max(p.ItemsProcessed, 0), max(p.ItemsTotal, 0)
	if now := (progress{p.ProgressPercentage, p.CurrentStep, p.ItemsProcessed, p.ItemsTotal}); now != t.Progress {
		t.Progress = now
		t.touched = true
		f.stage.Emit(p)
	}
	return nil
}

// Interrupted is told that the user stopped everything, before the jobs are: the
// plan stands still, and what is cut off begins anew when it goes on.
func (f *Flow) Interrupted(wire.ConnectionID) {
	if !f.Active() {
		return
	}
	defer f.done()
	for _, t := range f.todos {
		if t.Status == wire.TodoInProgress && t.Halt == "" {
			t.Halt = haltInterrupt
			t.touched = true
		}
	}
	if f.plan.Paused == nil {
		f.pause(byInterrupt, "", "")
	}
}

// Reset gives up the plan and forgets it, in this very step. Jobs are over already.
func (f *Flow) Reset(reason string) {
	if f.plan == nil {
		return
	}
	defer f.done()
	if f.Active() {
		for _, t := range f.todos {
			t.Job = ""
		}
		f.plan.Think = nil
		f.giveUp(wire.PlanCancelled, wire.PlanFailureError{Code: codeCancelled, Message: cmp.Or(reason, "The session was reset.")})
	}
	f.stage.Emit(wire.PlanCleared{PlanID: f.plan.ID})
	f.forget()
}

// done ends every call that changes something: it does what can be done now, tells
// of it, and keeps it.
func (f *Flow) done() {
	f.settle()
	f.stage.Keep(f.changes()...)
}

// settle goes on as far as it goes.
func (f *Flow) settle() {
	if !f.Active() {
		return
	}
	if f.plan.Layer == wire.LayerExecution {
		f.unblock()
	}
	if f.plan.Paused == nil {
		f.rethink()
		if f.plan.Layer == wire.LayerExecution {
			f.execute()
			f.conclude()
		}
		f.think()
	}
	if f.Active() {
		f.tell()
		f.sumUp()
	}
}

// atWork is the todo that a job works on.
func (f *Flow) atWork(job string) *todo {
	i := slices.IndexFunc(f.todos, func(t *todo) bool { return job != "" && t.Job == job })
	if i < 0 || !f.Active() {
		return nil
	}
	return f.todos[i]
}

func (f *Flow) now() wire.Millis { return wire.Millis(f.stage.Now().UnixMilli()) }

func (f *Flow) spend(u providers.Usage) {
	f.plan.Usage, f.plan.Spent = f.plan.Usage.Add(u), f.plan.Spent.Add(u)
	f.reworded = true
}

// refuse says that something does not fit the state.
func refuse(format string, args ...any) *Refusal {
	return &Refusal{Code: wire.CodeSessionInvalidState, Reason: fmt.Sprintf(format, args...)}
}
