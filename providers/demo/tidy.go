package demo

import (
	"fmt"
	"math"
	"regexp"
	"strconv"

	"github.com/everdesk/everdesk/providers"
)

// tidySteps returns the steps that look where the windows are and place them side by side.
func (w windowCommands) tidySteps() []step {
	if len(w.open) == 0 {
		return []step{say(w.in("There is no window to arrange.", "정리할 창이 없어요."))}
	}
	list := providers.ToolCall{Name: "window_list", Input: input(object{})}
	return []step{{kind: stepCall, calls: []providers.ToolCall{list}, after: tellErrors, then: w.arranged}}
}

// arranged returns the step that moves the listed windows. Minimized ones stay out of sight.
func (w windowCommands) arranged(o []outcome) []step {
	var windows []listedWindow
	for _, l := range readList(o[0].result.Text) {
		if !l.Minimized {
			windows = append(windows, l)
		}
	}
	if len(windows) == 0 {
		return nil
	}
	width, height := w.screen()
	st := step{kind: stepCall}
	for n, at := range arrange(windows, width, height) {
		st.calls = append(st.calls, moveCall(windows[n].WindowID, object{"x": at.x, "y": at.y, "width": at.width, "height": at.height}))
	}
	st.after = w.success(fmt.Sprintf(w.in("Tidy: %d windows side by side. Say “undo” to put them back.", "창 %d개를 가지런히 놓았어요. “되돌려 줘”라고 하시면 원래대로 놓아 드려요."), len(windows)))
	return []step{st}
}

var saysScreen = regexp.MustCompile(`(?m)^screen: (\d{2,5})×(\d{2,5}) pixels`)

// screen returns the area for windows in pixels: that of the user's desktop, or the size for which the scenes are made.
func (w windowCommands) screen() (width, height int) {
	width, height = sceneWidth, sceneHeight
	if m := saysScreen.FindStringSubmatch(w.spec.System); m != nil {
		width, _ = strconv.Atoi(m[1])  // the pattern allows digits only
		height, _ = strconv.Atoi(m[2]) // the pattern allows digits only
	}
	return max(width, 2*minWidth), max(height, 2*minHeight)
}

// Space between windows and around them, in pixels.
const gap = 16

// arrange returns the places of windows in rows that keep their sizes. If that takes more room than
// there is, the windows share the area in equal cells.
func arrange(windows []listedWindow, width, height int) []spot {
	places := make([]spot, len(windows))
	x, y, row := gap, gap, 0
	fits := true
	for n, l := range windows {
		w, h := int(math.Round(l.Bounds.W)), int(math.Round(l.Bounds.H))
		if x > gap && x+w+gap > width {
			x, y, row = gap, y+row+gap, 0
		}
		places[n] = spot{x, y, w, h}
		x, row = x+w+gap, max(row, h)
		fits = fits && x <= width && y+h+gap <= height
	}
	if fits {
		return places
	}
	columns := int(math.Ceil(math.Sqrt(float64(len(windows)))))
	rows := (len(windows) + columns - 1) / columns
	w, h := max((width-gap)/columns-gap, 1), max((height-gap)/rows-gap, 1)
	for n := range places {
		places[n] = spot{gap + n%columns*(w+gap), gap + n/columns*(h+gap), w, h}
	}
	return places
}
