package session

import (
	"time"

	"github.com/everdesk/everdesk/wire"
)

// Observer is told what happens, for those who count it. Sessions call it in the middle
// of their work: it must not wait.
type Observer interface {
	OwnerObserver
	MessageObserver
}

// OwnerObserver is told of owning sessions.
type OwnerObserver interface {
	// Appended is called after every commit.
	Appended(events int, took time.Duration)
	// TookOver is called when a session with users or work has come from another
	// replica. It took so long from when it had no owner, as far as was known here.
	TookOver(took time.Duration)
	// Fenced is called when a session that was owned here turned out to be somebody
	// else's.
	Fenced()
	// Probed is called when the store has answered a small question.
	Probed(took time.Duration)
}

// MessageObserver is told of what clients and agents say.
type MessageObserver interface {
	// Repeated is called for a message that came again.
	Repeated()
	// Began is called when the agent of a message has begun.
	Began(waited time.Duration)
	// Answered is called when a question was answered or closed otherwise.
	Answered(waited time.Duration)
	// Limited is called when an answer was one too many.
	Limited(limit string)
}

// limitAnswers is the limit that the observer is told of.
const limitAnswers = "answers"

// blind is an observer who looks at nothing.
type blind struct{}

func (blind) Appended(int, time.Duration) {}
func (blind) TookOver(time.Duration)      {}
func (blind) Fenced()                     {}
func (blind) Probed(time.Duration)        {}
func (blind) Repeated()                   {}
func (blind) Began(time.Duration)         {}
func (blind) Answered(time.Duration)      {}
func (blind) Limited(string)              {}

// observer is who looks.
func (l *owner) observer() Observer { return l.k.hub.cfg.Observer }

// mayAnswer counts an answer to a question and reports whether it is not one too many.
func (l *owner) mayAnswer() bool {
	if l.limiter.AllowN(l.now, 1) {
		return true
	}
	l.observer().Limited(limitAnswers)
	return false
}

// began tells how long a message waited for the run that begins.
func (l *owner) began(run string) {
	if taken, ok := l.ledger.find(l.agents.pool.Beginning(run)); ok {
		l.observer().Began(l.now.Sub(time.UnixMilli(int64(taken.Time))))
	}
}

// asking is since when questions are open, by name, as far as is known. It is for
// counting alone.
type asking map[string]time.Time

// open notes when a question was asked.
func (a *asking) open(name string, now time.Time) {
	if *a == nil {
		*a = asking{}
	}
	if _, known := (*a)[name]; !known {
		(*a)[name] = now
	}
}

// oldest is when the first of those that are open was asked. Without any, what is left
// is forgotten: a question may also go with its monitor.
func (a asking) oldest(open int) (first time.Time) {
	if open == 0 {
		clear(a)
		return first
	}
	for _, since := range a {
		first = earliest(first, since)
	}
	return first
}

// closes tells how long a question was open.
func (l *owner) closes(name string) {
	if since, ok := l.asking[name]; ok {
		delete(l.asking, name)
		l.observer().Answered(l.now.Sub(since))
	}
}

// opens notes the question in an event that is about to be shown.
func (l *owner) opens(data wire.ServerPayload) {
	switch d := data.(type) {
	case wire.ApprovalRequest:
		l.asking.open(dialogName(d.DialogID), l.now)
	case wire.HITLPlanReview:
		l.asking.open(inputName(d.RequestID), l.now)
	case wire.HITLApprovalRequest:
		l.asking.open(inputName(d.RequestID), l.now)
	case wire.HITLInputRequest:
		l.asking.open(inputName(d.RequestID), l.now)
	case wire.HITLClarification:
		l.asking.open(inputName(d.RequestID), l.now)
	case wire.HITLClosed:
		l.closes(inputName(d.RequestID))
	}
}

// opensWith notes the question that an action asks.
func (l *owner) opensWith(action wire.Action) {
	switch a := action.(type) {
	case wire.PromptShow:
		l.asking.open(promptName(a.ID), l.now)
	case wire.DialogConfirm:
		l.asking.open(dialogName(a.ID), l.now)
	}
}
