package session_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

func TestFirstAnswerWins(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	h, _ := startHub(t, s, "a", session.Config{AnswersPerMinute: -1})
	createSession(t, h, "ses-1")
	r := openHandle(t, h, "ses-1")
	deliverAndWait(t, r, command("c", "e", emit(
		wire.DialogConfirm{ID: "d", Title: "Sure?"},
		wire.PromptShow{Prompt: wire.Prompt{ID: "p", Options: []wire.PromptOption{{Value: "a"}, {Value: "b"}}, AllowDismiss: new(false)}},
	)))
	yes := wire.DialogFeedback{DialogID: "d", Confirmed: true}
	deliver(t, r, command("c1", "d1", yes))
	deliver(t, r, command("c2", "d2", yes))
	deliver(t, r, command("c1", "d3", yes))                                // a repetition
	deliver(t, r, command("c1", "d4", wire.DialogFeedback{DialogID: "d"})) // another answer
	deliver(t, r, command("c1", "d1", yes))                                // the same message
	for i, m := range []wire.UserPromptResponse{
		{PromptID: "p", Dismissed: true},
		{PromptID: "p", SelectedValues: []string{"c"}},
		{PromptID: "p", SelectedValues: []string{"a", "b"}},
		{PromptID: "p", Text: "a"},
		{PromptID: "p"},
	} {
		id := wire.MessageID(fmt.Sprintf("bad-%d", i))
		deliver(t, r, command("c1", id, m))
		if p := waitRejection(t, s, id); p.Code != wire.CodeHITLInvalidResponse {
			t.Errorf("%+v is refused with %+v, want code %s", m, p, wire.CodeHITLInvalidResponse)
		}
	}
	deliver(t, r, command("c2", "p1", wire.UserPromptResponse{PromptID: "p", SelectedValues: []string{"a"}}))
	deliver(t, r, command("c1", "p2", wire.UserPromptResponse{PromptID: "p", SelectedValues: []string{"b"}}))
	deliverBarrier(t, r)
	events := readLog(t, s)
	closed := payloads[wire.DialogClosed](events)
	if len(closed) != 3 {
		t.Fatalf("the dialog is closed with %+v, want once, and twice more for the repetitions", closed)
	}
	for i, id := range []wire.MessageID{"d1", "d3", "d1"} {
		want := wire.DialogClosed{
			DialogID: "d", Reason: wire.ClosedAnswered, AnsweredBy: "c1", Confirmed: true, MonitorID: "monitor-0", MessageID: id,
		}
		if closed[i] != want {
			t.Errorf("closing %d is %+v, want %+v", i, closed[i], want)
		}
	}
	for id, by := range map[wire.MessageID]string{"d2": "c1", "d4": "c1", "p2": "c2"} {
		if p := waitRejection(t, s, id); p.Code != wire.CodeHITLRequestExpired || !strings.Contains(p.Reason, by) {
			t.Errorf("%s was late and gets %+v, want code %s that names %s", id, p, wire.CodeHITLRequestExpired, by)
		}
	}
	if p := payloads[wire.PromptClosed](events); len(p) != 1 || p[0].AnsweredBy != "c2" || p[0].Reason != wire.ClosedAnswered {
		t.Errorf("the prompt is closed with %+v, want it once, answered by c2", p)
	}
}

func TestAnswersAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		h, _ := startHub(t, s, "a", session.Config{})
		createSession(t, h, "ses-1")
		r := openHandle(t, h, "ses-1")
		for i := range 601 { // ten a second for a minute
			deliver(t, r, command("c", wire.MessageID(fmt.Sprintf("m%d", i)), wire.DialogFeedback{DialogID: "d"}))
			time.Sleep(100 * time.Millisecond)
		}
		deliverBarrier(t, r)
		answers := map[wire.Code]int{}
		for _, p := range payloads[wire.MessageRejected](readLog(t, s)) {
			answers[p.Code]++
		}
		if answers[wire.CodeHITLInvalidResponse] != 30 || answers[wire.CodeRateLimited] != 571 {
			t.Errorf("601 answers within a minute are answered with %v, want 30 taken", answers)
		}
		// A message that was refused by the rate limit can be repeated.
		time.Sleep(time.Minute)
		id := wire.MessageID("m600")
		deliver(t, r, command("c", id, wire.DialogFeedback{DialogID: "d"}))
		waitLogged(t, s, "ses-1", func(p wire.MessageRejected) bool {
			return p.MessageID == id && p.Code == wire.CodeHITLInvalidResponse && !p.Duplicate
		})
	})
}

func TestQuestionsExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		h, _ := startHub(t, s, "a", session.Config{})
		createSession(t, h, "ses-1")
		r := openHandle(t, h, "ses-1")
		began := time.Now()
		deliverAndWait(t, r, command("c", "e", emit(wire.DialogConfirm{ID: "d"}, wire.PromptShow{Prompt: wire.Prompt{ID: "p"}})))
		synctest.Wait()
		if i, err := s.Session(t.Context(), "ses-1"); err != nil || !i.Working {
			t.Errorf("with open questions the session is %+v, %v, want it working", i, err)
		}
		closed := waitLogged(t, s, "ses-1", anyOf[wire.DialogClosed])
		if took := time.Since(began); closed.Reason != wire.ClosedExpired || took < time.Minute || took > 61*time.Second {
			t.Errorf("after %v the dialog is closed with %+v, want %s after 1m", took, closed, wire.ClosedExpired)
		}
		if p := waitLogged(t, s, "ses-1", anyOf[wire.PromptClosed]); p.Reason != wire.ClosedExpired {
			t.Errorf("the prompt is closed with %+v, want %s", p, wire.ClosedExpired)
		}
		synctest.Wait()
		if i, err := s.Session(t.Context(), "ses-1"); err != nil || i.Working {
			t.Errorf("without questions the session is %+v, %v, want it not working", i, err)
		}
		deliver(t, r, command("c", "late", wire.DialogFeedback{DialogID: "d"}))
		if p := waitRejection(t, s, "late"); p.Code != wire.CodeHITLRequestExpired {
			t.Errorf("a late answer gets %+v, want code %s", p, wire.CodeHITLRequestExpired)
		}
	})
}
