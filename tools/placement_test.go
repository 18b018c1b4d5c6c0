package tools_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

func TestNewWindowsCoverNoOther(t *testing.T) {
	t.Parallel()
	for name, screen := range map[string]wire.Viewer{
		"1024×700": {Width: 1024, Height: 592}, "1440×900": {Width: 1440, Height: 792}, "4K": {Width: 3840, Height: 2052}, "unknown": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setUp(t)
			c := b.caller()
			c.Viewer = &screen
			width, height := float64(screen.Width), float64(screen.Height)
			if width == 0 {
				width, height = 1200, 680
			}
			for n := range 3 {
				b.mustAs(c, "window_create", fmt.Sprintf(`{"windowId":"w%d","title":"W","content":{"renderer":"markdown","content":"# hi"}}`, n))
			}
			windows := b.desktop.state.Windows("monitor-0")
			for i, w := range windows {
				if w.Bounds.X < 0 || w.Bounds.Y < 0 || w.Bounds.X+w.Bounds.W > width || w.Bounds.Y+w.Bounds.H > height {
					t.Errorf("window %s is at %+v, want it inside %v×%v", w.WindowID, w.Bounds, width, height)
				}
				for _, o := range windows[i+1:] {
					if w.Bounds.X < o.Bounds.X+o.Bounds.W && o.Bounds.X < w.Bounds.X+w.Bounds.W && w.Bounds.Y < o.Bounds.Y+o.Bounds.H && o.Bounds.Y < w.Bounds.Y+w.Bounds.H {
						t.Errorf("windows %+v and %+v overlap, want both beside each other", w.Bounds, o.Bounds)
					}
				}
			}
		})
	}
}

func TestAWindowOnAFullDesktopHidesNoTitle(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	for n := range 12 {
		b.must("window_create", fmt.Sprintf(`{"windowId":"w%d","title":"W","content":{"renderer":"html","content":"x"}}`, n))
	}
	seen := map[[2]float64]wire.WindowID{}
	for _, w := range b.desktop.state.Windows("monitor-0") {
		at := [2]float64{w.Bounds.X, w.Bounds.Y}
		if other, taken := seen[at]; taken {
			t.Errorf("windows %s and %s are both at %v, want different places", other, w.WindowID, at)
		}
		seen[at] = w.WindowID
	}
}

func TestTheContentDeterminesTheSize(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	c := b.caller()
	c.Viewer = &wire.Viewer{Width: 3840, Height: 2052}
	sizes := map[string][2]float64{}
	for id, content := range map[string]string{
		"short":  `{"renderer":"markdown","content":"# hi"}`,
		"long":   `{"renderer":"markdown","content":"` + strings.Repeat("word word word word word word word word word word. ", 60) + `"}`,
		"narrow": `{"renderer":"table","content":{"headers":["a","b"],"rows":[["1","2"]]}}`,
		"wide":   `{"renderer":"table","content":{"headers":["a","b","c","d","e","f"],"rows":[["` + strings.Repeat(`a long cell of text","`, 5) + `x"]]}}`,
	} {
		b.mustAs(c, "window_create", fmt.Sprintf(`{"windowId":%q,"title":"W","content":%s}`, id, content))
		w := b.window(wire.WindowID(id))
		sizes[id] = [2]float64{w.Bounds.W, w.Bounds.H}
	}
	if sizes["long"][0] <= sizes["short"][0] || sizes["long"][1] <= sizes["short"][1] {
		t.Errorf("a long text has %v, a short one %v, want the long one larger", sizes["long"], sizes["short"])
	}
	if sizes["wide"][0] <= sizes["narrow"][0] {
		t.Errorf("a wide table has %v, a narrow one %v, want the wide one wider", sizes["wide"], sizes["narrow"])
	}
}

func TestAgentsOpenAndReplaceCharts(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	const bars = `{"kind":"bar","labels":["a","b"],"series":[{"name":"s","values":[1,2]}]}`
	b.must("window_create", `{"windowId":"c","title":"C","content":{"renderer":"chart","content":`+bars+`}}`)
	if c, ok := b.window("c").Content.(wire.ChartContent); !ok || c.Data.Kind != wire.ChartBar || len(c.Data.Series) != 1 {
		t.Fatalf("content is %+v, want the bar chart", b.window("c").Content)
	}
	b.must("window_update", `{"windowId":"c","operation":"replace","content":"{\"kind\":\"pie\",\"labels\":[\"a\"],\"series\":[{\"values\":[1]}]}"}`)
	if c, ok := b.window("c").Content.(wire.ChartContent); !ok || c.Data.Kind != wire.ChartPie {
		t.Fatalf("content is %+v, want the pie chart", b.window("c").Content)
	}
	for in, want := range map[string]string{
		`{"kind":"bar","labels":["a"],"series":[]}`:                    "series: there must be at least one",
		`{"kind":"cake","labels":["a"],"series":[{"values":[1]}]}`:     "kind",
		`{"kind":"bar","labels":["a","b"],"series":[{"values":[1]}]}`:  "1 numbers for 2 labels",
		`{"kind":"bar","labels":["a"],"series":[{"values":["many"]}]}`: "values",
	} {
		r := b.call("window_create", `{"windowId":"d","title":"D","content":{"renderer":"chart","content":`+in+`}}`)
		if !r.IsError || !strings.Contains(r.Text, want) {
			t.Errorf("%s returns %+v, want an error with %q", in, r, want)
		}
	}
}
