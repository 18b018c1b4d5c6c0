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

// mirror is the plan in the desktop state, as all clients of the session have it.
type mirror struct {
	state *desktop.State
	seq   uint64
}

func newMirror() mirror { return mirror{state: desktop.New("ses-1")} }

func (m *mirror) apply(p wire.ServerPayload, now time.Time) {
	m.seq++
	m.state.Apply(wire.Event{At: wire.Position{Epoch: 1, Seq: m.seq}, Time: now, Data: p})
}

// check compares the plan in the desktop state with the folded events.
func (m *mirror) check(t tester, want *eventFold) {
	t.Helper()
	got := m.state.Snapshot()
	if diff := diffTodos(want.todos, got.Todos); diff != "" {
		t.Fatalf("todos (-want +got):\n%s", diff)
	}
	if open := slices.Sorted(maps.Keys(want.open)); len(open) != len(got.HITLRequests) {
		t.Fatalf("open questions are %v, the desktop state has %+v, want the same", open, got.HITLRequests)
	}
	for _, q := range got.HITLRequests {
		if until := q.Deadline(); until.TimeoutSec < 1 || (until.ExpiresAt == 0) != want.paused {
			t.Fatalf("paused %v, an open question has the deadline %+v, want one with a time only if not paused", want.paused, until)
		}
	}
	if paused := got.Status == wire.SessionPaused; paused != want.paused {
		t.Fatalf("paused %v, the session status is %s, want both or none", want.paused, got.Status)
	}
	if (got.CurrentLayer == "") != want.ended {
		t.Fatalf("ended %v, the current layer is %q, want an empty one only at the end", want.ended, got.CurrentLayer)
	}
	if p := got.Plan; p != nil && want.ended && p.Complete == nil && p.Failed == nil {
		t.Fatalf("the plan has ended, and the desktop state has %+v, want its result or failure", p)
	}
}

// diffTodos returns the difference of todos. It computes a diff only if they are not equal, which
// saves time.
func diffTodos(want, got []wire.Todo) string {
	w, _ := json.Marshal(want)
	if g, _ := json.Marshal(got); bytes.Equal(w, g) {
		return ""
	}
	return cmp.Diff(want, got, cmpopts.EquateEmpty())
}
