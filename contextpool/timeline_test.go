package contextpool_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

type timelineRig struct {
	*contextpool.Timeline
	kept storedState
}

func newTimelineRig() *timelineRig {
	return &timelineRig{contextpool.NewTimeline(first), storedState{map[string]map[string][]byte{}, map[string][][]byte{}}}
}

func (r *timelineRig) keep(ops []store.Op) {
	for _, op := range ops {
		r.kept.apply(op)
	}
}

func (r *timelineRig) check(t fataler) {
	t.Helper()
	again := contextpool.NewTimeline(first)
	if err := again.Restore(r.kept.lists["timeline:monitor-0"]); err != nil {
		t.Fatalf("%v", err)
	}
	wantEqual(t, again.Format(), r.Format())
	wantEqual(t, again.Len(), r.Len())
}

func did(what wire.InteractionType, window string) wire.UserInteraction {
	return wire.UserInteraction{Type: what, WindowID: wire.WindowID(window)}
}

func TestTimeline(t *testing.T) {
	t.Parallel()
	r := newTimelineRig()
	wantEqual(t, r.Len(), 0)
	wantEqual(t, r.Format(), "")
	if text, ops := r.Drain(); text != "" || len(ops) > 0 {
		t.Fatalf("an empty timeline drains %q with %d ops, want nothing", text, len(ops))
	}
	r.keep(r.PushUser(did(wire.DidCloseWindow, "w1")))
	r.keep(r.PushAI("window-w2", []wire.Action{window("child1")}))
	r.keep(r.PushAI("task-m1-1", nil))
	r.keep(r.PushBudget("too much"))
	r.keep(r.PushUser(wire.UserInteraction{Type: wire.DidDraw}))
	wantEqual(t, r.Len(), 4)
	r.check(t)
	text, ops := r.Drain()
	r.keep(ops)
	wantEqual(t, text, "<timeline>\n<ui:close>w1</ui:close>\n"+
		"<ai agent=\"window-w2\">Created window \"child1\" (text).</ai>\n"+
		"<ai agent=\"task-m1-1\">No actions taken.</ai>\n<budget>too much</budget>\n</timeline>")
	wantEqual(t, r.Len(), 0)
	r.check(t)
	r.keep(r.PushUser(did(wire.DidFocusWindow, "w3")))
	wantEqual(t, r.Format(), "<timeline>\n<ui:focus>w3</ui:focus>\n</timeline>")
	r.keep(r.Clear())
	wantEqual(t, r.Len(), 0)
	r.check(t)
}

// The stored state matches the timeline after folding.
func TestTimelineIsKept(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := newTimelineRig()
		for range rapid.SampledFrom([]int{0, 0, 495}).Draw(t, "before") {
			r.keep(r.PushUser(did(wire.DidDismissToast, "")))
		}
		for range rapid.IntRange(0, 30).Draw(t, "pushes") {
			w := rapid.SampledFrom([]string{"w1", "w2"}).Draw(t, "window")
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				r.keep(r.PushUser(did(wire.DidFocusWindow, w)))
			case 1, 2:
				i := did(wire.DidMoveWindow, w)
				i.Bounds = &wire.Bounds{X: float64(rapid.IntRange(0, 3).Draw(t, "x"))}
				r.keep(r.PushUser(i))
			case 3:
				r.keep(r.PushUser(did(wire.DidResizeWindow, w)))
			case 4:
				r.keep(r.PushAI("a", nil))
			case 5:
				_, ops := r.Drain()
				r.keep(ops)
			}
			if r.Len() > 500 {
				t.Fatalf("the timeline has %d entries, want at most 500", r.Len())
			}
			r.check(t)
		}
	})
}

func TestTimelineIsBounded(t *testing.T) {
	t.Parallel()
	r := newTimelineRig()
	var many []wire.Action
	for i := range 200 {
		many = append(many, window(fmt.Sprintf("a window with a long name %d", i)))
	}
	for range 600 {
		r.keep(r.PushAI("task-m1-1", many))
	}
	wantEqual(t, r.Len(), 500)
	if n := len(r.Format()); n > 1<<20 {
		t.Fatalf("the timeline is formatted to %d bytes, want at most 1 MiB", n)
	}
	r.check(t)
}

func TestTimelineRefusesWhatItDidNotWrite(t *testing.T) {
	t.Parallel()
	if err := contextpool.NewTimeline(first).Restore([][]byte{[]byte(`{"kind":"user"} more`)}); err == nil {
		t.Fatal("got no error for a value with trailing data, want one")
	}
	if err := contextpool.NewTimeline(first).Restore([][]byte{[]byte(`{"kind":"user","more":1}`)}); err != nil {
		t.Fatalf("a newer hub may have kept more: %v", err)
	}
}
