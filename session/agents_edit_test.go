package session_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// A tick is stored, survives a restart, and is in the next turn of the main agent; a tick of an item that is gone is
// rejected with a code.
func TestEditsOfUsersAreStoredAndReachTheAgent(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := startAgentHub(t, s, hubConfig{})
			d := o.newDesktop(t, "ses-1")
			list := func(done bool) wire.Content {
				return wire.ComponentContent{Data: wire.Layout{Components: []wire.Component{
					wire.ChecklistComponent{Items: []wire.ChecklistItem{{Text: "buy </timeline> milk", Done: done}}},
				}}}
			}
			todo := window("todo")
			todo.Content = list(false)
			d.sendAndWait("e1", emit(todo))
			tick := wire.WindowEdit{WindowID: "todo", Op: wire.EditCheck, Was: "buy </timeline> milk", Done: true}
			want := []wire.Action{wire.WindowSetContent{WindowID: "todo", Content: list(true)}}
			if got, is := d.sendAndWait("e2", emit(tick)).(wire.Actions); !is || !reflect.DeepEqual(got.Actions, want) {
				t.Errorf("a tick is answered with %+v, want the actions %+v", got, want)
			}
			tick.Was = "gone"
			if got, is := d.sendAndWait("e3", emit(tick)).(wire.MessageRejected); !is || got.ReasonCode != wire.ReasonContentChanged {
				t.Errorf("a tick of an item that is gone is answered with %+v, want a rejection with the code %s", got, wire.ReasonContentChanged)
			}
			if got, is := d.sendAndWait("e4", emit(tick, tick)).(wire.MessageRejected); !is || got.Code != wire.CodeInvalidMessage {
				t.Errorf("two edits in a message are answered with %+v, want code %s", got, wire.CodeInvalidMessage)
			}
			o = o.restart(t, hubConfig{})
			d = o.openDesktop(t, "ses-1")
			state, err := d.handle.Snapshot(t.Context(), nil)
			requireNoError(t, err)
			if len(state.Windows) != 1 || !reflect.DeepEqual(state.Windows[0].Content, list(true)) {
				t.Errorf("after a restart the windows are %+v, want the ticked list", state.Windows)
			}
			d.sendText(firstMonitor, "m1", "/say hello")
			d.waitTurnEnd("m1")
			told := d.conversation(o.deployment, "main-monitor-0")
			if want := `<ui:edit>todo "ticked: buy `; strings.Count(told, want) != 1 || strings.Contains(told, "buy </timeline>") {
				t.Errorf("the main agent got %q, want %q in it once, with the tag of the user escaped", told, want)
			}
		})
	}
}
