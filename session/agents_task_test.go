package session_test

import (
	"strings"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// Whoever owns the session when a task ends: the turn that gave it away hears what
// came of it, once, and goes on. A task that used a tool ends with the owner.
func TestTasksOutliveACrash(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := agentHub(t, open(t), hubConfig{})
			d := o.newDesktop(t, "ses-1")
			d.say(first, "m1", "/nosteer", "/task default /ask Which? | a | b", "/task default "+opening("t1")+"; /hang", "/say after all")
			asks := func(p wire.Actions) bool { _, is := p.Actions[0].(wire.PromptShow); return is }
			when(t, d.diary, asks)
			when(t, d.diary, func(p wire.Actions) bool { return !asks(p) && p.AgentID != "" })
			before, ok := when(t, d.diary, asks).Actions[0].(wire.PromptShow)
			if !ok {
				t.Fatal("nothing was asked")
			}
			o = o.again(t, hubConfig{})
			d = o.enter(t, "ses-1")
			asked := when(t, d.diary, func(p wire.Actions) bool {
				q, is := p.Actions[0].(wire.PromptShow)
				return is && q.ID != before.ID
			})
			p, _ := asked.Actions[0].(wire.PromptShow)
			d.send("", wire.UserPromptResponse{PromptID: p.ID, SelectedValues: []string{"b"}})
			d.rest()
			if e := d.ends("m1"); e.Outcome != wire.OutcomeCompleted {
				t.Errorf("it ended with %+v", e)
			}
			said := d.said("m1")
			for _, want := range []string{
				`"status":"completed"`, `selected\":[\"b\"]`, `"status":"interrupted"`, `"windowId":"t1"`, "after all",
			} {
				if !strings.Contains(said, want) {
					t.Errorf("the turn does not say %q but %q", want, said)
				}
			}
			ends := map[wire.AgentID]int{}
			for _, r := range find[wire.AgentResponse](d.all()) {
				if r.IsComplete {
					ends[r.AgentID]++
				}
			}
			if ends["task-m1-1"] != 1 || ends["task-m1-2"] != 1 || ends["main-monitor-0-m1"] != 1 {
				t.Errorf("ends: %v", ends)
			}
			if got := d.windows(first); len(got) != 1 || got[0] != "t1" {
				t.Errorf("the windows are %v", got)
			}
		})
	}
}
