package desktop_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

// script builds a log event by event and applies it to a state.
type script struct {
	*desktop.State
	seq uint64
	now int64 // ms
}

func newScript() *script { return &script{State: desktop.New("ses-1"), now: 1_000_000} }

// emit appends an event with this payload to the log.
func (s *script) emit(p wire.ServerPayload) {
	s.seq++
	s.Apply(wire.Event{At: wire.Position{Epoch: 1, Seq: s.seq}, Time: time.UnixMilli(s.now), Data: p})
}

// act appends an event with actions on the first monitor.
func (s *script) act(actions ...wire.Action) { s.actOn("monitor-0", actions...) }

func (s *script) actOn(monitor wire.MonitorID, actions ...wire.Action) {
	s.emit(wire.Actions{Actions: actions, MonitorID: monitor})
}

// parts returns a snapshot without the fields that every snapshot has.
func (s *script) parts() wire.SessionState {
	state := s.Snapshot()
	state.Mode, state.Status, state.LastMessageID, state.Todos = "", "", wire.Position{}, nil
	if len(state.Monitors) == 1 {
		state.Monitors = nil
	}
	return state
}

func checkParts(t *testing.T, s *script, want wire.SessionState) {
	t.Helper()
	if diff := cmp.Diff(want, s.parts()); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

// front is the z of the first standard window.
const front = 1<<20 + 1

func text(s string) wire.Content { return wire.TextContent{Data: s} }

// open returns the action that creates a test window, and at the resulting window in a snapshot.
func open(id wire.WindowID) wire.WindowCreate {
	return wire.WindowCreate{WindowID: id, Title: "t", Bounds: wire.Bounds{X: 1, Y: 2, W: 3, H: 4}, Content: text("abc")}
}

func at(id wire.WindowID, z uint64, change ...func(*wire.WindowState)) wire.WindowState {
	w := wire.WindowState{
		WindowID: id, MonitorID: "monitor-0", Title: "t", Bounds: wire.Bounds{X: 1, Y: 2, W: 3, H: 4}, Content: text("abc"), Z: z,
	}
	for _, c := range change {
		c(&w)
	}
	return w
}

func windows(w ...wire.WindowState) wire.SessionState { return wire.SessionState{Windows: w} }
