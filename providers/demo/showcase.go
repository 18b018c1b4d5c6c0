package demo

import (
	"fmt"
	"strings"
	"time"

	"github.com/everdesk/everdesk/providers"
)

// Window ids of the showcase.
const (
	briefWindow     = "tour-brief"
	pipelineWindow  = "tour-pipeline"
	dashboardWindow = "tour-dashboard"
	chartWindow     = "tour-chart"
	todayWindow     = "tour-today"
)

// showcaseScene plays the tour of windows.
type showcaseScene struct{ words }

// showcase returns the steps that open five kinds of windows. The text of the first grows while
// the others open.
func (w showcaseScene) showcase() []step {
	brief := w.brief()
	steps := []step{
		think(w.in(
			"A newcomer wants to see what a desktop can hold. A brief that grows, a table to sort, a dashboard with buttons, a chart and a small widget should do. I place them side by side.",
			"처음 오신 분이 데스크톱에 무엇을 담을 수 있는지 보고 싶어 하세요. 점점 늘어나는 기획서, 정렬할 수 있는 표, 버튼이 있는 대시보드, 차트, 작은 위젯이면 충분하겠어요. 서로 겹치지 않게 놓을게요.",
		)),
		say(w.in("I am opening five windows. Watch the brief grow.", "창 다섯 개를 열게요. 기획서가 채워지는 모습을 지켜봐 주세요.")),
		call(show(briefWindow, w.in("Project brief", "프로젝트 기획서"), "markdown", brief[0], spot{24, 24, 416, 470})),
	}
	others := []providers.ToolCall{
		show(pipelineWindow, w.in("Sales pipeline", "영업 현황"), "table", w.pipeline(), spot{456, 24, 560, 312}),
		w.dashboard(0, true),
		show(chartWindow, w.in("Visitors", "방문자"), "chart", w.visitors(), spot{744, 352, 272, 308}),
		w.today(),
	}
	for n, piece := range brief[1:] {
		steps = append(steps, pause(500*time.Millisecond), call(add(briefWindow, piece)))
		if n < len(others) {
			steps = append(steps, pause(250*time.Millisecond), call(others[n]))
		}
	}
	return append(steps, say(w.in(
		"There they are. Move them, resize them from any edge, click a column of the table to sort it, and press “Refresh” in the dashboard.",
		"다 열었어요. 창을 옮기거나 가장자리를 끌어 크기를 바꿔 보세요. 표의 열을 누르면 정렬되고, 대시보드의 “새로 고침”도 눌러 보실 수 있어요.",
	)))
}

// brief returns the pieces of the growing text.
func (w showcaseScene) brief() []string {
	if w.korean {
		return []string{
			"# 오로라 프로젝트\n\n*클라우드 없이 집에서 쓰는 베란다 날씨 관측기*\n",
			"\n## 목표\n\n- **간편하게:** 가입 없이 바로 써요\n- **안전하게:** 자료는 집 밖으로 나가지 않아요\n- **열린 형식:** 모든 값을 내보낼 수 있어요\n",
			"\n## 일정\n\n| 시기 | 할 일 | 담당 | 예산(만 원) |\n|---|---|---|--:|\n| 3월 | 시제품 | 김미나 | 1,200 |\n| 6월 | 50가구 시험 | 이준호 | 2,850 |\n| 9월 | 출시 | 박서연 | 4,000 |\n",
			"\n## 동작 방식\n\n```mermaid\nflowchart LR\n  S[센서] --> H[허브]\n  H --> D[(집 안의 자료)]\n  H --> A[앱]\n  A --> U((사용자))\n```\n",
			"\n## 첫 측정\n\n```python\nfrom aurora import Station\n\nstation = Station(\"베란다\")\nprint(station.temperature)  # 21.4\n```\n",
			"\n> **다음 단계:** 금요일까지 외장 재질을 정해요.\n",
		}
	}
	return []string{
		"# Aurora\n\n*A weather station for balconies that needs no cloud*\n",
		"\n## Goals\n\n- **Plain:** works without an account\n- **Private:** the data stays at home\n- **Open:** every value can be exported\n",
		"\n## Milestones\n\n| When | What | Owner | Budget |\n|---|---|---|--:|\n| March | Prototype | Mina | € 12,000 |\n| June | Pilot in 50 homes | Jonas | € 28,500 |\n| September | Launch | Sofia | € 40,000 |\n",
		"\n## How it works\n\n```mermaid\nflowchart LR\n  S[Sensors] --> H[Hub]\n  H --> D[(Data at home)]\n  H --> A[App]\n  A --> U((You))\n```\n",
		"\n## First reading\n\n```python\nfrom aurora import Station\n\nstation = Station(\"balcony\")\nprint(station.temperature)  # 21.4\n```\n",
		"\n> **Next step:** decide about the casing by Friday.\n",
	}
}

// pipeline returns the content of the table window.
func (w showcaseScene) pipeline() object {
	headers, rows := "Customer|Country|Stage|Value (€)|Chance (%)", `Nordlicht GmbH|Germany|Proposal|48200|60
Blue Harbor Ltd|Ireland|Qualified|12900|35
Hanbit Energy|South Korea|Negotiation|96500|75
Casa Verde|Spain|Proposal|27400|50
Fjord Systems|Norway|Won|61000|100
Maple & Sons|Canada|Qualified|8700|20
Sora Logistics|Japan|Negotiation|73800|70
Atelier Lumen|France|New|15300|10
Kiwi Fields|New Zealand|Proposal|33600|45
Tatra Works|Slovakia|Lost|21000|0
Lagoa Health|Brazil|New|54100|15
Polder Farms|Netherlands|Won|39900|100`
	if w.korean {
		headers, rows = "고객|지역|단계|금액(만 원)|가능성(%)", `한빛에너지|서울|협상|9650|75
푸른항만|부산|검토|1290|35
북극성테크|대전|제안|4820|60
초록마을|제주|제안|2740|50
하늘물류|인천|협상|7380|70
단풍상사|광주|검토|870|20
빛나라 공방|전주|신규|1530|10
너른들 농장|나주|수주|3990|100
가온의료|대구|신규|5410|15
다올식품|청주|제안|3360|45
누리소프트|판교|수주|6100|100
솔바람|강릉|실주|2100|0`
	}
	table := [][]string{}
	for line := range strings.Lines(rows) {
		table = append(table, strings.Split(strings.TrimSpace(line), "|"))
	}
	return object{"headers": strings.Split(headers, "|"), "rows": table}
}

// dashboard returns the call that shows progress bars and buttons after n refreshes, in a new
// window if open is set, else in the existing one.
func (w showcaseScene) dashboard(n int, open bool) providers.ToolCall {
	grown := func(value, by int) int { return min(value+n*by, 100) }
	state, colour := w.in("on track", "순조로움"), "success"
	if grown(86, 4) == 100 {
		state, colour = w.in("feature complete", "개발 완료"), "info"
	}
	components := []object{
		heading(w.in("Release 2.4", "버전 2.4")), badge(state, colour),
		bar(w.in("Code", "개발"), grown(86, 4), "success"), bar(w.in("Tests", "시험"), grown(61, 7), "default"),
		bar(w.in("Manual", "설명서"), grown(38, 9), "warning"), bar(w.in("Budget used", "예산 사용"), grown(72, 3), "default"),
		plainText(fmt.Sprintf(w.in("%d tests pass", "시험 %d개 통과"), 412+23*n)),
		plainText(fmt.Sprintf(w.in("%d open issues", "남은 이슈 %d개"), max(17-4*n, 0))),
		button(w.in("Refresh", "새로 고침"), "refresh", "primary"), button(w.in("Notify me", "알림 받기"), "notify", "secondary"),
	}
	if !open {
		return renew(dashboardWindow, 2, components...)
	}
	return panel(dashboardWindow, w.in("Dashboard", "대시보드"), 2, spot{456, 352, 272, 308}, components...)
}

// today returns the call that opens a widget with an agenda.
func (w showcaseScene) today() providers.ToolCall {
	at := spot{24, 510, 416, 150}
	return providers.ToolCall{Name: "window_create_component", Input: input(at.of(object{
		"windowId": todayWindow, "title": w.in("Today", "오늘"), "variant": "widget", "cols": []float64{1, 3, 1}, "gap": "md",
		"components": []object{
			caption("09:30"), plainText(w.in("Stand-up", "아침 회의")), badge(w.in("done", "완료"), "success"),
			caption("13:00"), plainText(w.in("Review of the brief", "기획서 검토")), badge(w.in("now", "지금"), "info"),
			caption("16:30"), plainText(w.in("Call with Hanbit Energy", "한빛에너지 통화")), badge(w.in("later", "예정"), "default"),
		},
	}))}
}

// refreshed returns how often the dashboard was refreshed in the conversation.
func (w showcaseScene) refreshed() (n int) {
	for _, e := range w.before {
		for _, b := range e.Blocks {
			if b.Kind == providers.BlockToolCall && b.Tool == "window_update_component" && strings.Contains(string(b.Input), `"`+dashboardWindow+`"`) {
				n++
			}
		}
	}
	return n
}
