package session_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// sendAsGuest sends a command of another user than the session's.
func (d *testDesktop) sendAsGuest(id wire.MessageID, data wire.ClientPayload) {
	d.t.Helper()
	deliver(d.t, d.handle, session.Command{
		From: session.Sender{Connection: "guest", User: "bob"}, Message: wire.Message{ID: id, Data: data},
	})
}

// A guest has no access to what the session's user shares between desktops, and cannot answer
// permissions.
func TestGuestRights(t *testing.T) {
	t.Parallel()
	o := startAgentHub(t, newFileDeployment(t), hubConfig{})
	private, shared := o.newDesktop(t, "private"), o.newDesktop(t, "shared")
	private.sendText(firstMonitor, "p1", `/call system:memorize {"content":"the door code is 4711"}`)
	private.waitTurnEnd("p1")
	waitEvent(t, private.eventLog, func(p wire.Actions) bool {
		toast, is := p.Actions[0].(wire.ToastShow)
		return is && strings.Contains(toast.Message, "4711")
	})
	shared.sendAsGuest("m1", wire.UserMessage{MonitorID: firstMonitor, Content: `/call system:list_memories {}`})
	shared.waitTurnEnd("m1")
	if got := shared.turnText("m1"); strings.Contains(got, "4711") || !strings.Contains(got, "owner") {
		t.Errorf("a guest gets %q, want no memory of the owner, and a refusal that names the owner", got)
	}
	shared.sendAsGuest("m2", wire.UserMessage{MonitorID: firstMonitor, Content: setHookCall})
	shared.waitTurnEnd("m2")
	shared.sendText(firstMonitor, "m3", setHookCall)
	q := waitEvent(t, shared.eventLog, anyOf[wire.ApprovalRequest])
	shared.sendAsGuest("yes", wire.DialogFeedback{DialogID: q.DialogID, Confirmed: true, RememberChoice: wire.RememberAlways})
	if r := waitEvent(t, shared.eventLog, isAbout[wire.MessageRejected]("yes")); r.Code != wire.CodeForbidden || r.To != "guest" {
		t.Errorf("the guest's answer is answered with %+v, want code %s to guest", r, wire.CodeForbidden)
	}
	// A guest cannot replace the question by another one either.
	for i, a := range []wire.Action{
		wire.DialogConfirm{ID: q.DialogID, Title: "Tea?", Message: "?"}, wire.PromptShow{Prompt: wire.Prompt{ID: wire.PromptID(q.DialogID)}},
	} {
		id := wire.MessageID(fmt.Sprintf("emit-%d", i))
		if got, is := shared.sendAndWait(id, emit(a)).(wire.MessageRejected); !is || got.Code != wire.CodeForbidden {
			t.Errorf("%+v is answered with %+v, want code %s", a, got, wire.CodeForbidden)
		}
	}
	shared.send("no", wire.DialogFeedback{DialogID: q.DialogID})
	shared.waitTurnEnd("m3")
	if n := len(payloads[wire.ApprovalRequest](shared.all())); n != 1 {
		t.Errorf("%d questions were asked, want 1", n)
	}
	private.waitIdle()
	shared.waitIdle()
}

// sessionRefs records the sessions for which a runner was made.
type sessionRefs struct {
	mu sync.Mutex
	by map[wire.SessionID]tools.Desktop
}

func (p *sessionRefs) add(e agentpool.SessionRef) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.by == nil {
		p.by = map[wire.SessionID]tools.Desktop{}
	}
	p.by[e.Session] = e.Desktop
}

// startTurn starts a turn and returns its caller for tools.
func (p *sessionRefs) startTurn(d *testDesktop, turn wire.MessageID) tools.Caller {
	d.t.Helper()
	d.sendText(firstMonitor, turn, "/say x", "/hang")
	d.waitTurnOutput(turn)
	p.mu.Lock()
	defer p.mu.Unlock()
	return tools.Caller{
		Session: d.id, User: "ada", Monitor: firstMonitor, Agent: wire.AgentID("main-monitor-0-" + string(turn)), Turn: turn,
		Kind: wire.AgentMain, Profile: tools.ProfileMain, Desktop: p.by[d.id],
	}
}

// A question without a waiting call is not open, and a question has one waiting call.
func TestQuestionHasOneWaitingCall(t *testing.T) {
	t.Parallel()
	var p sessionRefs
	o := startAgentHub(t, newFileDeployment(t), hubConfig{onRunner: p.add})
	d := o.newDesktop(t, "ses-1")
	who := p.startTurn(d, "m1")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 60 {
		_, _ = who.Desktop.Users.Confirm(gone, who, wire.DialogConfirm{Title: "t", Message: "m"}, providers.ToolCall{}, time.Minute)
		_, _ = who.Desktop.Users.Ask(gone, who, wire.Prompt{Title: "t", Message: "m"}, time.Minute)
		_ = who.Desktop.Steps.Begin(gone, who, tools.Call{Tool: "storage:list"})
	}
	deliverBarrier(t, d.handle)
	if now := d.snapshot(); len(now.Dialogs)+len(now.Prompts) != 0 {
		t.Errorf("%d dialogs and %d prompts are open without a waiting call, want none", len(now.Dialogs), len(now.Prompts))
	}
	running := 0
	for _, e := range payloads[wire.ToolProgress](d.all()) {
		if e.Status == wire.ToolRunning {
			running++
		} else {
			running--
		}
	}
	if running != 0 {
		t.Errorf("%d tools began and have not ended, want 0", running)
	}
	var wg sync.WaitGroup
	q := wire.DialogConfirm{ID: "question-1", Title: "t", Message: "m"}
	wg.Go(func() {
		if v, err := who.Desktop.Users.Confirm(t.Context(), who, q, providers.ToolCall{}, time.Minute); err != nil || !v.Confirmed {
			t.Errorf("the first gets %+v, %v, want a confirmation", v, err)
		}
	})
	waitEvent(t, d.eventLog, anyOf[wire.ApprovalRequest])
	if v, err := who.Desktop.Users.Confirm(t.Context(), who, q, providers.ToolCall{}, time.Minute); err == nil {
		t.Errorf("the second gets %+v, want an error, the id is in use", v)
	}
	d.send("", wire.DialogFeedback{DialogID: q.ID, Confirmed: true})
	wg.Wait()
	d.send("", wire.Interrupt{})
	d.waitIdle()
}

// The recorded commands of an app are bounded, and replayed only to the tab that loads it, at a
// limited rate.
func TestAppCommandsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p sessionRefs
		s := newSyncDeployment(t)
		o := startAgentHub(t, s, hubConfig{onRunner: p.add})
		d := o.newDesktop(t, "ses-1")
		d.appWindow(firstMonitor)
		d.send("", wire.AppProtocolReady{WindowID: "app"})
		who := p.startTurn(d, "m1")
		text := func(n int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", n-2) + `"`) }
		if _, err := who.Desktop.Tabs.App(t.Context(), who, "app", wire.AppCommandRequest{Command: "c", Params: text(64<<10 + 1)}); err == nil {
			t.Error("got no error for a command that is too long, want one")
		}
		for i := range 6 {
			var wg sync.WaitGroup
			wg.Go(func() {
				_, err := who.Desktop.Tabs.App(t.Context(), who, "app", wire.AppCommandRequest{Command: fmt.Sprintf("c%d", i), Params: text(60 << 10)})
				requireNoError(t, err)
			})
			synctest.Wait()
			sent := payloads[wire.AppProtocolRequest](d.all())
			d.answerApp("tab", sent[len(sent)-1], wire.AppCommandResponse{})
			wg.Wait()
		}
		before := len(payloads[wire.AppProtocolRequest](d.all()))
		for range 5 {
			deliver(t, d.handle, command("tab", "", wire.AppProtocolReady{WindowID: "app"}))
		}
		deliverBarrier(t, d.handle)
		synctest.Wait()
		again := payloads[wire.AppProtocolRequest](d.all())[before:]
		if len(again) != 4 {
			t.Fatalf("%d commands were replayed, want the 4 that are kept", len(again))
		}
		for i, q := range again {
			if c, _ := q.Request.(wire.AppCommandRequest); q.To != "tab" || c.Command != fmt.Sprintf("c%d", i+2) {
				t.Errorf("%s gets %s, want tab to get c%d", q.To, c.Command, i+2)
			}
		}
		d.send("", wire.Interrupt{})
		d.waitIdle()
	})
}

// Two agents that wait for an app both continue when it is ready.
func TestTwoAgentsWaitForOneApp(t *testing.T) {
	t.Parallel()
	o := startAgentHub(t, newFileDeployment(t), hubConfig{})
	d := o.newDesktop(t, "ses-1")
	d.appWindow(firstMonitor)
	d.sendText(firstMonitor, "m1", appQuery)
	d.send("m2", wire.WindowMessage{MonitorID: firstMonitor, WindowID: "app", Content: appQuery})
	for _, id := range []wire.MessageID{"m1", "m2"} {
		waitEvent(t, d.eventLog, isAbout[wire.ToolProgress](id))
		deliverBarrier(t, d.handle)
	}
	d.send("", wire.AppProtocolReady{WindowID: "app"})
	for _, id := range []wire.MessageID{"m1", "m2"} {
		d.answerApp("tab", d.waitAppRequest(id), wire.AppQueryResponse{Data: json.RawMessage(`1`)})
		d.waitTurnEnd(id)
		if got := d.turnText(id); got != "1" {
			t.Errorf("%s says %q, want the answer of the app, 1", id, got)
		}
	}
	d.waitIdle()
}

// Only an answer that matches the request counts, and the failure of one tab does not override the
// answer of another.
func TestTabAnswersMustMatchTheRequest(t *testing.T) {
	t.Parallel()
	o := startAgentHub(t, newFileDeployment(t), hubConfig{})
	d := o.newDesktop(t, "ses-1")
	d.appWindow(firstMonitor)
	d.send("", wire.AppProtocolReady{WindowID: "app"})
	d.sendText(firstMonitor, "m1", appCommand)
	q := d.waitAppRequest("m1")
	d.send("", wire.RenderingFeedback{RequestID: q.RequestID, WindowID: "app", Success: true})
	d.answerApp("tab", q, wire.AppQueryResponse{Data: json.RawMessage(`"of another kind"`)})
	other := q
	other.WindowID = "other"
	d.answerApp("tab", other, wire.AppCommandResponse{Result: json.RawMessage(`"of another window"`)})
	d.answerApp("tab", q, wire.AppCommandResponse{Result: json.RawMessage(`"ok"`)})
	d.waitTurnEnd("m1")
	if got := d.turnText("m1"); got != `"ok"` {
		t.Errorf(`the agent says %q, want the answer for its own request, "ok" in quotes`, got)
	}
	d.sendText(firstMonitor, "m2", `/call window:view {"windowId":"app","includeImage":true}`)
	shown := waitEvent(t, d.eventLog, func(p wire.Actions) bool { _, is := p.Actions[0].(wire.WindowCapture); return is })
	id := shown.Actions[0].(wire.WindowCapture).RequestID //nolint:forcetypeassert // see above
	png := base64.StdEncoding.EncodeToString([]byte("\x89PNG\x0D\x0A\x1A\x0A0000"))
	d.send("", wire.RenderingFeedback{RequestID: id, WindowID: "app", Renderer: "capture", Error: "not found"})
	d.send("", wire.RenderingFeedback{RequestID: id, WindowID: "other", Renderer: "capture", Success: true})
	d.send("", wire.RenderingFeedback{RequestID: id, WindowID: "app", Renderer: "capture", Success: true, ImageData: png})
	d.waitTurnEnd("m2")
	if got := d.turnText("m2"); strings.Contains(got, "no picture") {
		t.Errorf("the agent says %q, want the picture of window app", got)
	}
	d.waitIdle()
}
