package wire_test

import (
	"testing"

	"github.com/everdesk/everdesk/wire"
)

func TestDesktopsThatDrawNoChartsGetTheirNumbersAsTables(t *testing.T) {
	t.Parallel()
	bars := wire.ChartContent{Data: wire.Chart{
		Kind: wire.ChartBar, Labels: []string{"Mon", "Tue"}, XTitle: "Day", Unit: "km",
		Series: []wire.ChartSeries{{Name: "Run", Values: []float64{3, 5.25}}, {Values: []float64{1, -2}}},
	}}
	dots := wire.ChartContent{Data: wire.Chart{
		Kind: wire.ChartScatter, Series: []wire.ChartSeries{{Name: "A", Points: [][]float64{{1, 2}}}},
	}}
	actions := []wire.Action{
		wire.WindowFocus{WindowID: "x"},
		wire.WindowCreate{WindowID: "w", Title: "W", Content: bars},
		wire.WindowSetContent{WindowID: "w", Content: dots},
	}
	frames := wire.Desktop{}.AppendFrames(nil, wire.Event{Data: wire.Actions{Actions: actions}})
	want := `{"type":"ACTIONS","actions":[{"type":"window.focus","windowId":"x"},` +
		`{"type":"window.create","windowId":"w","title":"W","bounds":{"x":0,"y":0,"w":0,"h":0},"content":{"renderer":"table","data":{"headers":["Day","Run (km)","2 (km)"],"rows":[["Mon","3","1"],["Tue","5.25","-2"]]}}},` +
		`{"type":"window.setContent","windowId":"w","content":{"renderer":"table","data":{"headers":["","x","y"],"rows":[["A","1","2"]]}}}]}`
	if len(frames) != 1 || string(frames[0]) != want {
		t.Errorf("got  %s\nwant %s", frames, want)
	}
	if _, kept := actions[1].(wire.WindowCreate).Content.(wire.ChartContent); !kept {
		t.Error("encoding changed the event")
	}
}
