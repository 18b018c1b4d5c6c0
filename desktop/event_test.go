package desktop_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

func TestPositions(t *testing.T) {
	t.Parallel()
	s := desktop.New("ses-1")
	rename := func(at wire.Position, title string) {
		s.Apply(wire.Event{At: at, Data: wire.SessionRenamed{Title: title}})
	}
	rename(wire.Position{Epoch: 2, Seq: 1}, "first")
	rename(wire.Position{Epoch: 2, Seq: 1}, "again")
	rename(wire.Position{Epoch: 1, Seq: 9}, "older")
	rename(wire.Position{}, "nowhere")
	if s.Title() != "first" || s.At() != (wire.Position{Epoch: 2, Seq: 1}) || s.Session() != "ses-1" {
		t.Errorf(`after late events session %s has the title %q at %v, want ses-1 with "first" at 2-1`, s.Session(), s.Title(), s.At())
	}
	s.Apply(wire.Event{Data: wire.SessionState{Mode: wire.StateResume, Title: "resumed"}})
	if s.Title() != "first" {
		t.Errorf(`a resume renamed the session to %q, want "first" unchanged`, s.Title())
	}
	s.Apply(wire.Event{Data: wire.SessionState{Mode: wire.StateSnapshot, Title: "older", LastMessageID: wire.Position{Epoch: 1}}})
	if s.Title() != "older" || s.At() != (wire.Position{Epoch: 1}) {
		t.Errorf(`after an older snapshot: title %q at %v, want "older" at 1-0`, s.Title(), s.At())
	}
	applyStored := func(at wire.Position, title string) {
		s.Apply(wire.Event{At: at, Data: wire.SessionState{Mode: wire.StateSnapshot, Title: title}})
	}
	applyStored(wire.Position{Epoch: 3, Seq: 1}, "in the log")
	applyStored(wire.Position{Epoch: 3}, "in the log before")
	if s.Title() != "in the log" || s.At() != (wire.Position{Epoch: 3, Seq: 1}) {
		t.Errorf(`after a snapshot in the log: title %q at %v, want "in the log" at 3-1`, s.Title(), s.At())
	}
}

func TestMonitors(t *testing.T) {
	t.Parallel()
	s := newScript()
	for _, id := range []wire.MonitorID{"monitor-2", "monitor-1"} {
		s.emit(wire.MonitorStatus{MonitorID: id, State: wire.MonitorRunning, MessageID: "m", Budget: &wire.Budget{Actions: 1}})
	}
	s.actOn("monitor-1", open("a"), wire.NotificationShow{Notification: wire.Notification{ID: "n"}},
		wire.ToastShow{Toast: wire.Toast{ID: "t"}}, wire.DialogConfirm{ID: "d"}, wire.PromptShow{Prompt: wire.Prompt{ID: "p"}})
	s.emit(wire.MessageQueued{MessageID: "q", Position: 1, MonitorID: "monitor-1"})
	s.actOn("monitor-3", open("b"))
	s.actOn("monitor-4", open("c"), wire.ToastShow{Toast: wire.Toast{ID: "u"}})
	s.emit(wire.MonitorStatus{MonitorID: "monitor-4", State: wire.MonitorIdle})
	s.emit(wire.MonitorStatus{MonitorID: "monitor-0", State: wire.MonitorRemoved})
	want := []wire.MonitorStatus{
		{MonitorID: "monitor-0", State: wire.MonitorIdle},
		{MonitorID: "monitor-1", State: wire.MonitorRunning, Budget: &wire.Budget{Actions: 1}},
		{MonitorID: "monitor-2", State: wire.MonitorRunning, Budget: &wire.Budget{Actions: 1}},
		{MonitorID: "monitor-3", State: wire.MonitorIdle},
	}
	if diff := cmp.Diff(want, s.Monitors()); diff != "" {
		t.Errorf("monitors (-want +got):\n%s", diff)
	}
	if s.HasMonitor("monitor-4") || s.WindowCount() != 2 || len(s.Notices().Toasts()) != 1 {
		t.Errorf("there is monitor-4: %v, %d windows, %d toasts; want false, 2 and 1", s.HasMonitor("monitor-4"), s.WindowCount(), len(s.Notices().Toasts()))
	}
	if budgets := s.Snapshot("monitor-2", "monitor-3").Budgets; len(budgets) != 1 || budgets[0].Key != "monitor-2" {
		t.Errorf("the budgets are %+v, want that of monitor-2", budgets)
	}
	s.emit(wire.MonitorStatus{MonitorID: "monitor-1", State: wire.MonitorRemoved})
	s.emit(wire.MonitorStatus{MonitorID: "monitor-2", State: wire.MonitorRemoved})
	checkParts(t, s, wire.SessionState{
		Monitors: []wire.MonitorStatus{want[0], want[3]},
		Windows:  []wire.WindowState{at("b", front, func(w *wire.WindowState) { w.MonitorID = "monitor-3" })},
	})
	if d, ok := s.Notices().NextDeadline(); ok {
		t.Errorf("a deadline is left: %+v, want none", d)
	}
}

func TestSnapshotOfSomeMonitors(t *testing.T) {
	t.Parallel()
	s := newScript()
	s.act(open("a"), wire.AppBadge{AppID: "app", Count: 1})
	s.actOn("monitor-1", open("b"), wire.ToastShow{Toast: wire.Toast{ID: "t"}})
	s.emit(wire.ApprovalRequest{DialogID: "d", Deadline: 5})
	s.emit(wire.Presence{Connections: []wire.Connection{{ConnectionID: "c1"}}, Total: 7})
	s.emit(wire.OwnerChanged{Replica: "hub-1", Epoch: 1})
	state := s.Snapshot("monitor-1")
	if len(state.Monitors) != 1 || len(state.Windows) != 1 || state.Windows[0].WindowID != "b" || len(state.Toasts) != 1 {
		t.Errorf("monitor-1 shows %+v, want its own monitor, window b and one toast", state)
	}
	if len(state.Dialogs) != 1 || len(state.Badges) != 1 || state.Connections != 7 || state.Owner != "hub-1" || state.Status != wire.SessionWaiting {
		t.Errorf("parts that belong to no monitor are %+v, want one dialog, one badge, 7 connections, hub-1 and %s", state, wire.SessionWaiting)
	}
	client := desktop.New("ses-1")
	client.Apply(overTheWire(t, greeting(s.State, "monitor-1")))
	if !client.HasMonitor("monitor-0") || !client.HasMonitor("monitor-1") {
		t.Errorf("the client has the monitors %+v, want monitor-0 and monitor-1", client.Monitors())
	}
}

func TestToastsAndNotificationsAreBounded(t *testing.T) {
	t.Parallel()
	s := newScript()
	for i := range desktop.MaxToasts + 5 {
		s.now++
		id := wire.NoticeID(fmt.Sprintf("t%02d", i))
		s.act(wire.ToastShow{Toast: wire.Toast{ID: id}})
	}
	for i := range desktop.MaxNotifications + 5 {
		id := wire.NoticeID(fmt.Sprintf("n%03d", i))
		s.act(wire.NotificationShow{Notification: wire.Notification{ID: id}})
	}
	if toasts := s.Notices().Toasts(); len(toasts) != desktop.MaxToasts || toasts[0].ID != "t05" {
		t.Errorf("%d toasts, the oldest %+v, want %d from t05 on", len(toasts), toasts[0], desktop.MaxToasts)
	}
	if notes := s.Notices().Notifications(); len(notes) != desktop.MaxNotifications || notes[0].ID != "n005" {
		t.Errorf("%d notifications, the oldest %+v, want %d from n005 on", len(notes), notes[0], desktop.MaxNotifications)
	}
	if _, ok := s.Notices().Notification("n005"); !ok {
		t.Error("notification n005 is not found, want it as the oldest")
	}
}

func TestToastsEnd(t *testing.T) {
	t.Parallel()
	s := newScript()
	s.act(wire.ToastShow{Toast: wire.Toast{ID: "short", Duration: 100}}, wire.ToastShow{Toast: wire.Toast{ID: "usual"}})
	s.now += 99
	s.emit(wire.SessionRenamed{})
	if _, ok := s.Notices().Toast("short"); !ok {
		t.Error("a toast of 100 ms ended after 99 ms, want it there")
	}
	s.now++
	s.emit(wire.MessageRejected{MessageID: "m", To: "c1"})
	if _, ok := s.Notices().Toast("short"); !ok {
		t.Error("a toast ended by an event that only one client sees, want it there")
	}
	s.emit(wire.SessionRenamed{})
	if _, ok := s.Notices().Toast("short"); ok {
		t.Error("a toast of 100 ms is there after its time, want it gone")
	}
	s.now += 4900
	s.emit(wire.SessionRenamed{})
	if len(s.Notices().Toasts()) != 0 {
		t.Error("a toast without a duration is there after the usual time, want it gone")
	}
}

func TestGroups(t *testing.T) {
	t.Parallel()
	s := newScript()
	by := func(agent wire.AgentID, id wire.WindowID) wire.WindowCreate {
		w := open(id)
		w.AgentID = agent
		return w
	}
	s.act(open("root"), open("a/b"))
	s.act(by("window-root", "child"), by("window-child/action-1", "grandchild"), by("window-a/b/action/2", "other"))
	s.act(by("window-none", "alone"), by("main-monitor-0-m1", "root2"))
	s.emit(wire.Actions{AgentID: "window-root", Actions: []wire.Action{open("late")}})
	s.actOn("monitor-1", by("window-root", "elsewhere"))
	s.act(wire.WindowClose{WindowID: "root"}, wire.WindowClose{WindowID: "late"}, open("child"), by("window-child", "child"))
	got := map[wire.WindowID]wire.WindowID{}
	for _, w := range s.Snapshot().Windows {
		got[w.WindowID] = w.GroupID
	}
	want := map[wire.WindowID]wire.WindowID{
		"child": "root", "grandchild": "root", "a/b": "a/b", "other": "a/b", "alone": "", "root2": "", "elsewhere": "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

func TestZOrderIsRenumbered(t *testing.T) {
	t.Parallel()
	s := newScript()
	s.Apply(wire.Event{Data: wire.SessionState{Mode: wire.StateSnapshot, Windows: []wire.WindowState{
		at("a", 2<<20-3), at("b", 2<<20-2), at("c", 2<<20-1),
	}}})
	s.act(wire.WindowFocus{WindowID: "a"})
	checkParts(t, s, windows(at("b", front), at("c", front+1), at("a", front+2)))
}

func TestAgents(t *testing.T) {
	t.Parallel()
	s := newScript()
	const role = "main-monitor-0-m1"
	s.emit(wire.MessageQueued{MessageID: "m1", Position: 1})
	s.emit(wire.MessageQueued{MessageID: "m0", Position: 1})
	s.emit(wire.MessageQueued{MessageID: "m0", Position: 1})
	s.emit(wire.MessageQueued{MessageID: "m9", Position: 1, Duplicate: true})
	queue := func(m ...wire.QueuedMessage) wire.Object[wire.MonitorID, []wire.QueuedMessage] {
		return wire.Object[wire.MonitorID, []wire.QueuedMessage]{{Key: "monitor-0", Value: m}}
	}
	checkParts(t, s, wire.SessionState{Queues: queue(
		wire.QueuedMessage{ID: "m0", Timestamp: 1_000_000}, wire.QueuedMessage{ID: "m1", Timestamp: 1_000_000},
	)})
	s.emit(wire.MessageAccepted{MessageID: "m1", AgentID: role, MonitorID: "monitor-0", How: wire.TakenDirect})
	s.emit(wire.AgentThinking{AgentID: role, Delta: "hm"})
	s.emit(wire.AgentResponse{AgentID: role, Delta: "Ω𝛀"})
	s.emit(wire.AgentResponse{AgentID: role, Delta: "!", Offset: 3})
	s.emit(wire.AgentResponse{AgentID: role, Delta: "lost", Offset: 9})
	s.emit(wire.ToolProgress{AgentID: role, ToolName: "window:create", Status: wire.ToolRunning})
	agent := wire.AgentState{
		Role: role, Kind: wire.AgentMain, MonitorID: "monitor-0", Status: wire.AgentStatusRunning, MessageID: "m1",
		Text: "Ω𝛀!", Thinking: "hm", Tool: "window:create", StartedAt: 1_000_000,
	}
	waiting := queue(wire.QueuedMessage{ID: "m0", Timestamp: 1_000_000})
	s.emit(wire.ToolProgress{AgentID: role, ToolName: "window:create", Status: wire.ToolRunning, Message: "1 of 2"})
	agent.ToolProgress = "1 of 2"
	checkParts(t, s, wire.SessionState{Agents: []wire.AgentState{agent}, Queues: waiting})
	if status := s.Snapshot().Status; status != wire.SessionExecuting {
		t.Errorf("status %s, want %s", status, wire.SessionExecuting)
	}
	s.emit(wire.MessageAccepted{MessageID: "m0", AgentID: role, How: wire.TakenSteered})
	s.emit(wire.ToolProgress{AgentID: role, ToolName: "window:create", Status: wire.ToolComplete})
	s.emit(wire.AgentResponse{AgentID: role, Delta: "new", Offset: 1})
	agent.Text, agent.Tool, agent.ToolProgress = "Ωnew", "", ""
	checkParts(t, s, wire.SessionState{Agents: []wire.AgentState{agent}})
	s.emit(wire.AgentResponse{AgentID: role, IsComplete: true})
	s.emit(wire.MessageAccepted{MessageID: "m1", AgentID: role, Duplicate: true})
	checkParts(t, s, wire.SessionState{})
	s.emit(wire.MessageAccepted{MessageID: "m2", AgentID: "x", How: wire.TakenEphemeral})
	s.emit(wire.AgentResponse{AgentID: "x", Content: "all of it"})
	s.emit(wire.MessageAccepted{MessageID: "m3", AgentID: "x"})
	checkParts(t, s, wire.SessionState{Agents: []wire.AgentState{{
		Role: "x", Kind: wire.AgentEphemeral, Status: wire.AgentStatusRunning, MessageID: "m3", StartedAt: 1_000_000,
	}}})
	s.emit(wire.TurnInterrupted{AgentID: "x"})
	checkParts(t, s, wire.SessionState{})
}

func TestWindowAgents(t *testing.T) {
	t.Parallel()
	s := newScript()
	status := func(c wire.WindowAgentChange) {
		s.emit(wire.WindowAgentStatus{WindowID: "a", AgentID: "window-a", Status: c, MonitorID: "monitor-0"})
	}
	agent := wire.AgentState{
		Role: "window-a", Kind: wire.AgentWindow, MonitorID: "monitor-0", WindowID: "a",
		Status: wire.AgentStatusIdle, StartedAt: 1_000_000,
	}
	status(wire.AgentAssigned)
	checkParts(t, s, wire.SessionState{Agents: []wire.AgentState{agent}})
	if got := s.Snapshot().Status; got != wire.SessionIdle {
		t.Errorf("status %s, want %s", got, wire.SessionIdle)
	}
	status(wire.AgentActive)
	agent.Status = wire.AgentStatusRunning
	checkParts(t, s, wire.SessionState{Agents: []wire.AgentState{agent}})
	status(wire.AgentReleased)
	checkParts(t, s, wire.SessionState{})
}

func TestAgentsAreBounded(t *testing.T) {
	t.Parallel()
	s := newScript()
	for i := range desktop.MaxAgents + 1 {
		s.now++
		s.emit(wire.AgentThinking{AgentID: wire.AgentID(fmt.Sprintf("main-%03d", i)), Delta: "x"})
	}
	if agents := s.Snapshot().Agents; len(agents) != desktop.MaxAgents || agents[0].Role != "main-001" {
		t.Errorf("%d agents, the first %s, want %d from main-001 on", len(agents), agents[0].Role, desktop.MaxAgents)
	}
	piece := strings.Repeat("𝛀", 1000)
	for i := range desktop.MaxAgentText/4000 + 10 {
		s.emit(wire.AgentResponse{AgentID: "main-001", Delta: piece, Offset: i * 2000})
	}
	if n := len(s.Snapshot().Agents[0].Text); n != desktop.MaxAgentText {
		t.Errorf("a text of %d bytes, want %d", n, desktop.MaxAgentText)
	}
}

func TestQueues(t *testing.T) {
	t.Parallel()
	s := newScript()
	list := make([]wire.QueuedMessage, desktop.MaxQueued+1)
	for i := range list {
		list[i].ID = wire.MessageID(fmt.Sprint("m", i))
	}
	s.emit(wire.QueueUpdated{MonitorID: "monitor-0", Messages: list, MessageID: "x"})
	before := s.Snapshot()
	s.emit(wire.MessageRejected{MessageID: "m0"})
	after := s.Snapshot()
	if n := len(before.Queues[0].Value); n != desktop.MaxQueued || before.Queues[0].Value[0].ID != "m0" {
		t.Errorf("%d messages waited, the first %s, want %d from m0 on", n, before.Queues[0].Value[0].ID, desktop.MaxQueued)
	}
	if n := len(after.Queues[0].Value); n != desktop.MaxQueued-1 || after.Queues[0].Value[0].ID != "m1" {
		t.Errorf("after a rejection %d messages wait, the first %s, want %d from m1 on", n, after.Queues[0].Value[0].ID, desktop.MaxQueued-1)
	}
	s.emit(wire.QueueUpdated{MonitorID: "monitor-0"})
	checkParts(t, s, wire.SessionState{})
}

func TestDeadlines(t *testing.T) {
	t.Parallel()
	s := newScript()
	check := func(want desktop.Deadline) {
		t.Helper()
		if got, _ := s.Notices().NextDeadline(); got != want {
			t.Errorf("next deadline %+v, want %+v", got, want)
		}
	}
	s.act(wire.PromptShow{Prompt: wire.Prompt{ID: "p"}})
	check(desktop.Deadline{At: 1_300_000, Prompt: "p"})
	s.act(wire.DialogConfirm{ID: "d"})
	check(desktop.Deadline{At: 1_060_000, Dialog: "d"})
	s.emit(wire.ApprovalRequest{DialogID: "e", Deadline: 1_000_001, Title: "t"})
	check(desktop.Deadline{At: 1_000_001, Dialog: "e"})
	if d, ok := s.Notices().Dialog("e"); !ok || d.Title != "t" {
		t.Errorf("dialog e is %+v, want it with the title t", d)
	}
	if p, ok := s.Notices().Prompt("p"); !ok || p.MonitorID != "monitor-0" {
		t.Errorf("prompt p is %+v, want it on monitor-0", p)
	}
	s.emit(wire.DialogClosed{DialogID: "e", Reason: wire.ClosedAnswered})
	s.emit(wire.DialogClosed{DialogID: "d", Reason: wire.ClosedExpired})
	check(desktop.Deadline{At: 1_300_000, Prompt: "p"})
	s.emit(wire.PromptClosed{PromptID: "p", Reason: wire.ClosedDismissed})
	if d, ok := s.Notices().NextDeadline(); ok {
		t.Errorf("a deadline is left: %+v, want none", d)
	}
}

// The owner applies the event that it created, clients the decoded one. Both states are equal, also
// if the event has values that the encoder replaces, such as NaN and invalid UTF-8.
func TestInvalidValuesOfTheOwner(t *testing.T) {
	t.Parallel()
	w := open("a")
	w.Bounds = wire.Bounds{X: math.NaN(), Y: math.Inf(1), W: math.Copysign(0, -1), H: 1e300}
	w.Content = &wire.TextContent{Data: "a\xffb"}
	other := open("b")
	other.Content = wire.OtherContent{Renderer: "globe", Data: []byte("{ \"a\" : [1, 2] }")}
	events := []wire.ServerPayload{
		wire.Actions{Actions: []wire.Action{&w, other, wire.WindowMove{WindowID: "b", X: math.Inf(-1)}}},
		wire.Actions{Actions: []wire.Action{
			wire.WindowUpdateContent{WindowID: "a", Operation: &wire.UpdateInsertAt{Position: 2, Data: []byte(`"x"`)}},
			wire.WindowUpdateContent{WindowID: "b", Operation: wire.UpdateReplace{Data: []byte("{")}},
		}},
		wire.AgentResponse{AgentID: "x", Delta: "\xe2\x82"},
		wire.AgentResponse{AgentID: "x", Delta: "\xac", Offset: 2},
		wire.MessageUpdated{Action: wire.RowCreated, Message: wire.UIRow{
			TS: 1, Type: wire.RowSay, Text: strings.Repeat("\xff", desktop.MaxRowBytes/3), Images: []string{"\xff"},
		}},
		wire.MessageUpdated{Action: wire.RowCreated, Message: wire.UIRow{TS: 2, Type: wire.RowSay}},
	}
	owner, client := desktop.New("ses-1"), desktop.New("ses-1")
	for i, p := range events {
		e := wire.Event{Session: "ses-1", At: wire.Position{Epoch: 1, Seq: uint64(i + 1)}, Time: time.Unix(1, 999_999), Data: p}
		owner.Apply(e)
		client.Apply(overTheWire(t, e))
		checkSame(t, fmt.Sprintf("after %T", p), client, owner)
	}
	checkInvariants(t, owner)
	nothing := desktop.New("ses-1")
	nothing.Apply(wire.Event{At: wire.Position{Epoch: 1}, Data: wire.Actions{Actions: []wire.Action{
		nil, (*wire.WindowCreate)(nil),
		wire.WindowCreate{WindowID: "empty"},
		wire.WindowSetContent{WindowID: "empty"},
		wire.WindowCreate{},
		wire.ToastShow{},
		wire.NotificationShow{},
		wire.DialogConfirm{},
		wire.PromptShow{},
	}}})
	if got := nothing.Snapshot(); len(got.Windows) != 1 || got.Windows[0].Content != (wire.TextContent{}) || len(got.Toasts) != 0 {
		t.Errorf("empty actions became %+v, want one window with an empty text and no toasts", got)
	}
}

func TestProviderIsPartOfTheState(t *testing.T) {
	t.Parallel()
	s := newScript()
	before := s.Hash()
	s.emit(wire.ProviderChanged{Provider: "demo"})
	if got := s.Snapshot().Provider; got != "demo" || s.Hash() == before {
		t.Errorf("the provider is %q after it has changed to demo, want demo and another hash", got)
	}
	client := desktop.New("ses-1")
	client.Apply(overTheWire(t, greeting(s.State)))
	if client.Hash() != s.Hash() {
		t.Error("the hash of a client that reads the snapshot differs from the state's, want the same")
	}
}

func TestAutoApprovalRulesAreInSnapshots(t *testing.T) {
	t.Parallel()
	s := newScript()
	before := s.Hash()
	if _, own := s.AutoApproval(); own || s.Snapshot().AutoApproval != nil {
		t.Error("a new state has auto-approval rules, want none")
	}
	rules := wire.AutoApproval{AutoApprovalEnabled: true, DeniedCommands: []string{"rm"}}
	s.emit(wire.AutoApprovalChanged{Rules: rules, By: "c"})
	got := s.Snapshot().AutoApproval
	if got == nil || !got.AutoApprovalEnabled || len(got.DeniedCommands) != 1 || s.Hash() == before {
		t.Errorf("the rules are %+v, want them enabled with one denied command, and another hash", got)
	}
	s.emit(wire.AutoApprovalChanged{})
	if got := s.Snapshot().AutoApproval; got == nil || got.AutoApprovalEnabled {
		t.Errorf("the rules are %+v, want them disabled", got)
	}
	s.emit(wire.AutoApprovalChanged{UseDefault: true})
	if got := s.Snapshot().AutoApproval; got != nil || s.Hash() != before {
		t.Errorf("the rules are %+v after the session went back to the default, want none and the first hash", got)
	}
}
