package contextpool_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workflow"
)

const (
	session = wire.SessionID("ses-1")
	first   = policies.PrimaryMonitor
	second  = wire.MonitorID("monitor-1")
	third   = wire.MonitorID("monitor-2")
)

// fataler is the part of testing.TB that rapid has too.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// rig is a session around a pool: steps, a desktop, stored state, and a session runner that
// only records its calls.
type rig struct {
	t       fataler
	cfg     contextpool.Config
	pool    *contextpool.Pool
	desktop *desktop.State
	runner  *runner
	now     time.Time
	seq     uint64
	row     wire.Millis

	events []wire.ServerPayload
	ops    []store.Op
	then   []func()
	kept   storedState

	archive map[wire.MonitorID][]wire.UIRow // all rows of each monitor
	gone    map[wire.RowID]wire.MonitorID   // removed rows and their monitors
	away    error                           // error of reads of cold lists

	cancelled     []wire.AgentID
	clientResults []string
	worked        []workflow.JobResult
	titles        []string // titles that were found, with the reason if there is none
	biggest       int      // size of the largest step in bytes
	most          int      // items of the largest step
	room          int      // number of operations after which a step is full
	emitted       int      // events in the step
	told          int      // size of the events in the step
	full          bool
}

// storedState is the stored state.
type storedState struct {
	tables map[string]map[string][]byte
	lists  map[string][][]byte
}

func newRig(t fataler) *rig {
	r := &rig{
		t: t, cfg: contextpool.Config{Session: session, Provider: "demo"},
		now: time.UnixMilli(1_800_000_000_000), desktop: desktop.New(session),
		kept: storedState{map[string]map[string][]byte{}, map[string][][]byte{}}, room: 1024,
	}
	r.hire()
	r.step(func() { r.pool.Recover() })
	return r
}

// newRigWith is newRig with budget limits and further monitors.
func newRigWith(t fataler, limits policies.BudgetLimits, monitors ...wire.MonitorID) *rig {
	r := newRig(t)
	r.cfg.Budget = limits
	r.hire()
	r.step(func() {
		for _, m := range monitors {
			r.Emit(wire.MonitorStatus{MonitorID: m, State: wire.MonitorIdle})
		}
		r.pool.Recover()
	})
	return r
}

func (r *rig) hire() {
	old := r.runner
	r.runner = &runner{runs: map[string]agentpool.Run{}, steers: true, has: []string{"demo", "other"}}
	if old != nil {
		r.runner.slots, r.runner.steers, r.runner.launched = old.slots, old.steers, old.launched
		r.runner.has, r.runner.userProviders = old.has, old.userProviders
	}
	r.pool = contextpool.New(r.cfg, contextpool.Session{Step: r, Rows: r, State: r, Ends: r}, r.runner, r.runner)
}

// crash simulates that the owner is killed and another one takes over, which calls first before
// it recovers.
func (r *rig) crash(first ...func()) {
	r.t.Helper()
	before := r.pool.AllOps()
	tables, lists := r.kept.clone()
	state, err := desktop.Restore(session, r.desktop.At(), tables)
	if err != nil {
		r.t.Fatalf("restore the desktop: %v", err)
	}
	r.desktop = state
	r.hire()
	if err := r.pool.Restore(tables, lists); err != nil {
		r.t.Fatalf("restore: %v", err)
	}
	if after := r.pool.AllOps(); !slices.EqualFunc(before, after, sameOp) { // cmp.Diff of long texts takes seconds
		r.t.Fatalf("another pool was restored than was kept (-was +is):\n%s", cmp.Diff(legible(before), legible(after)))
	}
	r.step(func() {
		for _, f := range first {
			f()
		}
		r.pool.Recover()
	})
}

// legible returns operations as text.
func legible(ops []store.Op) []string {
	out := make([]string, len(ops))
	for i, op := range ops {
		out[i] = fmt.Sprintf("%d %s %s %d %q", op.Kind, op.Name, op.Field, op.N, op.Values)
	}
	return out
}

// step runs f and commits the step, and further steps for the work that had no room.
func (r *rig) step(f func()) {
	r.t.Helper()
	f()
	r.commit()
	for more := r.full; more; {
		more = r.pool.Tick()
		r.commit()
	}
	r.full = false
}

func (r *rig) commit() {
	r.t.Helper()
	for _, c := range r.desktop.Changes() {
		if c.Value == nil {
			r.ops = append(r.ops, store.Unset(c.Table, c.Field))
		} else {
			r.ops = append(r.ops, store.Set(c.Table, c.Field, c.Value))
		}
	}
	items, size := r.weigh()
	r.biggest, r.most = max(r.biggest, size), max(r.most, items)
	for _, op := range r.ops {
		if err := store.CheckName("name", op.Name); err != nil {
			r.t.Fatalf("op %v: %v", op, err)
		}
		r.kept.apply(op)
	}
	then := r.then
	r.ops, r.then, r.emitted, r.told = nil, nil, 0, 0
	r.now = r.now.Add(time.Millisecond)
	for _, f := range then {
		f()
	}
}

// weigh returns items and bytes of the step as a store counts them.
func (r *rig) weigh() (items, size int) {
	items, size = weigh(r.ops)
	return items + r.emitted, size + r.told
}

func (k storedState) apply(op store.Op) {
	list := k.lists[op.Name]
	switch op.Kind {
	case store.OpSet:
		if k.tables[op.Name] == nil {
			k.tables[op.Name] = map[string][]byte{}
		}
		k.tables[op.Name][op.Field] = op.Values[0]
	case store.OpUnset:
		delete(k.tables[op.Name], op.Field)
	case store.OpClear:
		delete(k.tables, op.Name)
	case store.OpPush:
		k.lists[op.Name] = append(list, op.Values...)
	case store.OpReplace:
		at := op.N
		if at < 0 {
			at += len(list)
		}
		if at >= 0 && at < len(list) {
			list[at] = op.Values[0]
		}
	case store.OpKeepLast:
		k.lists[op.Name] = list[max(len(list)-op.N, 0):]
	case store.OpKeepFirst:
		k.lists[op.Name] = list[:min(op.N, len(list))]
	case store.OpDrop:
		delete(k.lists, op.Name)
	}
}

func (k storedState) clone() (map[string]map[string][]byte, map[string][][]byte) {
	tables, lists := map[string]map[string][]byte{}, map[string][][]byte{}
	for name, table := range k.tables {
		tables[name] = maps.Clone(table)
	}
	for name, list := range k.lists {
		lists[name] = slices.Clone(list)
	}
	return tables, lists
}

// The rig is the step writer of its pool.

func (r *rig) Now() time.Time            { return r.now }
func (r *rig) Desktop() *desktop.State   { return r.desktop }
func (r *rig) AddOps(ops ...store.Op)    { r.ops = append(r.ops, ops...) }
func (r *rig) AfterCommit(effect func()) { r.then = append(r.then, effect) }

func (r *rig) Full() bool {
	_, size := r.weigh()
	r.full = size >= 1<<20 || len(r.ops) >= r.room
	return r.full
}

func (r *rig) CancelQuestions(agent wire.AgentID) { r.cancelled = append(r.cancelled, agent) }
func (r *rig) JobEnded(w workflow.JobResult)      { r.worked = append(r.worked, w) }
func (r *rig) TitleEnded(title, reason string)    { r.titles = append(r.titles, title+"|"+reason) }
func (r *rig) EmitReply(p wire.ServerPayload)     { r.Emit(p) }

func (r *rig) Emit(p wire.ServerPayload) {
	r.seq++
	r.events = append(r.events, p)
	if u, ok := p.(wire.MessageUpdated); ok {
		u.Message = r.archiveRow(u.Message)
		p = u
	}
	e := wire.Event{Session: session, At: wire.Position{Epoch: 1, Seq: r.seq}, Time: r.now, Data: p}
	r.emitted++
	r.told += len(wire.AppendEvent(nil, e)) // panics if the event cannot be encoded
	r.desktop.Apply(e)
}

func (r *rig) AddRow(row wire.UIRow) wire.Millis {
	r.row = max(r.row+1, wire.Millis(r.now.UnixMilli()))
	row.ID, row.TS = r.NextRowID(), r.row
	r.Emit(wire.MessageUpdated{
		Action: wire.RowCreated, Message: row, MonitorID: row.MonitorID, AgentID: row.AgentID, MessageID: row.MessageID,
	})
	return row.TS
}

// Commands and reports.

func (r *rig) user(id string, monitor ...wire.MonitorID) {
	m := contextpool.Message{ID: wire.MessageID(id), By: "c1", Monitor: first, Text: "text of " + id}
	if len(monitor) > 0 {
		m.Monitor = monitor[0]
	}
	r.step(func() { r.pool.Messages.HandleUserMessage(m) })
}

func (r *rig) handleReport(reports ...agentpool.Report) {
	for _, report := range reports {
		if e, ok := report.(agentpool.Ended); ok {
			delete(r.runner.runs, e.Run)
		}
		r.step(func() { r.pool.HandleReport(report) })
	}
}

func (r *rig) began(run agentpool.Run) {
	r.handleReport(agentpool.Began{RunRef: agentpool.RunRef{Run: run.ID}})
}

func (r *rig) said(run agentpool.Run, text string) {
	r.handleReport(agentpool.Output{RunRef: agentpool.RunRef{Run: run.ID}, Text: text})
}

func (r *rig) ended(run agentpool.Run) {
	r.handleReport(agentpool.Ended{RunRef: agentpool.RunRef{Run: run.ID}, Outcome: providers.Completed})
}

func (r *rig) interrupted(run agentpool.Run) {
	r.handleReport(agentpool.Ended{RunRef: agentpool.RunRef{Run: run.ID}, Outcome: providers.Interrupted})
}

func (r *rig) remember(run agentpool.Run, entries ...providers.Entry) {
	r.handleReport(agentpool.NewEntries{RunRef: agentpool.RunRef{Run: run.ID}, Entries: entries})
}

// run returns the only run of an agent.
func (r *rig) run(role string) agentpool.Run {
	r.t.Helper()
	for _, run := range r.runner.runs {
		if run.Role == wire.AgentID(role) {
			return run
		}
	}
	r.t.Fatalf("no run of %s, want one; there are %v", role, slices.Collect(maps.Keys(r.runner.runs)))
	return agentpool.Run{}
}

// direct begins a turn of the main agent and reports its start.
func (r *rig) direct(id string, monitor ...wire.MonitorID) agentpool.Run {
	r.t.Helper()
	on := first
	if len(monitor) > 0 {
		on = monitor[0]
	}
	r.user(id, on)
	run := r.run("main-" + string(on) + "-" + id)
	r.began(run)
	return run
}

func callerOf(run agentpool.Run) tools.Caller {
	return tools.Caller{
		Session: session, Monitor: run.Monitor, Agent: run.Role, Turn: run.Turn, Kind: run.Kind, Window: run.Window,
		Profile: run.Profile, Provider: run.Provider,
	}
}

func callOf(id, tool string) tools.Call {
	return tools.Call{Tool: tool, ToolCall: providers.ToolCall{ID: id, Name: strings.Replace(tool, ":", "_", 1), Input: json.RawMessage(`{}`)}}
}

// act executes actions as an agent.
func (r *rig) act(run agentpool.Run, id string, actions ...wire.Action) (res providers.ToolResult, err error) {
	r.step(func() {
		res, err = r.pool.Tools.ExecuteToolPlan(callerOf(run), callOf(id, "window:create"), func(*desktop.State) tools.Plan {
			return tools.Plan{Actions: actions, Result: providers.ToolResult{Text: "done"}}
		})
	})
	return res, err
}

func window(id string) wire.WindowCreate {
	return wire.WindowCreate{
		WindowID: wire.WindowID(id), Title: "T " + id, Bounds: wire.Bounds{W: 100, H: 100}, Content: wire.TextContent{Data: "x"},
	}
}

// open opens windows without an agent.
func (r *rig) open(monitor wire.MonitorID, ids ...string) {
	r.step(func() {
		for _, id := range ids {
			r.Emit(wire.Actions{Actions: []wire.Action{window(id)}, MonitorID: monitor})
		}
	})
}

// close closes a window as a user.
func (r *rig) close(monitor wire.MonitorID, id string) {
	r.step(func() {
		r.Emit(wire.Actions{Actions: []wire.Action{wire.WindowClose{WindowID: wire.WindowID(id)}}, MonitorID: monitor})
		r.pool.WindowClosed(monitor, wire.WindowID(id))
	})
}

func (r *rig) toWindow(id, window string, monitor ...wire.MonitorID) {
	m := contextpool.Message{ID: wire.MessageID(id), Monitor: first, Window: wire.WindowID(window), Text: "text of " + id}
	if len(monitor) > 0 {
		m.Monitor = monitor[0]
	}
	r.step(func() { r.pool.Messages.HandleWindowMessage(m) })
}

func (r *rig) press(id, window, action string) {
	r.step(func() {
		r.pool.Messages.HandleComponentAction(contextpool.Message{ID: wire.MessageID(id), Monitor: first},
			wire.ComponentAction{WindowID: wire.WindowID(window), Action: "save", ActionID: action})
	})
}

// Results.

// story summarises the replies to a message and its end.
func (r *rig) story(id string) string {
	var out []string
	for _, e := range r.events {
		switch e := e.(type) {
		case wire.MessageAccepted:
			if e.MessageID == wire.MessageID(id) {
				out = append(out, string(e.How)+" by "+string(e.AgentID))
			}
		case wire.MessageQueued:
			if e.MessageID == wire.MessageID(id) {
				out = append(out, fmt.Sprintf("queued at %d", e.Position))
			}
		case wire.MessageRejected:
			if e.MessageID == wire.MessageID(id) {
				out = append(out, fmt.Sprintf("rejected with %d: %s", e.Code, e.Reason))
			}
		case wire.AgentResponse:
			if e.IsComplete && e.MessageID == wire.MessageID(id) {
				end := string(e.Outcome)
				if e.Reason != "" {
					end += ": " + e.Reason
				}
				out = append(out, end)
			}
		}
	}
	return strings.Join(out, "; ")
}

func (r *rig) wantStory(id, want string) {
	r.t.Helper()
	if got := r.story(id); got != want {
		r.t.Fatalf("message %s: %s; want %s", id, got, want)
	}
}

// all returns the events of a type.
func all[E wire.ServerPayload](r *rig) []E {
	var out []E
	for _, e := range r.events {
		if e, ok := e.(E); ok {
			out = append(out, e)
		}
	}
	return out
}

// last returns the newest event of a type.
func last[E wire.ServerPayload](r *rig) E {
	r.t.Helper()
	found := all[E](r)
	if len(found) == 0 {
		var none E
		r.t.Fatalf("there is no %T, want one", none)
	}
	return found[len(found)-1]
}

func wantEqual[T any](t fataler, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
}
