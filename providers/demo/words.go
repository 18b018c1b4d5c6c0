package demo

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/everdesk/everdesk/internal/truncation"
	"github.com/everdesk/everdesk/providers"
)

// words answers messages without directives.
type words struct {
	*session
	prompt
	before []providers.Entry
	korean bool
}

func isKorean(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Hangul, r) })
}

// in returns the text in the language of the message.
func (w words) in(english, korean string) string {
	if w.korean {
		return korean
	}
	return english
}

// kind is a kind of window that the demo can open.
type kind struct {
	name            string
	english, korean string
	asked           *regexp.Regexp
	make            func(w words, id, title string) providers.ToolCall
	// single says that the title of the first window has no number.
	single bool
}

// title returns the title of the n-th window of a kind.
func (w words) title(k kind, n int) string {
	name := w.in(k.english, k.korean)
	if k.single && n == 1 {
		return name
	}
	return fmt.Sprintf("%s %d", name, n)
}

// kinds are matched in this order.
var kinds = append(kindsOf(intents), []kind{
	{"note", "Note", "메모", regexp.MustCompile(`(?i)\b(?:notes?|memo)\b|메모|노트`), words.note, false},
	{"table", "Table", "표", regexp.MustCompile(`(?i)\b(?:tables?|spreadsheet)\b|(?:^|\s)표(?:를|을|가|로|도|\s|$)|테이블|도표`), words.table, false},
	{"form", "Form", "양식", regexp.MustCompile(`(?i)\b(?:forms?|survey|questionnaire)\b|양식|설문|신청서|(?:^|\s)폼`), words.form, false},
}...)

var (
	asksHelp   = regexp.MustCompile(`(?i)\bhelp\b|도움`)
	asksWho    = regexp.MustCompile(`(?i)what (?:can|do) you do|who are you|what are you|introduce yourself|뭘 할 수|뭐 할 수|뭐를 할 수|무엇을 할 수|누구|소개`)
	asksClose  = regexp.MustCompile(`(?i)\b(?:close|remove)\b|닫아|닫기|지워`)
	asksNotify = regexp.MustCompile(`(?i)\b(?:notify|notification|remind)\b|알림|알려`)
	greets     = regexp.MustCompile(`(?i)^\W*(?:hi|hello|hey|good (?:morning|evening|day)|안녕)`)
	// given matches the content in a message: the text in quotes, after a colon, or after
	// "saying" or "that says".
	given = regexp.MustCompile(`(?s)["“]([^"”]+)["”]|[:：]\s*(.+)$|(?i:\b(?:saying|that says)\s+)(.+)$`)
)

// answer returns the steps for plain text.
func (w words) answer(pictures int) []step {
	text := w.content
	switch {
	case text == "" && pictures > 0:
		return []step{say(w.in("I got your picture, but I am a demo and cannot look at it.", "그림은 받았지만, 저는 데모라서 볼 수 없어요."))}
	case text == "":
		return []step{say(w.in("You said nothing.", "아무 말씀도 없으셨어요.")), say(help(w.korean))}
	case asksHelp.MatchString(text):
		return []step{say(help(w.korean))}
	case asksWho.MatchString(text):
		return []step{say(introduction(w.korean))}
	}
	order, _, _ := strings.Cut(strings.ReplaceAll(text, "：", ":"), ":")
	if steps := (notebookScene{w}).computing(order); steps != nil {
		return steps
	}
	asked := askedKinds(order)
	if steps := (windowCommands{w}).command(order, asked); steps != nil {
		return steps
	}
	switch {
	case len(asked) > 0 && asksClose.MatchString(order):
		return windowCommands{w}.closing(asked)
	case len(asked) > 0:
		return windowCommands{w}.opening(asked)
	}
	if played := w.scene(order); played != nil {
		return played
	}
	switch {
	case asksClose.MatchString(order):
		return windowCommands{w}.closeOpen(order)
	case asksNotify.MatchString(order):
		return []step{w.notification()}
	case greets.MatchString(text):
		return []step{say(w.in("Hello! I am the demo: no AI model answers here, only a few rules. Say “show me some windows”, or help to see what else I can do.",
			"안녕하세요! 저는 데모예요. AI 모델 없이 몇 가지 규칙으로 답해요. “창을 몇 개 보여 줘”라고 해 보시거나, 도움이라고 써 보세요."))}
	default:
		return suggestions{w}.missed(text)
	}
}

// maxAsked bounds the windows that one message opens or closes by name.
const maxAsked = 6

// askedKinds returns the kinds of windows that a text names. What a kind matched is removed before the
// next one looks.
func askedKinds(order string) (asked []kind) {
	for _, k := range kinds {
		if at := k.asked.FindStringIndex(order); at != nil && len(asked) < maxAsked {
			asked = append(asked, k)
			order = order[:at[0]] + "_" + order[at[1]:]
		}
	}
	return asked
}

// opening returns the step that opens a window of each requested kind.
func (w windowCommands) opening(asked []kind) []step {
	st := step{kind: stepCall}
	var titles []string
	for _, k := range asked {
		n := w.newest(k.name) + 1
		title := w.title(k, n)
		st.calls = append(st.calls, k.make(w.words, fmt.Sprintf("%s-%d", k.name, n), title))
		titles = append(titles, "“"+title+"”")
	}
	st.after = w.success(fmt.Sprintf(w.in("I opened %s.", "%s 창을 열었어요."), strings.Join(titles, ", ")))
	return []step{st}
}

// closing returns the steps that close the newest window of each requested kind.
func (w windowCommands) closing(asked []kind) (steps []step) {
	for _, k := range asked {
		n := w.newestOpen(k.name)
		if n == 0 {
			steps = append(steps, say(fmt.Sprintf(w.in("I have no window “%s” to close.", "닫을 “%s” 창이 없어요."), w.in(k.english, k.korean))))
			continue
		}
		c := providers.ToolCall{Name: "window_close", Input: input(map[string]string{"windowId": fmt.Sprintf("%s-%d", k.name, n)})}
		done := fmt.Sprintf(w.in("I closed “%s”.", "“%s” 창을 닫았어요."), w.title(k, n))
		steps = append(steps, step{kind: stepCall, calls: []providers.ToolCall{c}, after: w.success(done)})
	}
	return steps
}

func (w words) notification() step {
	body := w.content
	if g := w.givenText(); g != "" {
		body = g
	}
	return w.notify(body)
}

func (w words) notify(body string) step {
	c := providers.ToolCall{Name: "window_show_notification", Input: input(map[string]string{
		"id": "demo", "title": w.in("From the demo", "데모가 알려요"), "body": shorten(body, 500),
	})}
	return step{kind: stepCall, calls: []providers.ToolCall{c}, after: w.success(w.in("I notified you.", "알림을 띄웠어요."))}
}

// success returns a function that gives the text if all calls succeeded, else the errors.
func (w words) success(text string) func([]outcome) string {
	return func(o []outcome) string {
		if bad := tellErrors(o); bad != "" {
			return bad
		}
		return text
	}
}

// givenText returns the content in a message, if any.
func (w words) givenText() string {
	m := given.FindStringSubmatch(w.content)
	if m == nil {
		return ""
	}
	return strings.Trim(m[1]+m[2]+m[3], "\"“” \n")
}

// givenList returns the content as a list of at most 20 items, separated by commas or line breaks.
func (w words) givenList() (items []string) {
	for item := range strings.FieldsFuncSeq(w.givenText(), func(r rune) bool { return r == ',' || r == '\n' || r == '、' }) {
		if item = strings.TrimSpace(item); item != "" && len(items) < 20 {
			items = append(items, shorten(item, 60))
		}
	}
	return items
}

// shorten truncates a text to n characters.
func shorten(s string, n int) string {
	return truncation.RunesMarked(s, n, "…")
}

// introduction explains what the demo can do and how to configure a model.
func introduction(korean bool) string {
	if korean {
		return `저는 **데모**예요. 생각하는 AI 모델이 아니라, 정해진 문장을 알아듣고 정해진 답을 보여 드려요.

**지금 되는 것:** 창, 표, 양식, 승인 요청, 동시에 일하는 작업, 백그라운드 모니터, 알림. 모두 진짜 허브를 거쳐요. 탭을 닫거나 허브를 다시 켜도 그대로 남아 있어요.
**안 되는 것:** 그 밖의 질문에 답하기. 저는 뜻을 이해하지 못해요.

**진짜 모델을 연결하려면** 다음 가운데 하나를 준비하고 허브를 다시 켜 주세요:
- Anthropic: ` + "`ANTHROPIC_API_KEY=… hub serve --provider anthropic`" + `
- OpenAI: ` + "`OPENAI_API_KEY=… hub serve --provider openai`" + `
- 내 컴퓨터에서 Ollama: ` + "`hub serve --provider ollama`" + `

도움이라고 쓰시면 제가 알아듣는 말을 모두 보여 드려요.`
	}
	return `I am a **demo**: no AI model thinks here. I know some sentences and answer them in a fixed way.

**What works:** windows, tables, forms, approvals, tasks side by side, background monitors, notifications. All of it goes through the real hub: close the tab or restart the hub, and it is still there.
**What does not:** any other question. I do not understand anything.

**To connect a real model**, have one of these and start the hub again:
- Anthropic: ` + "`ANTHROPIC_API_KEY=… hub serve --provider anthropic`" + `
- OpenAI: ` + "`OPENAI_API_KEY=… hub serve --provider openai`" + `
- Ollama on your own machine: ` + "`hub serve --provider ollama`" + `

Say help to see everything that I know.`
}

// help describes the features of the demo.
func help(korean bool) string {
	if korean {
		return `저는 **데모**예요. AI 모델이 아니라 몇 가지 규칙으로만 답해요. 진짜 답이 필요하면 다른 프로바이더를 골라 주세요.

이렇게 말해 보세요:
- 창을 몇 개 보여 줘
- 오래된 보고서를 지우기 전에 물어봐 줘
- 제품 출시를 병렬 작업으로 계획해 줘
- 백그라운드에서 빌드를 지켜봐 줘
- 이 CSV의 월별 합계를 그려 줘
- 메모 열어 줘: 우유 사기
- 표 보여 줘: 이름, 가격, 수량
- 양식 만들어 줘: 이름, 이메일
- 알림 띄워 줘: 쉬는 시간이에요

열 수 있는 창: ` + requestsOf(1) + `

열린 창에는 이렇게 말해 보세요: 메모 닫아 줘 · 모두 닫아 줘 · 창을 정리해 줘 · 더 크게 · 더 짧게 · 더 어둡게 · 되돌려 줘

` + directiveHelp
	}
	return `I am a **demo**: no AI model answers here, only a few rules. Choose another provider for real answers.

Try one of these:
- show me some windows
- ask me before you delete the old reports
- plan a product launch with parallel tasks
- watch the build in the background
- plot the monthly sums of this CSV
- open a note: buy milk
- show a table: name, price, amount
- make a form: name, e-mail
- notify me: time for a break

Windows that I know: ` + requestsOf(0) + `

For open windows: close the note · close everything · tidy up · make it bigger · make it shorter · make it darker · undo

` + directiveHelp
}

// requestsOf lists a request for every intent in a language, 0 for English and 1 for Korean.
func requestsOf(language int) string {
	all := make([]string, len(intents))
	for n, i := range intents {
		all[n] = i.requests[language]
	}
	return strings.Join(all, " · ")
}

const directiveHelp = "Directives, one per line:\n" +
	"- `/say TEXT`, `/think TEXT`, `/sleep 1500ms`, `/stream N [RATE]`\n" +
	"- `/window ID TITLE | markdown`, `/toast TEXT`, `/ask QUESTION | option | option`\n" +
	"- `/call TOOL {json}`, `/task PROFILE DIRECTIVE; DIRECTIVE`\n" +
	"- `/plan {json}` and `/repair {json}` in plan mode; `/progress PERCENT STEP` and `/input FIELD TYPE QUESTION` in the tasks of its todos\n" +
	"- `/nosteer`, `/hang`, `/fail [CLASS:] TEXT`, `/recall`, `/fill N`, `/usage IN OUT`, `/help`"
