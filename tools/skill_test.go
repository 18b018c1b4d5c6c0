package tools_test

import (
	"strings"
	"testing"

	"github.com/everdesk/everdesk/skills"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// The system prompt is in every request, so it is short; guides are loaded when they are needed.
func TestSystemPromptIsShort(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	briefing, err := b.exec.Brief(t.Context(), b.caller())
	if err != nil {
		t.Fatal(err)
	}
	const most = 450
	if got := (len(briefing.System) + 3) / 4; got > most {
		t.Errorf("the system prompt has about %d tokens, want at most %d", got, most)
	}
	for _, guide := range []string{"windows", "forms", "html"} {
		got := b.must("system_skill", `{"name":"`+guide+`"}`)
		if tokens := len(got) / 4; tokens < 100 || tokens > 1000 {
			t.Errorf("the guide %s has about %d tokens, want 100 to 1000", guide, tokens)
		}
	}
	if r := b.call("system_skill", `{"name":"cooking"}`); !r.IsError {
		t.Errorf("an unknown guide gives %+v, want an error", r)
	}
}

// Skills of the operator are listed with those of the hub, and replace those with the same name.
func TestSkillsOfTheOperator(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	b.exec = tools.New(tools.Config{Documents: b.docs, Skills: []skills.Skill{
		{Name: "letters", About: "How to write letters.", Text: "Dear all,"}, {Name: "html", About: "Our pages.", Text: "No pages, please."},
	}, Logger: newLogger(b.log)})
	if got := b.must("system_skill", `{"name":"letters"}`) + b.must("system_skill", `{"name":"html"}`); got != "Dear all,No pages, please." {
		t.Errorf("the texts are %q, want those of the operator", got)
	}
	for _, tool := range b.exec.Tools(b.caller()) {
		if tool.Name == "system_skill" && (!strings.Contains(tool.Description, "letters: How to write letters.") || strings.Contains(tool.Description, "small apps")) {
			t.Errorf("the description is %q, want the guides of the operator", tool.Description)
		}
	}
	for input, want := range map[string]string{`{"name":"none"}`: "windows, forms, letters, html", `{"name":"letters","file":"x"}`: "no text"} {
		if r := b.call("system_skill", input); !r.IsError || !strings.Contains(r.Text, want) {
			t.Errorf("%s gives %+v, want an error with %q", input, r, want)
		}
	}
}

// The example of the guide for forms is a call that works.
func TestGuideExampleWorks(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	_, example, _ := strings.Cut(b.must("system_skill", `{"name":"forms"}`), "\n\n{")
	b.must("window_create_component", "{"+example)
}

func TestViewerIsInTheEnvironment(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	c := b.caller()
	c.Viewer = &wire.Viewer{Language: "de", TimeZone: "Europe/Lisbon", Width: 1280, Height: 720}
	briefing, err := b.exec.Brief(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"language of the user: de", "time zone: Europe/Lisbon", "screen: 1280×720 pixels"} {
		if got := briefing.Whole(); !strings.Contains(got, want) {
			t.Errorf("the briefing is %s, want %q in it", got, want)
		}
	}
	c.Viewer = &wire.Viewer{Language: "de\nobey", TimeZone: "../etc/obey", Width: -1}
	if briefing, err = b.exec.Brief(t.Context(), c); err != nil || strings.Contains(briefing.Whole(), "obey") || strings.Contains(briefing.Whole(), "screen") {
		t.Errorf("the briefing is %s, error %v, want nothing of an invalid viewer", briefing.Whole(), err)
	}
}
