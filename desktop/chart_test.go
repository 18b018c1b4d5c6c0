package desktop_test

import (
	"math"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

func TestChartsThatCannotBeDrawnAreRefused(t *testing.T) {
	t.Parallel()
	labels := []string{"a", "b"}
	series := func(values ...float64) []wire.ChartSeries { return []wire.ChartSeries{{Name: "s", Values: values}} }
	points := func(p ...[]float64) []wire.ChartSeries { return []wire.ChartSeries{{Points: p}} }
	for name, tc := range map[string]struct {
		chart wire.Chart
		want  string // in the refusal; empty if the chart is fine
	}{
		"line":            {wire.Chart{Kind: wire.ChartLine, Labels: labels, Series: series(1, -2)}, ""},
		"stacked bars":    {wire.Chart{Kind: wire.ChartBar, Labels: labels, Series: append(series(1, 2), series(3, 4)...), Stacked: true}, ""},
		"scatter":         {wire.Chart{Kind: wire.ChartScatter, Series: points([]float64{1, 2}, []float64{-3, 4})}, ""},
		"empty":           {wire.Chart{Kind: wire.ChartPie}, ""},
		"no kind":         {wire.Chart{Labels: labels, Series: series(1, 2)}, "none of line, bar, area, pie, scatter"},
		"too few values":  {wire.Chart{Kind: wire.ChartLine, Labels: labels, Series: series(1)}, "series[0].values: 1 numbers for 2 labels"},
		"values infinite": {wire.Chart{Kind: wire.ChartLine, Labels: labels, Series: series(1, math.Inf(1))}, "series[0].values[1]: not a number"},
		"two pies":        {wire.Chart{Kind: wire.ChartPie, Labels: labels, Series: append(series(1, 2), series(3, 4)...)}, "one series"},
		"negative slice":  {wire.Chart{Kind: wire.ChartPie, Labels: labels, Series: series(1, -2)}, "no negative slices"},
		"stacked line":    {wire.Chart{Kind: wire.ChartLine, Labels: labels, Series: series(1, 2), Stacked: true}, "only bar and area"},
		"points in bars":  {wire.Chart{Kind: wire.ChartBar, Series: points([]float64{1, 2})}, "only scatter charts have points"},
		"values scatter":  {wire.Chart{Kind: wire.ChartScatter, Labels: labels, Series: series(1, 2)}, "has points"},
		"three numbers":   {wire.Chart{Kind: wire.ChartScatter, Series: points([]float64{1, 2, 3})}, "points[0]: 3 numbers, want x and y"},
		"many series":     {wire.Chart{Kind: wire.ChartLine, Series: make([]wire.ChartSeries, desktop.MaxChartSeries+1)}, "at most 12"},
		"many labels":     {wire.Chart{Kind: wire.ChartLine, Labels: make([]string, desktop.MaxChartValues+1)}, "at most 2000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := desktop.New("s")
			r := s.Check("", wire.WindowCreate{WindowID: "w", Content: wire.ChartContent{Data: tc.chart}})
			if tc.want == "" && r != nil {
				t.Fatalf("got the refusal %q, want none", r.Reason)
			}
			if tc.want != "" && (r == nil || !strings.Contains(r.Reason, tc.want)) {
				t.Fatalf("got the refusal %v, want one with %q", r, tc.want)
			}
			if r != nil && r.Code != wire.CodeInvalidMessage {
				t.Errorf("got code %v, want %v", r.Code, wire.CodeInvalidMessage)
			}
		})
	}
}
