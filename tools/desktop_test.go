package tools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/fetch"
	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/outbound"
	"github.com/everdesk/everdesk/settings"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// testDesktop is a session without a store and agents: a real desktop state, with answers set
// by the test.
type testDesktop struct {
	t *testing.T

	mu    sync.Mutex
	state *desktop.State
	seq   uint64
	// acted, begun and ended are the reported calls.
	acted, begun, ended []reportedCall
	actions             []wire.Action
	submitted           []wire.Message
	confirms            []wire.DialogConfirm
	prompts             []wire.Prompt
	tasks               []tools.Task
	requests            []wire.AppRequest
	shown               []wire.Action
	waits               []time.Duration
	progress            []wire.TodoProgress
	reports             []string

	// outside are the sources of outside data that the conversation has read, and allowed the scopes that users
	// have confirmed.
	outside, allowed []string

	// Answers of the session. Nil functions must not be called.
	lost    error
	confirm func(wire.DialogConfirm) (tools.Verdict, error)
	ask     func(wire.Prompt) (wire.UserPromptResponse, error)
	show    func(wire.Action) (wire.RenderingFeedback, bool, error)
	app     func(wire.AppRequest) (wire.AppResponse, error)
	task    func(context.Context, tools.Task) (tools.TaskResult, error)
	options []policies.ReloadOption
	reload  func(id string) providers.ToolResult
	input   func(wire.HITLInputRequest) (json.RawMessage, error)
}

// reportedCall is a reported call.
type reportedCall struct {
	call   tools.Call
	result providers.ToolResult
}

func newDesktop(t *testing.T, session wire.SessionID) *testDesktop {
	t.Helper()
	d := &testDesktop{t: t, state: desktop.New(session)}
	d.apply(wire.MonitorStatus{MonitorID: "monitor-1", State: wire.MonitorIdle})
	return d
}

// roles returns the desktop in all roles.
func (d *testDesktop) roles() tools.Desktop {
	return tools.Desktop{Steps: d, Users: d, Tabs: d, Tasks: d, Reloads: d, Mailbox: d, Trust: d}
}

// apply applies an event.
func (d *testDesktop) apply(p wire.ServerPayload) {
	d.seq++
	d.state.Apply(wire.Event{Session: d.state.Session(), At: wire.Position{Epoch: 1, Seq: d.seq}, Time: time.UnixMilli(int64(d.seq)), Data: p})
}

// act applies actions that the desktop allows.
func (d *testDesktop) act(c tools.Caller, actions []wire.Action) *desktop.Refusal {
	if len(actions) == 0 {
		return nil
	}
	if r := d.state.CheckAll(c.Monitor, actions); r != nil {
		return r
	}
	d.actions = append(d.actions, actions...)
	d.apply(wire.Actions{Actions: actions, AgentID: c.Agent, MonitorID: c.Monitor, MessageID: c.Turn})
	return nil
}

func (d *testDesktop) View(ctx context.Context, look func(*desktop.State)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lost != nil {
		return d.lost
	}
	look(d.state)
	return ctx.Err()
}

func (d *testDesktop) Act(ctx context.Context, c tools.Caller, call tools.Call, plan func(*desktop.State) tools.Plan) (providers.ToolResult, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := errors.Join(d.lost, ctx.Err()); err != nil {
		return providers.ToolResult{}, err
	}
	p := plan(d.state)
	if !p.Result.IsError {
		if r := d.act(c, p.Actions); r != nil {
			p.Result = providers.ToolResult{Text: r.Reason, IsError: true}
		}
	}
	d.acted = append(d.acted, reportedCall{call, p.Result})
	return p.Result, nil
}

func (d *testDesktop) ReportProgress(_ context.Context, _ tools.Caller, _ tools.Call, text string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reports = append(d.reports, text)
	return nil
}

// reported returns the progress that was reported.
func (d *testDesktop) reported() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.reports)
}

func (d *testDesktop) Begin(ctx context.Context, _ tools.Caller, call tools.Call) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := errors.Join(d.lost, ctx.Err()); err != nil {
		return err
	}
	d.begun = append(d.begun, reportedCall{call: call})
	return nil
}

func (d *testDesktop) End(ctx context.Context, _ tools.Caller, call tools.Call, r providers.ToolResult) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = append(d.ended, reportedCall{call, r})
	return ctx.Err()
}

// Proceed implements [tools.Users]: there are no limits.
func (d *testDesktop) Proceed(context.Context, tools.Caller, providers.ToolCall) (tools.Verdict, error) {
	return tools.Verdict{Confirmed: true, Answered: true}, nil
}

func (d *testDesktop) Confirm(_ context.Context, _ tools.Caller, q wire.DialogConfirm, _ providers.ToolCall, wait time.Duration) (tools.Verdict, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.confirms, d.waits = append(d.confirms, q), append(d.waits, wait)
	return d.confirm(q)
}

func (d *testDesktop) Ask(_ context.Context, _ tools.Caller, p wire.Prompt, wait time.Duration) (wire.UserPromptResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.prompts, d.waits = append(d.prompts, p), append(d.waits, wait)
	return d.ask(p)
}

func (d *testDesktop) Show(_ context.Context, c tools.Caller, action func(wire.RequestID) wire.Action, wait time.Duration) (wire.RenderingFeedback, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := action("req-1")
	if r := d.act(c, []wire.Action{a}); r != nil {
		return wire.RenderingFeedback{}, false, r
	}
	d.shown, d.waits = append(d.shown, a), append(d.waits, wait)
	return d.show(a)
}

func (d *testDesktop) App(_ context.Context, _ tools.Caller, _ wire.WindowID, r wire.AppRequest) (wire.AppResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.requests = append(d.requests, r)
	return d.app(r)
}

func (d *testDesktop) Delegate(ctx context.Context, _ tools.Caller, t tools.Task) (providers.ToolResult, error) {
	d.mu.Lock()
	d.tasks = append(d.tasks, t)
	d.mu.Unlock()
	r, err := d.task(ctx, t)
	return r.Result(), err
}

func (d *testDesktop) ReloadOptions(context.Context, tools.Caller) ([]policies.ReloadOption, error) {
	return d.options, d.lost
}

func (d *testDesktop) Reload(_ context.Context, _ tools.Caller, call tools.Call, id string) (providers.ToolResult, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.reload(id)
	d.acted = append(d.acted, reportedCall{call, r})
	return r, d.lost
}

func (d *testDesktop) Submit(_ context.Context, user string, m wire.Message) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if user != "ann" {
		d.t.Errorf("something was submitted for %q, want ann", user)
	}
	d.submitted = append(d.submitted, m)
	return d.lost
}

// bench holds the fixtures of tool tests.
type bench struct {
	t         *testing.T
	exec      *tools.Executor
	desktop   *testDesktop
	docs      *filestore.Documents
	fileStore *files.Store
	web       *fetch.Client
	scripts   scripts
	pages     pages
	log       *lockedBuffer
	// calls numbers the calls.
	calls   int
	servers tools.Servers
	models  tools.Models
	apps    *tools.Apps
}

// lockedBuffer is a log for concurrent writers.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func setUp(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, desktop: newDesktop(t, "ses-1"), log: &lockedBuffer{}}
	logger := newLogger(b.log)
	s, err := filestore.Open(t.TempDir(), filestore.Config{Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	b.docs = s.Documents
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if b.fileStore, err = files.Open(t.TempDir(), files.Config{FileBytes: 8 << 20}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.fileStore.Close(); err != nil {
			t.Error(err)
		}
	})
	hosts, err := outbound.ParseHosts("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	b.web = fetch.New(fetch.NewDomains(b.docs), hosts)
	t.Cleanup(b.web.Close)
	b.apps = newApps(t)
	b.useSettings()
	return b
}

// useSettings replaces the executor by one whose operator has pinned settings.
func (b *bench) useSettings(pins ...settings.Pin) *settings.Store {
	b.t.Helper()
	logger := newLogger(b.log)
	values, err := settings.New(b.docs, settings.Config{Catalogue: settings.Catalogue(), Pins: pins, Logger: logger})
	if err != nil {
		b.t.Fatal(err)
	}
	b.exec = tools.New(tools.Config{
		Servers: b.servers, Models: b.models, Files: b.fileStore, Documents: b.docs, Settings: values, Web: b.web, Scripts: &b.scripts, Env: environment(), PDF: &b.pages, Apps: b.apps, Version: "1.2.3", Logger: logger,
	})
	return values
}

// caller is the main agent of monitor-0.
func (b *bench) caller() tools.Caller {
	return tools.Caller{
		Session: "ses-1", User: "ann", Monitor: "monitor-0", Agent: "main-monitor-0-m1", Turn: "m1",
		Kind: wire.AgentMain, Profile: tools.ProfileMain, Provider: "demo", Desktop: b.desktop.roles(),
	}
}

// worker is a task agent of monitor-0.
func (b *bench) worker() tools.Caller {
	c := b.caller()
	c.Agent, c.Kind, c.Profile = "task-m1-1", wire.AgentTask, tools.ProfileDefault
	return c
}

// todo is an agent of monitor-0 that works on a todo of a plan.
func (b *bench) todo() tools.Caller {
	c := b.worker()
	c.Agent, c.Job, c.Todo = "task-collect", "plan_1/collect.1", "collect"
	return c
}

// callAs calls a tool with an input given as JSON.
func (b *bench) callAs(c tools.Caller, tool, input string) providers.ToolResult {
	b.t.Helper()
	b.calls++
	return b.exec.Call(b.t.Context(), c, providers.ToolCall{ID: "call-" + string(rune('0'+b.calls)), Name: tool, Input: json.RawMessage(input)})
}

func (b *bench) call(tool, input string) providers.ToolResult {
	b.t.Helper()
	return b.callAs(b.caller(), tool, input)
}

// must calls a tool that must succeed and returns its text.
func (b *bench) must(tool, input string) string {
	b.t.Helper()
	r := b.call(tool, input)
	if r.IsError {
		b.t.Fatalf("%s %s gives the error %q, want none", tool, input, r.Text)
	}
	return r.Text
}

// mustAs is must for another caller.
func (b *bench) mustAs(c tools.Caller, tool, input string) string {
	b.t.Helper()
	r := b.callAs(c, tool, input)
	if r.IsError {
		b.t.Fatalf("%s %s gives the error %q, want none", tool, input, r.Text)
	}
	return r.Text
}

// window returns a window of monitor-0 that must exist.
func (b *bench) window(id wire.WindowID) wire.WindowState {
	b.t.Helper()
	w, ok := b.desktop.state.Window("monitor-0", id)
	if !ok {
		b.t.Fatalf("there is no window %q, want one", id)
	}
	return w
}

func newLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

// quote encodes a text as JSON.
func quote(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return b
}
