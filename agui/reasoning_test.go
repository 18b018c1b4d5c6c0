package agui_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// thinker logs the thinking of the turn and its rows, of which the newest may grow.
type thinker struct {
	all, stretch string
	row          *wire.UIRow // that grows
	done         []string
}

func (x *thinker) think(w *world, piece string) {
	w.log(wire.AgentThinking{Offset: units(x.all), Delta: piece, AgentID: testAgent, MonitorID: testMonitor, MessageID: "m1"})
	x.all += piece
	x.stretch += piece
}

// write writes a version of the row.
func (x *thinker) write(w *world, partial *bool) {
	change := wire.RowUpdated
	if x.row == nil {
		change = wire.RowCreated
		x.row = &wire.UIRow{ID: wire.RowID(w.n + 1), TS: wire.Millis(w.n + 1), Type: wire.RowSay, Say: wire.SayReasoning, MonitorID: testMonitor, AgentID: testAgent, MessageID: "m1"}
	}
	x.row.Text, x.row.Partial = x.stretch, partial
	w.log(wire.MessageUpdated{Action: change, MonitorID: testMonitor, Message: *x.row})
}

// commit finishes the stretch. Blank ones have no row.
func (x *thinker) commit(w *world) {
	if x.row != nil {
		x.write(w, new(false))
	} else if strings.TrimSpace(x.stretch) != "" {
		x.write(w, nil)
	} else {
		return
	}
	x.done = append(x.done, x.stretch)
	x.row, x.stretch = nil, ""
}

// A turn that is taken over thinks again. The client that is there, and one that comes then, have the new thinking only.
func TestThinkingOfARestartedTurnReplacesThatBefore(t *testing.T) {
	t.Parallel()
	for _, isCut := range []bool{false, true} {
		w := newWorld(t)
		w.start("m1")
		w.run.Expect("m1")
		w.begin()
		var thoughts thinker
		thoughts.think(w, "first")
		thoughts.commit(w)
		thoughts.think(w, "lost")
		w.log(wire.AgentThinking{AgentID: testAgent, MonitorID: testMonitor, MessageID: "m1"})
		thoughts.all, thoughts.stretch = "", ""
		thoughts.think(w, "sec")
		if isCut {
			w.start("m1")
			w.attach("m1")
		}
		thoughts.think(w, "ond")
		thoughts.commit(w)
		w.end("", wire.OutcomeCompleted, "")
		if got, want := w.client.Texts("reasoning"), []string{"first", "second"}; !slices.Equal(got, want) {
			t.Errorf("cut %v: thinking %q, want %q", isCut, got, want)
		}
	}
}
