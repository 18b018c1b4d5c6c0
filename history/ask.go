package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// BlockedAfter is the time an ask is open before its task counts as waiting for it, so that
// an ask answered immediately does not change the task's status.
const BlockedAfter = 2 * time.Second

// OpenAsk is a row that asks the user something and is not answered yet.
type OpenAsk struct {
	// TS identifies the row.
	TS  wire.Millis `json:"ts"`
	Ask wire.Ask    `json:"ask"`
	// Task is the task that asks.
	Task wire.TaskID `json:"task,omitempty"`
	// Since is the time of the ask.
	Since wire.Millis `json:"since"`
	// WaitReported is set once the task's status was reported as waiting because of this
	// ask.
	WaitReported bool `json:"told,omitempty"`
	// Until is the time at which Suggested becomes the answer; 0 means that only the user
	// answers.
	Until     wire.Millis `json:"until,omitempty"`
	Suggested string      `json:"suggested,omitempty"`
}

// blocks reports whether the task cannot continue without the answer.
func (a *OpenAsk) blocks() bool { return a.Ask.Class() != wire.AskNonBlocking }

// due returns the time from which the task counts as waiting.
func (a *OpenAsk) due() wire.Millis { return a.Since + wire.Millis(BlockedAfter.Milliseconds()) }

// WaitStatus is the kind of answer that a task waits for.
type WaitStatus string

// The wait statuses in order of precedence: a task with several open asks has the first
// that applies.
const (
	WaitsInteractive WaitStatus = "interactive"
	WaitsResumable   WaitStatus = "resumable"
	WaitsIdle        WaitStatus = "idle"
	NotWaiting       WaitStatus = "running"
)

var statusOrder = []WaitStatus{WaitsInteractive, WaitsResumable, WaitsIdle, NotWaiting}

// StatusChange is a new wait status of a task.
type StatusChange struct {
	Task   wire.TaskID
	Status WaitStatus
}

// OpenAsks holds the unanswered asks of a session. The zero value is empty. It has no
// clock: the caller passes the time, and calls again at [OpenAsks.NextDue]. It is not safe
// for concurrent use.
type OpenAsks struct{ open []OpenAsk }

// Open adds an ask, or replaces the one of the same row. A task may have several open asks;
// an ask that its task continued without is superseded and closed without an answer.
func (a *OpenAsks) Open(q OpenAsk) {
	if i := a.find(q.TS); i >= 0 {
		a.open[i] = q
		return
	}
	a.open = append(a.open, q)
	slices.SortFunc(a.open, func(x, y OpenAsk) int { return cmp.Compare(x.TS, y.TS) })
}

func (a *OpenAsks) find(ts wire.Millis) int {
	return slices.IndexFunc(a.open, func(q OpenAsk) bool { return q.TS == ts })
}

// Find returns the open ask of a row.
func (a *OpenAsks) Find(ts wire.Millis) (OpenAsk, bool) {
	if i := a.find(ts); i >= 0 {
		return a.open[i], true
	}
	return OpenAsk{}, false
}

// All returns the open asks, oldest first.
func (a *OpenAsks) All() []OpenAsk { return slices.Clone(a.open) }

// Len returns the number of open asks.
func (a *OpenAsks) Len() int { return len(a.open) }

// Close removes an ask, whatever ended it, and reports whether it was open. back is the new
// status of its task if closing the ask changed it.
func (a *OpenAsks) Close(ts wire.Millis) (closed OpenAsk, back *StatusChange, ok bool) {
	i := a.find(ts)
	if i < 0 {
		return OpenAsk{}, nil, false
	}
	closed = a.open[i]
	before := a.Status(closed.Task)
	a.open = slices.Delete(a.open, i, i+1)
	if now := a.Status(closed.Task); now != before {
		back = &StatusChange{closed.Task, now}
	}
	return closed, back, true
}

// Status returns the wait status of a task.
func (a *OpenAsks) Status(task wire.TaskID) WaitStatus {
	best := len(statusOrder) - 1
	for i := range a.open {
		if q := &a.open[i]; q.Task == task && q.WaitReported {
			best = min(best, slices.Index(statusOrder, statusOf(q.Ask)))
		}
	}
	return statusOrder[best]
}

func statusOf(a wire.Ask) WaitStatus {
	switch a.Class() {
	case wire.AskInteractive:
		return WaitsInteractive
	case wire.AskResumable:
		return WaitsResumable
	case wire.AskIdle:
		return WaitsIdle
	default:
		return NotWaiting
	}
}

// MarkWaiting marks the asks that have been open for [BlockedAfter]. It returns the tasks
// whose status changed and the asks it marked.
func (a *OpenAsks) MarkWaiting(now wire.Millis) (changes []StatusChange, marked []OpenAsk) {
	for i := range a.open {
		q := &a.open[i]
		if q.WaitReported || q.Task == "" || !q.blocks() || now < q.due() {
			continue
		}
		before := a.Status(q.Task)
		q.WaitReported = true
		marked = append(marked, *q)
		if after := a.Status(q.Task); after != before {
			changes = append(changes, StatusChange{q.Task, after})
		}
	}
	return changes, marked
}

// Overdue returns the asks whose suggested answer is now due.
func (a *OpenAsks) Overdue(now wire.Millis) []OpenAsk {
	var out []OpenAsk
	for _, q := range a.open {
		if q.Until > 0 && q.Until <= now {
			out = append(out, q)
		}
	}
	return out
}

// CancelTimeouts clears the timeouts of all asks, because a user who is active answers in
// person. It returns the asks it changed.
func (a *OpenAsks) CancelTimeouts() []OpenAsk {
	var out []OpenAsk
	for i := range a.open {
		if q := &a.open[i]; q.Until > 0 {
			q.Until = 0
			out = append(out, *q)
		}
	}
	return out
}

// NextDue returns the next time at which MarkWaiting or Overdue have a result; 0 means
// never.
func (a *OpenAsks) NextDue() wire.Millis {
	var due wire.Millis
	sooner := func(at wire.Millis) {
		if due == 0 || at < due {
			due = at
		}
	}
	for i := range a.open {
		q := &a.open[i]
		if !q.WaitReported && q.Task != "" && q.blocks() {
			sooner(q.due())
		}
		if q.Until > 0 {
			sooner(q.Until)
		}
	}
	return due
}

// AnsweredBy reports whether a new or queued user message answers an ask, and with which
// kind of answer. It answers asks that expect text. It never grants a permission, because
// its author may not have seen the ask, and it does not answer asks that only show the
// output of a command.
func AnsweredBy(q wire.Ask) (wire.AskAnswer, bool) {
	switch q {
	case wire.AskFollowup, wire.AskCompletionResult, wire.AskResumeTask, wire.AskResumeCompletedTask, wire.AskMistakeLimitReached:
		return wire.AnswerMessage, true
	}
	return "", false
}
