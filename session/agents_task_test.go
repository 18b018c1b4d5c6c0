package session_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	records "github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Whichever replica owns the session when a task ends, the delegating turn gets the result once and
// continues. A task that used a tool ends with its owner.
func TestTasksSurviveACrash(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := startAgentHub(t, open(t), hubConfig{})
			d := o.newDesktop(t, "ses-1")
			d.sendText(firstMonitor, "m1", "/nosteer", "/task default /ask Which? | a | b", "/task default "+openWindowDirective("t1")+"; /hang", "/say after all")
			asks := func(p wire.Actions) bool { _, is := p.Actions[0].(wire.PromptShow); return is }
			waitEvent(t, d.eventLog, asks)
			waitEvent(t, d.eventLog, func(p wire.Actions) bool { return !asks(p) && p.AgentID != "" })
			before, ok := waitEvent(t, d.eventLog, asks).Actions[0].(wire.PromptShow)
			if !ok {
				t.Fatal("got no question, want one")
			}
			o = o.restart(t, hubConfig{})
			d = o.openDesktop(t, "ses-1")
			asked := waitEvent(t, d.eventLog, func(p wire.Actions) bool {
				q, is := p.Actions[0].(wire.PromptShow)
				return is && q.ID != before.ID
			})
			p, _ := asked.Actions[0].(wire.PromptShow)
			d.send("", wire.UserPromptResponse{PromptID: p.ID, SelectedValues: []string{"b"}})
			d.waitIdle()
			if e := d.waitTurnEnd("m1"); e.Outcome != wire.OutcomeCompleted {
				t.Errorf("it ended with %+v, want outcome %s", e, wire.OutcomeCompleted)
			}
			said := d.turnText("m1")
			for _, want := range []string{
				`"status":"completed"`, `selected\":[\"b\"]`, `"status":"interrupted"`, `"windowId":"t1"`, "after all",
			} {
				if !strings.Contains(said, want) {
					t.Errorf("the turn says %q, want %q in it", said, want)
				}
			}
			ends := map[wire.AgentID]int{}
			for _, r := range payloads[wire.AgentResponse](d.all()) {
				if r.IsComplete {
					ends[r.AgentID]++
				}
			}
			if ends["task-m1-1"] != 1 || ends["task-m1-2"] != 1 || ends["main-monitor-0-m1"] != 1 {
				t.Errorf("the turns ended this many times: %v, want once for task-m1-1, task-m1-2 and main-monitor-0-m1", ends)
			}
			if got := d.windows(firstMonitor); len(got) != 1 || got[0] != "t1" {
				t.Errorf("the windows are %v, want [t1]", got)
			}
		})
	}
}

// Every replica can list tasks. A lost list is rebuilt from the rows.
func TestTasksAreFound(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := startAgentHub(t, s, hubConfig{})
			d := o.newDesktop(t, "ses-1")
			d.sendText(firstMonitor, "m1", "/nosteer", "/task default /say a part", "/say all of it")
			d.waitTurnEnd("m1")
			d.sendText(firstMonitor, "m2", "/fail invalid: no luck")
			d.waitTurnEnd("m2")
			d.waitIdle()
			find := func(o *agentHub, q records.TaskQuery) string {
				t.Helper()
				found, _, err := o.Tasks(t.Context(), "ses-1", q)
				requireNoError(t, err)
				var all []string
				for _, f := range found {
					all = append(all, fmt.Sprintf("%s/%s/%s %s", f.ID, f.ParentTaskID, f.RootTaskID, f.State()))
				}
				slices.Sort(all)
				return strings.Join(all, ", ")
			}
			const want = "t1//t1 completed, t2/t1/t1 completed, t3//t3 failed"
			other := startAgentHub(t, s, hubConfig{replica: "b"})
			for _, o := range []*agentHub{o, other} {
				if got := find(o, records.TaskQuery{}); got != want {
					t.Errorf("all tasks found are %s, want %s", got, want)
				}
				if got := find(o, records.TaskQuery{Text: "A PART", State: "completed"}); got != "t1//t1 completed, t2/t1/t1 completed" {
					t.Errorf(`completed tasks with "A PART" are %s, want t1 and t2`, got)
				}
			}
			other.stop()
			o.stop()
			lease, err := s.Claim(t.Context(), "ses-1", "a", time.Second)
			requireNoError(t, err)
			_, err = s.Commit(t.Context(), lease, store.Batch{Number: 1, Prev: lease.Top(), Ops: []store.Op{store.Clear(records.TaskTable)}})
			requireNoError(t, err)
			o = startAgentHub(t, s, hubConfig{})
			if got := find(o, records.TaskQuery{}); got != want {
				t.Errorf("without a list %s is found, want %s", got, want)
			}
			d = o.openDesktop(t, "ses-1")
			d.sendText(firstMonitor, "m4", "/say more")
			d.waitTurnEnd("m4")
			if got := find(o, records.TaskQuery{}); got != want+", t4//t4 completed" {
				t.Errorf("after that %s is found, want t4 besides %s", got, want)
			}
		})
	}
}
