package session

import (
	"time"

	"github.com/everdesk/everdesk/wire"
)

// questionTimes is when open questions were asked, by key, as far as is known. It is used for
// metrics only.
type questionTimes map[string]time.Time

// add records when a question was asked.
func (q *questionTimes) add(name string, now time.Time) {
	if *q == nil {
		*q = questionTimes{}
	}
	if _, known := (*q)[name]; !known {
		(*q)[name] = now
	}
}

// oldest returns when the first of the open questions was asked. While none is open it clears the
// map: questions may also disappear with their monitor.
func (q questionTimes) oldest(open int) (first time.Time) {
	if open == 0 {
		clear(q)
		return first
	}
	for _, since := range q {
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
		w.openQuestions.add(planQuestionName(d.RequestID), w.now)
	case wire.HITLApprovalRequest:
		w.openQuestions.add(planQuestionName(d.RequestID), w.now)
	case wire.HITLInputRequest:
		w.openQuestions.add(planQuestionName(d.RequestID), w.now)
	case wire.HITLClarification:
		w.openQuestions.add(planQuestionName(d.RequestID), w.now)
	case wire.HITLClosed:
		w.untrackQuestion(planQuestionName(d.RequestID))
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
