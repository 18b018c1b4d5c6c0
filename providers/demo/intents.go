package demo

import (
	"fmt"
	"html"
	"regexp"
	"strings"

	"github.com/everdesk/everdesk/providers"
)

// intent is a window that the demo opens on request: what it is called, which texts ask for it, a
// request as an example, and the file of its content.
type intent struct {
	name            string
	english, korean string
	// asked matches texts in both languages. Matches of earlier intents are removed from a text, so
	// "meeting notes" does not open a note as well.
	asked string
	// requests are the suggestions that users click, in English and Korean.
	requests [2]string
	// file is a page of pages/*.html, or the name of a pair of Markdown files.
	file          string
	width, height int
}

// intents are matched in this order.
var intents = []intent{
	{"meeting", "Meeting notes", "회의록", `\bmeeting(?: notes?| minutes)?\b|\bminutes of\b|회의록|회의\s*(?:메모|노트|정리)`, [2]string{"Write meeting notes", "회의록 써 줘"}, "meeting", 520, 560},
	{"release", "Release notes", "릴리스 노트", `\brelease notes?\b|\bchange\s?log\b|릴리[스즈]\s*노트|달라진 점|변경 사항`, [2]string{"Write release notes", "릴리스 노트 써 줘"}, "release", 500, 540},
	{"decision", "Decision table", "결정표", `\bdecision(?: table| matrix)?\b|\bpros and cons\b|\bcompare options\b|결정표|의사\s*결정|장단점`, [2]string{"Make a decision table", "결정표 만들어 줘"}, "decision", 520, 420},
	{"glossary", "Glossary", "용어집", `\bglossary\b|용어집|용어\s*설명`, [2]string{"Show a glossary", "용어집 보여 줘"}, "glossary", 560, 480},
	{"cards", "Flash cards", "낱말 카드", `\bflash\s?cards?\b|\bvocabulary\b|낱말\s*카드|단어\s*카드|암기\s*카드|단어장`, [2]string{"Make flash cards", "낱말 카드 만들어 줘"}, "cards.html", 420, 380},
	{"memory", "Memory", "짝 맞추기", `\bmemory(?: game)?\b|\bmatching game\b|짝\s*맞추기(?:\s*게임)?|카드\s*뒤집기|메모리\s*게임`, [2]string{"Play memory", "짝 맞추기 게임 하자"}, "memory.html", 440, 460},
	{"snake", "Snake", "뱀 게임", `\bsnake(?: game)?\b|뱀\s*게임|스네이크|지렁이\s*게임`, [2]string{"Play snake", "뱀 게임 하자"}, "snake.html", 420, 540},
	{"game2048", "2048", "2048", `\b2048\b|\b(?:small |a )?games?\b|\bpuzzle\b|게임|퍼즐`, [2]string{"Play a small game", "작은 게임 하나 열어 줘"}, "game2048.html", 400, 580},
	{"quiz", "Quiz", "퀴즈", `\bquiz(?:zes)?\b|\btrivia\b|퀴즈|문제\s*내`, [2]string{"Give me a quiz", "퀴즈 내 줘"}, "quiz.html", 460, 540},
	{"shopping", "Shopping list", "장보기 목록", `\b(?:shopping|grocer(?:y|ies))(?: list)?\b|장보기|장볼|쇼핑\s*목록|살\s*것`, [2]string{"Make a shopping list", "장보기 목록 만들어 줘"}, "", 400, 520},
	{"reading", "Reading list", "읽을 책", `\b(?:reading|book) list\b|\bbooks to read\b|읽을\s*책|독서\s*목록|책\s*목록`, [2]string{"Make a reading list", "읽을 책 목록 만들어 줘"}, "", 460, 460},
	{"packing", "Packing list", "여행 짐 목록", `\bpacking(?: list)?\b|여행\s*짐|짐\s*(?:싸기|목록)|(?:여행\s*)?준비물`, [2]string{"Make a packing list", "여행 짐 목록 만들어 줘"}, "", 400, 520},
	{"kanban", "Board", "칸반 보드", `\bkan\s?ban\b|\b(?:task |project )board\b|칸반|작업\s*보드|프로젝트\s*보드`, [2]string{"Open a kanban board", "칸반 보드 열어 줘"}, "", 680, 460},
	{"todo", "To-do list", "할 일 목록", `\bto-?dos?(?: list)?\b|\bto do list\b|\bcheck\s?list\b|\btask list\b|할\s*일|체크\s*리스트|투두`, [2]string{"Make a to-do list", "할 일 목록 만들어 줘"}, "", 400, 480},
	{"habits", "Habit tracker", "습관 기록", `\bhabits?\b|습관`, [2]string{"Track my habits", "습관 기록 만들어 줘"}, "habits.html", 560, 400},
	{"pomodoro", "Pomodoro", "포모도로", `\bpomodoro(?: timer)?\b|\bfocus timer\b|[포뽀]모도로(?:\s*타이머)?|집중\s*타이머`, [2]string{"Start a pomodoro", "포모도로 타이머 열어 줘"}, "timer.html", 400, 340},
	{"stopwatch", "Stopwatch", "스톱워치", `\bstop\s?watch\b|스톱\s*워치|초시계`, [2]string{"Open a stopwatch", "스톱워치 열어 줘"}, "timer.html", 400, 420},
	{"countdown", "Countdown", "디데이", `\bcount\s?downs?(?: timer)?\b|\bdays until\b|\bhow long until\b|디데이|카운트\s*다운|며칠\s*남`, [2]string{"Count down to New Year", "새해까지 디데이 보여 줘"}, "countdown.html", 460, 320},
	{"timer", "Timer", "타이머", `\btimers?\b|타이머`, [2]string{"Set a timer for 5 minutes", "5분 타이머 맞춰 줘"}, "timer.html", 400, 340},
	{"clock", "World clock", "세계 시계", `\bworld clock\b|\bclocks?\b|\btime zones?\b|\bwhat time is it\b|세계\s*시계|시계|몇\s*시(?:야|예요|인가요|지)|시차`, [2]string{"Show a world clock", "세계 시계 보여 줘"}, "clock.html", 400, 520},
	{"planner", "Week", "주간 계획", `\bweek(?:ly)? plan(?:ner)?\b|\bplan(?:ner)? (?:for )?(?:my|the|this) week\b|\bmy week\b|주간\s*계획|일주일\s*계획|이번\s*주\s*계획`, [2]string{"Make a weekly planner", "주간 계획표 만들어 줘"}, "planner.html", 760, 460},
	{"calendar", "Calendar", "달력", `\bcalendar\b|\bthis month\b|달력|캘린더`, [2]string{"Open a calendar", "달력 열어 줘"}, "calendar.html", 460, 500},
	{"budget", "Budget", "예산", `\bbudgets?\b|\bexpenses?\b|예산|가계부|지출`, [2]string{"Plan my budget", "예산 짜 줘"}, "budget.html", 480, 580},
	{"converter", "Unit converter", "단위 변환", `\bunit converter\b|\bconvert(?:er)?\b.*|\bunits?\b|단위|환산`, [2]string{"Open a unit converter", "단위 변환기 열어 줘"}, "converter.html", 460, 340},
	{"calculator", "Calculator", "계산기", `\bcalculat(?:or|e)\b|계산`, [2]string{"Open a calculator", "계산기 열어 줘"}, "calculator.html", 340, 540},
	{"palette", "Colour palette", "색상표", `\b(?:colou?r )?palette\b|\bcolou?rs?\b|색상표|팔레트|배색|색깔\s*조합`, [2]string{"Make a colour palette", "색상표 만들어 줘"}, "palette.html", 640, 380},
	{"sketch", "Sketch pad", "그림판", `\bsketch(?: ?pad)?\b|\bdraw(?: something)?\W*$|\bdrawing\b|\bpaint(?:ing)?\b|\bpicture\b|그림판|그림|스케치`, [2]string{"Open a sketch pad", "그림판 열어 줘"}, "sketch.html", 640, 480},
	{"csv", "CSV explorer", "CSV 탐색기", `\bcsv\b|\bdata explorer\b|CSV|데이터\s*탐색`, [2]string{"Explore a CSV", "CSV 탐색기 열어 줘"}, "csv.html", 600, 520},
	{"orgchart", "Org chart", "조직도", `\borg(?:ani[sz]ation)?(?:al)?\s?chart\b|조직도`, [2]string{"Draw an org chart", "조직도 그려 줘"}, "orgchart", 640, 480},
	{"mindmap", "Mind map", "마인드맵", `\bmind\s?map\b|\bbrainstorm\w*|마인드\s*맵|생각\s*그물`, [2]string{"Make a mind map", "마인드맵 만들어 줘"}, "mindmap", 600, 480},
	{"timeline", "Timeline", "일정표", `\bgantt(?: chart)?\b|\btime\s?line\b|\broad\s?map\b|간트(?:\s*차트)?|일정표|로드맵`, [2]string{"Draw a timeline", "일정표 그려 줘"}, "timeline", 720, 420},
	{"flowchart", "Flowchart", "순서도", `\bflow\s?charts?\b|\bdiagrams?\b|순서도|흐름도|플로\s*차트|다이어그램`, [2]string{"Draw a flowchart", "순서도 그려 줘"}, "flowchart", 480, 640},
	{"chart", "Chart", "차트", `\b(?:bar |line |pie |area |scatter )?charts?\b|\bgraphs?\b|\bplot\b|차트|그래프`, [2]string{"Show a chart", "차트 보여 줘"}, "chart", 600, 420},
	{"trip", "Trip plan", "여행 계획", `\btrips?(?: plan)?\b|\btravel\b|\bholiday\b|\bvacation\b|\bitinerary\b|여행`, [2]string{"Plan a trip", "여행 계획 세워 줘"}, "trip", 500, 640},
	{"recipe", "Recipe", "요리법", `\brecipes?\b|\bcook\w*|\bdinner\b|레시피|요리|저녁\s*메뉴`, [2]string{"Show me a recipe", "요리법 보여 줘"}, "recipe", 480, 560},
	{"letter", "Letter", "편지", `\bletter\b|\be-?mail\b|편지|메일|이메일`, [2]string{"Draft an e-mail", "메일 초안 써 줘"}, "letter", 500, 460},
	{"workout", "Workout", "운동", `\bwork\s?out\b|\bexercises?\b|\btraining\b|운동|스트레칭`, [2]string{"Make a workout", "운동 계획 짜 줘"}, "workout", 460, 520},
	{"dice", "Dice", "주사위", `\bdice\b|\broll a die\b|주사위`, [2]string{"Roll the dice", "주사위 굴려 줘"}, "dice.html", 360, 360},
}

// kindsOf returns the kinds of windows that the intents describe.
func kindsOf(intents []intent) []kind {
	out := make([]kind, 0, len(intents)+3)
	for _, i := range intents {
		out = append(out, kind{name: i.name, english: i.english, korean: i.korean, asked: regexp.MustCompile(`(?i)` + i.asked), single: true, make: i.window})
	}
	return out
}

// window returns the call that opens the intent's window.
func (i intent) window(w words, id, title string) providers.ToolCall {
	at := spot{width: i.width, height: i.height}
	if i.name == "chart" {
		return w.chart(id, title, at)
	}
	if l, ok := listOf(i.name); ok {
		return w.checklist(l, id, title, at)
	}
	if i.name == "kanban" {
		return w.kanban(id, title, at)
	}
	if strings.HasSuffix(i.file, ".html") {
		return show(id, title, "html", w.page(i), at)
	}
	return show(id, title, "markdown", w.markdown(i), at)
}

var (
	saysMinutes = regexp.MustCompile(`(?i)(\d{1,3})\s*-?(?:min|분)`)
	saysDate    = regexp.MustCompile(`\b\d{4}-\d\d-\d\d\b`)
)

// page returns the page of an intent in the language of the message, with what the message gives: a
// list of items, minutes, a date.
func (w words) page(i intent) string {
	about := fmt.Sprintf(` data-kind="%s"`, i.name)
	if items := w.givenList(); len(items) > 0 {
		about += ` data-items="` + html.EscapeString(string(input(items))) + `"`
	}
	if m := saysMinutes.FindStringSubmatch(w.content); m != nil {
		about += ` data-minutes="` + m[1] + `"`
	}
	if date := saysDate.FindString(w.content); date != "" {
		about += ` data-date="` + date + `"`
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<!doctype html><html lang="%s"%s><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>%s</title>`,
		w.in("en", "ko"), about, w.in(i.english, i.korean))
	fmt.Fprintf(&b, "<style>%s</style><script>%s</script></head><body>\n%s</body></html>", embedded("style.css"), embedded("shared.js"), embedded(i.file))
	return b.String()
}

// markdown returns the text of an intent in the language of the message. {items} is what the message
// gives, or an example.
func (w words) markdown(i intent) string {
	text := embedded(i.file + "." + w.in("en", "ko") + ".md")
	items := w.givenText()
	switch list := w.givenList(); {
	case items != "" && i.name == "letter":
	case len(list) > 0:
		items = "- " + strings.Join(list, "\n- ")
	case i.name == "letter":
		items = w.in("One thing I forgot to ask: who should we write to about the pilot?", "여쭤보지 못한 것이 하나 있어요. 시험 사용에 대해서는 어느 분께 연락드리면 될까요?")
	default:
		items = w.in("- The casing is chosen: recycled aluminium\n- 41 of 50 pilot homes have said yes\n- The price page confuses people", "- 외장은 재활용 알루미늄으로 골랐어요\n- 50가구 중 41가구가 참여하기로 했어요\n- 가격 안내가 헷갈린다는 의견이 많아요")
	}
	return strings.ReplaceAll(text, "{items}", items)
}
