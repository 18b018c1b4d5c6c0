package history_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/wire"
)

func ask(ts wire.Millis, a wire.Ask) history.OpenAsk {
	return history.OpenAsk{TS: ts, Ask: a, Task: "t1", Since: ts}
}

func wantStatus(t *testing.T, a *history.OpenAsks, want history.WaitStatus) {
	t.Helper()
	if got := a.Status("t1"); got != want {
		t.Errorf("the task is %s, want %s", got, want)
	}
}

// An ask answered immediately does not change the status; after two seconds its task counts
// as waiting until the answer.
func TestTaskWaitsAfterDelay(t *testing.T) {
	t.Parallel()
	for a, want := range map[wire.Ask]history.WaitStatus{
		wire.AskTool: history.WaitsInteractive, wire.AskCommand: history.WaitsInteractive, wire.AskFollowup: history.WaitsInteractive,
		wire.AskUseMCPServer: history.WaitsInteractive, wire.AskResumeTask: history.WaitsResumable,
		wire.AskCompletionResult: history.WaitsIdle, wire.AskAPIReqFailed: history.WaitsIdle,
		wire.AskAutoApprovalMaxReqReached: history.WaitsIdle,
	} {
		var asks history.OpenAsks
		asks.Open(ask(1000, a))
		wantStatus(t, &asks, history.NotWaiting)
		if at := asks.NextDue(); at != 3000 {
			t.Errorf("%s is due at %d, want 3000", a, at)
		}
		if changes, _ := asks.MarkWaiting(2999); len(changes) != 0 {
			t.Errorf("%s counts as waiting too early, want no change before 3000", a)
		}
		changes, told := asks.MarkWaiting(3000)
		if len(changes) != 1 || changes[0] != (history.StatusChange{Task: "t1", Status: want}) || len(told) != 1 {
			t.Errorf("%s makes %+v, want t1 as %s once", a, changes, want)
		}
		wantStatus(t, &asks, want)
		if again, _ := asks.MarkWaiting(9000); len(again) != 0 || asks.NextDue() != 0 {
			t.Errorf("the status of %s is reported twice, want once", a)
		}
		if _, back, ok := asks.Close(1000); !ok || back == nil || back.Status != history.NotWaiting {
			t.Errorf("the answer to %s leads to %+v, want %s", a, back, history.NotWaiting)
		}
		if _, _, ok := asks.Close(1000); ok {
			t.Errorf("%s is answered twice, want once", a)
		}
	}
}

func TestQuickAnswerChangesNoStatus(t *testing.T) {
	t.Parallel()
	var asks history.OpenAsks
	asks.Open(ask(1, wire.AskTool))
	if _, back, ok := asks.Close(1); !ok || back != nil {
		t.Errorf("an answer at once leads to %+v, want no change", back)
	}
}

// An ask that shows the output of a command does not block and takes no message.
func TestCommandOutputDoesNotBlock(t *testing.T) {
	t.Parallel()
	var asks history.OpenAsks
	asks.Open(ask(1, wire.AskCommandOutput))
	if changes, _ := asks.MarkWaiting(99999); len(changes) != 0 || asks.NextDue() != 0 {
		t.Error("a task counts as waiting for command output, want it not to")
	}
	if _, ok := history.AnsweredBy(wire.AskCommandOutput); ok {
		t.Error("a queued message answers command output, want it not to")
	}
}

// Of several asks the one with the highest precedence counts.
func TestStatusOfSeveralQuestions(t *testing.T) {
	t.Parallel()
	var asks history.OpenAsks
	asks.Open(ask(1, wire.AskCompletionResult))
	asks.Open(ask(2, wire.AskResumeTask))
	asks.Open(ask(3, wire.AskTool))
	asks.MarkWaiting(5000)
	wantStatus(t, &asks, history.WaitsInteractive)
	if _, back, _ := asks.Close(3); back == nil || back.Status != history.WaitsResumable {
		t.Errorf("after the answer to the newer question the change is %+v, want %s", back, history.WaitsResumable)
	}
	if _, back, _ := asks.Close(1); back != nil {
		t.Errorf("after the answer to the covered question the change is %+v, want none", back)
	}
	asks.Close(2)
	wantStatus(t, &asks, history.NotWaiting)
}

// A message that was not meant as an answer grants no permission.
func TestMessageGrantsNoPermission(t *testing.T) {
	t.Parallel()
	for _, a := range []wire.Ask{wire.AskTool, wire.AskCommand, wire.AskUseMCPServer, wire.AskAutoApprovalMaxReqReached, wire.AskAPIReqFailed} {
		if how, ok := history.AnsweredBy(a); ok {
			t.Errorf("a message answers %s with %s, want no answer by a message", a, how)
		}
	}
	if how, ok := history.AnsweredBy(wire.AskFollowup); !ok || how != wire.AnswerMessage {
		t.Errorf("a message answers a question with %q, want %s", how, wire.AnswerMessage)
	}
}

func TestSuggestionsAreAnswers(t *testing.T) {
	t.Parallel()
	var asks history.OpenAsks
	q := ask(1000, wire.AskFollowup)
	q.Until, q.Suggested = 1500, "a"
	asks.Open(q)
	if asks.NextDue() != 1500 || len(asks.Overdue(1499)) != 0 {
		t.Errorf("the question is due at %d, overdue at 1499 are %v, want 1500 and none", asks.NextDue(), asks.Overdue(1499))
	}
	if got := asks.Overdue(1500); len(got) != 1 || got[0].Suggested != "a" {
		t.Errorf("overdue at 1500 are %+v, want one with the suggestion a", got)
	}
	if got := asks.CancelTimeouts(); len(got) != 1 || got[0].Until != 0 || len(asks.Overdue(9999)) != 0 || asks.NextDue() != 3000 {
		t.Errorf("after an action of the user it is %+v, want none", got)
	}
}

// After any operations the reported statuses match the actual ones, and each change is
// reported once.
func TestStatusesAgree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var asks history.OpenAsks
		said := map[wire.TaskID]history.WaitStatus{"t1": history.NotWaiting, "t2": history.NotWaiting}
		now := wire.Millis(0)
		hear := func(c history.StatusChange) {
			if said[c.Task] == c.Status {
				t.Fatalf("%s is reported as %s twice, want once", c.Task, c.Status)
			}
			said[c.Task] = c.Status
		}
		for i := range rapid.IntRange(1, 40).Draw(t, "steps") {
			now += wire.Millis(rapid.IntRange(0, 3000).Draw(t, "time"))
			if rapid.Bool().Draw(t, "open") {
				asks.Open(history.OpenAsk{
					TS: wire.Millis(i + 1), Since: now,
					Task: rapid.SampledFrom([]wire.TaskID{"t1", "t2"}).Draw(t, "task"),
					Ask:  rapid.SampledFrom([]wire.Ask{wire.AskTool, wire.AskResumeTask, wire.AskCompletionResult, wire.AskCommandOutput}).Draw(t, "ask"),
				})
			} else if _, back, ok := asks.Close(wire.Millis(rapid.IntRange(1, i+1).Draw(t, "close"))); ok && back != nil {
				hear(*back)
			}
			changes, _ := asks.MarkWaiting(now)
			for _, c := range changes {
				hear(c)
			}
			for task, s := range said {
				if got := asks.Status(task); got != s {
					t.Fatalf("%s is %s and was reported as %s, want the same", task, got, s)
				}
			}
			if at := asks.NextDue(); at != 0 && at <= now {
				t.Fatalf("at %d something was due at %d, want a later time", now, at)
			}
		}
	})
}
