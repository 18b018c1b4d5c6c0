package demo_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/providers"
)

// planPrompt returns the hub's prompt for a step of a plan, with its sections.
func planPrompt(kind string, parts ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[everdesk plan: %s]\n\nRules that speak of <request> and <task>.", kind)
	for i := 0; i < len(parts); i += 2 {
		fmt.Fprintf(&b, "\n\nA part:\n<%s>\n%s\n</%s>", parts[i], parts[i+1], parts[i])
	}
	return b.String() + "\n\nAnswer."
}

// answers runs a turn whose text must be JSON.
func (d *demoSession) answers(id, prompt string) (v map[string]any) {
	d.Helper()
	text := d.says(id, prompt)
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		d.Fatalf("%v: %s", err, text)
	}
	return v
}

// todosOf returns the ids of a plan's todos, each with its dependencies.
func todosOf(plan map[string]any) (ids []string) {
	todos, _ := plan["todos"].([]any)
	for _, t := range todos {
		todo, _ := t.(map[string]any)
		needs, _ := todo["depends_on"].([]any)
		ids = append(ids, fmt.Sprint(todo["id"], needs))
	}
	return ids
}

func TestRequestsAreUnderstood(t *testing.T) {
	t.Parallel()
	d := newDemoSession(t, nil)
	for n, tt := range []struct{ request, domain string }{
		{`Analyse what people say about "Acme"`, "analysis"},
		{"제품 출시를 준비해 줘", "project"},
		{"whatever", "general"},
		{"/plan {\"todos\":[{\"task\":\"analyse\"}]}", "general"},
	} {
		got := d.answers(fmt.Sprint("m", n), planPrompt("cognitive", "request", tt.request))
		intent, _ := got["intent"].(map[string]any)
		if intent["domain"] != tt.domain || got["clarification"] != nil {
			t.Errorf("%s: %v, want the domain %s and no clarification", tt.request, got, tt.domain)
		}
		if entities, _ := got["entities"].([]any); n == 0 && len(entities) != 1 {
			t.Errorf("the first answer is %v, want one entity", got)
		}
	}
	for request, required := range map[string]bool{"do it ?clarify": false, "do it ?clarify! now": true} {
		got := d.answers(request, planPrompt("cognitive", "request", request))
		asked, _ := got["clarification"].(map[string]any)
		if asked["required"] != required || asked["question"] == "" {
			t.Errorf("%s: %v, want a question that is required: %v", request, got, required)
		}
	}
}

func TestPlansAsTheyWereGiven(t *testing.T) {
	t.Parallel()
	d := newDemoSession(t, nil)
	const bad, good = `{"todos":[{"id":"a","task":"x","depends_on":["a"]}]}`, `{"todos":[{"id":"a","task":"/say 1\n/say 2"}]}`
	for n, tt := range []struct{ request, want string }{
		{"/plan " + good, good},
		{"Please:\n/plan {\n \"todos\": []}\nand so on", "{\n \"todos\": []}"},
		{"/plan {\"todos\": oh no\nmore\n/repair " + good, "{\"todos\": oh no\nmore"},
	} {
		if got := d.says(fmt.Sprint("m", n), planPrompt("planning", "request", tt.request)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.request, got, tt.want)
		}
	}
	request := "/plan " + bad + "\n/repair " + good
	if got := d.says("bad", planPrompt("planning", "request", request)); got != bad {
		t.Errorf("the first draft is %s, want %s", got, bad)
	}
	if got := d.says("good", planPrompt("planning", "request", request, "draft", bad, "faults", "- a cycle")); got != good {
		t.Errorf("the repaired draft is %s, want %s", got, good)
	}
	if got := d.says("same", planPrompt("planning", "request", "/plan "+bad, "draft", bad, "faults", "- a cycle")); got != bad {
		t.Errorf("without a repair the draft is %s, want %s", got, bad)
	}
}

func TestThePlanThatShowsPlans(t *testing.T) {
	t.Parallel()
	d := newDemoSession(t, nil)
	want := []string{
		"collect_numbers[]", "collect_voices[]", "analyse[collect_numbers collect_voices]", "compare[analyse]", "report[analyse compare]",
	}
	for _, request := range []string{"plan a party", "/plan", "파티를 계획해 줘"} {
		text := d.says(request, planPrompt("planning", "request", request))
		var plan map[string]any
		if err := json.Unmarshal([]byte(text), &plan); err != nil {
			t.Fatal(err)
		}
		if got := todosOf(plan); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", request, got, want)
		}
		d.has(text, `"requires_approval":true`, `"range":true`, `"input_type":"date"`)
		if strings.Contains(text, "처음 두 번은 실패") != strings.Contains(request, "파티") {
			t.Errorf("%s: the language is wrong: %s, want that of the request", request, text)
		}
	}
}

func TestPlansAreChanged(t *testing.T) {
	t.Parallel()
	d := newDemoSession(t, nil)
	const old = `{"todos":[{"id":"a","task":"x"},{"id":"b","task":"y","depends_on":["a"],"priority":3}]}`
	for instruction, want := range map[string]string{
		"add a cake":           `{"todos":[{"id":"a","task":"x"},{"depends_on":["a"],"id":"b","priority":3,"task":"y"},{"depends_on":[],"estimated_duration_sec":10,"id":"added_1","task":"a cake"}]}`,
		"remove a":             `{"todos":[{"depends_on":[],"id":"b","priority":3,"task":"y"}]}`,
		"a 삭제해 줘":              `{"todos":[{"depends_on":[],"id":"b","priority":3,"task":"y"}]}`,
		"remove b\n케이크 추가해 줘":  `{"todos":[{"id":"a","task":"x"},{"depends_on":[],"estimated_duration_sec":10,"id":"added_1","task":"케이크"}]}`,
		"be quick about it":    `{"todos":[{"id":"a","task":"x"},{"depends_on":["a"],"id":"b","priority":3,"task":"y"},{"depends_on":[],"estimated_duration_sec":10,"id":"added_1","task":"be quick about it"}]}`,
		`/plan {"todos":[{}]}`: `{"todos":[{}]}`,
	} {
		if got := d.says(instruction, planPrompt("planning", "request", "/plan "+old, "plan", old, "instruction", instruction)); got != want {
			t.Errorf("%s: %s, want %s", instruction, got, want)
		}
	}
}

// todoPrompt returns the prompt of a todo's agent.
func todoPrompt(id string, attempt int, task string, more ...string) string {
	head := fmt.Sprintf("]\n\nTodo: %s\nAttempt: %d of 4", id, attempt)
	return strings.Replace(planPrompt("todo", append([]string{"task", task, "request", "/say not this"}, more...)...), "]", head, 1)
}

var todoTools = []string{"plan_progress", "plan_input", "storage_write"}

func TestTodosObeyDirectives(t *testing.T) {
	t.Parallel()
	d := newDemoSession(t, nil, todoTools...)
	d.results["plan_input"] = providers.ToolResult{Text: `{"value":{"from":"2026-02-01","to":"2026-02-06"}}`}
	d.results["storage_write"] = providers.ToolResult{Text: "Wrote it."}
	got := d.says("m", todoPrompt("a", 1, "/progress 50% half of it; /input period daterange! When?\n"+
		"/input size choice Which? | s | l\n/call storage:write {\"path\":\"a.md\",\"content\":\"x\"}\n/say done"))
	if want := "period = {\"from\":\"2026-02-01\",\"to\":\"2026-02-06\"}\nsize = {\"from\":\"2026-02-01\",\"to\":\"2026-02-06\"}\n" +
		"Wrote it.\ndone\n{\"files\":[\"a.md\"]}"; got != want {
		t.Errorf("output is %q, want %q", got, want)
	}
	d.uses(
		`plan_progress {"percentage":50,"step":"half of it"}`,
		`plan_input {"field":"period","input_type":"date","question":"When?","range":true,"required":true}`,
		`plan_input {"field":"size","input_type":"choice","options":["s","l"],"question":"Which?"}`,
		`storage_write {"content":"x","path":"a.md"}`,
	)
	d.has(d.says("wrong", todoPrompt("a", 1, "/progress much; /input period")), "/progress", "/input")
}

func TestTodoFailureCount(t *testing.T) {
	t.Parallel()
	d := newDemoSession(t, nil, todoTools...)
	for attempt, want := range map[int]providers.Outcome{1: providers.Failed, 2: providers.Failed, 3: providers.Completed} {
		if e := d.turn(fmt.Sprint("m", attempt), todoPrompt("a", attempt, "/fail 2 overloaded: not yet\n/say well")); e.Outcome != want {
			t.Errorf("attempt %d is %s: %v, want %s", attempt, e.Outcome, e.Err, want)
		} else if f, _ := e.Err.(*providers.Failure); want == providers.Failed && (f == nil || f.Class != providers.Overloaded) { //nolint:errorlint // it is that, or the test fails
			t.Errorf("attempt %d: %v, want class %s", attempt, e.Err, providers.Overloaded)
		}
	}
	if got := d.said("m3"); got != "well" {
		t.Errorf(`output is %q, want "well"`, got)
	}
	if e := d.turn("always", todoPrompt("a", 9, "/fail never")); e.Outcome != providers.Failed {
		t.Errorf("it is %s, want %s", e.Outcome, providers.Failed)
	}
}

// The todos of the demonstration plan can be executed.
func TestTodosOfWords(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDemoSession(t, nil, todoTools...)
		const analyse = "Analyse. (In this demo the first two attempts fail, so that you see it.)"
		if e := d.turn("m1", todoPrompt("analyse", 2, analyse)); e.Outcome != providers.Failed {
			t.Errorf("the second attempt is %s, want %s", e.Outcome, providers.Failed)
		}
		d.has(d.says("m2", todoPrompt("analyse", 3, analyse)), "Analyse.")
		d.has(d.says("m3", todoPrompt("compare", 1, "Compare it.", "values", `period = {"from":"2026-02-01"}`)), "Compare it.", "2026-02-01")
		if len(d.calls) != 5 || d.calls[4].Name != "plan_progress" || time.Since(d.began) != 2500*time.Millisecond {
			t.Errorf("%v after %v, want 5 calls that end with plan_progress, after 2.5s", d.used(), time.Since(d.began))
		}
		if got := d.says("m4", todoPrompt("report", 1, "보고서를 써 줘")); got != `{"files":["report.md"],"summary":"보고서를 썼어요."}` {
			t.Errorf("the report is %s, want its file and summary in Korean", got)
		}
		if c := d.calls[len(d.calls)-1]; c.Name != "storage_write" || !strings.Contains(string(c.Input), "report.md") {
			t.Errorf("the last call is %s %s, want storage_write of report.md", c.Name, c.Input)
		}
	})
}

func TestAnswersOfPlans(t *testing.T) {
	t.Parallel()
	d := newDemoSession(t, nil)
	results := `<result todo="a" status="completed">
Collect it.
{"text":"found\nmore"}
</result>
<result todo="b" status="skipped">
Ask.
{"reason":"no"}
</result>
<result todo="c" status="completed">
Write.
{"summary":"I wrote it.","files":["report.md","x.csv"]}
</result>
<result todo="d" status="completed">
Write.
{"text":"ok\n{\"files\":[\"d.txt\"]}"}
</result>`
	got := d.says("m", planPrompt("response", "request", "x", "results", results))
	want := `{"attachments":[{"path":"report.md","title":"report.md","type":"report"},{"path":"x.csv","title":"x.csv","type":"file"},` +
		`{"path":"d.txt","title":"d.txt","type":"file"}],"next_actions":["Plan something else"],"summary":"3 of 4 todos are done.",` +
		`"text":"3 of 4 todos are done.\n\n- **a**: found\n- **b**: skipped\n- **c**: I wrote it.\n- **d**: ok"}`
	if got != want {
		t.Errorf("the answer is %s, want %s", got, want)
	}
}

// Delays and failures in a request apply to all planning steps.
func TestThinkingDuration(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDemoSession(t, nil)
		d.answers("m1", planPrompt("cognitive", "request", "/sleep 3s\n/say no"))
		if took := time.Since(d.began); took != 3*time.Second {
			t.Errorf("it took %v, want 3s", took)
		}
		if e := d.turn("m2", planPrompt("planning", "request", "/fail overloaded: later")); e.Outcome != providers.Failed {
			t.Errorf("it is %s, want %s", e.Outcome, providers.Failed)
		}
		d.has(d.says("m3", planPrompt("unknown")), "unknown")
		d.has(d.says("m4", "/plan {}"), "plan mode")
	})
}
