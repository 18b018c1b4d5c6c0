package demo_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers"
)

// open returns the hub's list of open windows before a text.
func open(windows, text string) string {
	return "<open_windows>" + windows + "</open_windows>\n\n" + text
}

// newest returns the calls since the first n.
func (d *demoSession) newest(n int) []string { return d.used()[n:] }

func TestCommandsOnWindows(t *testing.T) {
	t.Parallel()
	const two = `calculator-1 (html "Calculator" 340×540), recipe-1 (markdown "Recipe" 480×560)`
	for name, c := range map[string]struct{ text, call, say string }{
		"the newest is closed":        {"close it", `window_close {"windowId":"recipe-1"}`, "I closed “Recipe”."},
		"a named one is closed":       {"close the calculator", `window_close {"windowId":"calculator-1"}`, "I closed “Calculator”."},
		"in Korean":                   {"계산기 닫아 줘", `window_close {"windowId":"calculator-1"}`, "“계산기” 창을 닫았어요."},
		"the newest, in Korean":       {"창 닫아 줘", `window_close {"windowId":"recipe-1"}`, "“Recipe” 창을 닫았어요."},
		"bigger":                      {"make it bigger", `window_move {"height":728,"width":624,"windowId":"recipe-1"}`, "more room"},
		"a named one bigger":          {"make the calculator bigger", `window_move {"height":702,"width":442,"windowId":"calculator-1"}`, "“Calculator” has more room now."},
		"bigger, in Korean":           {"더 크게 해 줘", `window_move {"height":728,"width":624,"windowId":"recipe-1"}`, "키웠어요"},
		"smaller":                     {"smaller", `window_move {"height":431,"width":369,"windowId":"recipe-1"}`, "less room"},
		"a page is less tall":         {"make the calculator shorter", `window_move {"height":405,"windowId":"calculator-1"}`, "less tall"},
		"a text follows the theme":    {"make it darker", "", "theme of your desktop"},
		"a text, in Korean":           {"더 어둡게", "", "테마"},
		"a kind that is not open yet": {"make a bigger to-do list", `todo-1`, "I opened “To-do list”."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDemoSession(t, nil)
			d.says("m-1", "open a calculator")
			d.says("m-2", "show me a recipe")
			d.has(d.says("m-3", open(two, c.text)), c.say)
			got := strings.Join(d.newest(2), "\n")
			if c.call == "" && got != "" || !strings.Contains(got, c.call) {
				t.Errorf("calls are %s, want %q", got, c.call)
			}
		})
	}
}

func TestAllWindowsAreClosedAndComeBack(t *testing.T) {
	t.Parallel()
	for _, words := range [][2]string{{"close everything", "undo"}, {"모두 닫아 줘", "되돌려 줘"}} {
		d := newDemoSession(t, nil)
		d.says("m-1", "open a calculator and a timer")
		d.says("m-2", open("calculator-1, timer-1, foreign", words[0]))
		d.says("m-3", words[1])
		used := d.used()
		if got := d.windows(); !slices.Equal(got, []string{"timer-1", "calculator-1", "calculator-1", "timer-1", "foreign", "calculator-1", "timer-1"}) {
			t.Fatalf("windows are %v, want two opened, three closed and the two of the demo opened again", got)
		}
		if used[5] != used[1] || used[6] != used[0] {
			t.Errorf("the windows come back as %.80s and %.80s, want them as they were", used[5], used[6])
		}
	}
}

func TestUndoReversesChanges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ ask, open, change, want string }{
		"a size":    {"open a calculator", `calculator-1 (html "Calculator" 340×540)`, "make it bigger", `window_move {"height":540,"width":340,"windowId":"calculator-1"}`},
		"colours":   {"open a calculator", `calculator-1 (html "Calculator" 340×540)`, "make it darker", `<html lang=\"en\" data-kind`},
		"a text":    {"show me a recipe", `recipe-1 (markdown "Recipe" 480×560)`, "make it shorter", "Tastes better the next day"},
		"a table":   {"show a table", `table-1 (table "Table 1" 500×400)`, "make it shorter", `["Plum","blue","8"]`},
		"a closing": {"open a note: milk", "", "close the note", `# Note 1\n\nmilk`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDemoSession(t, nil)
			d.says("m-1", c.ask)
			said := d.says("m-2", open(cmp.Or(c.open, "note-1"), c.change))
			changed := d.newest(1)
			if len(changed) != 1 || strings.Contains(changed[0], c.want) {
				t.Fatalf("the change is %v (%s), want one call that differs", changed, said)
			}
			after := "undo" // nothing is open
			if c.open != "" {
				after = open(c.open, after)
			}
			d.has(d.says("m-3", after), "took the last change back")
			d.has(strings.Join(d.newest(2), "\n"), c.want)
		})
	}
}

func TestUndoGoesBackStepByStep(t *testing.T) {
	t.Parallel()
	d := newDemoSession(t, nil)
	d.has(d.says("m-0", "undo"), "nothing")
	d.says("m-1", "open a calculator")
	d.says("m-2", open("calculator-1", "open a timer"))
	d.says("m-3", open("calculator-1, timer-1", "hello"))
	d.says("m-4", open("calculator-1, timer-1", "undo"))
	d.says("m-5", open("calculator-1", "undo"))
	d.has(d.says("m-6", "undo"), "nothing")
	if got := d.windows(); !slices.Equal(got, []string{"calculator-1", "timer-1", "timer-1", "calculator-1"}) {
		t.Errorf("windows are %v, want both opened, then closed in reverse", got)
	}
}

func TestShorterAndDarkerHaveAnEnd(t *testing.T) {
	t.Parallel()
	d := newDemoSession(t, nil)
	d.says("m-1", "open a calculator")
	const window = `calculator-1 (html "Calculator" 340×540)`
	d.has(d.says("m-2", open(window, "make it darker")), "dark now")
	d.has(d.newest(1)[0], `<html lang=\"en\" class=\"dark\" data-kind`)
	d.has(d.says("m-3", open(window, "darker")), "as dark as it gets")
	d.has(d.says("m-4", open(window, "make it lighter")), "light now")
	d.says("m-5", "open a note: milk")
	d.has(d.says("m-6", open("note-1", "make it shorter")), "as short as")
	d.has(d.says("m-7", "make it bigger"), "no window that I could change")
	d.has(d.says("m-8", "close"), "no window to close")
	d.has(d.says("m-9", "tidy up"), "no window to arrange")
}

// listed returns the result of window_list for windows of a size.
func listed(n, w, h int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`{"windowId":"w%d","title":"","bounds":{"x":%d,"y":100,"w":%d,"h":%d}}`, i, 100+i, w, h))
	}
	return "[" + strings.Join(append(all, `{"windowId":"hidden","title":"","bounds":{"x":1,"y":1,"w":900,"h":900},"minimized":true}`), ",") + "]"
}

func TestTidyWindowsDoNotOverlap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n, w, h int
		same    bool // sizes stay
	}{{1, 400, 300, true}, {3, 400, 300, true}, {3, 500, 600, false}, {9, 500, 400, false}, {30, 500, 400, false}} {
		for _, text := range []string{"tidy up", "창을 정리해 줘"} {
			d := newScreenSession(t)
			d.results["window_list"] = providers.ToolResult{Text: listed(c.n, c.w, c.h)}
			d.says("m-1", open("w0", text))
			var places []place
			for _, call := range d.calls[1:] {
				places = append(places, placeOf(t, call))
			}
			if len(places) != c.n {
				t.Fatalf("%d windows move, want %d: minimized ones stay", len(places), c.n)
			}
			for i, a := range places {
				if a.X < 0 || a.Y < 0 || a.X+a.Width > 1280 || a.Y+a.Height > 800 {
					t.Errorf("window %d of %d is at %+v, want it on the screen", i, c.n, a)
				}
				if c.same && (a.Width != c.w || a.Height != c.h) {
					t.Errorf("window %d of %d is %d×%d, want its size %d×%d", i, c.n, a.Width, a.Height, c.w, c.h)
				}
				for _, b := range places[:i] {
					if a.X < b.X+b.Width && b.X < a.X+a.Width && a.Y < b.Y+b.Height && b.Y < a.Y+a.Height {
						t.Errorf("of %d windows %+v and %+v overlap", c.n, a, b)
					}
				}
			}
			d.says("m-2", open("w0, w1, w2", "undo"))
			if back := placeOf(t, d.calls[c.n+1]); back.X != 100 || back.Y != 100 || back.Width != c.w {
				t.Errorf("after undo the first window is at %+v, want its old place", back)
			}
		}
	}
}
