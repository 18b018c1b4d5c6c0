package wire

import (
	"cmp"
	"strconv"
)

// ChartContent is a chart.
type ChartContent struct {
	Data Chart `json:"data"`
}

func (ChartContent) content() {}

// Chart is data that desktops draw.
type Chart struct {
	Kind ChartKind `json:"kind"`
	// Labels name the values of every series: the places along the horizontal axis, or the slices of a pie.
	// A scatter chart has none.
	Labels []string      `json:"labels,omitempty" wire:"max=2000"`
	Series []ChartSeries `json:"series" wire:"max=12"`
	// Description says in a sentence what the chart shows, for users who cannot see it.
	Description string `json:"description,omitempty" wire:"max=1000"`
	// XTitle and YTitle are the titles of the axes.
	XTitle string `json:"xTitle,omitempty" wire:"max=200"`
	YTitle string `json:"yTitle,omitempty" wire:"max=200"`
	// Unit follows each value, as in % or km.
	Unit string `json:"unit,omitempty" wire:"max=20"`
	// Stacked adds up the series of a bar or area chart.
	Stacked bool `json:"stacked,omitempty"`
}

// ChartKind is the way in which a chart is drawn.
type ChartKind string

// The kinds of charts.
const (
	ChartLine    ChartKind = "line"
	ChartBar     ChartKind = "bar"
	ChartArea    ChartKind = "area"
	ChartPie     ChartKind = "pie"
	ChartScatter ChartKind = "scatter"
)

func (ChartKind) values() []string {
	return list(ChartLine, ChartBar, ChartArea, ChartPie, ChartScatter)
}

// ChartSeries is one line, one colour of bars, or one group of points.
type ChartSeries struct {
	Name string `json:"name,omitempty" wire:"max=200"`
	// Values has one number for each label.
	Values []float64 `json:"values,omitempty" wire:"max=2000"`
	// Points are the pairs of x and y of a scatter chart.
	Points [][]float64 `json:"points,omitempty" wire:"max=2000"`
}

// Table returns the numbers of a chart as a table.
func (c Chart) Table() Table {
	if c.Kind == ChartScatter {
		return c.pointTable()
	}
	t := Table{Headers: []string{c.XTitle}}
	for _, label := range c.Labels {
		t.Rows = append(t.Rows, []string{label})
	}
	for n, s := range c.Series {
		t.Headers = append(t.Headers, c.seriesName(n))
		for i := range t.Rows {
			cell := ""
			if i < len(s.Values) {
				cell = formatNumber(s.Values[i])
			}
			t.Rows[i] = append(t.Rows[i], cell)
		}
	}
	return t
}

func (c Chart) pointTable() Table {
	t := Table{Headers: []string{"", cmp.Or(c.XTitle, "x"), cmp.Or(c.YTitle, "y")}}
	for n, s := range c.Series {
		for _, p := range s.Points {
			if len(p) == 2 {
				t.Rows = append(t.Rows, []string{c.seriesName(n), formatNumber(p[0]), formatNumber(p[1])})
			}
		}
	}
	return t
}

// seriesName returns the name of a series, with the unit of its values. A series without a name has the title of
// the vertical axis, or a number.
func (c Chart) seriesName(n int) string {
	name := c.Series[n].Name
	if name == "" {
		if name = c.YTitle; len(c.Series) > 1 || name == "" {
			name = strconv.Itoa(n + 1)
		}
	}
	if c.Unit != "" && c.Kind != ChartScatter {
		name += " (" + c.Unit + ")"
	}
	return name
}

func formatNumber(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
