package demo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/everdesk/everdesk/providers"
)

// object is a JSON object of a tool's input.
type object = map[string]any

func markdownWindow(id, title, text string) providers.ToolCall {
	return windowOf(id, title, "markdown", text)
}

func windowOf(id, title, renderer string, content any) providers.ToolCall {
	return providers.ToolCall{Name: "window_create", Input: input(object{
		"windowId": id, "title": title, "content": object{"renderer": renderer, "content": content},
	})}
}

// note returns the call that opens a window with the given text.
func (w words) note(id, title string) providers.ToolCall {
	text := w.givenText()
	if text == "" {
		text = w.in("An empty note. Say “open a note: …” to have something in it.", "빈 메모예요. “메모 열어 줘: …”라고 하시면 내용을 적어 드려요.")
	}
	return markdownWindow(id, title, "# "+title+"\n\n"+text)
}

// table returns the call that opens a window with an empty table of the given columns, or with an
// example.
func (w words) table(id, title string) providers.ToolCall {
	headers := w.givenList()
	rows := [][]string{}
	if len(headers) == 0 {
		headers = strings.Split(w.in("Fruit,Colour,Pieces", "과일,색깔,개수"), ",")
		for line := range strings.SplitSeq(w.in("Apple,red,3;Banana,yellow,5;Plum,blue,8", "사과,빨강,3;바나나,노랑,5;자두,파랑,8"), ";") {
			rows = append(rows, strings.Split(line, ","))
		}
	} else {
		for range 3 {
			rows = append(rows, make([]string, len(headers)))
		}
	}
	return windowOf(id, title, "table", object{"headers": headers, "rows": rows})
}

// form returns the call that opens a window with the given inputs and a button.
func (w words) form(id, title string) providers.ToolCall {
	fields := w.givenList()
	if len(fields) == 0 {
		fields = strings.Split(w.in("Name,E-mail,Message", "이름,이메일,내용"), ",")
	}
	components := []object{
		heading(w.in("Please fill in", "작성해 주세요")),
		caption(w.in("Press “Save” when you are done. Nothing leaves this desktop.", "다 적으셨으면 “저장”을 눌러 주세요. 이 데스크톱 밖으로 나가지 않아요.")),
	}
	for _, f := range fields {
		in := object{"type": "input", "name": f, "label": capital(f), "formId": id}
		switch {
		case isEmail.MatchString(f):
			in["variant"], in["placeholder"] = "email", "you@example.com"
		case isLong.MatchString(f):
			in["rows"], in["placeholder"] = 4, w.in("What would you like to say?", "하고 싶은 말씀을 적어 주세요")
		case isNumber.MatchString(f):
			in["variant"] = "number"
		}
		components = append(components, in)
	}
	topics := []object{}
	for topic := range strings.SplitSeq(w.in("Question,Idea,Problem", "질문,제안,문제"), ",") {
		topics = append(topics, object{"value": topic, "label": topic})
	}
	topic := w.in("Topic", "주제")
	components = append(components,
		object{"type": "select", "name": topic, "label": topic, "formId": id, "options": topics, "placeholder": w.in("Choose one", "하나를 골라 주세요")},
		object{"type": "button", "label": w.in("Save", "저장"), "action": "save", "variant": "primary", "submitForm": id},
	)
	return panel(id, title, 1, spot{width: 420, height: min(300+76*len(fields), 640)}, components...)
}

// capital capitalizes the first letter of a text.
func capital(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:]
}

// Patterns of field names that determine the kind of a form's field.
var (
	isEmail  = regexp.MustCompile(`(?i)e-?mail|이메일|메일`)
	isLong   = regexp.MustCompile(`(?i)message|comment|text|내용|의견|메시지`)
	isNumber = regexp.MustCompile(`(?i)\b(?:age|number|amount|count)\b|나이|수량|개수`)
)

// pressed returns the steps for a pressed button. The window of a form shows thanks and the
// values.
func (w words) pressed() []step {
	c := w.click
	if steps := (suggestions{w}).suggested(c.action); steps != nil {
		return steps
	}
	w.korean = isKorean(c.window) || w.korean
	thanks := fmt.Sprintf(w.in("You pressed “%s” in “%s”.", "“%[2]s” 창에서 “%[1]s” 버튼을 누르셨어요."), shorten(c.action, 60), shorten(c.window, 60))
	switch {
	case len(c.fields) > 0:
	case c.action == "refresh" && slices.Contains(w.windows, dashboardWindow):
		tour := showcaseScene{w}
		return []step{call(tour.dashboard(tour.refreshed()+1, false)), say(w.in("The dashboard is up to date.", "대시보드를 새로 고쳤어요."))}
	case c.action == "notify":
		return []step{w.notify(w.in("Release 2.4 is on track.", "버전 2.4는 순조로워요."))}
	default:
		return []step{say(thanks)}
	}
	lines := make([]string, 0, len(c.fields))
	components := []object{heading(w.in("Thank you!", "고마워요!")), badge(w.in("saved", "저장됨"), "success")}
	for _, f := range c.fields {
		lines = append(lines, f.name+": "+shorten(f.value, 500))
		components = append(components, caption(capital(f.name)), plainText(cmp.Or(shorten(f.value, 500), "–")))
	}
	steps := []step{}
	if id := w.formWindow(); id != "" {
		steps = append(steps, step{kind: stepCall, after: tellErrors, calls: []providers.ToolCall{{
			Name: "window_update_component", Input: input(object{"windowId": id, "components": components, "cols": 1, "gap": "sm"}),
		}}})
	}
	return append(steps, say(thanks+" "+w.in("Thank you, I have:", "고마워요, 받은 내용이에요:")+"\n- "+strings.Join(lines, "\n- ")))
}

// formWindow returns the id of the pressed button's window, or "". Form ids of the demo are window
// ids, so it is an open window with the id of the form or the one that the click names, or the
// id of the form if it looks like one of the demo.
func (w words) formWindow() string {
	for _, id := range w.windows {
		if id == w.click.form || id == w.click.window {
			return id
		}
	}
	if kindOf(w.click.form) != "" {
		return w.click.form
	}
	return ""
}

// kindOf returns the kind of a window that the demo created, such as note for note-1, or "".
func kindOf(id string) string {
	name, n, ok := strings.Cut(id, "-")
	if _, err := strconv.Atoi(n); !ok || err != nil {
		return ""
	}
	for _, k := range kinds {
		if k.name == name {
			return name
		}
	}
	return ""
}

// newest returns the highest number among the windows of a kind, both opened in this
// conversation and currently open.
func (w words) newest(kind string) (highest int) {
	see := func(id string) { highest = max(highest, numberOf(id, kind)) }
	for _, id := range w.windows {
		see(id)
	}
	for _, e := range w.before {
		for _, b := range e.Blocks {
			var in struct {
				WindowID string `json:"windowId"`
			}
			if b.Kind == providers.BlockToolCall && json.Unmarshal(b.Input, &in) == nil {
				see(in.WindowID)
			}
		}
	}
	return highest
}

// newestOpen returns the highest number among the open windows of a kind. Without a list of open windows
// the conversation counts.
func (w windowCommands) newestOpen(kind string) (highest int) {
	if len(w.windows) == 0 {
		return w.newest(kind)
	}
	for _, id := range w.windows {
		highest = max(highest, numberOf(id, kind))
	}
	return highest
}

// numberOf returns the number of a window of a kind, such as 7 for note-7, or 0 if it is of another kind.
func numberOf(id, kind string) int {
	rest, ok := strings.CutPrefix(id, kind+"-")
	if n, err := strconv.Atoi(rest); ok && err == nil && n > 0 && n < 1_000_000 {
		return n
	}
	return 0
}
