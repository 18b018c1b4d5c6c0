package session_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// countingObserver is an observer that counts calls.
type countingObserver struct {
	appends, events, repeated, answered, limited atomic.Int64
	waited                                       atomic.Int64
}

func (c *countingObserver) Appended(events int, _ time.Duration) {
	c.appends.Add(1)
	c.events.Add(int64(events))
}
func (*countingObserver) TookOver(time.Duration) {}
func (*countingObserver) Fenced()                {}
func (*countingObserver) Probed(time.Duration)   {}
func (c *countingObserver) Repeated()            { c.repeated.Add(1) }
func (*countingObserver) Began(time.Duration)    {}
func (c *countingObserver) Answered(waited time.Duration) {
	c.answered.Add(1)
	c.waited.Store(int64(waited))
}
func (c *countingObserver) Limited(string) { c.limited.Add(1) }

// A hub counts the open questions and the age of the oldest, and observes how long each was open.
func TestQuestionGauges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		told := &countingObserver{}
		h, stop := startHub(t, s, "a", session.Config{AnswersPerMinute: 1, Observer: told, MessageObserver: told})
		defer stop()
		createSession(t, h, "ses-1")
		r := openHandle(t, h, "ses-1")
		if l := h.Gauges(); l.Idle != 1 || l.Waiting != 0 || !l.Oldest.IsZero() {
			t.Errorf("before there is a question the gauges are %+v, want one idle session and nothing waiting", l)
		}
		asked := time.Now()
		deliverAndWait(t, r, command("c", "e", emit(
			wire.DialogConfirm{ID: "d", Title: "Sure?"},
			wire.PromptShow{Prompt: wire.Prompt{ID: "p", Options: []wire.PromptOption{{Value: "a"}}}},
		)))
		if l := h.Gauges(); l.Waiting != 1 || l.Idle != 0 || l.Approvals != 1 || l.Prompts != 1 || l.Oldest.Before(asked) || time.Since(l.Oldest) > time.Second {
			t.Errorf("with two questions since %v the gauges are %+v, want one waiting session with an approval and a prompt of that time", asked, l)
		}
		time.Sleep(10 * time.Second)
		yes := wire.DialogFeedback{DialogID: "d", Confirmed: true}
		deliver(t, r, command("c", "yes", yes))
		deliver(t, r, command("c", "yes", yes))
		deliverBarrier(t, r)
		if n, took := told.answered.Load(), time.Duration(told.waited.Load()); n != 1 || took.Round(time.Second) != 10*time.Second {
			t.Errorf("%d answers, the last after %v, want 1 after 10s", n, took)
		}
		if told.repeated.Load() != 1 || told.appends.Load() == 0 || told.events.Load() < 2 {
			t.Errorf("%d repeated, %d commits of %d events, want 1 repeated, at least one commit and 2 events", told.repeated.Load(), told.appends.Load(), told.events.Load())
		}
		deliver(t, r, command("c", "too-much", wire.UserPromptResponse{PromptID: "p", SelectedValues: []string{"a"}}))
		deliverBarrier(t, r)
		if told.limited.Load() != 1 {
			t.Errorf("%d answers were limited, want 1", told.limited.Load())
		}
		time.Sleep(6 * time.Minute) // the other question expires
		synctest.Wait()
		if l := h.Gauges(); l.Waiting != 0 || l.Approvals != 0 || l.Prompts != 0 || !l.Oldest.IsZero() || told.answered.Load() != 2 {
			t.Errorf("after all are closed the gauges are %+v with %d answers observed, want nothing waiting and 2 answers", l, told.answered.Load())
		}
	})
}
