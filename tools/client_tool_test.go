package tools_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

func TestToolsOfTheSender(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	answer := wire.UserPromptResponse{Text: "green"}
	b.desktop.ask = func(wire.Prompt) (wire.UserPromptResponse, error) { return answer, nil }
	c := b.caller()
	without := b.exec.Revision(c)
	c.ClientTools = []wire.ClientTool{{Name: "pick", Description: "Picks.", Parameters: json.RawMessage(`{"type":"object","required":["of"]}`)}, {Name: "beep"}}
	if got := b.exec.Revision(c); got == without {
		t.Errorf("the revision is %q with and without tools of the sender, want another one", got)
	}
	small := c
	small.ContextWindow = 8000
	for name, list := range map[string][]providers.Tool{
		"tools": b.exec.Tools(c), "all tools": b.exec.AllTools(c), "tools of a small model": b.exec.Tools(small), "all tools of a small model": b.exec.AllTools(small),
	} {
		last := list[len(list)-2:]
		if last[0].Name != "client_pick" || string(last[0].Schema) != `{"type":"object","required":["of"]}` || last[1].Name != "client_beep" || string(last[1].Schema) != `{"type":"object"}` {
			t.Errorf("the last %s are %+v, want those of the sender with their schemas", name, last)
		}
	}
	for _, name := range []string{"client_pick", "client:pick"} {
		if r := b.callAs(c, name, `{"of":"the door"}`); r.IsError || r.Text != "green" {
			t.Errorf("%s gives %+v, want the answer of the program", name, r)
		}
	}
	asked := b.desktop.prompts[0]
	want := &wire.ClientToolCall{Name: "pick", ToolUseID: asked.ClientTool.ToolUseID, Input: json.RawMessage(`{"of":"the door"}`)}
	if diff := cmp.Diff(want, asked.ClientTool); diff != "" || asked.ClientTool.ToolUseID == "" || asked.InputField == nil {
		t.Errorf("the prompt %+v differs (-want +got):\n%s", asked, diff)
	}
	answer = wire.UserPromptResponse{Dismissed: true}
	if r := b.callAs(c, "client_beep", `{}`); !strings.Contains(r.Text, "did not answer") {
		t.Errorf("a dismissed call gives %+v, want that the program did not answer", r)
	}
	n := len(b.desktop.prompts)
	for input, says := range map[string]string{`[]`: "not an object", `{"x":"` + strings.Repeat("x", 40_000) + `"}`: "at most"} {
		if r := b.callAs(c, "client_pick", input); !r.IsError || !strings.Contains(r.Text, says) {
			t.Errorf("input %.20s gives %+v, want an error with %q", input, r, says)
		}
	}
	if r := b.call("client_pick", `{}`); !r.IsError || !strings.Contains(r.Text, "There is no tool") {
		t.Errorf("without the sender's tools client_pick gives %+v, want that there is no such tool", r)
	}
	if len(b.desktop.prompts) != n {
		t.Errorf("%d prompts after refused calls, want %d", len(b.desktop.prompts), n)
	}
}

func TestAgentThatReadOutsideDataAsksBeforeItCallsTheSender(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	b.desktop.outside = []string{"example.org"}
	asked := b.answers(false)
	c := b.caller()
	c.ClientTools = []wire.ClientTool{{Name: "pick"}}
	if r := b.callAs(c, "client_pick", `{}`); !r.IsError || len(*asked) != 1 || len(b.desktop.prompts) != 0 {
		t.Errorf("the call gives %+v after %d questions and %d prompts, want a refusal after one question", r, len(*asked), len(b.desktop.prompts))
	}
}
