package contextpool_test

import (
	"slices"
	"testing"

	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/wire"
)

// restoreTurnEnd ends the turn of m1 as the previous owner did, where m2 had joined it.
func (r *rig) restoreTurnEnd() {
	r.t.Helper()
	c := contextpool.LostTurnEnd{
		End: wire.AgentResponse{
			IsComplete: true, Outcome: wire.OutcomeCompleted, Delta: "done", AgentID: "main-monitor-0-m1", MonitorID: "monitor-0", MessageID: "m1",
		},
		Joined: []wire.MessageID{"m2"},
	}
	r.step(func() {
		if !r.pool.CanRestoreTurnEnd(c) {
			r.t.Fatalf("the turn cannot be concluded, want that it can")
		}
		r.pool.RestoreTurnEnd(c)
	})
}

// A message that joined a turn at the previous owner and is queued here ends with that turn. It
// does not run a second time.
func TestRestoreTurnEndEndsJoinedMessages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.began(r.direct("m1"))
	r.user("m2")
	r.restoreTurnEnd()
	r.wantStory("m1", "direct by main-monitor-0-m1; completed")
	r.wantStory("m2", "steered by main-monitor-0-m1; completed")
}

// A turn that only waits for a task gets no run when its end is restored, and the run of the task is
// interrupted.
func TestRestoreTurnEndStopsTasks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runner.slots = 1
	var result string
	r.hand(r.leader("c1"), "c1", &result)
	r.crash()
	task := r.run("task-m1-1")
	r.began(task)
	r.restoreTurnEnd()
	wantEqual(t, len(r.runner.started), 1) // only that of the task
	wantEqual(t, slices.Contains(r.runner.interrupted, task.ID+": the turn it works for has ended"), true)
	r.interrupted(task)
	wantEqual(t, len(r.runner.started), 1)
	wantEqual(t, r.pool.View.RunningAgents(), 0)
	r.wantStory("m1", "direct by main-monitor-0-m1; completed")
}
