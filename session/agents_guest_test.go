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

// guest sends a command of somebody else than the owner.
func (d *testDesktop) guest(id wire.MessageID, data wire.ClientPayload) {
	d.t.Helper()
	deliver(d.t, d.handle, session.Command{
		From: session.Sender{Connection: "guest", User: "bob"}, Message: wire.Message{ID: id, Data: data},
	})
}

// Who may use a desktop of somebody has nothing of what that one has on all
// desktops, and does not answer in their place.
func TestGuestsAreNotTheOwner(t *testing.T) {
	t.Parallel()
	o := agentHub(t, onFiles(t), hubConfig{})
	private, shared := o.newDesktop(t, "private"), o.newDesktop(t, "shared")
	private.say(first, "p1", `/call system:memorize {"content":"the door code is 4711"}`)
	private.ends("p1")
	when(t, private.diary, func(p wire.Actions) bool {
		toast, is := p.Actions[0].(wire.ToastShow)
		return is && strings.Contains(toast.Message, "4711")
	})
	shared.guest("m1", wire.UserMessage{MonitorID: first, Content: `/call system:list_memories {}`})
	shared.ends("m1")
	if got := shared.said("m1"); strings.Contains(got, "4711") || !strings.Contains(got, "owner") {
		t.Errorf("a guest is told %q", got)
	}
	shared.guest("m2", wire.UserMessage{MonitorID: first, Content: hook})
	shared.ends("m2")
	shared.say(first, "m3", hook)
	q := when(t, shared.diary, any1[wire.ApprovalRequest])
	shared.guest("yes", wire.DialogFeedback{DialogID: q.DialogID, Confirmed: true, RememberChoice: wire.RememberAlways})
	if r := when(t, shared.diary, about[wire.MessageRejected]("yes")); r.Code != wire.CodeForbidden || r.To != "guest" {
		t.Errorf("the guest's answer is answered with %+v", r)
	}
	// Nor can the question be replaced by another one.
	for i, a := range []wire.Action{
		wire.DialogConfirm{ID: q.DialogID, Title: "Tea?", Message: "?"}, wire.PromptShow{Prompt: wire.Prompt{ID: wire.PromptID(q.DialogID)}},
	} {
		id := wire.MessageID(fmt.Sprintf("emit-%d", i))
		if got, is := shared.ask(id, emit(a)).(wire.MessageRejected); !is || got.Code != wire.CodeForbidden {
			t.Errorf("%+v is answered with %+v", a, got)
		}
	}
	shared.send("no", wire.DialogFeedback{DialogID: q.DialogID})
	shared.ends("m3")
	if n := len(find[wire.ApprovalRequest](shared.all())); n != 1 {
		t.Errorf("%d questions were asked", n)
	}
	private.rest()
	shared.rest()
}

// payroll has the desktops that agents were hired for.
type payroll struct {
	mu sync.Mutex
	by map[wire.SessionID]tools.Desktop
}

func (p *payroll) hired(e agentpool.SessionRef) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.by == nil {
		p.by = map[wire.SessionID]tools.Desktop{}
	}
	p.by[e.Session] = e.Desktop
}

// worker is an agent in the middle of a turn.
func (p *payroll) worker(d *testDesktop, turn wire.MessageID) tools.Caller {
	d.t.Helper()
	d.say(first, turn, "/say x", "/hang")
	d.begins(turn)
	p.mu.Lock()
	defer p.mu.Unlock()
	return tools.Caller{
		Session: d.id, User: "ada", Monitor: first, Agent: wire.AgentID("main-monitor-0-" + string(turn)), Turn: turn,
		Kind: wire.AgentMain, Profile: tools.ProfileMain, Desktop: p.by[d.id],
	}
}

// Questions whose asker is gone are not open, and one question has one asker.
func TestQuestionsHaveOneAsker(t *testing.T) {
	t.Parallel()
	var p payroll
	o := agentHub(t, onFiles(t), hubConfig{hired: p.hired})
	d := o.newDesktop(t, "ses-1")
	who := p.worker(d, "m1")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 60 {
		_, _ = who.Desktop.Confirm(gone, who, wire.DialogConfirm{Title: "t", Message: "m"}, providers.ToolCall{}, time.Minute)
		_, _ = who.Desktop.Ask(gone, who, wire.Prompt{Title: "t", Message: "m"}, time.Minute)
		_ = who.Desktop.Begin(gone, who, tools.Call{Tool: "storage:list"})
	}
	settled(t, d.handle)
	if now := d.snapshot(); len(now.Dialogs)+len(now.Prompts) != 0 {
		t.Errorf("nobody asks %d dialogs and %d prompts", len(now.Dialogs), len(now.Prompts))
	}
	running := 0
	for _, e := range find[wire.ToolProgress](d.all()) {
		if e.Status == wire.ToolRunning {
			running++
		} else {
			running--
		}
	}
	if running != 0 {
		t.Errorf("%d tools began that do not run", running)
	}
	var wg sync.WaitGroup
	q := wire.DialogConfirm{ID: "question-1", Title: "t", Message: "m"}
	wg.Go(func() {
		if v, err := who.Desktop.Confirm(t.Context(), who, q, providers.ToolCall{}, time.Minute); err != nil || !v.Confirmed {
			t.Errorf("the first hears %+v, %v", v, err)
		}
	})
	when(t, d.diary, any1[wire.ApprovalRequest])
	if v, err := who.Desktop.Confirm(t.Context(), who, q, providers.ToolCall{}, time.Minute); err == nil {
		t.Errorf("the second hears %+v", v)
	}
	d.send("", wire.DialogFeedback{DialogID: q.ID, Confirmed: true})
	wg.Wait()
	d.send("", wire.Interrupt{})
	d.rest()
}

// What an app did is kept within bounds, and told again to the tab alone that
// wants it, not too often.
func TestAppCommandsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p payroll
		s := inBubble(t)
		o := agentHub(t, s, hubConfig{hired: p.hired})
		d := o.newDesktop(t, "ses-1")
		d.appWindow(first)
		d.send("", wire.AppProtocolReady{WindowID: "app"})
		who := p.worker(d, "m1")
		text := func(n int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", n-2) + `"`) }
		if _, err := who.Desktop.App(t.Context(), who, "app", wire.AppCommandRequest{Command: "c", Params: text(64<<10 + 1)}); err == nil {
			t.Error("a command was too long and sent")
		}
		for i := range 6 {
			var wg sync.WaitGroup
			wg.Go(func() {
				_, err := who.Desktop.App(t.Context(), who, "app", wire.AppCommandRequest{Command: fmt.Sprintf("c%d", i), Params: text(60 << 10)})
				ok(t, err)
			})
			synctest.Wait()
			sent := find[wire.AppProtocolRequest](d.all())
			d.answer("tab", sent[len(sent)-1], wire.AppCommandResponse{})
			wg.Wait()
		}
		before := len(find[wire.AppProtocolRequest](d.all()))
		for range 5 {
			deliver(t, d.handle, says("tab", "", wire.AppProtocolReady{WindowID: "app"}))
		}
		settled(t, d.handle)
		synctest.Wait()
		again := find[wire.AppProtocolRequest](d.all())[before:]
		if len(again) != 4 {
			t.Fatalf("%d commands were told again", len(again))
		}
		for i, q := range again {
			if c, _ := q.Request.(wire.AppCommandRequest); q.To != "tab" || c.Command != fmt.Sprintf("c%d", i+2) {
				t.Errorf("%s is told %s", q.To, c.Command)
			}
		}
		d.send("", wire.Interrupt{})
		d.rest()
	})
}

// Two agents that wait for an app both have it when it is ready.
func TestTwoWaitForOneApp(t *testing.T) {
	t.Parallel()
	o := agentHub(t, onFiles(t), hubConfig{})
	d := o.newDesktop(t, "ses-1")
	d.appWindow(first)
	d.say(first, "m1", query)
	d.send("m2", wire.WindowMessage{MonitorID: first, WindowID: "app", Content: query})
	for _, id := range []wire.MessageID{"m1", "m2"} {
		when(t, d.diary, about[wire.ToolProgress](id))
		settled(t, d.handle)
	}
	d.send("", wire.AppProtocolReady{WindowID: "app"})
	for _, id := range []wire.MessageID{"m1", "m2"} {
		d.answer("tab", d.request(id), wire.AppQueryResponse{Data: json.RawMessage(`1`)})
		d.ends(id)
		if got := d.said(id); got != "1" {
			t.Errorf("%s says %q", id, got)
		}
	}
	d.rest()
}

// Only what answers a question does, and a tab that cannot does not speak for one
// that can.
func TestTabsAnswerWhatTheyAreAsked(t *testing.T) {
	t.Parallel()
	o := agentHub(t, onFiles(t), hubConfig{})
	d := o.newDesktop(t, "ses-1")
	d.appWindow(first)
	d.send("", wire.AppProtocolReady{WindowID: "app"})
	d.say(first, "m1", command)
	q := d.request("m1")
	d.send("", wire.RenderingFeedback{RequestID: q.RequestID, WindowID: "app", Success: true})
	d.answer("tab", q, wire.AppQueryResponse{Data: json.RawMessage(`"of another kind"`)})
	other := q
	other.WindowID = "other"
	d.answer("tab", other, wire.AppCommandResponse{Result: json.RawMessage(`"of another window"`)})
	d.answer("tab", q, wire.AppCommandResponse{Result: json.RawMessage(`"ok"`)})
	d.ends("m1")
	if got := d.said("m1"); got != `"ok"` {
		t.Errorf("the agent says %q", got)
	}
	d.say(first, "m2", `/call window:view {"windowId":"app","includeImage":true}`)
	shown := when(t, d.diary, func(p wire.Actions) bool { _, is := p.Actions[0].(wire.WindowCapture); return is })
	id := shown.Actions[0].(wire.WindowCapture).RequestID //nolint:forcetypeassert // see above
	png := base64.StdEncoding.EncodeToString([]byte("\x89PNG\x0D\x0A\x1A\x0A0000"))
	d.send("", wire.RenderingFeedback{RequestID: id, WindowID: "app", Renderer: "capture", Error: "not found"})
	d.send("", wire.RenderingFeedback{RequestID: id, WindowID: "other", Renderer: "capture", Success: true})
	d.send("", wire.RenderingFeedback{RequestID: id, WindowID: "app", Renderer: "capture", Success: true, ImageData: png})
	d.ends("m2")
	if got := d.said("m2"); strings.Contains(got, "no picture") {
		t.Errorf("the agent says %q", got)
	}
	d.rest()
}
