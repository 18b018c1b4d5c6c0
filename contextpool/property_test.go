package contextpool_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// chaos is a rig that receives random commands, with the invariants that must always hold.
type chaos struct {
	*rig
	t     *rapid.T
	sent  []string
	jobs  []string
	calls int
	open  map[string][]string // open calls by run id
	seen  int                 // number of checked events
	fate  map[wire.MessageID]*fate
	ends  map[string]int // ends of turns by role and message, rows of ends and calls
	// outside are the monitors whose agents have read outside data.
	outside map[wire.MonitorID]bool
}

// fate collects the replies to a message.
type fate struct {
	queued, rejected int
	accepted         []string // role and message of the turn
}

func (c *chaos) monitor() wire.MonitorID {
	return rapid.SampledFrom([]wire.MonitorID{first, second, third}).Draw(c.t, "monitor")
}

func (c *chaos) window() string {
	return rapid.SampledFrom([]string{"w1", "w2", "w3"}).Draw(c.t, "window")
}

func (c *chaos) newID() string {
	id := fmt.Sprintf("m%d", len(c.sent))
	c.sent = append(c.sent, id)
	return id
}

// need creates a monitor as a session does.
func (c *chaos) need(m wire.MonitorID) {
	if !c.desktop.HasMonitor(m) {
		c.step(func() { c.Emit(wire.MonitorStatus{MonitorID: m, State: wire.MonitorIdle}) })
	}
}

// anyRun returns a random running run.
func (c *chaos) anyRun() (agentpool.Run, bool) {
	ids := slices.Sorted(maps.Keys(c.runner.runs))
	if len(ids) == 0 {
		return agentpool.Run{}, false
	}
	return c.runner.runs[rapid.SampledFrom(ids).Draw(c.t, "run")], true
}

func (c *chaos) message() {
	m := c.monitor()
	c.need(m)
	switch id := c.newID(); rapid.IntRange(0, 5).Draw(c.t, "to") {
	case 0, 1, 2:
		c.user(id, m)
	case 3:
		c.toWindow(id, c.window(), m)
	default:
		action := rapid.SampledFrom([]string{"", "a1", "a2"}).Draw(c.t, "action")
		c.press(id, c.window(), action)
	}
}

func (c *chaos) report() {
	run, ok := c.anyRun()
	if !ok {
		return
	}
	of := agentpool.RunRef{Run: run.ID}
	switch rapid.IntRange(0, 11).Draw(c.t, "report") {
	case 0, 10, 11:
		c.handleReport(agentpool.Began{RunRef: of})
	case 1, 2:
		c.handleReport(agentpool.Output{RunRef: of, Text: rapid.SampledFrom([]string{"x", "héllo 😀", strings.Repeat("y", 60)}).Draw(c.t, "text"), Thinking: "t"})
	case 3, 4:
		for _, s := range c.runner.steered {
			if s.Run == run.ID && rapid.Bool().Draw(c.t, "takes") {
				c.handleReport(agentpool.SteerAccepted{RunRef: of, Message: s.Message})
			} else if s.Run == run.ID && rapid.Bool().Draw(c.t, "spurns") {
				c.handleReport(agentpool.SteerRefused{RunRef: of, Message: s.Message})
			}
		}
	case 5:
		entries := []providers.Entry{said(string(run.Turn), "x")}
		if calls := c.open[run.ID]; len(calls) > 0 {
			entries = append(entries, toolCall(string(run.Turn), "y", calls...))
		}
		var took []wire.MessageID
		for _, s := range c.runner.steered {
			if s.Run == run.ID && rapid.Bool().Draw(c.t, "remembers") {
				took = append(took, s.Message)
			}
		}
		c.handleReport(agentpool.NewEntries{RunRef: of, Entries: entries, Messages: took, Thread: rapid.SampledFrom([]string{"", "th"}).Draw(c.t, "thread")})
	case 6:
		c.handleReport(agentpool.ModelUsage{RunRef: of, Usage: providers.Usage{
			Input: rapid.SampledFrom([]int{1, 85_000, 95_000}).Draw(c.t, "tokens"), Output: 2,
		}})
	default:
		c.handleReport(agentpool.Ended{
			RunRef:  of,
			Outcome: rapid.SampledFrom([]providers.Outcome{providers.Completed, providers.Failed, providers.Interrupted}).Draw(c.t, "outcome"),
			Failure: &providers.Failure{
				Class: rapid.SampledFrom([]providers.Class{providers.Overloaded, providers.ContextLength}).Draw(c.t, "class"),
			},
		})
	}
}

func (c *chaos) tool() {
	run, ok := c.anyRun()
	if !ok {
		return
	}
	c.calls++
	id := fmt.Sprintf("c%d", c.calls)
	alive := c.pool.View.TurnActive(callerOf(run))
	switch rapid.IntRange(0, 5).Draw(c.t, "tool") {
	case 0:
		if _, err := c.act(run, id, window(c.window())); (err == nil) != alive {
			c.t.Fatalf("an action of a turn that is active (%v) gives error %v, want one only if it is over", alive, err)
		}
	case 1:
		w := c.window()
		if _, open := c.desktop.Window(run.Monitor, wire.WindowID(w)); open {
			_, _ = c.act(run, id, wire.WindowClose{WindowID: wire.WindowID(w)})
		}
	case 2:
		c.step(func() {
			if c.pool.Tools.BeginToolCall(callerOf(run), callOf(id, "http:post")) == nil {
				c.open[run.ID] = append(c.open[run.ID], id)
			}
		})
	case 3:
		for _, id := range c.open[run.ID] {
			c.step(func() {
				source := rapid.SampledFrom([]string{"", "", "", "evil.example"}).Draw(c.t, "source")
				err := c.pool.Tools.EndToolCall(callerOf(run), callOf(id, "http:post"), providers.ToolResult{Text: "ok", Source: source})
				c.outside[run.Monitor] = c.outside[run.Monitor] || err == nil && source != ""
			})
		}
		delete(c.open, run.ID)
	case 4:
		c.step(func() { _, _ = c.pool.Tools.Reload(callerOf(run), callOf(id, "reload:cached"), "reload-1") })
	case 5:
		told := 0
		c.step(func() {
			c.pool.Tools.Delegate(callerOf(run), tools.Task{Objective: "x", Call: callOf(id, "task:run")}, func(providers.ToolResult) {
				if told++; told > 1 {
					c.t.Fatalf("got %d ends of a task, want 1", told)
				}
			})
		})
	}
}

func (c *chaos) command() {
	switch rapid.IntRange(0, 16).Draw(c.t, "command") {
	case 14, 15, 16:
		c.job()
	case 11, 12, 13:
		c.takeBack()
	case 0, 1:
		scope := rapid.SampledFrom([]wire.InterruptScope{wire.ScopeSession, wire.ScopeMonitor, wire.ScopeAgent, wire.ScopeSender}).Draw(c.t, "scope")
		queues := rapid.SampledFrom([]wire.InterruptQueues{wire.QueuesKeep, wire.QueuesDrop}).Draw(c.t, "queues")
		run, _ := c.anyRun()
		c.interrupt(scope, c.monitor(), run.Role, queues)
	case 2:
		if rapid.IntRange(0, 4).Draw(c.t, "really") == 0 {
			c.step(func() { c.pool.Reset() })
			clear(c.outside)
		}
	case 3:
		if m := c.monitor(); rapid.IntRange(0, 3).Draw(c.t, "really") == 0 {
			c.step(func() {
				c.pool.RemoveMonitor(m)
				if m != first {
					delete(c.outside, m)
					c.Emit(wire.MonitorStatus{MonitorID: m, State: wire.MonitorRemoved})
				}
			})
		}
	case 4:
		c.step(func() { c.pool.SetProvider(rapid.SampledFrom([]string{"demo", "other", "none"}).Draw(c.t, "provider")) })
	case 5:
		if len(c.sent) > 0 {
			c.step(func() { c.pool.Messages.Withdraw(wire.MessageID(rapid.SampledFrom(c.sent).Draw(c.t, "message"))) })
		}
	case 6:
		c.step(func() { c.pool.RecordInteraction(c.monitor(), did(wire.DidFocusWindow, c.window())) })
	case 7, 8:
		m, w := c.monitor(), c.window()
		c.need(m)
		if _, open := c.desktop.Window(m, wire.WindowID(w)); open && rapid.Bool().Draw(c.t, "close") {
			c.close(m, w)
		} else {
			c.open1(m, w)
		}
	case 10:
		c.step(func() { _ = c.pool.Condense(c.monitor()) })
	case 9:
		for ts := range c.questions() {
			yes := rapid.Bool().Draw(c.t, "yes")
			if yes {
				c.sent = append(c.sent, fmt.Sprintf("resume-%d", ts))
			}
			c.step(func() { c.pool.Messages.AnswerResume(ts, yes, "") })
		}
	}
}

// takeBack rewinds a conversation to a random row, or edits the message there.
func (c *chaos) takeBack() {
	u := contextpool.RewindRequest{Monitor: c.monitor(), Include: rapid.Bool().Draw(c.t, "include")}
	rows := c.archive[u.Monitor]
	if !c.desktop.HasMonitor(u.Monitor) || len(rows) == 0 {
		return
	}
	u.TS = rows[max(len(rows)-1-rapid.IntRange(0, 12).Draw(c.t, "rows"), 0)].TS
	if rapid.Bool().Draw(c.t, "rewind") {
		if refused := c.rewind(u); refused != nil {
			c.t.Fatalf("the rewind is refused with %+v, want it done", refused)
		}
	} else {
		id := c.newID()
		c.step(func() {
			if c.pool.Edit(u, contextpool.Message{ID: wire.MessageID(id), Text: "text of " + id}) != nil {
				c.sent = c.sent[:len(c.sent)-1]
			}
		})
	}
	c.agree()
}

func (c *chaos) open1(m wire.MonitorID, w string) { c.rig.open(m, w) }

// questions returns the rows that ask whether to continue.
func (c *chaos) questions() map[wire.Millis]bool {
	open := map[wire.Millis]bool{}
	for field := range c.kept.tables["asks"] {
		var ts int64
		if _, err := fmt.Sscan(field, &ts); err != nil {
			c.t.Fatalf("%v", err)
		}
		open[wire.Millis(ts)] = true
	}
	return open
}

// read processes the events since the last call.
func (c *chaos) read() {
	of := func(id wire.MessageID) *fate {
		if c.fate[id] == nil {
			c.fate[id] = &fate{}
		}
		return c.fate[id]
	}
	for _, e := range c.events[c.seen:] {
		switch e := e.(type) {
		case wire.MessageQueued:
			if f := of(e.MessageID); f.queued+f.rejected+len(f.accepted) > 0 {
				c.t.Fatalf("%s is queued after it was answered, want one answer", e.MessageID)
			}
			of(e.MessageID).queued++
			if e.Position < 1 || e.Position > policies.WindowQueueLimit {
				c.t.Fatalf("position %d, want 1 to %d", e.Position, policies.WindowQueueLimit)
			}
		case wire.MessageRejected:
			if f := of(e.MessageID); f.rejected+len(f.accepted) > 0 {
				c.t.Fatalf("%s is rejected after it was answered, want one answer", e.MessageID)
			}
			of(e.MessageID).rejected++
		case wire.MessageAccepted:
			f := of(e.MessageID)
			if f.rejected+len(f.accepted) > 0 {
				c.t.Fatalf("%s is accepted after it was answered, want one answer", e.MessageID)
			}
			f.accepted = append(f.accepted, string(e.AgentID))
		case wire.AgentResponse:
			if e.IsComplete && e.MessageID != "" {
				key := string(e.AgentID) + " " + string(e.MessageID)
				if c.ends[key]++; c.ends[key] > 1 {
					c.t.Fatalf("%s ended twice, want once", key)
				}
			}
		case wire.MessageUpdated:
			if row := e.Message; row.Say == wire.SayTool && e.Action == wire.RowCreated {
				var call struct{ ID string }
				if err := json.Unmarshal([]byte(row.Text), &call); err != nil || call.ID == "" {
					c.t.Fatalf("the row of a tool is %s (%v), want a call with an id", row.Text, err)
				}
				key := fmt.Sprint(row.AgentID, row.MessageID, call.ID)
				if c.ends[key]++; c.ends[key] > 1 {
					c.t.Fatalf("%s has two rows, want one", row.Text)
				}
			} else if row.Say == wire.SayAPIReqFinished && row.MessageID != "" {
				key := fmt.Sprint("row", row.AgentID, row.MessageID)
				if c.ends[key]++; c.ends[key] > 1 {
					c.t.Fatalf("the end of %s has two rows, want one", row.AgentID)
				}
			}
		}
	}
	c.seen = len(c.events)
}

// check verifies the invariants after every step.
func (c *chaos) check() {
	c.read()
	c.checkOutside()
	lasting := map[string]bool{}
	for _, run := range c.runner.runs {
		if run.Lasting || run.System != "" {
			if lasting[run.Agent] {
				c.t.Fatalf("two runs of %s, want one at a time", run.Agent)
			}
			lasting[run.Agent] = true
		}
	}
	waiting := map[string]int{}
	for _, data := range c.kept.tables["queue"] {
		_, agent, window := strings.Cut(string(data), `"agent":"`)
		if window {
			agent, _, _ = strings.Cut(agent, `"`)
		} else {
			_, agent, _ = strings.Cut(string(data), `"monitor":"`)
			agent, _, _ = strings.Cut(agent, `"`)
		}
		waiting[agent]++
		if n := waiting[agent]; n > policies.WindowQueueLimit || !window && n > policies.MainQueueLimit {
			c.t.Fatalf("%d wait for %s, want at most %d for a window, %d for a main agent", n, agent, policies.WindowQueueLimit, policies.MainQueueLimit)
		}
	}
	turns := 0
	for _, data := range c.kept.tables["turns"] {
		if !strings.Contains(string(data), `"state":"waiting"`) { // except turns that wait for their tasks
			turns++
		}
	}
	if turns != len(c.runner.runs) {
		c.t.Fatalf("%d turns are under way and %d run, want as many", turns, len(c.runner.runs))
	}
	c.checkKept()
	c.checkJobs()
	c.checkRows()
}

// checkKept compares the stored state with AllOps.
func (c *chaos) checkKept() {
	want := storedState{map[string]map[string][]byte{}, map[string][][]byte{}}
	for _, op := range c.pool.AllOps() {
		want.apply(op)
	}
	got := storedState{map[string]map[string][]byte{}, map[string][][]byte{}}
	for name, table := range c.kept.tables {
		ours := slices.Contains([]string{"pool", "turns", "turns.prompt", "queue", "queue.said", "groups", "reload", "asks", "threads", "tasks", "asking", "approval.spent", "outside"}, name)
		if len(table) > 0 && (ours || strings.HasPrefix(name, "budget:") || strings.HasPrefix(name, "turns.")) {
			got.tables[name] = table
		}
	}
	for name, list := range c.kept.lists {
		if len(list) > 0 {
			got.lists[name] = list
		}
	}
	sameList := func(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) }
	sameTable := func(a, b map[string][]byte) bool { return maps.EqualFunc(a, b, bytes.Equal) }
	if maps.EqualFunc(got.tables, want.tables, sameTable) && maps.EqualFunc(got.lists, want.lists, sameList) {
		return
	}
	text := func(k storedState) string {
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(k.tables)) {
			for _, field := range slices.Sorted(maps.Keys(k.tables[name])) {
				fmt.Fprintf(&b, "%s %s %s\n", name, field, k.tables[name][field])
			}
		}
		for _, name := range slices.Sorted(maps.Keys(k.lists)) {
			fmt.Fprintf(&b, "%s %s\n", name, k.lists[name])
		}
		return b.String()
	}
	wantEqual(c.t, text(got), text(want))
}

// finish ends everything and checks that it ended.
func (c *chaos) finish() {
	for range 1000 {
		if !c.pool.View.Busy() {
			break
		}
		if run, ok := c.anyRun(); ok {
			c.interrupted(run)
		} else if due := c.pool.Due(); !due.IsZero() {
			c.now = due
			c.step(func() { c.pool.Tick() })
		} else {
			c.t.Fatalf("there is work and no run, want one: %v", c.kept.tables["queue"])
		}
		c.check()
	}
	if len(c.runner.runs)+len(c.kept.tables["turns"])+len(c.kept.tables["queue"]) > 0 {
		c.t.Fatalf("got %d runs, %d turns and %d queued messages at the end, want 0", len(c.runner.runs), len(c.kept.tables["turns"]), len(c.kept.tables["queue"]))
	}
	for _, id := range c.sent {
		f := c.fate[wire.MessageID(id)]
		switch {
		case f == nil || f.rejected+len(f.accepted) != 1:
			c.t.Fatalf("%s was not answered once: %+v, want one acceptance or rejection", id, f)
		case f.rejected == 1:
		default:
			if ended := c.ends[f.accepted[0]+" "+id]; ended != 1 {
				c.t.Fatalf("%s was accepted by %s and has %d ends, want 1", id, f.accepted[0], ended)
			}
		}
	}
}

// For random commands in random order: every message has one reply and one end, an agent has
// one turn at a time, queues are bounded, and the stored state matches the pool.
func TestEverythingThatCanHappen(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := &chaos{t: t, open: map[string][]string{}, fate: map[wire.MessageID]*fate{}, ends: map[string]int{}, outside: map[wire.MonitorID]bool{}}
		c.rig = newRigWith(t, budgetOf(1, 6, 100), second, third)
		c.cfg.Window, c.cfg.CondenseAt = 100_000, 80
		c.crash()
		c.rig.open(first, "w1", "w2")
		for range rapid.SampledFrom([]int{10, 60, 120}).Draw(t, "steps") {
			switch rapid.IntRange(0, 19).Draw(t, "what") {
			case 0, 1, 2, 3, 4, 5:
				c.message()
				for _, run := range c.runner.started {
					if _, ok := c.runner.runs[run.ID]; ok && rapid.Bool().Draw(t, "began") {
						c.began(run)
					}
				}
				c.runner.started = nil
			case 6, 7, 8, 9, 10, 11:
				c.report()
			case 12, 13, 14:
				c.tool()
			case 15, 16:
				c.command()
			case 17:
				c.runner.slots = rapid.IntRange(0, 2).Draw(t, "slots")
				c.runner.steers = rapid.Bool().Draw(t, "steers")
				c.room = rapid.SampledFrom([]int{1, 20, 1024}).Draw(t, "room")
			case 18:
				c.now = c.now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "seconds")) * time.Second)
				c.step(func() { c.pool.Tick() })
			case 19:
				if rapid.Bool().Draw(t, "in good order") {
					c.step(func() { c.pool.PrepareHandOver() })
				}
				c.crash()
			}
			c.check()
		}
		c.finish()
	})
}

var _ contextpool.Runner = (*runner)(nil)
