package demo

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/providers"
)

// Words that choose the kind of a chart.
var (
	saysPie     = regexp.MustCompile(`(?i)\bpie\b|\bdonut\b|원\s*그래프|파이|도넛`)
	saysLine    = regexp.MustCompile(`(?i)\bline\b|\bplot\b|꺾은선|선\s*그래프|라인`)
	saysArea    = regexp.MustCompile(`(?i)\barea\b|영역`)
	saysScatter = regexp.MustCompile(`(?i)\bscatter\b|\bdots\b|산점도|점\s*그래프`)
	saysNumber  = regexp.MustCompile(`^(.*?)[\s=:]*(-?\d{1,12}(?:\.\d{1,6})?)\s*$`)
)

// chart returns the call that opens a window with a chart of the given numbers, or of an example.
func (w words) chart(id, title string, at spot) providers.ToolCall {
	var labels []string
	var values []float64
	for _, item := range w.givenList() {
		m := saysNumber.FindStringSubmatch(item)
		if m == nil {
			continue
		}
		v, _ := strconv.ParseFloat(m[2], 64) // the pattern allows numbers only
		labels, values = append(labels, strings.TrimSpace(m[1])), append(values, v)
	}
	kind := "bar"
	switch {
	case saysScatter.MatchString(w.content) && len(values) == 0:
		return show(id, title, "chart", w.scatter(), at)
	case saysPie.MatchString(w.content) && !hasNegative(values):
		kind = "pie"
	case saysLine.MatchString(w.content):
		kind = "line"
	case saysArea.MatchString(w.content):
		kind = "area"
	}
	if len(values) > 0 {
		return show(id, title, "chart", object{
			"kind": kind, "labels": labels,
			"series":      []object{{"name": w.in("Your numbers", "입력하신 숫자"), "values": values}},
			"description": w.in("The numbers of your message, in the order in which you wrote them.", "메시지에 적으신 숫자를 적으신 순서대로 보여 드려요."),
		}, at)
	}
	series := []object{{"name": w.in("Coffee", "커피"), "values": []int{320, 410, 380, 520, 610, 575}}}
	if kind != "pie" {
		series = append(series, object{"name": w.in("Tea", "차"), "values": []int{210, 190, 260, 240, 330, 360}})
	}
	return show(id, title, "chart", object{
		"kind": kind, "labels": strings.Split(w.in("Jan,Feb,Mar,Apr,May,Jun", "1월,2월,3월,4월,5월,6월"), ","), "series": series,
		"unit": w.in("cups", "잔"), "stacked": kind == "area",
		"description": w.in("Cups sold per month: May was the best month for coffee, and tea has grown since April.",
			"달마다 팔린 잔 수예요. 커피는 5월에 가장 많이 팔렸고, 차는 4월부터 늘고 있어요."),
	}, at)
}

func hasNegative(values []float64) bool {
	for _, v := range values {
		if v < 0 {
			return true
		}
	}
	return false
}

// scatter returns an example of a scatter chart.
func (w words) scatter() object {
	return object{
		"kind": "scatter", "xTitle": w.in("Temperature in °C", "기온(°C)"), "yTitle": w.in("Cups sold", "팔린 잔"),
		"series": []object{
			{"name": w.in("Coffee", "커피"), "points": [][]float64{{2, 420}, {5, 410}, {9, 380}, {12, 350}, {16, 300}, {19, 280}, {23, 230}, {27, 190}, {30, 170}}},
			{"name": w.in("Iced tea", "아이스티"), "points": [][]float64{{2, 20}, {5, 30}, {9, 60}, {12, 90}, {16, 150}, {19, 210}, {23, 300}, {27, 390}, {30, 450}}},
		},
		"description": w.in("The warmer the day, the less coffee and the more iced tea is sold.", "날이 따뜻할수록 커피는 덜, 아이스티는 더 팔려요."),
	}
}

// visitors returns the chart of the showcase.
func (w words) visitors() object {
	return object{
		"kind": "area", "labels": strings.Split(w.in("Mon,Tue,Wed,Thu,Fri,Sat,Sun", "월,화,수,목,금,토,일"), ","),
		"series": []object{
			{"name": w.in("This week", "이번 주"), "values": []int{420, 380, 510, 460, 590, 310, 270}},
			{"name": w.in("Last week", "지난주"), "values": []int{350, 390, 400, 420, 480, 290, 260}},
		},
		"description": w.in("Visitors per day: Friday was the best day of this week, with 590 visitors.", "요일별 방문자 수예요. 이번 주에는 금요일에 590명으로 가장 많았어요."),
	}
}
