package demo

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/everdesk/everdesk/providers"
)

// undo returns the steps that reverse what the newest turn did to windows. A second undo reverses the
// turn before it: turns that were undone do not count.
func (w windowCommands) undo() []step {
	nothing := []step{say(w.in("I remember nothing that I could undo.", "되돌릴 것이 기억나지 않아요."))}
	past := turns(w.before)
	at, skip := len(past)-1, 0
	for ; at >= 0; at-- {
		if !changesWindows(past[at]) {
			continue
		}
		if asksUndo.MatchString(readPrompt(past[at].text).content) {
			skip++
			continue
		}
		if skip == 0 {
			break
		}
		skip--
	}
	if at < 0 {
		return nothing
	}
	was, _ := recollect(past[:at])
	is, _ := recollect(past)
	st, lost, seen := step{kind: stepCall}, 0, map[string]bool{}
	before := boundsBefore(past[at])
	for _, c := range past[at].calls {
		if c.window == "" || seen[c.window] {
			continue
		}
		seen[c.window] = true
		old, known := was[c.window]
		known = known && !old.closed
		switch open := w.isOpen(c.window); {
		case known && !open:
			st.calls = append(st.calls, providers.ToolCall{Name: old.tool, Input: input(old.in)})
		case known && !sameContent(old, is[c.window]):
			st.calls = append(st.calls, providers.ToolCall{Name: old.tool, Input: input(old.withFields(before[c.window]).in)})
		case c.tool == "window_move" && open && before[c.window] != nil:
			st.calls = append(st.calls, moveCall(c.window, before[c.window]))
		case !known && open && c.tool != "window_close":
			st.calls = append(st.calls, closeCall(c.window))
		case !known && !open && c.tool == "window_close":
			lost++
		}
	}
	if len(st.calls) == 0 {
		if lost > 0 {
			return []step{say(w.in("I did not open that window, so I do not know how to bring it back.", "제가 연 창이 아니라서 다시 여는 방법을 몰라요."))}
		}
		return nothing
	}
	done := w.in("I took the last change back.", "마지막으로 바꾼 것을 되돌렸어요.")
	if lost > 0 {
		done = fmt.Sprintf(w.in("I took back what I could; %d windows were not mine.", "할 수 있는 만큼 되돌렸어요. 창 %d개는 제가 연 것이 아니었어요."), lost)
	}
	st.after = w.success(done)
	return []step{st}
}

// isOpen reports whether a window is in the hub's list of open windows.
func (w windowCommands) isOpen(id string) bool {
	for _, o := range w.open {
		if o.id == id {
			return true
		}
	}
	return false
}

// changesWindows reports whether a turn opened, changed or closed a window of the user. The window with
// suggestions does not count.
func changesWindows(t pastTurn) bool {
	for _, c := range t.calls {
		switch c.tool {
		case "window_create", "window_create_component", "window_update", "window_update_component", "window_move", "window_close":
			if c.window != suggestionsWindow {
				return true
			}
		}
	}
	return false
}

func sameContent(a, b pastWindow) bool {
	one, content := a.body()
	two, other := b.body()
	return one == two && reflect.DeepEqual(content, other)
}

// boundsBefore returns the bounds of windows before a turn, as far as its message and its calls of
// window_list say.
func boundsBefore(t pastTurn) map[string]object {
	out := map[string]object{}
	for _, o := range readPrompt(t.text).open {
		if o.width > 0 && o.height > 0 {
			out[o.id] = object{"width": o.width, "height": o.height}
		}
	}
	for _, c := range t.calls {
		if c.tool != "window_list" {
			continue
		}
		for _, l := range readList(c.result) {
			out[l.WindowID] = object{"x": l.Bounds.X, "y": l.Bounds.Y, "width": l.Bounds.W, "height": l.Bounds.H}
		}
	}
	return out
}

// listedWindow is a window in the result of window_list.
type listedWindow struct {
	WindowID  string `json:"windowId"`
	Bounds    struct{ X, Y, W, H float64 }
	Minimized bool
}

// readList parses the result of window_list. Anything else gives no windows.
func readList(text string) (list []listedWindow) {
	if json.Unmarshal([]byte(text), &list) != nil {
		return nil
	}
	return list
}
