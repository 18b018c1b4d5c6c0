package contextpool_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// join makes the turn of a run accept a message.
func (r *rig) join(run agentpool.Run, id string) {
	r.user(id)
	r.handleReport(agentpool.NewEntries{
		RunRef: agentpool.RunRef{Run: run.ID}, Entries: []providers.Entry{said(string(run.Turn), "text of "+id)}, Messages: []wire.MessageID{wire.MessageID(id)},
	})
}

// A message that joined a turn ends with it, once and under its own id, however the turn ends.
func TestJoinedMessagesHaveTheirOwnEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(r *rig, run agentpool.Run)
		want string
	}{
		"completed": {(*rig).ended, "completed"},
		"failed": {func(r *rig, run agentpool.Run) {
			r.handleReport(agentpool.Ended{
				RunRef: agentpool.RunRef{Run: run.ID}, Outcome: providers.Failed,
				Failure: &providers.Failure{Class: providers.Invalid, Err: errors.New("no")},
			})
		}, "failed: invalid: no"},
		"interrupted": {(*rig).interrupted, "interrupted: the turn was interrupted"},
		"reset":       {func(r *rig, _ agentpool.Run) { r.step(func() { r.pool.Reset() }) }, "interrupted: the desktop was reset"},
		"after a crash": {func(r *rig, _ agentpool.Run) {
			r.crash()
			r.ended(r.run("main-monitor-0-m1"))
		}, "completed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			run := r.direct("m1")
			r.remember(run, said("m1", "text of m1"))
			r.join(run, "m2")
			r.join(run, "m3")
			c.end(r, run)
			r.wantStory("m1", "direct by main-monitor-0-m1; "+c.want)
			r.wantStory("m2", "steered by main-monitor-0-m1; "+c.want)
			r.wantStory("m3", "steered by main-monitor-0-m1; "+c.want)
			end := last[wire.AgentResponse](r)
			wantEqual(t, end.Joined, "m1")
			if got, want := r.joinedByRow("m1"), []wire.MessageID{"m2", "m3"}; !slices.Equal(got, want) {
				t.Errorf("messages in the row of the end: got %v, want %v", got, want)
			}
			wantEqual(t, end.Usage, nil)
			r.crash()
			r.wantStory("m3", "steered by main-monitor-0-m1; "+c.want)
		})
	}
}

// joinedByRow returns the messages that joined a turn according to the row of its end.
func (r *rig) joinedByRow(turn wire.MessageID) (joined []wire.MessageID) {
	r.t.Helper()
	for _, row := range r.archive["monitor-0"] {
		if row.Say == wire.SayAPIReqFinished && row.MessageID == turn {
			var end struct{ Joined []wire.MessageID }
			if err := json.Unmarshal([]byte(row.Text), &end); err != nil {
				r.t.Fatalf("row of the end of %s: got error %v, want JSON in %s", turn, err, row.Text)
			}
			joined = append(joined, end.Joined...)
		}
	}
	return joined
}

// Interruptions are counted from the message that joined last.
func TestAttemptsCountFromJoining(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	r.remember(run, said("m1", "text of m1"))
	cutOff := func() agentpool.Run {
		r.crash()
		again := r.run("main-monitor-0-m1")
		r.began(again)
		return again
	}
	cutOff()
	r.join(cutOff(), "m2")
	cutOff()
	r.join(cutOff(), "m3")
	cutOff()
	cutOff()
	r.crash()
	for id, how := range map[string]string{"m1": "direct", "m2": "steered", "m3": "steered"} {
		r.wantStory(id, how+" by main-monitor-0-m1; failed: the turn was cut off 3 times")
	}
}

// A turn accepts a bounded number of messages, and ends all of them.
func TestATurnTakesManyMessages(t *testing.T) {
	t.Parallel()
	const most = 100
	r := newRig(t)
	run := r.direct("m1")
	for n := 2; n <= most; n++ {
		r.join(run, fmt.Sprint("m", n))
	}
	r.user("late")
	r.wantStory("late", "queued at 1")
	r.ended(run)
	for n := 2; n <= most; n++ {
		r.wantStory(fmt.Sprint("m", n), "steered by main-monitor-0-m1; completed")
	}
	r.wantStory("late", "queued at 1; direct by main-monitor-0-late")
}
