package gateway_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// The tests of attacks with repeated, late or foreign answers.

// logEvents returns the events of a type in a session's log.
func (h *testHub) logEvents(id wire.SessionID, kind string) []wire.Event {
	h.t.Helper()
	events, err := h.store.Read(h.t.Context(), id, wire.Position{}, 10_000)
	if err != nil {
		h.t.Fatal(err)
	}
	var found []wire.Event
	for _, e := range events {
		if head, ok := wire.Peek(e.Frame); !ok || head.Type != kind {
			continue
		}
		decoded, err := wire.Native{}.DecodeEvent(e.Frame)
		if err != nil {
			h.t.Fatalf("event %s: got error %v, want it decoded", e.Frame, err)
		}
		found = append(found, decoded)
	}
	return found
}

// stateOf returns a session's state.
func (h *testHub) stateOf(id wire.SessionID) wire.SessionState {
	h.t.Helper()
	handle, err := h.hub.Open(h.t.Context(), id)
	if err != nil {
		h.t.Fatal(err)
	}
	defer handle.Close()
	state, err := handle.Snapshot(h.t.Context(), nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return state
}

// A message that three tabs send five times starts one turn. All five get an acknowledgement,
// four of them as duplicates.
func TestAttackSameMessageFiveTimes(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id, a := h.sessionWithTab()
	v := as(h.token("ann", time.Minute))
	b, c := h.mustDial("/ws/"+string(id), v), h.mustDial("/ws/"+string(id), v)
	next[wire.SessionState](b)
	next[wire.SessionState](c)
	tabs := []*tab{a, b, c}
	var wg sync.WaitGroup
	for _, x := range []*tab{a, a, b, b, c} {
		wg.Go(func() { x.send(wire.UserMessage{MessageID: "m-1", Content: "once"}) })
	}
	wg.Wait()
	again := 0
	for i, x := range tabs { // the first answer goes to all tabs, the others to the repeating tab
		x.send(wire.Emit{MessageID: wire.MessageID(fmt.Sprint("last-", i)), Actions: []wire.Action{wire.RefreshApps{}}})
		first := 0
		for last := false; !last; {
			e, open := x.read()
			if !open {
				t.Fatalf("tab %d: got closed with %d, want the answers", i, x.code)
			}
			switch p := e.Data.(type) {
			case wire.MessageRejected:
				if p.Duplicate {
					again++
				} else {
					first++
				}
			case wire.Emitted:
				last = true
			}
		}
		if first != 1 {
			t.Errorf("tab %d: got the first answer %d times, want once", i, first)
		}
	}
	if again != 4 {
		t.Errorf("%d of 5 answers are duplicates, want 4", again)
	}
	rows := 0
	for _, e := range h.logEvents(id, "messageUpdated") {
		if p, ok := e.Data.(wire.MessageUpdated); ok && p.Message.Text == "once" {
			rows++
		}
	}
	if answers := h.logEvents(id, "MESSAGE_REJECTED"); rows != 1 || len(answers) != 5 {
		t.Errorf("the log has the message %d times and %d answers, want 1 and 5", rows, len(answers))
	}
}

// A message with the id of another one is refused with 3003; the first one counts.
func TestAttackSameIDOtherMessage(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id, x := h.sessionWithTab()
	other := h.mustDial("/ws/"+string(id), as(h.token("ann", time.Minute)))
	next[wire.SessionState](other)
	x.emit("m-1")
	for _, y := range []*tab{x, other} {
		for _, p := range []wire.ClientPayload{
			wire.Emit{MessageID: "m-1", Actions: []wire.Action{wire.AppBadge{AppID: "mail", Count: 2}}},
			wire.Emit{MessageID: "m-1", Actions: []wire.Action{wire.AppBadge{AppID: "mail", Count: 1}, wire.AppBadge{AppID: "chat", Count: 1}}},
			wire.UserMessage{MessageID: "m-1", Content: "something else"},
		} {
			y.send(p)
			if n := y.wantError(wire.CodeSessionInvalidState); n.MessageID != "m-1" {
				t.Errorf("error: got %+v, want one for m-1", n)
			}
		}
	}
	if got := h.stateOf(id).Badges; len(got) != 1 || got[0].Key != "mail" || got[0].Value != 1 {
		t.Errorf("badges: got %v, want mail with 1", got)
	}
	x.emit("m-1") // the first message is unchanged
}

// openDialog opens a dialog in the session.
func (x *tab) openDialog(dialog wire.DialogID) {
	x.t.Helper()
	x.send(wire.Emit{MessageID: wire.MessageID(dialog), Actions: []wire.Action{wire.DialogConfirm{ID: dialog, Title: "Sure?", Message: "Really?"}}})
	next[wire.Emitted](x)
}

// The same answer again gets the same result, another answer 5003, and one to a question that was
// never asked 5002. attack_time_test.go has the answer after the timeout.
func TestAttackAnswers(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	_, x := h.sessionWithTab()
	x.openDialog("dialog-1")
	x.send(wire.DialogFeedback{DialogID: "dialog-1", Confirmed: true, MessageID: "a-1"})
	first := next[wire.DialogClosed](x)
	if first.DialogID != "dialog-1" || !first.Confirmed || first.MessageID != "a-1" || first.AnsweredBy == "" {
		t.Errorf("closed dialog: got %+v, want dialog-1 confirmed by a-1", first)
	}
	// The same answer again, with its id or a new one, gets the same result; another answer is too
	// late.
	for _, again := range []wire.MessageID{"a-1", "a-1b"} {
		x.send(wire.DialogFeedback{DialogID: "dialog-1", Confirmed: true, MessageID: again})
		got := next[wire.DialogClosed](x)
		if got.MessageID != again {
			t.Errorf("answer: got %+v, want one for %s", got, again)
		}
		if got.MessageID = first.MessageID; got != first {
			t.Errorf("repeated answer: got %+v, want the first, %+v", got, first)
		}
	}
	x.send(wire.DialogFeedback{DialogID: "dialog-1", Confirmed: false, MessageID: "a-2"})
	if n := x.wantError(wire.CodeHITLRequestExpired); n.MessageID != "a-2" {
		t.Errorf("error: got %+v, want one for a-2", n)
	}
	for i, p := range []wire.ClientPayload{
		wire.DialogFeedback{DialogID: "never-asked", Confirmed: true, MessageID: "u-0"},
		wire.UserPromptResponse{PromptID: "never-asked", Text: "yes", MessageID: "u-1"},
	} {
		x.send(p)
		if n := x.wantError(wire.CodeHITLInvalidResponse); n.MessageID != wire.MessageID(fmt.Sprintf("u-%d", i)) {
			t.Errorf("error: got %+v, want one for u-%d", n, i)
		}
	}
}

// A viewer may not answer questions.
func TestAttackAnswerOfAViewer(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id, x := h.sessionWithTab()
	if err := h.hub.Share(t.Context(), id, "eve", session.ShareViewer); err != nil {
		t.Fatal(err)
	}
	if err := h.hub.Share(t.Context(), id, "olaf", session.ShareOperator); err != nil {
		t.Fatal(err)
	}
	x.openDialog("dialog-1")
	for name, v := range map[string]dialOptions{
		"shared":             as(h.token("eve", time.Minute)),
		"operator by share":  as(h.token("olaf", time.Minute, "viewer")),
		"owner, but by role": as(h.token("ann", time.Minute, "viewer")),
	} {
		y := h.mustDial("/ws/"+string(id), v)
		y.send(wire.DialogFeedback{DialogID: "dialog-1", Confirmed: true, MessageID: "a-1"})
		if n := y.wantError(wire.CodeForbidden); n.MessageID != "a-1" {
			t.Errorf("%s: got error %+v, want one for a-1", name, n)
		}
		y.ws.CloseNow()
	}
	x.send(wire.DialogFeedback{DialogID: "dialog-1", Confirmed: false, MessageID: "a-1"})
	if got := next[wire.DialogClosed](x); got.Confirmed {
		t.Errorf("closed dialog: got %+v, want the owner's answer, not confirmed", got)
	}
}

// waitForConnection waits until the tab sees the connection of a client.
func (x *tab) waitForConnection(client wire.ClientID) wire.ConnectionID {
	x.t.Helper()
	for {
		for _, c := range next[wire.Presence](x).Connections {
			if c.ClientID == client {
				return c.ConnectionID
			}
		}
	}
}

// Of an approval and a rejection that two tabs send at the same time exactly one is committed,
// and both tabs see which.
func TestAttackTwoAnswersAtOnce(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(p *hubOptions) { p.session.AnswersPerMinute = -1 })
	id := h.newSession("ann")
	v := as(h.token("ann", time.Minute))
	a := h.mustDial("/ws/"+string(id)+"?client_id=tab-a", v)
	b := h.mustDial("/ws/"+string(id)+"?client_id=tab-b", v)
	tabs := map[wire.ConnectionID]*tab{a.waitForConnection("tab-a"): a, b.waitForConnection("tab-b"): b}
	const rounds = 30
	for i := range rounds {
		dialog := wire.DialogID(fmt.Sprintf("dialog-%d", i))
		a.openDialog(dialog)
		both := make(chan struct{})
		var wg sync.WaitGroup
		for _, x := range tabs {
			wg.Go(func() {
				<-both
				x.send(wire.DialogFeedback{DialogID: dialog, Confirmed: x == a})
			})
		}
		close(both)
		wg.Wait()
		var won wire.DialogClosed
		for _, x := range tabs {
			got := next[wire.DialogClosed](x)
			for got.DialogID != dialog {
				got = next[wire.DialogClosed](x)
			}
			if won.DialogID != "" && got != won {
				t.Fatalf("closed dialog: got %+v, want the same in both tabs, %+v", got, won)
			}
			won = got
		}
		winner := tabs[won.AnsweredBy]
		if winner == nil || won.Confirmed != (winner == a) {
			t.Fatalf("winner: got %+v, want one of the two tabs with its answer", won)
		}
		for _, x := range tabs {
			if x == winner {
				continue
			}
			if n := x.wantError(wire.CodeHITLRequestExpired); !strings.Contains(n.Message, string(won.AnsweredBy)) {
				t.Fatalf("error of the loser: got %+v, want it to name %s", n, won.AnsweredBy)
			}
		}
	}
	if got := h.logEvents(id, "DIALOG_CLOSED"); len(got) != rounds {
		t.Errorf("committed answers: got %d, want %d", len(got), rounds)
	}
}

// INTERRUPT with the role of an agent of another user finds no agent: roles are looked up in the
// sender's session only.
func TestAttackInterruptOfAnAgentOfAnotherUser(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	theirs := h.newSession("bob")
	bob := h.mustDial("/ws/"+string(theirs), as(h.token("bob", time.Minute)))
	bob.emit("m-1")
	before := h.stateOf(theirs)
	_, x := h.sessionWithTab()
	for i, agent := range []wire.AgentID{"main-monitor-0", wire.AgentID("main-monitor-0@" + string(theirs)), "window-1", "*"} {
		id := wire.MessageID(fmt.Sprintf("m-%d", i))
		x.send(wire.InterruptAgent{AgentID: agent, MessageID: id})
		if n := x.wantError(wire.CodeSessionInvalidState); n.MessageID != id || !strings.Contains(n.Message, "no such agent in this session") {
			t.Errorf("error: got %+v, want no such agent for %s", n, id)
		}
		id += "-scope"
		x.send(wire.Interrupt{Scope: wire.ScopeAgent, AgentID: agent, MessageID: id})
		if n := x.wantError(wire.CodeSessionInvalidState); n.MessageID != id || !strings.Contains(n.Message, "no such agent in this session") {
			t.Errorf("error: got %+v, want no such agent for %s", n, id)
		}
	}
	// A message cannot name another session either.
	x.writeText(`{"type":"INTERRUPT_AGENT","session_id":"` + string(theirs) + `","data":{"agentId":"main-monitor-0","messageId":"m-9"}}`)
	if n := x.wantError(wire.CodeInvalidMessage); n.Field != "session_id" {
		t.Errorf("error: got %+v, want the field session_id", n)
	}
	if after := h.stateOf(theirs); after.LastMessageID != before.LastMessageID {
		t.Errorf("position of the other session: got %v, want %v as before", after.LastMessageID, before.LastMessageID)
	}
	bob.wantAlive()
	x.wantAlive()
}
