package rooipc_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/rooipc"
	"github.com/everdesk/everdesk/rooipc/rooipctest"
	"github.com/everdesk/everdesk/wire"
)

const (
	testSession = wire.SessionID("ses-aaaaaaaaaaaaaaaaaaaaaaaaaa")
	testAgent   = wire.AgentID("main-monitor-0-m1")
	testMonitor = wire.MonitorID("monitor-0")
	childAgent  = wire.AgentID("task-m1-1")
)

// world is a session whose log a test writes, with a client that watches it.
type world struct {
	t      *testing.T
	state  *desktop.State
	rows   []wire.UIRow // the archive
	log    []wire.Event
	ts     wire.Millis
	task   *rooipc.Task
	client rooipctest.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, state: desktop.New(testSession), ts: 1000}
	w.task = rooipc.NewTask(testSession, w.state.Snapshot())
	w.task.EmitCreated()
	w.take(wire.Position{})
	return w
}

// take passes the frames of the task to the client.
func (w *world) take(at wire.Position) {
	w.t.Helper()
	for _, data := range w.task.Take(at) {
		if err := w.client.Apply(bytes.TrimSuffix(data, []byte{'\f'})); err != nil {
			w.t.Fatalf("%s: %v", data, err)
		}
	}
}

// add appends events to the log.
func (w *world) add(all ...wire.ServerPayload) {
	w.t.Helper()
	for _, data := range all {
		n := uint64(len(w.log) + 1)
		e := wire.Event{Session: testSession, At: wire.Position{Epoch: 1, Seq: n}, Time: time.UnixMilli(int64(n)), Data: data}
		w.state.Apply(e)
		w.log = append(w.log, e)
		if row, ok := data.(wire.MessageUpdated); ok && row.Action == wire.RowCreated {
			w.rows = append(w.rows, row.Message)
		}
		if w.task != nil {
			w.task.Apply(e)
			w.take(e.At)
		}
	}
}

func (w *world) flush() {
	w.t.Helper()
	w.task.Flush()
	w.take(wire.Position{})
}

// cut disconnects the client.
func (w *world) cut() { w.task = nil }

// resume connects the client again, which names what it saw last.
func (w *world) resume() {
	w.t.Helper()
	w.task = rooipc.NewTask(testSession, w.state.Snapshot())
	if w.client.Seq == "" {
		w.addRows(nil)
		w.task.EmitState()
	} else {
		after, err := wire.ParsePosition(w.client.Seq)
		if err != nil {
			w.t.Fatal(err)
		}
		w.addRows(w.log[after.Seq:])
		w.task.Replay(w.log[after.Seq:])
	}
	w.take(wire.Position{})
}

// addRows adds the older rows that the task needs, a few at a time.
func (w *world) addRows(missed []wire.Event) {
	w.t.Helper()
	for {
		monitor, before, ok := w.task.NeedsRows(missed)
		if !ok {
			return
		}
		end := slices.IndexFunc(w.rows, func(r wire.UIRow) bool { return r.ID >= before })
		begin := max(0, end-50)
		w.task.AddRows(rooipc.RowPage{Monitor: monitor, Rows: w.rows[begin:end], More: begin > 0})
	}
}

func (w *world) row(agent wire.AgentID, say wire.Say, text string) {
	w.t.Helper()
	w.ts++
	w.add(wire.MessageUpdated{Action: wire.RowCreated, MonitorID: testMonitor, Message: wire.UIRow{
		ID: wire.RowID(w.ts), TS: w.ts, Type: wire.RowSay, Say: say, Text: text, MonitorID: testMonitor, AgentID: agent, MessageID: "m1",
	}})
}

func ref(agent wire.AgentID, id wire.TaskID) wire.Task {
	return wire.Task{TaskID: id, MonitorID: testMonitor, AgentID: agent, MessageID: "m1"}
}

// begin logs a message and the beginning of its turn.
func (w *world) begin() {
	w.t.Helper()
	w.row("", wire.SayUserFeedback, "hello")
	w.add(wire.MessageAccepted{MessageID: "m1", AgentID: testAgent, MonitorID: testMonitor, How: wire.TakenDirect},
		wire.TaskCreated{Task: ref(testAgent, "t1")}, wire.TaskStarted{Task: ref(testAgent, "t1")})
}

func (w *world) say(offset int, delta string) {
	w.t.Helper()
	w.add(wire.AgentResponse{Offset: offset, Delta: delta, AgentID: testAgent, MonitorID: testMonitor, MessageID: "m1"})
}

// end logs the end of the turn.
func (w *world) end() {
	w.t.Helper()
	w.row(testAgent, wire.SayAPIReqFinished, `{"outcome":"completed","inputTokens":10,"outputTokens":5,"costUsd":0.5}`)
	w.add(wire.AgentResponse{IsComplete: true, Outcome: wire.OutcomeCompleted, AgentID: testAgent, MonitorID: testMonitor, MessageID: "m1"},
		wire.TaskCompleted{
			Task: ref(testAgent, "t1"), TokenUsage: wire.TokenUsage{TotalTokensIn: 10, TotalTokensOut: 5, TotalCost: 0.5, ContextTokens: 15},
			ToolUsage: wire.Object[string, wire.ToolUses]{}.Set("window:create", wire.ToolUses{Attempts: 2}).Set("fetch", wire.ToolUses{Attempts: 1, Failures: 1}).Set("read_file", wire.ToolUses{Attempts: 1}),
		})
}

func wantTexts(t *testing.T, w *world, want ...string) {
	t.Helper()
	got, grows := w.client.Texts("text")
	if !slices.Equal(got, want) || grows {
		t.Errorf("texts %q, still growing %v, want %q", got, grows, want)
	}
}

func TestTurnStartsAndCompletesTheTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin()
	w.say(0, "Hel")
	w.flush()
	if got, grows := w.client.Texts("text"); !slices.Equal(got, []string{"Hel"}) || !grows {
		t.Errorf("texts %q, growing %v, want a growing one", got, grows)
	}
	w.say(3, "lo")
	w.row(testAgent, wire.SayText, "Hello")
	w.row(testAgent, wire.SayTool, `{"tool":"fetch"}`)
	w.say(5, " again")
	w.flush()
	w.row(testAgent, wire.SayText, " again")
	w.end()
	wantTexts(t, w, "Hello", " again")
	want := []string{"taskCreated", "taskFocused", "taskStarted", "taskTokenUsageUpdated", "taskCompleted", "taskIdle"}
	if got := w.client.Names(); !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
	done := w.client.Events[len(w.client.Events)-2]
	if got, want := string(done.Payload[2]), `{"custom_tool":{"attempts":3,"failures":1},"read_file":{"attempts":1,"failures":0}}`; got != want {
		t.Errorf("tools %s, want %s", got, want)
	}
	if got, want := string(done.Payload[1]), `{"totalTokensIn":10,"totalTokensOut":5,"totalCost":0.5,"contextTokens":15}`; got != want {
		t.Errorf("usage %s, want %s", got, want)
	}
	if sums, _ := w.client.Texts("api_req_started"); len(sums) != 1 || !strings.Contains(sums[0], `"tokensIn":10`) {
		t.Errorf("rows about requests %q, want one with the tokens", sums)
	}
}

func TestUsageOfTurnsAddsUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 2 {
		w.begin()
		w.end()
	}
	w.cut()
	w.resume()
	w.begin()
	w.end()
	done := w.client.Events[len(w.client.Events)-2]
	if got := string(done.Payload[1]); !strings.Contains(got, `"totalTokensIn":30,`) {
		t.Errorf("usage after three turns %s, want 30 tokens in", got)
	}
}

func TestDelegationIsSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin()
	w.add(wire.TaskCreated{Task: ref(childAgent, "t2")}, wire.TaskSpawned{Task: ref(testAgent, "t1"), ChildTaskID: "t2"},
		wire.TaskPaused{Task: ref(testAgent, "t1")}, wire.TaskStarted{Task: ref(childAgent, "t2")})
	w.row(childAgent, wire.SayTool, "{}")
	w.row(childAgent, wire.SaySubtaskResult, "found it")
	w.add(wire.TaskCompleted{Task: ref(childAgent, "t2"), IsSubtask: true}, wire.TaskUnpaused{Task: ref(testAgent, "t1")})
	w.end()
	var got []string
	parent, child := string(testSession), string(testSession)+"/t2"
	for _, e := range w.client.Events[2:] {
		if e.Name == "message" {
			continue
		}
		line := []string{e.Name}
		for _, p := range e.Payload {
			if s := strings.Trim(string(p), `"`); s == parent {
				line = append(line, "R")
			} else if s == child {
				line = append(line, "C")
			} else if s == "found it" {
				line = append(line, "result")
			}
		}
		got = append(got, strings.Join(line, " "))
	}
	want := []string{
		"taskStarted R", "taskCreated C", "taskSpawned R C", "taskDelegated R C", "taskUnfocused R", "taskFocused C", "taskPaused R", "taskStarted C",
		"taskTokenUsageUpdated C", "taskCompleted C", "taskDelegationCompleted R C result", "taskUnpaused R", "taskDelegationResumed R C",
		"taskUnfocused C", "taskFocused R", "taskTokenUsageUpdated R", "taskCompleted R", "taskIdle R",
	}
	if !slices.Equal(got, want) {
		t.Errorf("events\n%v, want\n%v", got, want)
	}
	for _, r := range w.client.Rows {
		if want := r.Say == "tool"; (r.TaskID == child) != want {
			t.Errorf("row %s of the task %s, want that of the subtask: %v", r.Say, r.TaskID, want)
		}
	}
}

// A client that is cut anywhere and goes on ends up with the rows of one that was never cut.
func TestCutsLoseAndRepeatNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		w := newWorld(t)
		sure := newWorld(t)
		both := func(do func(w *world)) {
			t.Helper()
			do(sure)
			do(w)
			switch random.IntN(6) {
			case 0:
				w.cut()
			case 1:
				if w.task == nil {
					w.resume()
				}
			case 2:
				if w.task != nil {
					w.flush()
				}
			}
		}
		both((*world).begin)
		offset := 0
		for range 4 {
			for range 3 {
				both(func(w *world) { w.say(offset, "word ") })
				offset += len("word ")
			}
			both(func(w *world) { w.row(testAgent, wire.SayText, "word word word ") })
			both(func(w *world) { w.row(testAgent, wire.SayTool, "{}") })
		}
		both((*world).end)
		if w.task == nil {
			w.resume()
		}
		got, grows := w.client.Texts("text")
		want, _ := sure.client.Texts("text")
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) || grows || len(w.client.Rows) != len(sure.client.Rows) {
			t.Fatalf("seed %d: texts %q in %d rows, growing %v, want %q in %d rows", seed, got, len(w.client.Rows), grows, want, len(sure.client.Rows))
		}
		if last := w.client.Names(); !slices.Contains(last, "taskCompleted") {
			t.Fatalf("seed %d: events %v, want the end of the task", seed, last)
		}
	}
}

func TestTextWithoutARowIsFinishedAtTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin()
	w.say(0, "lost")
	w.flush()
	w.end()
	if _, grows := w.client.Texts("text"); grows {
		t.Error("a row still grows after the end of the turn")
	}
}

func TestRetiredRowsHaveKindsThatClientsKnow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.row(testAgent, wire.SayBrowserAction, "old")
	w.ts++
	w.add(wire.MessageUpdated{Action: wire.RowCreated, Message: wire.UIRow{TS: w.ts, Type: wire.RowAsk, Ask: wire.AskBrowserActionLaunch, Text: "{}"}})
	if len(w.client.Rows) != 2 || w.client.Rows[0].Say != "text" || w.client.Rows[1].Ask != "tool" {
		t.Errorf("rows %+v, want a text and a question about a tool", w.client.Rows)
	}
}
