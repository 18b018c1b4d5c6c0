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
	create(t, h, "ses-1")
	r := enter(t, h, "ses-1")
	ask(t, r, says("c", "e", emit(
		wire.DialogConfirm{ID: "d", Title: "Sure?"},
		wire.PromptShow{Prompt: wire.Prompt{ID: "p", Options: []wire.PromptOption{{Value: "a"}, {Value: "b"}}, AllowDismiss: new(false)}},
	)))
	yes := wire.DialogFeedback{DialogID: "d", Confirmed: true}
	deliver(t, r, says("c1", "d1", yes))
	deliver(t, r, says("c2", "d2", yes))
	deliver(t, r, says("c1", "d3", yes))                                // again
	deliver(t, r, says("c1", "d4", wire.DialogFeedback{DialogID: "d"})) // changed its mind
	deliver(t, r, says("c1", "d1", yes))                                // the very same message
	for i, m := range []wire.UserPromptResponse{
		{PromptID: "p", Dismissed: true},
		{PromptID: "p", SelectedValues: []string{"c"}},
		{PromptID: "p", SelectedValues: []string{"a", "b"}},
		{PromptID: "p", Text: "a"},
		{PromptID: "p"},
	} {
		id := wire.MessageID(fmt.Sprintf("bad-%d", i))
		deliver(t, r, says("c1", id, m))
		if p := rejection(t, s, id); p.Code != wire.CodeHITLInvalidResponse {
			t.Errorf("%+v is refused with %+v", m, p)
		}
	}
	deliver(t, r, says("c2", "p1", wire.UserPromptResponse{PromptID: "p", SelectedValues: []string{"a"}}))
	deliver(t, r, says("c1", "p2", wire.UserPromptResponse{PromptID: "p", SelectedValues: []string{"b"}}))
	settled(t, r)
	events := history(t, s)
	closed := find[wire.DialogClosed](events)
	if len(closed) != 3 {
		t.Fatalf("the dialog is closed with %+v, want once and twice again for who asked again", closed)
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
		if p := rejection(t, s, id); p.Code != wire.CodeHITLRequestExpired || !strings.Contains(p.Reason, by) {
			t.Errorf("%s came too late and hears %+v", id, p)
		}
	}
	if p := find[wire.PromptClosed](events); len(p) != 1 || p[0].AnsweredBy != "c2" || p[0].Reason != wire.ClosedAnswered {
		t.Errorf("the prompt is closed with %+v", p)
	}
}

func TestAnswersAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		h, _ := startHub(t, s, "a", session.Config{})
		create(t, h, "ses-1")
		r := enter(t, h, "ses-1")
		for i := range 601 { // ten a second for a minute
			deliver(t, r, says("c", wire.MessageID(fmt.Sprintf("m%d", i)), wire.DialogFeedback{DialogID: "d"}))
			time.Sleep(100 * time.Millisecond)
		}
		settled(t, r)
		answers := map[wire.Code]int{}
		for _, p := range find[wire.MessageRejected](history(t, s)) {
			answers[p.Code]++
		}
		if answers[wire.CodeHITLInvalidResponse] != 30 || answers[wire.CodeRateLimited] != 571 {
			t.Errorf("601 answers within a minute are answered with %v, want 30 taken", answers)
		}
		// What was refused for its time may be said again.
		time.Sleep(time.Minute)
		id := wire.MessageID("m600")
		deliver(t, r, says("c", id, wire.DialogFeedback{DialogID: "d"}))
		await(t, s, "ses-1", func(p wire.MessageRejected) bool {
			return p.MessageID == id && p.Code == wire.CodeHITLInvalidResponse && !p.Duplicate
		})
	})
}

func TestQuestionsExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		h, _ := startHub(t, s, "a", session.Config{})
		create(t, h, "ses-1")
		r := enter(t, h, "ses-1")
		began := time.Now()
		ask(t, r, says("c", "e", emit(wire.DialogConfirm{ID: "d"}, wire.PromptShow{Prompt: wire.Prompt{ID: "p"}})))
		synctest.Wait()
		if i, err := s.Session(t.Context(), "ses-1"); err != nil || !i.Working {
			t.Errorf("with open questions the session is %+v, %v", i, err)
		}
		closed := await(t, s, "ses-1", any1[wire.DialogClosed])
		if took := time.Since(began); closed.Reason != wire.ClosedExpired || took < time.Minute || took > 61*time.Second {
			t.Errorf("after %v the dialog is closed with %+v", took, closed)
		}
		if p := await(t, s, "ses-1", any1[wire.PromptClosed]); p.Reason != wire.ClosedExpired {
			t.Errorf("the prompt is closed with %+v", p)
		}
		synctest.Wait()
		if i, err := s.Session(t.Context(), "ses-1"); err != nil || i.Working {
			t.Errorf("without questions the session is %+v, %v", i, err)
		}
		deliver(t, r, says("c", "late", wire.DialogFeedback{DialogID: "d"}))
		if p := rejection(t, s, "late"); p.Code != wire.CodeHITLRequestExpired {
			t.Errorf("who comes too late hears %+v", p)
		}
	})
}
