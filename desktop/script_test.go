package desktop_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

// script is a log that is being written.
type script struct {
	*desktop.State
	seq uint64
	now int64 // ms
}

func newScript() *script { return &script{State: desktop.New("ses-1"), now: 1_000_000} }

// say adds an event.
func (s *script) say(p wire.ServerPayload) {
	s.seq++
	s.Apply(wire.Event{At: wire.Position{Epoch: 1, Seq: s.seq}, Time: time.UnixMilli(s.now), Data: p})
}

// do adds actions on the first monitor.
func (s *script) do(actions ...wire.Action) { s.on("monitor-0", actions...) }

func (s *script) on(monitor wire.MonitorID, actions ...wire.Action) {
	s.say(wire.Actions{Actions: actions, MonitorID: monitor})
}

// parts is what a snapshot shows besides what every snapshot shows.
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

// open is a window that a test opens; at is how the state shows it.
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
