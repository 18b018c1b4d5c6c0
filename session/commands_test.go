package session_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// Every message type of clients gets the answer listed here and has no other effect.
func TestEveryMessageIsAnswered(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	h, _ := startHub(t, s, "a", session.Config{AnswersPerMinute: -1})
	createSession(t, h, "ses-1")
	r := openHandle(t, h, "ses-1")
	deliverAndWait(t, r, command("c", "open", emit(window("win"))))
	for name, c := range map[string]struct {
		data wire.ClientPayload
		code wire.Code // 0 means accepted
		to   wire.ConnectionID
	}{
		"user message":        {wire.UserMessage{Content: "hi"}, wire.CodeProviderUnavailable, ""},
		"window message":      {wire.WindowMessage{WindowID: "win", Content: "hi"}, wire.CodeProviderUnavailable, ""},
		"component action":    {wire.ComponentAction{WindowID: "win", Action: "save"}, wire.CodeProviderUnavailable, ""},
		"interrupt":           {wire.Interrupt{}, 0, ""},
		"interrupt monitor":   {wire.Interrupt{Scope: wire.ScopeMonitor, MonitorID: "monitor-0"}, 0, ""},
		"interrupt nowhere":   {wire.Interrupt{Scope: wire.ScopeMonitor, MonitorID: "monitor-9"}, wire.CodeSessionInvalidState, "c"},
		"interrupt some":      {wire.Interrupt{Scope: wire.ScopeAgent}, wire.CodeInvalidMessage, "c"},
		"interrupt one":       {wire.Interrupt{Scope: wire.ScopeAgent, AgentID: "x"}, wire.CodeSessionInvalidState, "c"},
		"interrupt agent":     {wire.InterruptAgent{AgentID: "main-monitor-0-m"}, wire.CodeSessionInvalidState, "c"},
		"set provider":        {wire.SetProvider{Provider: "claude"}, wire.CodeProviderUnavailable, "c"},
		"rendering feedback":  {wire.RenderingFeedback{RequestID: "r", WindowID: "win"}, 0, ""},
		"app response":        {wire.AppProtocolResponse{RequestID: "r", WindowID: "win", Response: wire.AppQueryResponse{}}, 0, ""},
		"app ready":           {wire.AppProtocolReady{WindowID: "win"}, 0, ""},
		"unknown dialog":      {wire.DialogFeedback{DialogID: "d"}, wire.CodeHITLInvalidResponse, "c"},
		"unknown prompt":      {wire.UserPromptResponse{PromptID: "p"}, wire.CodeHITLInvalidResponse, "c"},
		"unknown toast":       {wire.ToastAction{ToastID: "t"}, 0, ""},
		"subscribe":           {wire.SubscribeMonitor{MonitorID: "monitor-0"}, 0, ""},
		"remove monitor-0":    {wire.RemoveMonitor{MonitorID: "monitor-0"}, wire.CodeSessionInvalidState, "c"},
		"remove unknown":      {wire.RemoveMonitor{MonitorID: "monitor-7"}, 0, ""},
		"plan response":       {wire.HITLPlanResponse{RequestID: "r"}, wire.CodeHITLInvalidResponse, "c"},
		"approval response":   {wire.HITLApprovalResponse{RequestID: "r"}, wire.CodeHITLInvalidResponse, "c"},
		"input response":      {wire.HITLInputResponse{RequestID: "r", Value: json.RawMessage("1")}, wire.CodeHITLInvalidResponse, "c"},
		"clarification":       {wire.HITLClarificationResponse{RequestID: "r", Value: json.RawMessage("1")}, wire.CodeHITLInvalidResponse, "c"},
		"pause":               {wire.ControlPause{}, wire.CodeSessionInvalidState, "c"},
		"resume":              {wire.ControlResume{}, wire.CodeSessionInvalidState, "c"},
		"cancel":              {wire.ControlCancel{}, wire.CodeSessionInvalidState, "c"},
		"retry":               {wire.ControlRetry{TodoID: "t"}, wire.CodeSessionInvalidState, "c"},
		"skip":                {wire.ControlSkip{TodoID: "t"}, wire.CodeSessionInvalidState, "c"},
		"ask response":        {wire.AskResponse{TS: 1, Response: wire.AnswerYes}, wire.CodeSessionInvalidState, "c"},
		"rewind":              {wire.Rewind{TS: 1}, wire.CodeSessionInvalidState, "c"},
		"edit":                {wire.EditMessage{TS: 1, Text: "x"}, wire.CodeSessionInvalidState, "c"},
		"take back":           {wire.DeleteQueuedMessage{Target: "m"}, wire.CodeSessionInvalidState, "c"},
		"condense":            {wire.Condense{}, wire.CodeSessionInvalidState, "c"},
		"auth":                {wire.Auth{Token: "x"}, wire.CodeInvalidMessage, "c"},
		"interaction":         {wire.UserInteractions{Interactions: []wire.UserInteraction{{Type: wire.DidDraw}}}, 0, ""},
		"interaction nowhere": {wire.UserInteractions{Interactions: []wire.UserInteraction{{Type: wire.DidCloseWindow, WindowID: "no"}}}, 0, ""},
	} {
		id := wire.MessageID("m " + name)
		deliver(t, r, command("c", id, c.data))
		deliverBarrier(t, r)
		var got []wire.MessageRejected
		for _, p := range payloads[wire.MessageRejected](readLog(t, s)) {
			if p.MessageID == id {
				got = append(got, p)
			}
		}
		switch {
		case c.code == 0 && len(got) != 0:
			t.Errorf("%s is refused, want it accepted: %+v", name, got)
		case c.code != 0 && (len(got) != 1 || got[0].Code != c.code || got[0].To != c.to || got[0].Reason == ""):
			t.Errorf("%s: got %+v, want code %d to %q", name, got, c.code, c.to)
		}
	}
	rows := payloads[wire.MessageUpdated](readLog(t, s))
	if len(rows) != 3 {
		t.Fatalf("the conversation has %d rows, want 3", len(rows))
	}
	for i, row := range rows {
		if row.Message.Say != wire.SayUserFeedback || i > 0 && row.Message.TS <= rows[i-1].Message.TS {
			t.Errorf("row %d is %+v after %+v, want %s at a later time", i, row.Message, rows[max(i-1, 0)].Message, wire.SayUserFeedback)
		}
	}
}

func TestMessagesAreExecutedOnce(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	h, _ := startHub(t, s, "a", session.Config{})
	createSession(t, h, "ses-1")
	r := openHandle(t, h, "ses-1")
	hello := wire.UserMessage{MessageID: "m1", Content: "hello"}
	first, is := deliverAndWait(t, r, command("c1", "m1", hello)).Data.(wire.MessageRejected)
	if !is || first.Duplicate || first.To != "" {
		t.Fatalf("a message is answered with %+v, want a rejection to all tabs that is no duplicate", first)
	}
	again, is := deliverAndWait(t, r, command("c2", "m1", hello)).Data.(wire.MessageRejected)
	if !is || !again.Duplicate || again.Code != first.Code || again.Reason != first.Reason || again.MonitorID != first.MonitorID {
		t.Errorf("the same message again is answered with %+v, want %+v", again, first)
	}
	// The id may be in the payload or in the envelope only.
	inEnvelope, is := deliverAndWait(t, r, command("c3", "m1", wire.UserMessage{Content: "hello"})).Data.(wire.MessageRejected)
	if !is || !inEnvelope.Duplicate {
		t.Errorf("the same message with its id elsewhere is answered with %+v, want a duplicate", inEnvelope)
	}
	other, is := deliverAndWait(t, r, command("c4", "m1", wire.UserMessage{Content: "other"})).Data.(wire.MessageRejected)
	if !is || other.Code != wire.CodeSessionInvalidState || other.To != "c4" {
		t.Errorf("another message with the same id is answered with %+v, want code %s to c4", other, wire.CodeSessionInvalidState)
	}
	emitted := deliverAndWait(t, r, command("c1", "m2", emit(window("win"))))
	dup := deliverAndWait(t, r, command("c2", "m2", emit(window("win"))))
	if p, is := dup.Data.(wire.MessageRepeated); !is || p.To != "c2" || dup.At != emitted.At || p.First != emitted.At {
		t.Errorf("EMIT at %v again is answered at %v with %+v, want a MessageRepeated to c2 at the same position", emitted.At, dup.At, dup.Data)
	}
	if n := len(payloads[wire.Actions](readLog(t, s))); n != 1 {
		t.Errorf("%d ACTIONS are in the log, want 1", n)
	}
	if rows := payloads[wire.MessageUpdated](readLog(t, s)); len(rows) != 1 {
		t.Errorf("the conversation has %d rows, want 1", len(rows))
	}
}

func TestMonitors(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	h, _ := startHub(t, s, "a", session.Config{})
	createSession(t, h, "ses-1")
	r := openHandle(t, h, "ses-1")
	for range 4 { // as often as the frontend says it
		for i := range 4 {
			deliver(t, r, command("c", "", wire.SubscribeMonitor{MonitorID: wire.MonitorID(fmt.Sprintf("monitor-%d", i))}))
		}
	}
	deliver(t, r, command("c", "fifth", wire.SubscribeMonitor{MonitorID: "monitor-4"}))
	if p := waitRejection(t, s, "fifth"); p.Code != wire.CodeMonitorLimit || p.To != "c" {
		t.Errorf("the fifth monitor is refused with %+v, want code %s to c", p, wire.CodeMonitorLimit)
	}
	user := deliverAndWait(t, r, command("c", "m1", wire.UserMessage{Content: "x", MonitorID: "monitor-4"}))
	if p, is := user.Data.(wire.MessageRejected); !is || p.Code != wire.CodeMonitorLimit || p.To != "" {
		t.Errorf("a message to a fifth monitor is answered with %+v, want code %s to all tabs", user.Data, wire.CodeMonitorLimit)
	}
	deliverAndWait(t, r, command("c", "e1", wire.Emit{MonitorID: "monitor-2", Actions: []wire.Action{
		window("win"), wire.DialogConfirm{ID: "d", Title: "?", Message: "?"}, wire.PromptShow{Prompt: wire.Prompt{ID: "p"}},
	}}))
	for range 4 {
		deliver(t, r, command("c", "", wire.RemoveMonitor{MonitorID: "monitor-2"}))
	}
	deliverBarrier(t, r)
	state, err := r.Snapshot(t.Context(), nil)
	requireNoError(t, err)
	if len(state.Monitors) != 3 || len(state.Windows) != 0 || len(state.Dialogs) != 0 || len(state.Prompts) != 0 {
		t.Errorf("after a monitor is removed the state is %+v, want three monitors, no windows, dialogs and prompts", state)
	}
	events := readLog(t, s)
	removed := 0
	for _, m := range payloads[wire.MonitorStatus](events) {
		if m.State == wire.MonitorRemoved {
			removed++
		}
	}
	if made := len(payloads[wire.MonitorStatus](events)) - removed; made != 3 || removed != 1 {
		t.Errorf("%d monitors were made and %d removed, want 3 and 1", made, removed)
	}
	if d := payloads[wire.DialogClosed](events); len(d) != 1 || d[0].Reason != wire.ClosedCancelled {
		t.Errorf("the dialog of the monitor is closed with %+v, want %s once", d, wire.ClosedCancelled)
	}
	if p := payloads[wire.PromptClosed](events); len(p) != 1 || p[0].Reason != wire.ClosedCancelled {
		t.Errorf("the prompt of the monitor is closed with %+v, want %s once", p, wire.ClosedCancelled)
	}
}

func TestInteractionsChangeTheSharedState(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	h, _ := startHub(t, s, "a", session.Config{})
	createSession(t, h, "ses-1")
	r := openHandle(t, h, "ses-1")
	deliverAndWait(t, r, command("c", "e", emit(window("one"), window("two"),
		wire.ToastShow{Toast: wire.Toast{ID: "t1", Message: "done", Duration: 3_600_000}},
		wire.ToastShow{Toast: wire.Toast{ID: "t2", Message: "more", Duration: 3_600_000}},
		wire.NotificationShow{Notification: wire.Notification{ID: "n1", Title: "news"}},
	)))
	act := func(i wire.UserInteraction) {
		deliver(t, r, command("c", "", wire.UserInteractions{Interactions: []wire.UserInteraction{i}}))
	}
	act(wire.UserInteraction{Type: wire.DidFocusWindow, WindowID: "one"})
	act(wire.UserInteraction{Type: wire.DidFocusWindow, WindowID: "one"}) // is focused already
	act(wire.UserInteraction{Type: wire.DidMaximizeWindow, WindowID: "one"})
	act(wire.UserInteraction{Type: wire.DidMinimizeWindow, WindowID: "two"})
	act(wire.UserInteraction{Type: wire.DidDismissToast, Details: "done"})
	act(wire.UserInteraction{Type: wire.DidDismissNotification, Details: "news"})
	act(wire.UserInteraction{Type: wire.DidCreateWindow, WindowID: "three"})
	deliver(t, r, command("c", "", wire.ToastAction{ToastID: "t2", EventID: "e"}))
	deliverBarrier(t, r)
	state, err := r.Snapshot(t.Context(), nil)
	requireNoError(t, err)
	byID := map[wire.WindowID]wire.WindowState{}
	for _, w := range state.Windows {
		byID[w.WindowID] = w
	}
	if !byID["one"].Maximized || !byID["two"].Minimized || byID["one"].Z < byID["two"].Z || len(byID) != 2 {
		t.Errorf("the windows are %+v, want one maximized and above two, two minimized", state.Windows)
	}
	if len(state.Toasts)+len(state.Notifications) != 0 {
		t.Errorf("after they were dismissed there are toasts %+v and notifications %+v, want none", state.Toasts, state.Notifications)
	}
	act(wire.UserInteraction{Type: wire.DidMaximizeWindow, WindowID: "one"})
	act(wire.UserInteraction{Type: wire.DidMinimizeWindow, WindowID: "two"})
	deliverBarrier(t, r)
	state, err = r.Snapshot(t.Context(), nil)
	requireNoError(t, err)
	for _, w := range state.Windows {
		if w.Maximized || w.Minimized {
			t.Errorf("after a second press the window is %+v, want it neither maximized nor minimized", w)
		}
	}
	focused := 0
	for _, a := range payloads[wire.Actions](readLog(t, s)) {
		if _, is := a.Actions[0].(wire.WindowFocus); is {
			focused++
		}
		if a.MessageID == "" && (a.By != "c" || a.MonitorID != "monitor-0" || a.AgentID != "") {
			t.Errorf("an interaction became %+v, want an action by c on monitor-0 without an agent", a)
		}
	}
	if focused != 1 {
		t.Errorf("a window got the focus %d times, want once", focused)
	}
}

func TestResetClosesEverything(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	h, _ := startHub(t, s, "a", session.Config{})
	createSession(t, h, "ses-1")
	r := openHandle(t, h, "ses-1")
	for _, m := range []wire.MonitorID{"monitor-0", "monitor-1"} {
		deliverAndWait(t, r, command("c", wire.MessageID("e-"+m), wire.Emit{MonitorID: m, Actions: []wire.Action{
			window("win"),
			wire.DialogConfirm{ID: wire.DialogID(m)},
			wire.PromptShow{Prompt: wire.Prompt{ID: wire.PromptID(m)}},
			wire.ToastShow{Toast: wire.Toast{ID: wire.NoticeID(m), Duration: int(time.Hour.Milliseconds())}},
			wire.NotificationShow{Notification: wire.Notification{ID: wire.NoticeID(m)}},
			wire.AppBadge{AppID: wire.AppID(m), Count: 3},
		}}))
	}
	deliver(t, r, command("c", "", wire.Reset{}))
	deliverBarrier(t, r)
	state, err := r.Snapshot(t.Context(), nil)
	requireNoError(t, err)
	left := len(state.Windows) + len(state.Dialogs) + len(state.Prompts) + len(state.Toasts) + len(state.Notifications) + len(state.Badges)
	if left != 0 || len(state.Monitors) != 2 {
		t.Errorf("after a reset there is %+v, want only two monitors", state)
	}
}

func TestEmitIsAllOrNothing(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	h, _ := startHub(t, s, "a", session.Config{})
	createSession(t, h, "ses-1")
	r := openHandle(t, h, "ses-1")
	a := deliverAndWait(t, r, command("c", "m1", wire.Emit{MonitorID: "monitor-1", Actions: []wire.Action{
		window("win"), wire.WindowFocus{WindowID: "other"},
	}}))
	if p, is := a.Data.(wire.MessageRejected); !is || p.To != "c" {
		t.Errorf("the answer is %+v, want a rejection to c", a.Data)
	}
	state, err := r.Snapshot(t.Context(), nil)
	requireNoError(t, err)
	if len(state.Windows) != 0 || len(state.Monitors) != 1 {
		t.Errorf("after a refused EMIT the state is %+v, want no window and one monitor", state)
	}
	a = deliverAndWait(t, r, command("c", "m2", emit(window("win"), wire.WindowFocus{WindowID: "win"})))
	if _, is := a.Data.(wire.Actions); !is {
		t.Errorf("an EMIT that makes and focuses a window is answered with %+v, want Actions", a.Data)
	}
}

func TestDeliverAndWaitRefusesMessagesWithoutAnswer(t *testing.T) {
	t.Parallel()
	h, _ := startHub(t, openStore(t), "a", session.Config{})
	createSession(t, h, "ses-1")
	r := openHandle(t, h, "ses-1")
	for _, c := range []session.Command{
		command("c", "m", wire.SubscribeMonitor{MonitorID: "monitor-0"}),
		command("c", "", wire.UserMessage{Content: "no id"}),
	} {
		if _, err := r.DeliverAndWait(t.Context(), c); errorCode(err) != wire.CodeInvalidMessage {
			t.Errorf("%+v: got error %v, want code %s", c.Message, err, wire.CodeInvalidMessage)
		}
	}
}

// Programs can ask questions, but not on behalf of an agent, nor for a permission.
func TestEmitAsksForNoPermission(t *testing.T) {
	t.Parallel()
	h, _ := startHub(t, openStore(t), "a", session.Config{})
	createSession(t, h, "ses-1")
	r := openHandle(t, h, "ses-1")
	permission := wire.DialogConfirm{ID: "d", Title: "t", PermissionOptions: &wire.PermissionOptions{ToolName: "Bash", ShowRememberChoice: true}}
	name := wire.ActionMeta{AgentID: "main-monitor-0"}
	for i, q := range []wire.Action{
		permission,
		wire.DialogConfirm{ID: "d", Title: "t", ActionMeta: name},
		wire.PromptShow{Prompt: wire.Prompt{ID: "p", Title: "t"}, ActionMeta: name},
	} {
		a := deliverAndWait(t, r, command("c", wire.MessageID(fmt.Sprintf("no-%d", i)), emit(window("win"), q)))
		if p, is := a.Data.(wire.MessageRejected); !is || p.Code != wire.CodeForbidden {
			t.Errorf("%+v is answered with %+v, want code %s", q, a.Data, wire.CodeForbidden)
		}
	}
	a := deliverAndWait(t, r, command("c", "m2", emit(wire.DialogConfirm{ID: "d", Title: "t"})))
	if _, is := a.Data.(wire.Actions); !is {
		t.Errorf("a plain question is answered with %+v, want Actions", a.Data)
	}
	a = deliverAndWait(t, r, command("c", "m3", emit(wire.PromptShow{Prompt: wire.Prompt{ID: "p", Title: "t"}})))
	if _, is := a.Data.(wire.Actions); !is {
		t.Errorf("a plain prompt is answered with %+v, want Actions", a.Data)
	}
}
