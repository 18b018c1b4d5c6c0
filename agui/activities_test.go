package agui_test

import (
	"maps"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// A client is cut while a task runs. It gets the end of that task, and the tasks and windows of the gap, whether it comes
// back in the turn or after it.
func TestACutRunHasItsActivities(t *testing.T) {
	t.Parallel()
	const (
		window = `{"id":"c1","tool":"window:create","status":"complete","input":{"windowId":"w1","title":"Notes"}}`
		failed = `{"id":"c2","tool":"window:create","status":"error","input":{"windowId":"w2"}}`
	)
	for name, back := range map[string]int{"before the tasks end": 1, "while one task runs": 2, "after the turn": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			again := func(now int) {
				if now == back {
					w.start("m1")
					w.attach("m1")
				}
			}
			task := func(n string) wire.Task {
				return wire.Task{TaskID: wire.TaskID("t" + n), AgentID: wire.AgentID("task-m1-" + n), MonitorID: testMonitor}
			}
			taskEnds := func(n string) {
				row := wire.UIRow{ID: wire.RowID(w.n + 1), TS: wire.Millis(w.n + 1), Type: wire.RowSay, Say: wire.SayAPIReqFinished, MonitorID: testMonitor, AgentID: task(n).AgentID}
				row.Text = `{"outcome":"completed","taskId":"t` + n + `"}`
				w.log(wire.MessageUpdated{Action: wire.RowCreated, MonitorID: testMonitor, Message: row}, wire.TaskCompleted{Task: task(n)})
			}
			w.start("m1")
			w.run.Expect("m1")
			w.begin()
			spawn := wire.TaskSpawned{Task: wire.Task{TaskID: "t0", AgentID: testAgent, MonitorID: testMonitor, MessageID: "m1"}, ChildTaskID: "t1"}
			w.log(spawn)
			w.run = nil
			w.row(wire.SayTool, window)
			w.row(wire.SayTool, failed)
			spawn.ChildTaskID = "t2"
			w.log(spawn)
			again(1)
			taskEnds("1")
			again(2)
			taskEnds("2")
			w.log(wire.TaskCompleted{Task: wire.Task{TaskID: "t9", AgentID: "task-m9-1", MonitorID: testMonitor}}) // of another turn
			w.end("text", wire.OutcomeCompleted, "")
			again(3)
			want := map[string]string{
				"m1.task.t1":   `{"status":"completed","taskId":"t1"}`,
				"m1.task.t2":   `{"status":"completed","taskId":"t2"}`,
				"m1.window.w1": `{"monitorId":"monitor-0","title":"Notes","windowId":"w1"}`,
			}
			if !maps.Equal(w.client.Activities, want) {
				t.Errorf("activities %v, want %v", w.client.Activities, want)
			}
		})
	}
}
