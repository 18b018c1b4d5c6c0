package tools_test

import (
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// userText returns a conversation of one message.
func userText(text string) []providers.Entry {
	return []providers.Entry{{Role: providers.RoleUser, Blocks: []providers.Block{{Kind: providers.BlockText, Text: text}}}}
}

// The conversation contains each section once, until the section changes.
func TestPrefaceHasWhatIsNew(t *testing.T) {
	t.Parallel()
	b := tools.Briefing{System: "s", Sections: []tools.Section{{Tag: "environment", Text: "monitor: m"}, {Tag: "memory", Text: "[mem-1] tea"}}, Now: "noon"}
	first := b.Preface(nil)
	if want := "<environment>\nmonitor: m\n</environment>\n\n<memory>\n[mem-1] tea\n</memory>\n\n<now>noon</now>\n\n"; first != want {
		t.Errorf("the first preface is %q, want %q", first, want)
	}
	said := userText(first + "hello")
	if got, want := b.Preface(said), "<now>noon</now>\n\n"; got != want {
		t.Errorf("without a change the preface is %q, want %q", got, want)
	}
	b.Sections[1].Text = "[mem-2] coffee"
	second := b.Preface(said)
	if strings.Contains(second, "environment") || !strings.Contains(second, "coffee") {
		t.Errorf("the preface after a change of the memory is %q, want only the memory", second)
	}
	said = append(said, userText(second+"go on")...)
	b.Sections[1].Text = ""
	if got, want := b.Preface(said), "<memory>\n\n</memory>\n\n<now>noon</now>\n\n"; got != want {
		t.Errorf("the preface after all was forgotten is %q, want %q", got, want)
	}
	b.Sections[1].Text = "[mem-2] coffee"
	if got := b.Preface(said); strings.Contains(got, "coffee") {
		t.Errorf("the preface is %q, want it without what the conversation has", got)
	}
}

func TestGuestsDoNotReadTheMemory(t *testing.T) {
	t.Parallel()
	b := tools.Briefing{Sections: []tools.Section{{Tag: "environment", Text: "e"}, {Tag: "memory", Text: "[mem-1] secret"}}, Now: "noon"}
	said := userText(b.Preface(nil) + "hello")
	got := tools.WithoutMemory(said)
	if text := got[0].Blocks[0].Text; strings.Contains(text, "secret") || !strings.Contains(text, "<environment>") || !strings.HasSuffix(text, "hello") {
		t.Errorf("a guest's agent reads %q, want everything but the memory", text)
	}
	if !strings.Contains(said[0].Blocks[0].Text, "secret") {
		t.Error("the argument was changed, want it unchanged")
	}
}

// All agents of a session begin their requests with the same bytes.
func TestSystemPromptAndToolsAreShared(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	first, err := b.exec.Brief(t.Context(), b.caller())
	if err != nil {
		t.Fatal(err)
	}
	list := b.exec.AllTools(b.caller())
	for _, kind := range []wire.AgentKind{wire.AgentEphemeral, wire.AgentWindow, wire.AgentTask} {
		c := b.worker()
		c.Kind, c.Guest, c.Window = kind, true, "w"
		got, err := b.exec.Brief(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if got.System != first.System {
			t.Errorf("the system prompt of %s is %q, want that of all agents", kind, got.System)
		}
		for i, tool := range b.exec.AllTools(c) {
			if tool.Name != list[i].Name || string(tool.Schema) != string(list[i].Schema) || tool.Description != list[i].Description {
				t.Errorf("tool %d of %s is %+v, want %+v", i, kind, tool, list[i])
			}
		}
		if said := got.Preface(nil); kind == wire.AgentTask && !strings.Contains(said, "task_run") {
			t.Errorf("the preface of a task is %q, want it to name task_run, which it does not have", said)
		}
	}
}
