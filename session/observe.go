package session

import (
	"time"

	"github.com/everdesk/everdesk/wire"
)

// Observer receives counts and durations of owning sessions, for metrics. Sessions call it from
// their goroutines: it must not block.
type Observer interface {
	// Appended is called after every commit.
	Appended(events int, took time.Duration)
	// TookOver is called when a session with users or work was taken over from another replica.
	// took is the time since it had no owner, as far as this replica knew.
	TookOver(took time.Duration)
	// Fenced is called when a session that this replica owned turned out to be owned by another
	// one.
	Fenced()
	// Probed is called after a successful probe of the store.
	Probed(took time.Duration)
}

// MessageObserver receives the events of messages and questions. Like an [Observer] it must not
// block.
type MessageObserver interface {
	// Repeated is called for a message that was sent again.
	Repeated()
	// Began is called when the run of a message begins.
	Began(waited time.Duration)
	// Answered is called when a question is answered or closed in another way.
	Answered(waited time.Duration)
	// Limited is called when an answer is refused by the rate limit.
	Limited(limit string)
}

// limitAnswers is the name of the limit of answers for the observer.
const limitAnswers = "answers"

// noopObserver discards everything.
type noopObserver struct{}

func (noopObserver) Appended(int, time.Duration) {}
func (noopObserver) TookOver(time.Duration)      {}
func (noopObserver) Fenced()                     {}
func (noopObserver) Probed(time.Duration)        {}
func (noopObserver) Repeated()                   {}
func (noopObserver) Began(time.Duration)         {}
func (noopObserver) Answered(time.Duration)      {}
func (noopObserver) Limited(string)              {}

// allowAnswer counts an answer to a question and reports whether it is within the rate limit.
func (q *questions) allowAnswer() bool {
	if q.limiter.AllowN(q.w.now, 1) {
		return true
	}
	q.w.observer.Limited(limitAnswers)
	return false
}

// observeRunStart reports how long a message waited for the run that begins.
func (rp *replies) observeRunStart(run string) {
	if taken, ok := rp.ledger.find(rp.agents.pool.View.FirstRunMessage(run)); ok {
		rp.w.observer.Began(rp.w.now.Sub(time.UnixMilli(int64(taken.Time))))
	}
}

// questionTimes is when open questions were asked, by key, as far as is known. It is used for
// metrics only.
type questionTimes map[string]time.Time

// add records when a question was asked.
func (a *questionTimes) add(name string, now time.Time) {
	if *a == nil {
		*a = questionTimes{}
	}
	if _, known := (*a)[name]; !known {
		(*a)[name] = now
	}
}

// oldest returns when the first of the open questions was asked. While none is open it clears the
// map: questions may also disappear with their monitor.
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

// untrackQuestion reports how long a question was open.
func (w *stepWriter) untrackQuestion(name string) {
	if since, ok := w.openQuestions[name]; ok {
		delete(w.openQuestions, name)
		w.observer.Answered(w.now.Sub(since))
	}
}

// trackQuestion records a question that an event opens or closes.
func (w *stepWriter) trackQuestion(data wire.ServerPayload) {
	switch d := data.(type) {
	case wire.ApprovalRequest:
		w.openQuestions.add(dialogName(d.DialogID), w.now)
	case wire.HITLPlanReview:
		w.openQuestions.add(inputName(d.RequestID), w.now)
	case wire.HITLApprovalRequest:
		w.openQuestions.add(inputName(d.RequestID), w.now)
	case wire.HITLInputRequest:
		w.openQuestions.add(inputName(d.RequestID), w.now)
	case wire.HITLClarification:
		w.openQuestions.add(inputName(d.RequestID), w.now)
	case wire.HITLClosed:
		w.untrackQuestion(inputName(d.RequestID))
	}
}

// trackActionQuestion records a question that an action opens.
func (w *stepWriter) trackActionQuestion(action wire.Action) {
	switch a := action.(type) {
	case wire.PromptShow:
		w.openQuestions.add(promptName(a.ID), w.now)
	case wire.DialogConfirm:
		w.openQuestions.add(dialogName(a.ID), w.now)
	}
}
