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

// noopObserver is an observer who looks at nothing.
type noopObserver struct{}

func (noopObserver) Appended(int, time.Duration) {}
func (noopObserver) TookOver(time.Duration)      {}
func (noopObserver) Fenced()                     {}
func (noopObserver) Probed(time.Duration)        {}
func (noopObserver) Repeated()                   {}
func (noopObserver) Began(time.Duration)         {}
func (noopObserver) Answered(time.Duration)      {}
func (noopObserver) Limited(string)              {}

// observer is who looks.
func (l *owner) observer() Observer { return l.live.hub.cfg.Observer }

// allowAnswer counts an answer to a question and reports whether it is not one too many.
func (l *owner) allowAnswer() bool {
	if l.limiter.AllowN(l.now, 1) {
		return true
	}
	l.observer().Limited(limitAnswers)
	return false
}

// observeRunStart tells how long a message waited for the run that begins.
func (l *owner) observeRunStart(run string) {
	if taken, ok := l.ledger.find(l.agents.pool.FirstRunMessage(run)); ok {
		l.observer().Began(l.now.Sub(time.UnixMilli(int64(taken.Time))))
	}
}

// questionTimes is since when questions are open, by name, as far as is known. It is for
// counting alone.
type questionTimes map[string]time.Time

// add notes when a question was asked.
func (a *questionTimes) add(name string, now time.Time) {
	if *a == nil {
		*a = questionTimes{}
	}
	if _, known := (*a)[name]; !known {
		(*a)[name] = now
	}
}

// oldest is when the first of those that are open was asked. Without any, what is left
// is forgotten: a question may also go with its monitor.
func (a questionTimes) oldest(open int) (first time.Time) {
	if open == 0 {
		clear(a)
		return first
	}
	for _, since := range a {
		first = earliest(first, since)
	}
	return first
}

// untrackQuestion tells how long a question was open.
func (l *owner) untrackQuestion(name string) {
	if since, ok := l.openQuestions[name]; ok {
		delete(l.openQuestions, name)
		l.observer().Answered(l.now.Sub(since))
	}
}

// trackQuestion notes the question in an event that is about to be shown.
func (l *owner) trackQuestion(data wire.ServerPayload) {
	switch d := data.(type) {
	case wire.ApprovalRequest:
		l.openQuestions.add(dialogName(d.DialogID), l.now)
	case wire.HITLPlanReview:
		l.openQuestions.add(inputName(d.RequestID), l.now)
	case wire.HITLApprovalRequest:
		l.openQuestions.add(inputName(d.RequestID), l.now)
	case wire.HITLInputRequest:
		l.openQuestions.add(inputName(d.RequestID), l.now)
	case wire.HITLClarification:
		l.openQuestions.add(inputName(d.RequestID), l.now)
	case wire.HITLClosed:
		l.untrackQuestion(inputName(d.RequestID))
	}
}

// trackActionQuestion notes the question that an action asks.
func (l *owner) trackActionQuestion(action wire.Action) {
	switch a := action.(type) {
	case wire.PromptShow:
		l.openQuestions.add(promptName(a.ID), l.now)
	case wire.DialogConfirm:
		l.openQuestions.add(dialogName(a.ID), l.now)
	}
}
