package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// BlockedAfter is how long a question is open before its task counts as waiting for
// it: one that is answered at once kept nobody waiting.
const BlockedAfter = 2 * time.Second

// Asking is a row that asks and is not answered.
type Asking struct {
	// TS is the row.
	TS  wire.Millis `json:"ts"`
	Ask wire.Ask    `json:"ask"`
	// Task is who asks.
	Task wire.TaskID `json:"task,omitempty"`
	// Since is when it asked.
	Since wire.Millis `json:"since"`
	// Told says that the task was said to wait for it.
	Told bool `json:"told,omitempty"`
	// Until is when Suggested is the answer if nobody does anything.
	Until     wire.Millis `json:"until,omitempty"`
	Suggested string      `json:"suggested,omitempty"`
}

// blocks reports whether a task waits for the answer.
func (a *Asking) blocks() bool { return a.Ask.Class() != wire.AskNonBlocking }

// due is when the task counts as waiting.
func (a *Asking) due() wire.Millis { return a.Since + wire.Millis(BlockedAfter.Milliseconds()) }

// WaitStatus is what a task waits for, by what it asks.
type WaitStatus string

// What tasks wait for. The first that fits is the one: of a task with several questions
// the one for which it needs an answer counts.
const (
	WaitsInteractive WaitStatus = "interactive"
	WaitsResumable   WaitStatus = "resumable"
	WaitsIdle        WaitStatus = "idle"
	WaitsNot         WaitStatus = "running"
)

var statusOrder = []WaitStatus{WaitsInteractive, WaitsResumable, WaitsIdle, WaitsNot}

// Change says that the status of a task is another one.
type Change struct {
	Task   wire.TaskID
	Status WaitStatus
}

// Asks are the rows of a session that ask and are not answered. The zero value has
// none. It has no clock: who holds it says what time it is and asks when the next
// thing is due.
type Asks struct{ open []Asking }

// Open adds a question, or changes the one of the same row. A task may have several at
// once; one that it goes on without is superseded, and closed without an answer.
func (a *Asks) Open(q Asking) {
	if i := a.find(q.TS); i >= 0 {
		a.open[i] = q
		return
	}
	a.open = append(a.open, q)
	slices.SortFunc(a.open, func(x, y Asking) int { return cmp.Compare(x.TS, y.TS) })
}

func (a *Asks) find(ts wire.Millis) int {
	return slices.IndexFunc(a.open, func(q Asking) bool { return q.TS == ts })
}

// Find is the question of a row.
func (a *Asks) Find(ts wire.Millis) (Asking, bool) {
	if i := a.find(ts); i >= 0 {
		return a.open[i], true
	}
	return Asking{}, false
}

// All are the open questions, the oldest first.
func (a *Asks) All() []Asking { return slices.Clone(a.open) }

// Len is how many are open.
func (a *Asks) Len() int { return len(a.open) }

// Close ends a question, however it ended, and reports whether it was open. back is
// the status that its task has again, if it counted as waiting for it.
func (a *Asks) Close(ts wire.Millis) (closed Asking, back *Change, ok bool) {
	i := a.find(ts)
	if i < 0 {
		return Asking{}, nil, false
	}
	closed = a.open[i]
	before := a.Status(closed.Task)
	a.open = slices.Delete(a.open, i, i+1)
	if now := a.Status(closed.Task); now != before {
		back = &Change{closed.Task, now}
	}
	return closed, back, true
}

// Status is what a task does.
func (a *Asks) Status(task wire.TaskID) WaitStatus {
	best := len(statusOrder) - 1
	for i := range a.open {
		if q := &a.open[i]; q.Task == task && q.Told {
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
		return WaitsNot
	}
}

// Tick says which tasks count as waiting from now on, and which questions changed
// because of it.
func (a *Asks) Tick(now wire.Millis) (changes []Change, told []Asking) {
	for i := range a.open {
		q := &a.open[i]
		if q.Told || q.Task == "" || !q.blocks() || now < q.due() {
			continue
		}
		before := a.Status(q.Task)
		q.Told = true
		told = append(told, *q)
		if after := a.Status(q.Task); after != before {
			changes = append(changes, Change{q.Task, after})
		}
	}
	return changes, told
}

// Overdue are the questions whose suggested answer is the answer now.
func (a *Asks) Overdue(now wire.Millis) []Asking {
	var out []Asking
	for _, q := range a.open {
		if q.Until > 0 && q.Until <= now {
			out = append(out, q)
		}
	}
	return out
}

// Touched is told that a person has done something: who is there answers for
// themselves. It returns the questions that now wait for that.
func (a *Asks) Touched() []Asking {
	var out []Asking
	for i := range a.open {
		if q := &a.open[i]; q.Until > 0 {
			q.Until = 0
			out = append(out, *q)
		}
	}
	return out
}

// Due is when Tick or Overdue have something to say; 0 means never.
func (a *Asks) Due() wire.Millis {
	var due wire.Millis
	sooner := func(at wire.Millis) {
		if due == 0 || at < due {
			due = at
		}
	}
	for i := range a.open {
		q := &a.open[i]
		if !q.Told && q.Task != "" && q.blocks() {
			sooner(q.due())
		}
		if q.Until > 0 {
			sooner(q.Until)
		}
	}
	return due
}

// AnsweredBy says whether a message that somebody sends, or that waits, answers a
// question, and how. It answers those that want something said. It never grants a
// permission, as it does elsewhere: who wrote it may not have known of the question.
// What only shows the output of a command takes nothing.
func AnsweredBy(q wire.Ask) (wire.AskAnswer, bool) {
	switch q {
	case wire.AskFollowup, wire.AskCompletionResult, wire.AskResumeTask, wire.AskResumeCompletedTask, wire.AskMistakeLimitReached:
		return wire.AnswerMessage, true
	}
	return "", false
}
