package history_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/wire"
)

const anySize = 1 << 30

func saying(id wire.RowID, say wire.Say, text string) wire.UIRow {
	r := textRow(id, text)
	r.Say = say
	return r
}

// toolCall returns the row of a tool call.
func toolCall(id wire.RowID, use, tool string, status wire.ToolStatus, input, result string) wire.UIRow {
	fields := map[string]any{"tool": tool, "status": status}
	if use != "" {
		fields["id"] = use
	}
	if input != "" {
		fields["input"] = json.RawMessage(input)
	}
	if result != "" {
		fields["result"] = result
	}
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	r := saying(id, wire.SayTool, string(text))
	r.AgentID = "main-monitor-0"
	return r
}

func digestOf(rows ...wire.UIRow) []history.Note {
	notes, _ := history.Digest(rows, nil, anySize)
	return notes
}

// noteLines formats notes without the fields that all have.
func noteLines(tb testing.TB, notes []history.Note) string {
	tb.Helper()
	var out []string
	for _, n := range notes {
		text, err := json.Marshal(n)
		if err != nil {
			tb.Fatal(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(text, &fields); err != nil {
			tb.Fatal(err)
		}
		for _, name := range []string{"id", "timestamp", "monitorId", "agentId", "role"} {
			delete(fields, name)
		}
		text, err = json.Marshal(fields)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, string(n.Role)+string(text))
	}
	return strings.Join(out, "\n")
}

func TestDigestOfRows(t *testing.T) {
	t.Parallel()
	picture := saying(1, wire.SayUserFeedback, "look")
	picture.Images = []string{"data:image/png;base64,AAAA", "https://x/y.png"}
	asked := textRow(1, "which one?")
	asked.Type, asked.Say, asked.Ask = wire.RowAsk, "", wire.AskFollowup
	summed := saying(1, wire.SayCondenseContext, "")
	summed.ContextCondense = &wire.ContextCondense{Summary: "all of it"}
	for name, c := range map[string]struct {
		row  wire.UIRow
		want string
	}{
		"a user":             {saying(1, wire.SayUserFeedback, "안녕하세요"), `user{"content":"안녕하세요","type":"text"}`},
		"attachments":        {picture, `user{"content":"look","type":"text"}` + "\n" + `user{"content":"image/png, 26 characters","type":"file_attachment"}` + "\n" + `user{"content":"image, 15 characters","type":"file_attachment"}`},
		"an assistant":       {saying(1, wire.SayText, "hello"), `assistant{"content":"hello","type":"text"}`},
		"a question":         {asked, `assistant{"content":"which one?","type":"text"}`},
		"thoughts":           {saying(1, wire.SayReasoning, "hm"), ""},
		"an error":           {saying(1, wire.SayError, "lost"), `system{"content":"lost","type":"error"}`},
		"another error":      {saying(1, wire.SayCondenseContextError, "no"), `system{"content":"no","type":"error"}`},
		"a summary":          {summed, `system{"content":"all of it","type":"text"}`},
		"a result":           {saying(1, wire.SayAPIReqFinished, `{"outcome":"completed","durationMs":12500,"inputTokens":1000,"outputTokens":500}`), `system{"duration":12.5,"inputTokens":1000,"outputTokens":500,"type":"result"}`},
		"a turn that failed": {saying(1, wire.SayAPIReqFinished, `{"outcome":"failed","durationMs":10,"reason":"no key"}`), `system{"content":"no key","duration":0.01,"type":"error"}`},
		"one that was ended": {saying(1, wire.SayAPIReqFinished, `{"outcome":"interrupted","durationMs":0,"reason":"user"}`), `system{"content":"user","type":"aborted"}`},
		"an unreadable end":  {saying(1, wire.SayAPIReqFinished, `{"outcome":7}`), ""},
		"a request":          {saying(1, wire.SayAPIReqStarted, `{"tokensIn":1}`), ""},
		"a tool that runs":   {toolCall(1, "u1", "Read", wire.ToolRunning, `{"file_path":"/a","limit":5}`, ""), `assistant{"toolInput":{"file_path":"/a"},"toolName":"Read","toolUseId":"u1","type":"tool_start"}`},
		"a tool that ended":  {toolCall(1, "u1", "Read", wire.ToolComplete, `{"file_path":"/a"}`, "text"), `assistant{"output":"text","success":true,"toolInput":{"file_path":"/a"},"toolName":"Read","toolUseId":"u1","type":"tool_complete"}`},
		"a tool that failed": {toolCall(1, "", "Read", wire.ToolError, `null`, "no such file"), `assistant{"error":"no such file","success":false,"toolInput":{},"toolName":"Read","type":"tool_complete"}`},
		"not a tool of ours": {saying(1, wire.SayTool, `{"path":"x"}`), `assistant{"content":"{\"path\":\"x\"}","type":"text"}`},
		"nothing":            {saying(1, wire.SayText, ""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := noteLines(t, digestOf(c.row)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// A failed turn has a row with the error and one with its end.
func TestDigestSaysAnErrorOnce(t *testing.T) {
	t.Parallel()
	end := func(reason string) wire.UIRow {
		text, err := json.Marshal(map[string]any{"outcome": "failed", "durationMs": 2000, "reason": reason})
		if err != nil {
			t.Fatal(err)
		}
		return saying(2, wire.SayAPIReqFinished, string(text))
	}
	of := func(row wire.UIRow, agent wire.AgentID) wire.UIRow {
		row.AgentID = agent
		return row
	}
	for name, c := range map[string]struct {
		rows []wire.UIRow
		want string
	}{
		"the same":      {[]wire.UIRow{saying(1, wire.SayError, "no key"), end("no key")}, `system{"content":"no key","duration":2,"type":"error"}`},
		"its beginning": {[]wire.UIRow{saying(1, wire.SayError, "no key at all"), end("no key […]")}, `system{"content":"no key at all","duration":2,"type":"error"}`},
		"another": {
			[]wire.UIRow{saying(1, wire.SayError, "no key"), end("no money")},
			`system{"content":"no key","type":"error"}` + "\n" + `system{"content":"no money","duration":2,"type":"error"}`,
		},
		"of another agent": {
			[]wire.UIRow{of(saying(1, wire.SayError, "no key"), "a"), of(end("no key"), "b")},
			`system{"content":"no key","type":"error"}` + "\n" + `system{"content":"no key","duration":2,"type":"error"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := noteLines(t, digestOf(c.rows...)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestDigestOfToolInputs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 301)
	short := strings.Repeat("ä", 300) + "..."
	for name, c := range map[string]struct{ tool, input, want string }{
		"edit":                  {"Edit", `{"file_path":"/a","old_string":"x","new_string":"y"}`, `{"file_path":"/a"}`},
		"write":                 {"Write", `{"file_path":"/a","content":"x"}`, `{"file_path":"/a"}`},
		"notebook":              {"NotebookEdit", `{"notebook_path":"/n","new_source":"x"}`, `{"notebook_path":"/n"}`},
		"bash":                  {"Bash", `{"description":"list","command":"ls\nrm x","timeout":5}`, `{"command":"ls","description":"list"}`},
		"a long command":        {"Bash", `{"command":"` + long + `\nrm"}`, `{"command":"` + short + `"}`},
		"grep":                  {"Grep", `{"pattern":"x","path":"/a","glob":"*.go"}`, `{"path":"/a","pattern":"x"}`},
		"glob":                  {"Glob", `{"pattern":"*.go"}`, `{"pattern":"*.go"}`},
		"storage":               {"storage_write", `{"path":"notes/a.md","content":"x"}`, `{"path":"notes/a.md"}`},
		"others":                {"window_create", `{"title":"` + long + `","n":1.5,"yes":true,"no":null}`, `{"n":1.5,"no":null,"title":"` + short + `","yes":true}`},
		"nested":                {"other", `{"a":{"b":["` + long + `",["x",{"c":"` + long + `"}]]}}`, `{"a":{"b":["` + short + `",["x",{"c":"` + short + `"}]]}}`},
		"lists stay lists":      {"other", `{"todos":[{"x":1},{"x":2}]}`, `{"todos":[{"x":1},{"x":2}]}`},
		"no input":              {"other", ``, `{}`},
		"null":                  {"other", `null`, `{}`},
		"a text":                {"other", `"abc"`, `{"text":"abc"}`},
		"a list":                {"other", `[1,2]`, `{"value":[1,2]}`},
		"a number":              {"other", `3`, `{"value":3}`},
		"the beginning is kept": {"Write", `"{\"file_path\":\"/a\",\"content\":\"xyz"`, `{"file_path":"/a"}`},
		"of something else":     {"other", `"{\"a\":{\"b\":1},\"c\":[1,"`, `{"a":{"b":1},"c":"[1,..."}`},
		"a field that was cut":  {"other", `"{\"a\":1,\"b\": \"line\\nmore […]"`, `{"a":1,"b":"line\nmore..."}`},
		"within an escape":      {"other", `"{\"b\":\"x\\ud83d\\ude […]"`, `{"b":"x�..."}`},
		"before its value":      {"other", `"{\"a\":1,\"b\": […]"`, `{"a":1}`},
		"too deep":              {"other", strings.Repeat(`{"a":`, 9) + `1` + strings.Repeat(`}`, 9), strings.Repeat(`{"a":`, 7) + `"..."` + strings.Repeat(`}`, 7)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := digestOf(toolCall(1, "", c.tool, wire.ToolComplete, c.input, ""))
			if string(got[0].ToolInput) != c.want {
				t.Errorf("got  %s\nwant %s", got[0].ToolInput, c.want)
			}
		})
	}
}

func TestDigestOfToolResults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ result, want string }{
		"short":      {`"ok"`, "ok"},
		"as long":    {`"` + strings.Repeat("한", 500) + `"`, strings.Repeat("한", 500)},
		"longer":     {`"` + strings.Repeat("한", 1234) + `"`, strings.Repeat("한", 500) + "\n... (1234 chars total)"},
		"not a text": {`{"a": [1, 2]}`, `{"a":[1,2]}`},
		"nothing":    {`null`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, status := range []wire.ToolStatus{wire.ToolComplete, wire.ToolError} {
				n := digestOf(saying(1, wire.SayTool, fmt.Sprintf(`{"tool":"x","status":%q,"result":%s}`, status, c.result)))[0]
				if got := n.Output + n.Error; got != c.want || n.Output != "" && n.Error != "" || *n.Success != (status == wire.ToolComplete) {
					t.Errorf("the note of a tool that is %s is %+v, want %q as its output or error", status, n, c.want)
				}
			}
		})
	}
}

// Parallel calls of the same tool end in any order; each end belongs to its own start.
func TestDigestPairsCalls(t *testing.T) {
	t.Parallel()
	run := func(id wire.RowID, use, input string) wire.UIRow {
		return toolCall(id, use, "Read", wire.ToolRunning, fmt.Sprintf(`{"file_path":%q}`, input), "")
	}
	done := func(id wire.RowID, use, result string) wire.UIRow {
		return toolCall(id, use, "Read", wire.ToolComplete, "", result)
	}
	for name, c := range map[string]struct {
		rows []wire.UIRow
		want string
	}{
		"by their ids": {[]wire.UIRow{run(1, "a", "/a"), run(2, "b", "/b"), done(3, "b", "B"), done(4, "a", "A")}, "1 /a A, 2 /b B"},
		"in order":     {[]wire.UIRow{run(1, "", "/a"), run(2, "", "/b"), done(3, "", "A"), done(4, "", "B")}, "1 /a A, 2 /b B"},
		"one id":       {[]wire.UIRow{run(1, "", "/a"), run(2, "b", "/b"), done(3, "b", "B"), done(4, "c", "A")}, "1 /a A, 2 /b B"},
		"another id":   {[]wire.UIRow{run(1, "a", "/a"), done(2, "b", "B")}, "1 /a , 2  B"},
		"no beginning": {[]wire.UIRow{done(1, "a", "A"), done(2, "", "B")}, "1  A, 2  B"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, n := range digestOf(c.rows...) {
				var in struct {
					Path string `json:"file_path"`
				}
				if err := json.Unmarshal(n.ToolInput, &in); err != nil {
					t.Fatal(err)
				}
				got = append(got, n.ID+" "+in.Path+" "+n.Output)
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("got %s, want %s", strings.Join(got, ", "), c.want)
			}
		})
	}
}

// Running tools come last. Agents without a running tool have no note.
func TestDigestOfWhatRunsNow(t *testing.T) {
	t.Parallel()
	notes, _ := history.Digest([]wire.UIRow{textRow(1, "hello")}, []wire.AgentState{
		{Role: "main-monitor-0", Tool: "Bash", MonitorID: "monitor-0", StartedAt: 5}, {Role: "task-1"},
	}, anySize)
	if len(notes) != 2 || notes[1].Type != history.NoteToolStart || notes[1].ToolName != "Bash" || notes[1].AgentID != "main-monitor-0" || notes[1].ID == "" {
		t.Errorf("the notes are %+v, want two, the second of Bash of main-monitor-0 that has started", notes)
	}
}

// A digest keeps the newest rows within the limit, and at least one row of any size.
func TestDigestIsBounded(t *testing.T) {
	t.Parallel()
	var rows []wire.UIRow
	for id := wire.RowID(1); id <= 10; id++ {
		rows = append(rows, textRow(id, strings.Repeat("x", 1000)))
	}
	for most, want := range map[int]int{anySize: 10, 12_000: 10, 5_700: 5, 1_100: 1, 10: 1, 0: 1} {
		notes, skipped := history.Digest(rows, nil, most)
		if len(notes) != want || skipped != 10-want || notes[len(notes)-1].ID != "10" {
			t.Errorf("within %d bytes are %d notes, %d rows are skipped, want %d notes", most, len(notes), skipped, want)
		}
	}
	// The notes of one row stay together.
	rows[9].Images = []string{strings.Repeat("x", 100), "y"}
	notes, skipped := history.Digest(rows, nil, 300)
	if len(notes) != 3 || skipped != 9 {
		t.Errorf("%d notes, %d rows are skipped, want 3 and 9", len(notes), skipped)
	}
	if notes, skipped := history.Digest(nil, nil, 10); len(notes) != 0 || skipped != 0 {
		t.Errorf("of nothing there are %d notes, %d skipped, want none", len(notes), skipped)
	}
}

// For any rows the digest is valid UTF-8, has known types and is within the limit.
func FuzzDigest(f *testing.F) {
	f.Add("tool", `{"id":"u","tool":"Bash","status":"complete","input":{"command":"a\nb"},"result":"x","durationMs":5}`, "data:image/png;base64,xx", 400)
	f.Add("tool", `{"tool":"Write","status":"running","input":"{\"file_path\":\"/a\",\"content\":\"x"}`, "", 0)
	f.Add("api_req_finished", `{"outcome":"failed","durationMs":-1e308,"reason":"\ud800"}`, "x", 100)
	f.Add("user_feedback", "a\xffb\x00", "\xff", 10)
	f.Fuzz(func(t *testing.T, say, text, image string, most int) {
		row := saying(7, wire.Say(say), text)
		if image != "" {
			row.Images = []string{image}
		}
		notes, skipped := history.Digest([]wire.UIRow{row, row, textRow(8, text)}, nil, most)
		if skipped < 0 || skipped > 2 {
			t.Fatalf("%d rows are skipped, want 0 to 2", skipped)
		}
		for _, n := range notes {
			out, err := json.Marshal(n)
			if err != nil || !utf8.Valid(out) {
				t.Fatalf("note %+v: error %v, want JSON in UTF-8", n, err)
			}
			var input map[string]any
			if n.ToolName != "" && (json.Unmarshal(n.ToolInput, &input) != nil || len(n.Output)+len(n.Error) > 4*600) {
				t.Fatalf("a note of a tool is %+v, want an object as input and at most 2400 bytes of output", n)
			}
			if n.Content != "" && len(n.Content) > 3*len(text)+len(image)+300 {
				t.Fatalf("a text of %d bytes became one of %d, want at most %d", len(text), len(n.Content), 3*len(text)+len(image)+300)
			}
		}
	})
}
