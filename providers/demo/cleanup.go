package demo

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/providers"
)

// Window ids of the clean-up scene.
const (
	reportsWindow = "reports"
	resultWindow  = "reports-result"
)

// report is a simulated file.
type report struct{ name, date, megabytes string }

func reports() []report {
	return []report{{"sales-2023-q1.pdf", "2023-04-03", "12.4"}, {"sales-2023-q2.pdf", "2023-07-05", "14.1"}, {"audit-2022.pdf", "2022-12-19", "31.8"}}
}

// cleanUpScene plays the approval of a cleanup.
type cleanUpScene struct{ words }

// cleanUp returns the steps of a scene that asks for approval to delete something.
func (w cleanUpScene) cleanUp() []step {
	rows, names := [][]string{}, []string{}
	for _, r := range reports() {
		rows, names = append(rows, []string{r.name, r.date, r.megabytes}), append(names, r.name)
	}
	headers := strings.Split(w.in("File|Last opened|Size (MB)", "파일|마지막으로 연 날|크기(MB)"), "|")
	return []step{
		think(w.in("Deleting cannot be undone, so the user decides. I show what I found and ask.",
			"지우면 되돌릴 수 없으니 사용자께서 정하셔야 해요. 찾은 것을 보여 드리고 여쭤볼게요.")),
		say(w.in("These three reports were not opened for more than two years. I delete nothing before you say so. (They are made up; nothing real is at stake.)",
			"2년 넘게 열지 않은 보고서가 세 개 있어요. 허락하시기 전에는 아무것도 지우지 않아요. (예시일 뿐 실제 파일은 아니에요.)")),
		call(show(reportsWindow, w.in("Old reports", "오래된 보고서"), "table", object{"headers": headers, "rows": rows}, spot{24, 24, 488, 260})),
		{
			kind: stepCall, after: func([]outcome) string { return "" }, then: w.decided,
			calls: []providers.ToolCall{{Name: deleteReports, Input: input(object{"files": names, "permanently": true})}},
		},
	}
}

// decided returns the steps after the user's decision.
func (w cleanUpScene) decided(outcomes []outcome) []step {
	allowed := !outcomes[0].result.IsError
	said, state, colour := w.in("You said no, so I kept all three reports.", "안 된다고 하셔서 보고서 세 개를 그대로 두었어요."), w.in("kept", "보관"), "warning"
	mark, tint := "·", "muted"
	reason := outcomes[0].result.Text
	switch {
	case allowed: // said below
	case strings.HasPrefix(reason, "No answer"): // of the hub, when the question expired
		reason, said = "", w.in("Nobody answered in time, so I kept all three reports.", "시간 안에 답이 없어서 보고서 세 개를 그대로 두었어요.")
	case strings.HasPrefix(reason, "The rules"):
		reason, said = "", w.in("Your rules do not allow it, so I kept all three reports.", "정해 두신 규칙이 허용하지 않아서 보고서 세 개를 그대로 두었어요.")
	case reason == "The user said no.": // said above
		reason = ""
	}
	if allowed {
		said, state, colour = w.in("You allowed it, so I deleted the three reports.", "허락해 주셔서 보고서 세 개를 지웠어요."), w.in("deleted", "삭제됨"), "success"
		mark, tint = "✓", "success"
	}
	components := []object{heading(w.in("What you decided", "결정하신 내용")), badge(state, colour), plainText(said)}
	for _, r := range reports() {
		components = append(components, object{"type": "text", "content": mark + " " + r.name, "color": tint})
	}
	if !allowed && reason != "" {
		components = append(components, caption(shorten(reason, 200)))
	}
	options := []object{
		{"value": "markdown", "label": w.in("Text", "글"), "description": w.in("a few lines to read", "짧게 읽을 수 있어요")},
		{"value": "table", "label": w.in("Table", "표"), "description": w.in("to sort and to compare", "정렬하고 비교할 수 있어요")},
		{"value": "none", "label": w.in("No summary", "요약하지 않기")},
	}
	ask := providers.ToolCall{Name: "user_ask", Input: input(object{
		"title": w.in("Which format?", "어떤 형식이 좋을까요?"), "message": w.in("I can sum up what was in the reports.", "보고서에 있던 내용을 요약해 드릴 수 있어요."), "options": options,
	})}
	return []step{
		say(said),
		call(panel(resultWindow, w.in("Result", "결과"), 1, spot{528, 24, 488, 312}, components...)),
		{kind: stepCall, calls: []providers.ToolCall{ask}, after: tellErrors, then: w.summary},
	}
}

// summary returns the steps that show a summary in the chosen format.
func (w cleanUpScene) summary(outcomes []outcome) []step {
	var answer struct {
		Selected []string `json:"selected"`
	}
	_ = json.Unmarshal([]byte(outcomes[0].result.Text), &answer) // without an answer nothing is selected
	id, title, at := "reports-summary", w.in("Summary of the reports", "보고서 요약"), spot{24, 352, 992, 320}
	switch {
	case len(answer.Selected) == 0 || answer.Selected[0] == "none":
		return []step{say(w.in("Then I leave it at that.", "그럼 여기서 마칠게요."))}
	case answer.Selected[0] == "table":
		rows := [][]string{}
		for n, r := range reports() {
			rows = append(rows, []string{r.name, strconv.Itoa(40 + 17*n), strconv.Itoa(118 + 9*n)})
		}
		headers := strings.Split(w.in("Report|Pages|Sales (k€)", "보고서|쪽수|매출(백만 원)"), "|")
		return []step{
			call(show(id, title, "table", object{"headers": headers, "rows": rows}, at)),
			say(w.in("Here is the summary as a table.", "요약을 표로 만들었어요.")),
		}
	default:
		return []step{
			call(show(id, title, "markdown", w.in(
				"## In short\n\n- **2023, first quarter:** sales grew by 4 %\n- **2023, second quarter:** sales grew by 7 %, mostly abroad\n- **Audit 2022:** no findings\n\n> Three reports, 171 pages, one message: it went well.\n",
				"## 간단히 말하면\n\n- **2023년 1분기:** 매출이 4 % 늘었어요\n- **2023년 2분기:** 매출이 7 % 늘었고, 대부분 해외에서 왔어요\n- **2022년 감사:** 지적 사항이 없었어요\n\n> 보고서 세 개, 171쪽, 결론은 하나: 잘 되고 있어요.\n",
			), at)),
			say(w.in("Here is the summary.", "요약을 만들었어요.")),
		}
	}
}
