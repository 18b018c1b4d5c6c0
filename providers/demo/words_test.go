package demo_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers"
)

func TestWindowsOnRequest(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"open a note": {
			`window_create {"content":{"content":"# Note 1\n\nAn empty note. Say “open a note: …” to have something in it.","renderer":"markdown"},"title":"Note 1","windowId":"note-1"}`,
		},
		"Open a note: buy milk & eggs": {
			`window_create {"content":{"content":"# Note 1\n\nbuy milk & eggs","renderer":"markdown"},"title":"Note 1","windowId":"note-1"}`,
		},
		`please write a note that says "call home"`: {
			`window_create {"content":{"content":"# Note 1\n\ncall home","renderer":"markdown"},"title":"Note 1","windowId":"note-1"}`,
		},
		"메모 열어 줘: 우유 사기": {
			`window_create {"content":{"content":"# 메모 1\n\n우유 사기","renderer":"markdown"},"title":"메모 1","windowId":"note-1"}`,
		},
		"show a table": {
			`window_create {"content":{"content":{"headers":["Fruit","Colour","Pieces"],"rows":[["Apple","red","3"],["Banana","yellow","5"],["Plum","blue","8"]]},"renderer":"table"},"title":"Table 1","windowId":"table-1"}`,
		},
		"표 보여 줘: 이름, 가격": {
			`window_create {"content":{"content":{"headers":["이름","가격"],"rows":[["",""],["",""],["",""]]},"renderer":"table"},"title":"표 1","windowId":"table-1"}`,
		},
		"make a form: name": {
			`window_create_component {"cols":1,"components":[{"content":"Please fill in","type":"text","variant":"heading"},{"color":"muted","content":"Press “Save” when you are done. Nothing leaves this desktop.","type":"text","variant":"caption"},{"formId":"form-1","label":"Name","name":"name","type":"input"},{"formId":"form-1","label":"Topic","name":"Topic","options":[{"label":"Question","value":"Question"},{"label":"Idea","value":"Idea"},{"label":"Problem","value":"Problem"}],"placeholder":"Choose one","type":"select"},{"action":"save","label":"Save","submitForm":"form-1","type":"button","variant":"primary"}],"gap":"md","height":376,"title":"Form 1","width":420,"windowId":"form-1"}`,
		},
		"You are a task agent: a copy.\nDo this, then say what you found:\n\nopen a note: from a task": {
			`window_create {"content":{"content":"# Note 1\n\nfrom a task","renderer":"markdown"},"title":"Note 1","windowId":"note-1"}`,
		},
		"notify me: tea is ready": {`window_show_notification {"body":"tea is ready","id":"demo","title":"From the demo"}`},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			d := newDemoSession(t, nil)
			if got := d.says("m-1", text); got == "" {
				t.Error("the output is empty, want a text")
			}
			d.uses(want...)
		})
	}
}

func TestKoreanIsAnsweredInKorean(t *testing.T) {
	t.Parallel()
	d := newDemoSession(t, nil)
	d.has(d.says("m-1", "안녕하세요"), "안녕하세요", "데모")
	d.has(d.says("m-2", "양식 만들어 줘"), "양식 1", "열었어요")
	d.has(d.says("m-3", "설문 하나 더"), "양식 2")
	d.has(d.says("m-4", "양식 닫아 줘"), "양식 2", "닫았어요")
	d.has(d.says("m-5", "우리 목표가 뭐지"), "목표가")
	d.has(d.says("m-6", "도움"), "데모", "메모 열어 줘", "/stream")
	if got := d.windows(); !slices.Equal(got, []string{"form-1", "form-2", "form-2"}) {
		t.Errorf("windows are %v, want form-1, form-2 and form-2 again", got)
	}
}

func TestAnswersSayThatItIsADemo(t *testing.T) {
	t.Parallel()
	d := newDemoSession(t, nil)
	for id, text := range map[string]string{"m-1": "hello", "m-2": "help", "m-3": "what is the meaning of life?", "m-4": "", "m-5": "who are you"} {
		d.has(d.says(id, text), "demo")
	}
	d.has(d.said("m-3"), "meaning of life")
	d.has(d.said("m-2"), "open a note", "/ask", "/fail")
	d.uses()
}

func TestSeveralWindowsAtOnce(t *testing.T) {
	t.Parallel()
	d := newDemoSession(t, nil)
	d.has(d.says("m-1", "open a note and show a table"), "Note 1", "Table 1")
	d.says("m-2", "another note")
	d.says("m-3", "close the note and the table")
	if got := d.windows(); !slices.Equal(got, []string{"note-1", "table-1", "note-2", "note-2", "table-1"}) {
		t.Errorf("windows are %v, want both opened, another note, and note-2 and table-1 closed", got)
	}
	d.has(d.says("m-4", "close the form"), "no window")
}

func TestNumbersFollowWhatIsOpen(t *testing.T) {
	t.Parallel()
	d := newDemoSession(t, nil)
	d.says("m-1", "<open_windows>monitor-0/note-7, other, note-x</open_windows>\n\nopen a note")
	d.says("m-2", "open a note")
	next := newDemoSession(t, d.entries)
	next.says("m-3", "open a note")
	if got := append(d.windows(), next.windows()...); !slices.Equal(got, []string{"note-8", "note-9", "note-10"}) {
		t.Errorf("windows are %v, want note-8 to note-10", got)
	}
}

func TestAWindowThatDoesNotOpen(t *testing.T) {
	t.Parallel()
	d := newDemoSession(t, nil)
	d.results["window_create"] = providers.ToolResult{Text: "the budget is spent", IsError: true}
	got := d.says("m-1", "open a note")
	d.has(got, "the budget is spent")
	if strings.Contains(got, "I opened") {
		t.Errorf("output is %q, want no window said to be open", got)
	}
}

func TestPressedButtons(t *testing.T) {
	t.Parallel()
	const before = "<recent_conversation>\n<user>/say no</user>\n\n<assistant>no</assistant>\n</recent_conversation>\n\n<open_windows>form-1, win</open_windows>\n\n"
	for name, c := range map[string]struct {
		text, say string
		use       []string
	}{
		"a form of ours": {
			before + "<ui:click>button \"save\" in window \"Form 1\"</ui:click>\nComponent path: Button:Save\n\nForm data (form-1):\n{\n  \"Name\": \"Kim \\u003cb\\u003e\",\n  \"Age\": 3\n}",
			"You pressed “save” in “Form 1”. Thank you, I have:\n- Name: Kim <b>\n- Age: 3",
			[]string{`window_update_component {"cols":1,"components":[{"content":"Thank you!","type":"text","variant":"heading"},{"label":"saved","type":"badge","variant":"success"},{"color":"muted","content":"Name","type":"text","variant":"caption"},{"content":"Kim <b>","type":"text"},{"color":"muted","content":"Age","type":"text","variant":"caption"},{"content":"3","type":"text"}],"gap":"sm","windowId":"form-1"}`},
		},
		"a form that is nowhere to be seen": {
			"<ui:click>button \"go\" in window \"W\"</ui:click>\n\nForm data (strange):\n{\"a\": true}",
			"You pressed “go” in “W”. Thank you, I have:\n- a: true", nil,
		},
		"a button without a form": {
			before + "<ui:click>button \"say \\\"hi\\\" &amp; go\" in window win</ui:click>",
			"You pressed “say \"hi\" & go” in “win”.", nil,
		},
		"in Korean": {
			"<ui:click>button \"save\" in window \"양식 1\"</ui:click>\n\nForm data (form-1):\n{\"이름\": \"김\"}",
			"“양식 1” 창에서 “save” 버튼을 누르셨어요. 고마워요, 받은 내용이에요:\n- 이름: 김",
			[]string{`window_update_component {"cols":1,"components":[{"content":"고마워요!","type":"text","variant":"heading"},{"label":"저장됨","type":"badge","variant":"success"},{"color":"muted","content":"이름","type":"text","variant":"caption"},{"content":"김","type":"text"}],"gap":"sm","windowId":"form-1"}`},
		},
		"a button of the dashboard": {
			"<open_windows>tour-dashboard</open_windows>\n\n<ui:click>button \"notify\" in window \"Dashboard\"</ui:click>",
			"I notified you.",
			[]string{`window_show_notification {"body":"Release 2.4 is on track.","id":"demo","title":"From the demo"}`},
		},
		"values that are no JSON": {
			"<ui:click>button \"go\" in window \"W\"</ui:click>\n\nForm data (f):\n{\"a\": oh",
			"You pressed “go” in “W”.", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDemoSession(t, nil)
			if got := d.says("m-1", c.text); got != c.say {
				t.Errorf("output is %q, want %q", got, c.say)
			}
			d.uses(c.use...)
		})
	}
}

func TestPictures(t *testing.T) {
	t.Parallel()
	d := newDemoSession(t, nil)
	m := providers.Message{ID: "m-1", Mode: providers.Start, Images: []providers.Image{{MediaType: "image/png", Data: []byte("x")}}}
	m.Text = "<ui:draw>[image attached]</ui:draw>"
	if err := d.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	<-d.ended
	d.has(d.said("m-1"), "picture", "demo")
}

func FuzzPrompts(f *testing.F) {
	for _, s := range []string{
		"", "/", "/say", "open a note", "<timeline>", "<open_windows>a</open_windows>", "/call x {", "/task a b;/c",
		"<ui:click>button \"a\" in window \"b\"</ui:click>\nForm data (f):\n{\"a\":[1]}", "&lt;ui:click>", "메모", "/stream 5 9999", "/ask |||", "Launch task 9: x",
	} {
		f.Add(s)
	}
	slow := regexp.MustCompile(`(?i)windows|build|launch|task|delet|remov|eras|report|창|빌드|출시|병렬|지우|지워|삭제`)
	f.Fuzz(func(t *testing.T, text string) {
		if slow.MatchString(text) && text != "Launch task 9: x" {
			return // a scene takes long
		}
		for _, stop := range []string{"/hang", "/sleep", "/stream"} {
			if strings.Contains(text, stop) {
				return // takes long
			}
		}
		d := newDemoSession(t, nil)
		e := d.turn("m-1", text)
		if e.Outcome != providers.Completed && !strings.Contains(text, "/fail") {
			t.Errorf("%q is %s: %v, want %s", text, e.Outcome, e.Err, providers.Completed)
		}
	})
}
