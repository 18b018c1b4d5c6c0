package attach

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/wire"
)

func TestParseTyped(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]typed{
		"":                       {},
		"  \t ":                  {},
		"hello":                  {"say", "hello"},
		"  hello  there ":        {"say", "hello  there"},
		"/say hi\n/sleep 1s":     {"say", "/say hi\n/sleep 1s"},
		"//etc":                  {"say", "//etc"},
		"::smile":                {"say", ":smile"},
		":quit":                  {"quit", ""},
		":yes":                   {"yes", ""},
		":no  d1 ":               {"no", "d1"},
		":answer two words":      {"answer", "two words"},
		":window w /say a\n/b":   {"window", "w /say a\n/b"},
		"a\x1b[31mred\x1b[0m":    {"say", "ared"},
		"bell\x07 del\x7f\u009b": {"say", "bell del"},
	} {
		if got, err := parseTyped(in); got != want || err != nil {
			t.Errorf("%q: %+v, %v; want %+v", in, got, err, want)
		}
	}
	for _, in := range []string{":dance", ":quit now", ":", ": quit2"} {
		if got, err := parseTyped(in); err == nil || got != (typed{}) {
			t.Errorf("parsing %q: got %+v, error %v, want an error only", in, got, err)
		}
	}
}

func TestReadLines(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		"":                      nil,
		"one\ntwo\n":            {"one", "two"},
		"one\\\ntwo\\\n\nfour":  {"one\ntwo\n", "four"},
		`C:\dir\\` + "\nnext\n": {`C:\dir\`, "next"},
		"it ends\\":             {"it ends\n"},
		"torn\\\nand no more":   {"torn\nand no more"},
	} {
		var got []string
		for line := range readLines(t.Context(), strings.NewReader(in)) {
			got = append(got, line)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q is read as %q, want %q", in, got, want)
		}
	}
	// A message that never ends is split at maxLine, which is more than a hub accepts.
	n := 0
	for line := range readLines(t.Context(), strings.NewReader(strings.Repeat(strings.Repeat("x", 1000)+"\\\n", 3000))) {
		if n++; len(line) > 2*maxLine {
			t.Errorf("length of a line: got %d bytes, want at most %d", len(line), 2*maxLine)
		}
	}
	if n < 2 {
		t.Errorf("lines: got %d, want at least 2", n)
	}
}

func TestFirstWord(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][2]string{
		"":               {"", ""},
		" a  b c ":       {"a", "b c"},
		`"a b" c`:        {"a b", "c"},
		`"torn c`:        {`"torn`, "c"},
		"w\n/say hi\n/x": {"w", "/say hi\n/x"},
	} {
		if word, rest := firstWord(in); [2]string{word, rest} != want {
			t.Errorf("first word of %q: got %q, rest %q, want %q", in, word, rest, want)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	self := func(s string) string { return s }
	for name, tt := range map[string]struct {
		items       []string
		given, want string
		err         string
	}{
		"the only one":   {[]string{"a"}, "", "a", ""},
		"by id":          {[]string{"a", "ba"}, "a", "a", ""},
		"by its end":     {[]string{"prompt-abcdefgh", "prompt-ijklmnop"}, "#mnop", "prompt-ijklmnop", ""},
		"which":          {[]string{"prompt-abcdefgh", "b"}, "", "", "which thing? There are #efgh, #b"},
		"no such":        {[]string{"b"}, "#x", "", "which thing? There are #b"},
		"more than one":  {[]string{"xa", "ya"}, "a", "", "which thing? There are #xa, #ya"},
		"there are none": {nil, "a", "", "there is no thing"},
	} {
		if got, err := find(tt.items, self, tt.given, "thing"); got != tt.want || errorText(err) != tt.err {
			t.Errorf("%s: got %q, error %v, want %q, error %q", name, got, err, tt.want, tt.err)
		}
	}
}

func TestAgentLabel(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		role    wire.AgentID
		monitor wire.MonitorID
		want    string
	}{
		{"main-monitor-0-PGVUUF5EIQ2TP6XFMH2LVUKN72", "monitor-0", "main"},
		{"main-monitor-1-m1", "monitor-1", "main@monitor-1"},
		{"ephemeral-monitor-0-PGVUUF5EIQ2TP6XFMH2LVUKN72", "monitor-0", "ephemeral-KN72"},
		{"ephemeral-monitor-2-PGVUUF5EIQ2TP6XFMH2LVUKN72", "monitor-2", "ephemeral-KN72@monitor-2"},
		{"task-PGVUUF5EIQ2TP6XFMH2LVUKN72-3", "monitor-0", "task-KN72-3"},
		{"task-m1-3", "", "task-m1-3"},
		{"window-notes", "monitor-0", "window-notes"},
		{"window-notes/save", "monitor-1", "window-notes/save@monitor-1"},
		{"window-\x1b[2J" + wire.AgentID(strings.Repeat("x", 90)), "", "window-" + strings.Repeat("x", 24) + "…"},
		{"main", "", "main"},
		{"", "", "agent"},
		{"task-", "", "task-"},
	} {
		if got := agentLabel(tt.role, tt.monitor); got != tt.want {
			t.Errorf("%s on %s is called %q, want %q", tt.role, tt.monitor, got, tt.want)
		}
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	dialog := question{id: "dialog", dialog: &wire.ApprovalRequest{DialogID: "dialog", MonitorID: "monitor-1"}}
	row := question{id: "1700", row: &wire.UIRow{TS: 1700, MonitorID: "monitor-2"}}
	prompt := question{id: "prompt", prompt: &wire.OpenPrompt{
		Prompt: wire.Prompt{ID: "prompt", Options: []wire.PromptOption{{Value: "y", Label: "Yes"}}}, MonitorID: "monitor-3",
	}}
	for name, tt := range map[string]struct {
		open []question
		rest string
		yes  bool
		want wire.ClientPayload
		err  string
	}{
		"yes":            {[]question{dialog}, "", true, wire.DialogFeedback{DialogID: "dialog", Confirmed: true, MonitorID: "monitor-1"}, ""},
		"always":         {[]question{dialog}, "always", true, wire.DialogFeedback{DialogID: "dialog", Confirmed: true, MonitorID: "monitor-1", RememberChoice: wire.RememberAlways}, ""},
		"never":          {[]question{dialog, row}, "#alog always", false, wire.DialogFeedback{DialogID: "dialog", MonitorID: "monitor-1", RememberChoice: wire.RememberDenyAlways}, ""},
		"go on":          {[]question{row}, "", true, wire.AskResponse{TS: 1700, Response: wire.AnswerYes, MonitorID: "monitor-2"}, ""},
		"do not go on":   {[]question{row}, "1700", false, wire.AskResponse{TS: 1700, Response: wire.AnswerNo, MonitorID: "monitor-2"}, ""},
		"choice":         {[]question{prompt}, "", true, wire.UserPromptResponse{PromptID: "prompt", SelectedValues: []string{"y"}, MonitorID: "monitor-3"}, ""},
		"dismissed":      {[]question{prompt}, "", false, wire.UserPromptResponse{PromptID: "prompt", Dismissed: true, MonitorID: "monitor-3"}, ""},
		"none":           {nil, "", true, nil, "there is no open question"},
		"which":          {[]question{dialog, row}, "", true, nil, "which open question? There are #dialog, #1700"},
		"row for always": {[]question{row}, "always", true, nil, "that cannot be answered for always"},
		"words":          {[]question{row}, "1700 of course", true, nil, `want always or nothing after the id, got "of course"; words go with :answer`},
	} {
		got, err := decide(tt.open, tt.rest, tt.yes)
		if diff := cmp.Diff(tt.want, got); diff != "" || errorText(err) != tt.err {
			t.Errorf("%s: got error %v, want %q; decision (-want +got):\n%s", name, err, tt.err, diff)
		}
	}
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	choices := []wire.PromptOption{{Value: "y", Label: "Yes"}, {Value: "n", Label: "No"}, {Value: "a, b", Label: "Both"}}
	choice := question{id: "choice", prompt: &wire.OpenPrompt{Prompt: wire.Prompt{ID: "choice", Options: choices}}}
	many := question{id: "many", prompt: &wire.OpenPrompt{Prompt: wire.Prompt{ID: "many", Options: choices, MultiSelect: true, InputField: &wire.PromptInput{}}}}
	row := question{id: "1700", row: &wire.UIRow{TS: 1700}}
	dialog := question{id: "d", dialog: &wire.ApprovalRequest{DialogID: "d"}}
	for name, tt := range map[string]struct {
		open []question
		text string
		want wire.ClientPayload
		err  string
	}{
		"value":      {[]question{choice}, "y", wire.UserPromptResponse{PromptID: "choice", SelectedValues: []string{"y"}}, ""},
		"label":      {[]question{choice}, "No", wire.UserPromptResponse{PromptID: "choice", SelectedValues: []string{"n"}}, ""},
		"with comma": {[]question{choice}, "a, b", wire.UserPromptResponse{PromptID: "choice", SelectedValues: []string{"a, b"}}, ""},
		"many":       {[]question{many}, "y, No", wire.UserPromptResponse{PromptID: "many", SelectedValues: []string{"y", "n"}}, ""},
		"text":       {[]question{many}, "y, perhaps", wire.UserPromptResponse{PromptID: "many", Text: "y, perhaps"}, ""},
		"by id":      {[]question{choice, many}, "#many why not", wire.UserPromptResponse{PromptID: "many", Text: "why not"}, ""},
		"hash":       {[]question{many}, "#1 is best", wire.UserPromptResponse{PromptID: "many", Text: "#1 is best"}, ""},
		"row":        {[]question{row}, "go on, but slowly", wire.AskResponse{TS: 1700, Response: wire.AnswerMessage, Text: "go on, but slowly"}, ""},
		"one only":   {[]question{choice}, "y,n", nil, "only one choice is possible"},
		"no such":    {[]question{choice}, "perhaps", nil, `"perhaps" is not one of the choices`},
		"which":      {[]question{choice, many}, "y", nil, "which open question? There are #choice, #many"},
		"unknown":    {[]question{choice, many}, "#x y", nil, "which open question? There are #choice, #many"},
		"none":       {nil, "y", nil, "there is no open question"},
		"empty":      {[]question{choice}, "", nil, "want an answer, as in :answer perhaps"},
		"yes or no":  {[]question{dialog}, "y", nil, "that question takes :yes or :no"},
	} {
		got, err := answer(tt.open, tt.text)
		if diff := cmp.Diff(tt.want, got); diff != "" || errorText(err) != tt.err {
			t.Errorf("%s: got error %v, want %q; answer (-want +got):\n%s", name, err, tt.err, diff)
		}
	}
}

func TestEmitted(t *testing.T) {
	t.Parallel()
	c := &console{monitor: "monitor-1"}
	want := wire.Emit{MonitorID: "monitor-1", Actions: []wire.Action{wire.RefreshApps{}}}
	for _, text := range []string{
		`{"type":"desktop.refreshApps"}`, `[{"type":"desktop.refreshApps"}]`,
		`{"actions":[{"type":"desktop.refreshApps"}],"monitorId":"monitor-1"}`,
	} {
		got, err := c.emit(text)
		if diff := cmp.Diff(wire.ClientPayload(want), got); diff != "" || err != nil {
			t.Errorf("%s: got error %v, want none; message (-want +got):\n%s", text, err, diff)
		}
	}
	for _, text := range []string{"", "x", "[]", `{"type":"dance"}`, `{}}`, `{"actions":[]},"type":"RESET"`} {
		if got, err := c.emit(text); err == nil {
			t.Errorf("%s: got %+v, want an error", text, got)
		}
	}
}

// The row of a dialog or a prompt is not displayed as a second question.
func TestRowsOfDialogsAreNotAskedTwice(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"The turn was cut off. Go on?":    true,
		`{"tool":"x"}`:                    true,
		`{"tool":"x","dialogId":"d"}`:     false,
		`{"question":"?","promptId":"p"}`: false,
	} {
		if got := asks(wire.UIRow{Type: wire.RowAsk, Ask: wire.AskTool, Text: text}); got != want {
			t.Errorf("does the row %q ask: got %v, want %v", text, got, want)
		}
	}
}
