package desktop

import (
	"math"

	"github.com/everdesk/everdesk/wire"
)

// Limits of a chart. More could not be distinguished on a screen.
const (
	MaxChartSeries = 12
	MaxChartValues = 2000 // of one series
)

// checkChart refuses charts that cannot be drawn. A chart without series is allowed: it is empty.
func checkChart(c wire.Chart) *Refusal {
	wrong := func(format string, args ...any) *Refusal {
		return refuse(wire.CodeInvalidMessage, "chart: "+format, args...)
	}
	switch c.Kind {
	case wire.ChartLine, wire.ChartBar, wire.ChartArea, wire.ChartPie, wire.ChartScatter:
	default:
		return wrong("kind: %q is none of line, bar, area, pie, scatter", c.Kind)
	}
	if len(c.Series) > MaxChartSeries {
		return wrong("series: %d, at most %d can be told apart", len(c.Series), MaxChartSeries)
	}
	if len(c.Labels) > MaxChartValues {
		return wrong("labels: %d, at most %d", len(c.Labels), MaxChartValues)
	}
	if c.Kind == wire.ChartPie && len(c.Series) > 1 {
		return wrong("series: a pie shows one series, not %d; use a bar chart", len(c.Series))
	}
	if c.Stacked && c.Kind != wire.ChartBar && c.Kind != wire.ChartArea {
		return wrong("stacked: only bar and area charts can be stacked")
	}
	for i, s := range c.Series {
		if c.Kind == wire.ChartScatter {
			if refusal := checkPoints(i, s, wrong); refusal != nil {
				return refusal
			}
			continue
		}
		if len(s.Points) > 0 {
			return wrong("series[%d].points: only scatter charts have points; a %s chart has values", i, c.Kind)
		}
		if len(s.Values) != len(c.Labels) {
			return wrong("series[%d].values: %d numbers for %d labels; there must be one for each", i, len(s.Values), len(c.Labels))
		}
		for n, v := range s.Values {
			switch {
			case math.IsNaN(v) || math.IsInf(v, 0):
				return wrong("series[%d].values[%d]: not a number", i, n)
			case v < 0 && c.Kind == wire.ChartPie:
				return wrong("series[%d].values[%d]: %v, a pie has no negative slices", i, n, v)
			}
		}
	}
	return nil
}

func checkPoints(i int, s wire.ChartSeries, wrong func(string, ...any) *Refusal) *Refusal {
	if len(s.Values) > 0 {
		return wrong("series[%d].values: a scatter chart has points, pairs of x and y", i)
	}
	if len(s.Points) > MaxChartValues {
		return wrong("series[%d].points: %d, at most %d", i, len(s.Points), MaxChartValues)
	}
	for n, p := range s.Points {
		if len(p) != 2 {
			return wrong("series[%d].points[%d]: %d numbers, want x and y", i, n, len(p))
		}
		for _, v := range p {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return wrong("series[%d].points[%d]: not a number", i, n)
			}
		}
	}
	return nil
}
