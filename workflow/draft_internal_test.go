package workflow

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

var someTools = []string{"collector", "writer"}

func TestReadDraft(t *testing.T) {
	t.Parallel()
	const plan = `{"todos":[{"id":"a","task":" Collect \u0000reviews ","tool":"collector","priority":10,"depends_on":[]},
		{"id":"b","task":"Write","depends_on":["a","a"],"max_retries":0,"requires_approval":true,"approval_reason":"costs","estimated_cost_usd":0.5,"estimated_duration_sec":30,
		 "inputs":[{"field":"days","question":"When?","input_type":"date","range":true,"default_value":{"to":"2026-02-07","from":"2026-02-06"}},
		  {"field":"size","question":"How large?","input_type":"choice","options":[{"value":"s","label":"small"},"l"],"required":true}]}]}`
	want := draft{Todos: []draftTodo{
		{ID: "a", Task: "Collect reviews", Tool: "collector", Priority: 10},
		{
			ID: "b", Task: "Write", DependsOn: []wire.TodoID{"a"}, MaxRetries: new(0), RequiresApproval: true, ApprovalReason: "costs",
			EstimatedCostUSD: 0.5, EstimatedDurationSec: 30, Inputs: []input{
				{Field: "days", Question: "When?", InputType: wire.AnswerDate, Range: true, DefaultValue: json.RawMessage(`{"from":"2026-02-06","to":"2026-02-07"}`)},
				{Field: "size", Question: "How large?", InputType: wire.AnswerChoice, Required: true, Options: []wire.Option{{Value: "s", Label: "small"}, {Value: "l", Label: "l"}}},
			},
		},
	}}
	for name, text := range map[string]string{
		"alone":            plan,
		"fenced":           "```json\n" + plan + "\n```",
		"with prose":       "Here is {a plan}, as you {\"like\": 1}:\n" + plan + "\nTell me {what} you think.",
		"mended at once":   `{"todos":[{"id":"x","task":"no"}]} No, better: ` + plan,
		"with other parts": strings.Replace(plan, `{"todos"`, `{"title":"Reviews","todos"`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := readDraft(text, someTools)
			if err != nil {
				t.Fatal(err)
			}
			if g, w := string(compact(got)), string(compact(want)); g != w {
				t.Errorf("got  %s\nwant %s", g, w)
			}
		})
	}
}

func TestReadDraftReportsAllErrors(t *testing.T) {
	t.Parallel()
	todos := func(all ...string) string { return `{"todos":[` + strings.Join(all, ",") + `]}` }
	ask := func(in string) string { return todos(`{"id":"a","task":"x","inputs":[` + in + `]}`) }
	for text, want := range map[string]string{
		"I cannot plan.":                          "there is no JSON object in the answer",
		`{"plan":[]}`:                             `the JSON object has no "todos"`,
		`{"todos":[{"id":"a","task":"x"`:          "the JSON ends in the middle",
		`{"todos":[{"id":"a",}]}`:                 "the JSON cannot be read: invalid character '}' looking for beginning of object key string",
		strings.Repeat(" ", maxAnswer+1):          "the answer has 262145 bytes, at most 262144 are allowed",
		`{"todos":{}}`:                            "todos: want a list, got {}; todos: there are none",
		`{"todos":[]}`:                            "todos: there are none",
		todos(`"collect"`):                        `todos[0]: want an object, got "collect"`,
		todos(`{}`):                               "todos[0].id: it is missing; todos[0].task: it is missing",
		todos(`{"id":1,"task":""}`):               `todos[0].id: want a text such as "collect", got 1; todos[0].task: it is empty`,
		todos(`{"id":"a/b","task":"x"}`):          `todos[0].id: "a/b" is no id: want at most 64 letters, digits, '_' and '-'`,
		todos(`{"id":"planning","task":"x"}`):     `todos[0].id: "planning" is the name of a layer`,
		todos(`{"id":"a","task":"x","tool":"y"}`): `todos[0].tool: there is no tool "y", the tools are collector, writer`,
		todos(`{"id":"a","task":"x","dependsOn":["b"],"priority":1.5}`):                                          "todos[0].dependsOn: there is no such field; todos[0].priority: want a whole number, got 1.5",
		todos(`{"id":"a","task":"x","priority":"high","max_retries":99}`):                                        `todos[0].max_retries: want a number from 0 to 10, got 99; todos[0].priority: want a number, got "high"`,
		todos(`{"id":"a","task":"x","estimated_cost_usd":-1,"requires_approval":"yes","depends_on":"b"}`):        `todos[0].depends_on: want a list, got "b"; todos[0].estimated_cost_usd: want a number from 0 to 1000000, got -1; todos[0].requires_approval: want true or false, got "yes"`,
		todos(`{"id":"a","task":"x"}`, `{"id":"b","task":"x"}`, `{"id":"a","task":"x","depends_on":["c"]}`):      `todos[2].id: "a" is that of todos[0]; todos[2].depends_on: there is no todo "c"`,
		todos(`{"id":"a","task":"x","depends_on":["b"]}`, `{"id":"b","task":"x","depends_on":["a"]}`):            "todos a → b → a wait for each other",
		todos(`{"id":"a","task":"x","depends_on":["a"]}`):                                                        "todo a waits for itself",
		ask(`{"field":"a b","question":"","input_type":"colour"}`):                                               `todos[0].inputs[0].field: want letters, digits, '_' and '-', got "a b"; todos[0].inputs[0].question: it is missing; todos[0].inputs[0].input_type: there is no type "colour", the types are text, choice, multi, number, date, confirm`,
		ask(`{"field":"f","question":"q","input_type":"choice"}`):                                                "todos[0].inputs[0].options: choice needs some",
		ask(`{"field":"f","question":"q","input_type":"text","options":["a"],"range":true,"min":1}`):             "todos[0].inputs[0].options: text has none; todos[0].inputs[0].range: text has none; todos[0].inputs[0]: text has no min and max",
		ask(`{"field":"f","question":"q","input_type":"multi","options":["a",{"value":"a"},{"label":"b"}]}`):     `todos[0].inputs[0].options[1]: "a" is there twice; todos[0].inputs[0].options[2]: it has no value`,
		ask(`{"field":"f","question":"q","input_type":"number","min":3,"max":2}`):                                "todos[0].inputs[0]: min 3 is above max 2",
		ask(`{"field":"f","question":"q","input_type":"date","default_value":"soon"}`):                           `todos[0].inputs[0].default_value: want a date such as 2026-02-06, got "soon"`,
		ask(`{"field":"f","question":"q","input_type":"text"},{"field":"f","question":"q","input_type":"text"}`): `todos[0].inputs[1].field: "f" is there twice`,
		todos(slices.Repeat([]string{`{}`}, 15)...):                                                              "and 10 more",
		todos(slices.Repeat([]string{`{"id":"a","task":"x"}`}, MaxTodos+1)...):                                   "todos: has 51 entries, at most 50 are allowed",
		todos(`{"id":"a","task":"` + strings.Repeat("x", maxTask+1) + `"}`):                                      "todos[0].task: has 2001 characters, at most 2000 are allowed",
	} {
		_, err := readDraft(text, someTools)
		if err == nil {
			t.Errorf("%.100s: no error, want %q", text, want)
			continue
		}
		if got := err.Error(); got != want && !strings.HasSuffix(got, "; "+want) && !strings.HasPrefix(got, want+"; ") {
			t.Errorf("%.100s:\ngot  %s\nwant %s", text, got, want)
		}
	}
}

func FuzzReadDraft(f *testing.F) {
	f.Add(`{"todos":[{"id":"a","task":"x"},{"id":"b","task":"y","depends_on":["a"]}]}`)
	f.Add("```json\n{\"todos\":[{\"id\":\"a\",\"task\":\"x\",\"depends_on\":[\"a\"]}]}\n```")
	f.Add(`{"todos":[{"id":"a","task":"x","tool":"writer","inputs":[{"field":"f","question":"q","input_type":"number","min":1,"default_value":2}]}]}`)
	f.Add(`{{{"todos":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := readDraft(text, someTools)
		if err != nil {
			if err.Error() == "" {
				t.Error("the error has no text, want one")
			}
			return
		}
		if err := checkGraph(d.Todos); err != nil {
			t.Errorf("an accepted draft is invalid: %v", err)
		}
		for _, todo := range d.Todos {
			if err := todo.ID.Validate(); err != nil {
				t.Error(err)
			}
			if todo.Task == "" || todo.Tool != "" && !slices.Contains(someTools, todo.Tool) {
				t.Errorf("accepted todo is invalid: %+v, want a task and a known tool", todo)
			}
			for _, in := range todo.Inputs {
				if _, err := checkValue(in.request(), in.DefaultValue); in.DefaultValue != nil && err != nil {
					t.Errorf("the default of %+v is invalid: %v, want one that fits", in, err)
				}
			}
		}
		again, err := readDraft(string(compact(d)), someTools)
		if err != nil || string(compact(again)) != string(compact(d)) {
			t.Errorf("encoding and reading again: error %v\ngot  %s\nwant %s", err, compact(d), compact(again))
		}
		if _, err := json.Marshal(mermaid(d.Todos)); err != nil {
			t.Error(err)
		}
	})
}
