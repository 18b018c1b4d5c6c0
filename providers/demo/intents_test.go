package demo_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// intentCase is a window with texts that ask for it.
type intentCase struct{ window, english, korean, also string }

var intentCases = []intentCase{
	{"meeting", "Write meeting notes", "회의록 써 줘", "minutes of the meeting"},
	{"release", "Write release notes", "릴리스 노트 써 줘", "prepare the release notes"},
	{"decision", "Make a decision table", "결정표 만들어 줘", "pros and cons please"},
	{"glossary", "Show a glossary", "용어집 보여 줘", "용어 설명 좀"},
	{"cards", "Make flash cards", "낱말 카드 만들어 줘", "flashcards: sea = mer"},
	{"memory", "Play memory", "짝 맞추기 게임 하자", "메모리 게임"},
	{"snake", "Play snake", "뱀 게임 하자", "a snake game"},
	{"game2048", "Play a small game", "작은 게임 하나 열어 줘", "2048"},
	{"quiz", "Give me a quiz", "퀴즈 내 줘", "some trivia"},
	{"shopping", "Make a shopping list", "장보기 목록 만들어 줘", "groceries: milk, eggs"},
	{"reading", "Make a reading list", "읽을 책 목록 만들어 줘", "books to read"},
	{"packing", "Make a packing list", "여행 짐 목록 만들어 줘", "여행 준비물"},
	{"kanban", "Open a kanban board", "칸반 보드 열어 줘", "a project board"},
	{"todo", "Make a to-do list", "할 일 목록 만들어 줘", "todo: call Mina, buy \"milk\" & eggs"},
	{"habits", "Track my habits", "습관 기록 만들어 줘", "habit tracker"},
	{"pomodoro", "Start a pomodoro", "포모도로 타이머 열어 줘", "pomodoro timer"},
	{"stopwatch", "Open a stopwatch", "스톱워치 열어 줘", "stop watch"},
	{"countdown", "Count down to New Year", "새해까지 디데이 보여 줘", "countdown to 2030-05-01"},
	{"timer", "Set a timer for 5 minutes", "5분 타이머 맞춰 줘", "timer 90 min"},
	{"clock", "Show a world clock", "세계 시계 보여 줘", "what time is it in Seoul?"},
	{"planner", "Make a weekly planner", "주간 계획표 만들어 줘", "plan my week"},
	{"calendar", "Open a calendar", "달력 열어 줘", "캘린더"},
	{"budget", "Plan my budget", "예산 짜 줘", "가계부"},
	{"converter", "Open a unit converter", "단위 변환기 열어 줘", "convert 5 miles to km"},
	{"calculator", "Open a calculator", "계산기 열어 줘", "calculate something"},
	{"palette", "Make a colour palette", "색상표 만들어 줘", "some colors"},
	{"sketch", "Open a sketch pad", "그림판 열어 줘", "I want to draw"},
	{"csv", "Explore a CSV", "CSV 탐색기 열어 줘", "csv"},
	{"orgchart", "Draw an org chart", "조직도 그려 줘", "organization chart"},
	{"mindmap", "Make a mind map", "마인드맵 만들어 줘", "let us brainstorm"},
	{"timeline", "Draw a timeline", "일정표 그려 줘", "a gantt chart"},
	{"flowchart", "Draw a flowchart", "순서도 그려 줘", "flow chart"},
	{"chart", "Show a chart", "차트 보여 줘", "a bar chart: Mon 3, Tue 5"},
	{"trip", "Plan a trip", "여행 계획 세워 줘", "holiday itinerary"},
	{"recipe", "Show me a recipe", "요리법 보여 줘", "what should I cook"},
	{"letter", "Draft an e-mail", "메일 초안 써 줘", "write a letter: see you soon"},
	{"workout", "Make a workout", "운동 계획 짜 줘", "some exercises"},
	{"dice", "Roll the dice", "주사위 굴려 줘", "dice"},
}

// shownWindow is the input of window_create.
type shownWindow struct {
	WindowID, Title string
	Width, Height   int
	Content         struct {
		Renderer string
		Content  shownContent
	}
}

// shownContent is the text of a window, or the JSON of an object.
type shownContent string

func (c *shownContent) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		text = string(data)
	}
	*c = shownContent(text)
	return nil
}

func TestEveryIntentOpensItsWindow(t *testing.T) {
	t.Parallel()
	if len(intentCases) < 30 {
		t.Errorf("there are %d intents, want at least 30", len(intentCases))
	}
	for _, c := range intentCases {
		for _, text := range []string{c.english, c.korean, c.also} {
			t.Run(text, func(t *testing.T) {
				t.Parallel()
				d := newDemoSession(t, nil)
				said := d.says("m-1", text)
				if len(d.calls) != 1 || d.calls[0].Name != "window_create" {
					t.Fatalf("calls are %v, want one window_create", d.windows())
				}
				var w shownWindow
				if err := json.Unmarshal(d.calls[0].Input, &w); err != nil {
					t.Fatal(err)
				}
				if w.WindowID != c.window+"-1" || w.Title == "" || !strings.Contains(said, w.Title) {
					t.Errorf("window is %q with title %q and the answer %q, want %s-1 and its title in the answer", w.WindowID, w.Title, said, c.window)
				}
				if w.Width < 300 || w.Width > 800 || w.Height < 300 || w.Height > 660 {
					t.Errorf("size is %d×%d, want one that fits a desktop of 1024×700", w.Width, w.Height)
				}
				checkShown(t, w, strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Hangul, r) }))
			})
		}
	}
}

// checkShown checks the rules for pages: one file, the language of the message, no network.
func checkShown(t *testing.T, w shownWindow, korean bool) {
	t.Helper()
	text := string(w.Content.Content)
	lang := "en"
	if korean {
		lang = "ko"
	}
	if w.Content.Renderer != "component" && len(text) < 150 || strings.Contains(text, "{items}") {
		t.Errorf("content is %q, want a whole text", text)
	}
	if w.Content.Renderer != "html" {
		return
	}
	if !strings.HasPrefix(text, `<!doctype html><html lang="`+lang+`"`) || !strings.Contains(text, "<h1") || !strings.HasSuffix(text, "</body></html>") {
		t.Errorf("page begins with %.60q, want a document in %s with a heading", text, lang)
	}
	for _, bad := range []string{"https://", "src=", "href=", "fetch(", "localStorage", "<form", "import "} {
		if strings.Contains(text, bad) {
			t.Errorf("page contains %q, want no network, storage or form", bad)
		}
	}
}

func TestContentOfAMessageIsInThePage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`to-do list: call "Mina" & co, <b>`: `"items":[{"text":"call \"Mina\" \u0026 co"},{"text":"\u003cb\u003e"}]`,
		"timer for 12 minutes":              `data-minutes="12"`,
		"12분 타이머":                           `data-minutes="12"`,
		"countdown to 2030-05-01":           `data-date="2030-05-01"`,
		"meeting notes: roof, cellar":       "- roof\n- cellar",
		"a letter: see you soon":            "\n\nsee you soon\n\n",
		"a pie chart: rent 900, food 310.5": `"kind":"pie","labels":["rent","food"],"series":[{"name":"Your numbers","values":[900,310.5]}]`,
		"a scatter chart":                   `"points":[[2,420],`,
	} {
		d := newDemoSession(t, nil)
		d.says("m-1", text)
		var w shownWindow
		if err := json.Unmarshal(d.calls[0].Input, &w); err != nil {
			t.Fatal(err)
		}
		d.has(string(w.Content.Content), want)
	}
}

func TestSeveralIntentsAtOnce(t *testing.T) {
	t.Parallel()
	d := newDemoSession(t, nil)
	d.has(d.says("m-1", "open a calculator, a note and a to-do list"), "“To-do list”, “Calculator”, “Note 1”")
	d.has(d.says("m-2", "another calculator"), "“Calculator 2”")
	if got := d.windows(); !slices.Equal(got, []string{"todo-1", "calculator-1", "note-1", "calculator-2"}) {
		t.Errorf("windows are %v, want todo-1, calculator-1, note-1 and calculator-2", got)
	}
}

func TestHelpNamesEveryIntent(t *testing.T) {
	t.Parallel()
	d := newDemoSession(t, nil)
	english, korean := d.says("m-1", "help"), d.says("m-2", "도움")
	for _, c := range intentCases {
		d.has(english, c.english)
		d.has(korean, c.korean)
	}
}

// buttons returns the actions of the suggestions in the newest call.
func (d *demoSession) buttons() (actions []string) {
	d.Helper()
	var in struct {
		WindowID   string
		Components []struct{ Type, Label, Action string }
	}
	if err := json.Unmarshal(d.calls[len(d.calls)-1].Input, &in); err != nil {
		d.Fatal(err)
	}
	if in.WindowID != "suggestions" {
		d.Errorf("the newest window is %q, want the suggestions", in.WindowID)
	}
	for _, c := range in.Components {
		if c.Type == "button" {
			actions = append(actions, c.Action)
		}
	}
	return actions
}

func TestAMissOffersThreeSuggestions(t *testing.T) {
	t.Parallel()
	for n, text := range []string{"what is the meaning of life?", "우리 목표가 뭐지", "blah", "…"} {
		d := newScreenSession(t)
		said := d.says("m-1", text)
		ideas := d.buttons()
		if len(ideas) != 3 || len(slices.Compact(slices.Sorted(slices.Values(ideas)))) != 3 {
			t.Fatalf("suggestions are %q, want three", ideas)
		}
		d.has(said, ideas...)
		d.has(said, []string{"no AI model", "모델 없이", "no AI model", "no AI model"}[n])
		for i, idea := range ideas {
			press := fmt.Sprintf("<open_windows>suggestions (component \"Suggestions\" 320×300)</open_windows>\n\n<ui:click>button %q in window \"Suggestions\"</ui:click>", idea)
			next := newScreenSession(t)
			next.says("p", press)
			at := slices.IndexFunc(intentCases, func(c intentCase) bool { return c.english == idea || c.korean == idea })
			if at < 0 {
				t.Fatalf("suggestion %d is %q, want the request of an intent", i, idea)
			}
			if got, want := next.windows(), []string{intentCases[at].window + "-1", "suggestions"}; !slices.Equal(got, want) {
				t.Errorf("after a click on %q the windows are %v, want %v", idea, got, want)
			}
			if more := next.buttons(); len(more) != 3 {
				t.Errorf("the next suggestions are %q, want three", more)
			}
		}
	}
}

func TestAMissWithoutAScreenOpensNothing(t *testing.T) {
	t.Parallel()
	d := newDemoSession(t, nil)
	d.has(d.says("m-1", "what is the meaning of life?"), "demo", "meaning of life", "pick one")
	d.uses()
}

func TestSuggestionsAreNewOnes(t *testing.T) {
	t.Parallel()
	d := newScreenSession(t)
	for n, c := range intentCases[:len(intentCases)-2] {
		d.says(fmt.Sprint("m-", n), c.english)
	}
	d.says("miss", "hm")
	ideas := d.buttons()
	for _, c := range intentCases[len(intentCases)-2:] {
		if !slices.Contains(ideas, c.english) {
			t.Errorf("suggestions are %q, want %q in them, which was not tried", ideas, c.english)
		}
	}
}
