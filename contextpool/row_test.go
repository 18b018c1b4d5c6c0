package contextpool_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

func (r *rig) thought(run agentpool.Run, text string) {
	r.handleReport(agentpool.Output{RunRef: agentpool.RunRef{Run: run.ID}, Thinking: text})
}

// shown summarises the current rows.
func (r *rig) shown() []string {
	var out []string
	for _, row := range r.desktop.Snapshot().RecentMessages {
		out = append(out, string(row.Say)+string(row.Ask)+": "+row.Text)
	}
	return out
}

// Text before tool calls has its row before theirs, and is not repeated after a restart. The
// tape has the text in one piece.
func TestTextHasRowsBetweenTools(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	r.said(run, "First. ")
	r.remember(run, said("m1", "prompt"), toolCall("m1", "First. ", "c1"))
	r.act(run, "c1", window("w1"))
	r.said(run, "lost ")
	r.crash()
	run = r.run("main-monitor-0-m1")
	r.began(run)
	r.remember(run, toolResult("m1", "c1"))
	r.said(run, "😀 Then. ")
	r.remember(run, toolCall("m1", "😀 Then. ", "c2"))
	r.act(run, "c2", window("w2"))
	r.remember(run, toolResult("m1", "c2"))
	r.said(run, "\n")
	r.remember(run, toolCall("m1", "\n", "c3")) // only whitespace
	r.act(run, "c3", window("w3"))
	r.crash()
	run = r.run("main-monitor-0-m1")
	r.began(run)
	r.said(run, "Last.")
	r.ended(run)
	var said []string
	for _, row := range r.desktop.Snapshot().RecentMessages[1:] {
		if row.Say == wire.SayText {
			said = append(said, row.Text)
		} else {
			said = append(said, string(row.Say))
		}
	}
	wantEqual(t, said, []string{"First. ", "tool", "😀 Then. ", "tool", "tool", "\nLast.", "api_req_finished"})
}

// A turn with many tool calls has a bounded number of text rows.
func TestTextOfManyParts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	for i := range 80 {
		r.said(run, "x")
		r.remember(run, toolCall("m1", "x", fmt.Sprintf("c%d", i)))
		r.remember(run, toolResult("m1", fmt.Sprintf("c%d", i)))
	}
	r.ended(run)
	parts, whole := 0, ""
	for _, row := range r.desktop.Snapshot().RecentMessages {
		if row.Say == wire.SayText {
			parts, whole = parts+1, whole+row.Text
		}
	}
	if parts != 61 || whole != strings.Repeat("x", 80) {
		t.Errorf("%d rows say %q, want 61 rows with 80 x", parts, whole)
	}
}

// Thinking before text, between tools and at the end has rows of its own.
func TestThoughtsHaveRows(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	r.thought(run, "hm")
	r.thought(run, ", yes")
	r.said(run, "Well. ")
	r.thought(run, "and")
	r.remember(run, said("m1", "prompt"), toolCall("m1", "Well. ", "c1"))
	r.thought(run, "more")
	r.act(run, "c1", window("w1"))
	r.thought(run, " at last")
	r.ended(run)
	wantEqual(t, r.shown(), []string{
		"user_feedback: text of m1", "reasoning: hm, yesand", "text: Well. ", "reasoning: more at last",
		`tool: {"id":"c1","tool":"window:create","status":"complete","result":"done"}`,
		`api_req_finished: {"outcome":"completed","durationMs":10,"taskId":"t1","provider":"demo"}`,
	})
}

// A restarted turn thinks the same again, in one row.
func TestThoughtsAfterACut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	r.thought(run, "first")
	r.remember(run, said("m1", "prompt"))
	r.thought(run, "second")
	r.said(run, "Well")
	r.crash()
	again := r.run("main-monitor-0-m1")
	r.began(again)
	r.thought(again, "second, again")
	r.said(again, "Well. ")
	r.crash() // now the thinking is only in the desktop state
	r.step(func() { r.pool.Reset() })
	rows := r.shown()
	wantEqual(t, rows[1:3], []string{"reasoning: first", "reasoning: second, again"})
	wantEqual(t, strings.Count(strings.Join(rows, "\n"), "reasoning"), 2)
}

// Unpublished thinking of a turn that is cut off and ends is not lost.
func TestThoughtsOfATurnThatIsGivenUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	r.remember(run, said("m1", "prompt"), toolCall("m1", "", "c1"))
	r.thought(run, "not shown 😀")
	r.step(func() {
		use := callOf("c1", "http:post")
		use.Input = json.RawMessage(`{"url":"x"}`)
		if err := r.pool.Tools.BeginToolCall(callerOf(run), use); err != nil {
			t.Fatal(err)
		}
	})
	r.thought(run, ", nor this")
	r.crash()
	wantEqual(t, r.shown(), []string{
		"user_feedback: text of m1", "reasoning: not shown 😀, nor this",
		`tool: {"id":"c1","tool":"http:post","status":"error","input":{"url":"x"},"result":"tool http:post may or may not have run"}`,
		`api_req_finished: {"outcome":"interrupted","durationMs":6,"reason":"tool http:post may or may not have run","taskId":"t1","provider":"demo"}`,
		"resume_task: The turn was cut off: tool http:post may or may not have run. Go on?",
	})
}

// Rows are bounded in length and number, and readable.
func TestRowsAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	long := strings.Repeat("é\xff\x00", 20_000)
	r.thought(run, long)
	for i := range 70 {
		id := fmt.Sprint("c", i)
		input, err := json.Marshal(map[string]string{"text": long[:min(len(long), i*100)]})
		if err != nil {
			t.Fatal(err)
		}
		use := tools.Call{Tool: "http:post", ToolCall: providers.ToolCall{ID: id, Input: input}}
		r.step(func() {
			if err := r.pool.Tools.BeginToolCall(callerOf(run), use); err != nil {
				t.Fatal(err)
			}
		})
		r.step(func() {
			if err := r.pool.Tools.EndToolCall(callerOf(run), use, providers.ToolResult{Text: long[:20_000]}); err != nil {
				t.Fatal(err)
			}
		})
	}
	r.ended(run)
	calls := 0
	for _, row := range r.desktop.Snapshot().RecentMessages {
		switch {
		case !utf8.ValidString(row.Text) || strings.Contains(row.Text, "\x00"):
			t.Errorf("a row is %q, want UTF-8 without U+0000", row.Text)
		case row.Say == wire.SayReasoning:
			if n := len(row.Text); n > 16<<10 || n < 15<<10 || !strings.HasSuffix(row.Text, " […]") {
				t.Errorf("a row of thinking has %d bytes, want 15 to 16 KiB that end with […]", n)
			}
		case row.Say == wire.SayTool:
			calls++
			var call struct{ Input, Result any }
			if err := json.Unmarshal([]byte(row.Text), &call); err != nil || call.Input == nil || call.Result == nil || len(row.Text) > 5<<10 {
				t.Errorf("a row of a tool has %d bytes (%v), want at most 5 KiB of JSON with input and result: %s", len(row.Text), err, row.Text)
			}
		}
	}
	wantEqual(t, calls, 60)
}

// The row of a call of an MCP server's tool has the title that the server gives the tool.
func TestRowsHaveTheTitleOfATool(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	use := tools.Call{Tool: "mcp__maps__find_way", Title: "Find a way", ToolCall: providers.ToolCall{ID: "c1", Input: []byte(`{}`)}}
	r.step(func() {
		if err := r.pool.Tools.BeginToolCall(callerOf(run), use); err != nil {
			t.Fatal(err)
		}
	})
	r.step(func() {
		if err := r.pool.Tools.EndToolCall(callerOf(run), use, providers.ToolResult{Text: "ok"}); err != nil {
			t.Fatal(err)
		}
	})
	for _, row := range r.desktop.Snapshot().RecentMessages {
		if row.Say == wire.SayTool {
			var call struct{ Title string }
			if err := json.Unmarshal([]byte(row.Text), &call); err != nil || call.Title != "Find a way" {
				t.Errorf("the row of the call is %s (%v), want the title %q", row.Text, err, "Find a way")
			}
			return
		}
	}
	t.Error("the call has no row")
}

// A long field of an input does not hide the fields after it, neither in the row of an ended
// call nor in that of an open one.
func TestRowsHaveAllFieldsOfAnInput(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("줄\n\"", 5_000)
	for name, test := range map[string]struct {
		input map[string]any
		want  string // the fields as JSON, each text that is cut as "cut"
	}{
		"a text":         {map[string]any{"content": long, "path": "notes/a.md"}, `{"content":"cut","path":"notes/a.md"}`},
		"several":        {map[string]any{"a": long, "b": long, "z": 1.5}, `{"a":"cut","b":"cut","z":1.5}`},
		"below a field":  {map[string]any{"content": map[string]any{"content": long, "renderer": "text"}, "title": "T"}, `{"content":{"content":"cut","renderer":"text"},"title":"T"}`},
		"in a list":      {map[string]any{"list": []any{"x", long}, "path": "p"}, `{"list":["x","cut"],"path":"p"}`},
		"after a list":   {map[string]any{"list": make([]int, 5_000), "path": "p"}, `{"list":[0,"cut"],"path":"p"}`},
		"control":        {map[string]any{"a": strings.Repeat("\x01", 9_000), "path": "p"}, `{"a":"cut","path":"p"}`},
		"too many":       {map[string]any{strings.Repeat("name", 2_000): 1, "path": "p"}, `"cut"`},
		"nested deeply":  {map[string]any{"a": nested(9_000), "path": "p"}, `{"a":{"a":{"a":{"a":{"a":{"a":"cut"}}}}},"path":"p"}`},
		"short as it is": {map[string]any{"a": "x […]", "b": []any{1, nil}}, `{"a":"cut","b":[1,null]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			input, err := json.Marshal(test.input)
			if err != nil {
				t.Fatal(err)
			}
			r := newRig(t)
			run := r.direct("m1")
			ended, open := callOf("c1", "http:post"), callOf("c2", "http:post")
			ended.Input, open.Input = input, input
			r.step(func() {
				if err := errors.Join(r.pool.Tools.BeginToolCall(callerOf(run), ended), r.pool.Tools.BeginToolCall(callerOf(run), open)); err != nil {
					t.Fatal(err)
				}
			})
			r.step(func() {
				if err := r.pool.Tools.EndToolCall(callerOf(run), ended, providers.ToolResult{Text: "done"}); err != nil {
					t.Fatal(err)
				}
			})
			r.crash()
			calls := 0
			for _, row := range r.desktop.Snapshot().RecentMessages {
				if row.Say != wire.SayTool {
					continue
				}
				calls++
				var call struct{ Input json.RawMessage }
				if err := json.Unmarshal([]byte(row.Text), &call); err != nil {
					t.Fatalf("%q: %v", row.Text, err)
				}
				if got := shownInput(t, call.Input); got != test.want || len(call.Input) > 2<<10 || len(call.Input) < min(len(input), 1<<10) {
					t.Errorf("a row has the input %s in %d bytes, want %s in 1 to 2 KiB", got, len(call.Input), test.want)
				}
			}
			wantEqual(t, calls, 2)
		})
	}
}

// nested returns nested objects.
func nested(depth int) json.RawMessage {
	return json.RawMessage(strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth))
}

// shownInput returns an input with "cut" for each truncated text, and lists with equal items
// once.
func shownInput(t *testing.T, input json.RawMessage) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(input, &v); err != nil {
		t.Fatalf("%s: %v", input, err)
	}
	var short func(v any) any
	short = func(v any) any {
		switch v := v.(type) {
		case string:
			if strings.HasSuffix(v, " […]") {
				return "cut"
			}
		case []any:
			for i := range v {
				v[i] = short(v[i])
			}
			return slices.Compact(v)
		case map[string]any:
			for name := range v {
				v[name] = short(v[name])
			}
		}
		return v
	}
	out, err := json.Marshal(short(v))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Rows show which messages will not be answered, and why.
func TestRowsOfMessagesThatAreNotAnswered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runner.steers = false
	r.direct("m1")
	r.user("m2")
	r.user("m3")
	r.step(func() { r.pool.Messages.Withdraw("m2") })
	r.runner.has = nil
	r.user("m4")
	var got []string
	for _, row := range r.desktop.Snapshot().RecentMessages {
		if s := row.ProgressStatus; s != nil {
			got = append(got, fmt.Sprintf("%s %s %s: %s", row.MessageID, row.Text, s.Icon, s.Text))
		}
	}
	wantEqual(t, got, []string{
		"m2 text of m2 discard: taken out of the queue", `m4 text of m4 circle-slash: there is no provider "demo"`,
	})
}

func (r *rig) NextRowID() wire.RowID {
	last, _ := r.Desktop().LastRow()
	return last + 1
}

// rows summarises the rows.
func (r *rig) rows() []string {
	var out []string
	for _, e := range all[wire.MessageUpdated](r) {
		if e.Action == wire.RowCreated {
			out = append(out, string(e.Message.Say)+string(e.Message.Ask)+": "+e.Message.Text)
		}
	}
	return out
}
