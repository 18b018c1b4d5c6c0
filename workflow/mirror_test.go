package workflow_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

// mirror is the plan as everybody sees it who follows the session.
type mirror struct {
	state *desktop.State
	seq   uint64
}

func newMirror() mirror { return mirror{state: desktop.New("ses-1")} }

func (m *mirror) apply(p wire.ServerPayload, now time.Time) {
	m.seq++
	m.state.Apply(wire.Event{At: wire.Position{Epoch: 1, Seq: m.seq}, Time: now, Data: p})
}

// check compares it with what the events mean.
func (m *mirror) check(t tester, want *fold) {
	t.Helper()
	got := m.state.Snapshot()
	if diff := diffTodos(want.todos, got.Todos); diff != "" {
		t.Fatalf("todos (-want +got):\n%s", diff)
	}
	if open := slices.Sorted(maps.Keys(want.open)); len(open) != len(got.HITLRequests) {
		t.Fatalf("open are %v, shown %+v", open, got.HITLRequests)
	}
	for _, q := range got.HITLRequests {
		if until := q.Deadline(); until.TimeoutSec < 1 || (until.ExpiresAt == 0) != want.paused {
			t.Fatalf("paused %v, a question is open %+v", want.paused, until)
		}
	}
	if paused := got.Status == wire.SessionPaused; paused != want.paused {
		t.Fatalf("paused %v, the session is %s", want.paused, got.Status)
	}
	if (got.CurrentLayer == "") != want.ended {
		t.Fatalf("ended %v, the layer is %q", want.ended, got.CurrentLayer)
	}
	if p := got.Plan; p != nil && want.ended && p.Complete == nil && p.Failed == nil {
		t.Fatalf("the plan has ended and is %+v", p)
	}
}

// diffTodos is how todos differ, in the time that it takes to see that they do not.
func diffTodos(want, got []wire.Todo) string {
	w, _ := json.Marshal(want)
	if g, _ := json.Marshal(got); bytes.Equal(w, g) {
		return ""
	}
	return cmp.Diff(want, got, cmpopts.EquateEmpty())
}
