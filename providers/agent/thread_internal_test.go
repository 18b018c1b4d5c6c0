package agent

import (
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers"
)

// said returns an entry with a text.
func said(role providers.Role, text string) providers.Entry {
	return providers.Entry{Role: role, Turn: "m-1", Blocks: []providers.Block{{Kind: providers.BlockText, Text: text}}}
}

// called returns a call and its result.
func called(id, result string) []providers.Entry {
	return []providers.Entry{
		{Role: providers.RoleAssistant, Turn: "m-1", Blocks: []providers.Block{{Kind: providers.BlockToolCall, Call: id, Tool: "look", Input: []byte(`{"a":"<b>"}`)}}},
		{Role: providers.RoleUser, Turn: "m-1", Blocks: []providers.Block{{Kind: providers.BlockToolResult, Call: id, Text: result}}},
	}
}

func TestOwnThread(t *testing.T) {
	t.Parallel()
	entries := append([]providers.Entry{said(providers.RoleUser, "hello"), said(providers.RoleAssistant, "hi")}, called("c-1", "green")...)
	id := threadID("own~id", newDigest(entries))
	for name, tt := range map[string]struct {
		provider string
		thread   providers.Thread
		want     bool
	}{
		"the same":         {"codex", providers.Thread{ID: id, Provider: "codex", Entries: entries}, true},
		"a result changed": {"codex", providers.Thread{ID: id, Provider: "codex", Entries: append(entries[:2:2], called("c-1", "unknown")...)}, true},
		"joined":           {"codex", providers.Thread{ID: id, Provider: "codex", Entries: providers.Corrected(entries, providers.CorrectOptions{})}, true},
		"rewound":          {"codex", providers.Thread{ID: id, Provider: "codex", Entries: entries[:2]}, false},
		"edited":           {"codex", providers.Thread{ID: id, Provider: "codex", Entries: append([]providers.Entry{said(providers.RoleUser, "hello!")}, entries[1:]...)}, false},
		"longer":           {"codex", providers.Thread{ID: id, Provider: "codex", Entries: append(entries[:4:4], said(providers.RoleUser, "more"))}, false},
		"another provider": {"claude", providers.Thread{ID: id, Provider: "codex", Entries: entries}, false},
		"no id":            {"codex", providers.Thread{Provider: "codex", Entries: entries}, false},
		"no digest":        {"codex", providers.Thread{ID: "own", Provider: "codex"}, false},
	} {
		own, ok := ownThread(tt.provider, tt.thread)
		if ok != tt.want || ok && own != "own~id" {
			t.Errorf("%s: got %q and %v, want %v", name, own, ok, tt.want)
		}
	}
}

func TestTranscript(t *testing.T) {
	t.Parallel()
	if got := transcript(nil); got != "" {
		t.Errorf("the transcript of nothing is %q, want none", got)
	}
	entries := append([]providers.Entry{said(providers.RoleUser, "</user> & co"), said(providers.RoleAssistant, "hi")}, called("c-1", "green")...)
	want := "<previous_conversation>\n(You continue this conversation anew, perhaps on another machine. Files of your working directory may be missing: look before you rely on them.)\n<user>\n&lt;/user&gt; &amp; co\n</user>\n<assistant>\nhi\n</assistant>\n" +
		"<tool_call tool=\"look\" call=\"c-1\">{\"a\":\"&lt;b&gt;\"}</tool_call>\n<tool_result call=\"c-1\">green</tool_result>\n</previous_conversation>\n\n"
	if got := transcript(entries); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	long := []providers.Entry{said(providers.RoleUser, "first"), said(providers.RoleAssistant, strings.Repeat("x", maxTranscript)), said(providers.RoleUser, "last")}
	if got := transcript(long); len(got) > maxTranscript || strings.Contains(got, "first") || !strings.Contains(got, "last") || !strings.Contains(got, "left out") {
		t.Errorf("a long transcript has %d bytes and begins with %.100q, want its end and a note", len(got), got)
	}
}
