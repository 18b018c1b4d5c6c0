package tools_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// The user sees the whole payload of a hook, or the hook is refused.
func TestHooksAreShownWhole(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	b.desktop.confirm = yes("")
	long := func(n int, end string) string {
		return `{"section":"hooks","event":"launch","action":{"type":"interaction","payload":"` + strings.Repeat("very nice ", n) + end + `"}}`
	}
	b.must("system_set_config", long(200, `the\u202eend\n`))
	if q := b.desktop.confirms[0]; !strings.HasSuffix(q.Message, `very nice the\u{202e}end\n"`) {
		t.Errorf("shown %q, want the whole text with its hidden characters escaped", q.Message)
	}
	if r := b.call("system_set_config", long(1000, "")); !r.IsError || !strings.Contains(r.Text, "action.payload") || len(b.desktop.confirms) != 1 {
		t.Errorf("a text that is too long gives %+v, want an error about action.payload and no question", r)
	}
}

// An answer applies to one question: another question of the same call has another id, a
// repeated one has the same.
func TestQuestionsAreNamedByWhatTheyAsk(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	b.desktop.confirm = no("")
	b.desktop.ask = func(wire.Prompt) (wire.UserPromptResponse, error) {
		return wire.UserPromptResponse{Dismissed: true}, nil
	}
	ask := func(tool, input string) {
		b.exec.Call(t.Context(), b.caller(), providers.ToolCall{ID: "call_0", Name: tool, Input: json.RawMessage(input)})
	}
	ask("system_set_config", launchHook)
	ask("system_set_config", strings.Replace(launchHook, `{"section":"hooks",`, `{ "section" : "hooks", `, 1))
	ask("system_set_config", strings.Replace(launchHook, "news", "n\u200bews", 1))
	ask("user_ask", `{"title":"t","message":"m","options":["a","b"]}`)
	ask("user_ask", `{"title":"t","message":"m","options":["a","c"]}`)
	q, p := b.desktop.confirms, b.desktop.prompts
	if q[0].ID != q[1].ID || q[0].ID == q[2].ID || p[0].ID == p[1].ID || !strings.HasPrefix(string(p[0].ID), tools.QuestionPrefix) {
		t.Errorf("asked %+v and %+v, want the same id only for the same question, with the prefix %q", q, p, tools.QuestionPrefix)
	}
}

// Turns of guests cannot access the owner's data beyond the desktop.
func TestGuestsCannotUseOwnersData(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	b.must("system_memorize", `{"content":"The door code is 4711"}`)
	guest := b.caller()
	guest.Guest = true
	for tool, input := range map[string]string{
		"system_memorize": `{"content":"x"}`, "system_list_memories": `{}`, "system_forget": `{"id":"mem-1"}`,
		"system_get_config": `{}`, "system_set_config": launchHook, "system_remove_config": `{"hookId":"hook-1"}`,
	} {
		if r := b.callAs(guest, tool, input); !r.IsError || !strings.Contains(r.Text, "owner") {
			t.Errorf("%s of a guest gives %+v, want an error that names the owner", tool, r)
		}
	}
	b.mustAs(guest, "window_list", `{}`)
	if got, err := b.exec.Brief(t.Context(), guest); err != nil || strings.Contains(got.Whole(), "4711") {
		t.Errorf("system prompt of a guest's agent is %v, error %v, want it without the owner's memories", got, err)
	}
	if got := b.must("system_list_memories", `{}`); !strings.Contains(got, "4711") || strings.Contains(got, `"x"`) {
		t.Errorf("the memories are %s, want that of the owner only", got)
	}
}

// A toast shows what is remembered about a user.
func TestMemoryChangesAreShown(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	b.must("system_memorize", `{"content":"likes tea"}`)
	b.must("system_memorize", `{"content":"likes tea"}`) // already remembered
	if len(b.desktop.submitted) != 1 {
		t.Fatalf("submitted %+v, want one toast", b.desktop.submitted)
	}
	e, _ := b.desktop.submitted[0].Data.(wire.Emit)
	if toast, ok := e.Actions[0].(wire.ToastShow); !ok || !strings.Contains(toast.Message, "likes tea") || e.MonitorID != "monitor-0" {
		t.Errorf("submitted %+v, want a toast with the memory on monitor-0", e)
	}
}

// Hooks run only for calls that the session accepted.
func TestHooksWaitForTheSession(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	b.put("hooks", `{"hooks":[{"id":"hook-1","event":"tool_use","enabled":true,"action":{"type":"os_action","payload":{"type":"toast.show","id":"h","message":"m"}}}]}`)
	b.call("window_close", `{"windowId":"none"}`)
	b.call("window_create_component", `{"windowId":"w","title":"t","components":[]}`)
	if len(b.desktop.submitted) != 0 {
		t.Errorf("calls that did nothing fired %+v, want nothing", b.desktop.submitted)
	}
	b.must("window_list", `{}`)
	b.must("system_list_memories", `{}`)
	if len(b.desktop.submitted) != 2 {
		t.Errorf("two calls fired %+v, want two hooks", b.desktop.submitted)
	}
	b.desktop.lost = errors.New("lost")
	b.call("window_list", `{}`)
	b.call("system_list_memories", `{}`)
	if len(b.desktop.submitted) != 2 {
		t.Errorf("after the loss of the session %+v are fired, want the two from before", b.desktop.submitted)
	}
}
